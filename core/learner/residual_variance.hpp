// The variance of standardised targets around their predictions, which outliers cannot raise suddenly:
//     nu += (min(r^2, 10 nu + .01) - nu) max(.002, 1/(t + 10)),  t the row, from 1.
// SkewedVariance: nolana/engine/learner/residual_variance.py has the formulas.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/state.hpp"

namespace nolana {

// What residuals are like: their variance, and how many times further than others those of a skewed side are believed.
struct Noise {
    double variance = 1, above = 1, below = 1;

    // A residual within `limit`, on a skewed side within more.
    double clip(double r, double limit) const { return std::min(above * limit, std::max(-below * limit, r)); }
};

class ResidualVariance {
  public:
    static constexpr double usual_start = 0.1, smallest = 1e-3;
    explicit ResidualVariance(double start = usual_start) : start_(start), value_(start) {}

    double value() const { return std::max(value_, smallest); }
    void clear() { value_ = start_; }
    // The squared residual of a row, on a side that is believed `reach` times further than usual.
    void observe(double square, double t, double reach = 1) {
        value_ += (std::min(square, 10 * reach * reach * value_ + 0.01) - value_) * std::max(slowest, 1 / (t + 10));
    }
    void describe(Description& d) { d.number("residual_variance", value_, 0); }

  private:
    static constexpr double slowest = 0.002;
    double start_, value_;
};

// The variance, and on which side residuals are cut later, so that as much is cut off above as below.
class SkewedVariance {
  public:
    explicit SkewedVariance(double start) : variance_(start) {}

    Noise noise() const { return {variance_.value(), 1 + std::max(0.0, skew_), 1 + std::max(0.0, -skew_)}; }
    void clear() {
        variance_.clear();
        skew_ = 0;
    }
    void observe(double residual, double t, double weight) {
        const Noise now = noise();
        const double r = residual / std::sqrt(now.variance);
        const double above = std::max(0.0, r - clip * now.above), below = std::max(0.0, -r - clip * now.below);
        skew_ += weight * gain * (std::min(clip, above) - std::min(clip, below));
        skew_ = std::min(largest, std::max(-largest, skew_));
        variance_.observe(residual * residual, t, residual > 0 ? now.above : now.below);  // may be infinite
    }
    void describe(Description& d) {
        variance_.describe(d);
        d.number("skew", skew_, -largest);
        d.fields.back().high = largest;
    }

  private:
    static constexpr double clip = 3, gain = 0.01, largest = 6;
    ResidualVariance variance_;
    double skew_ = 0;
};

// The variance, and the level in use, which the driver sets: nolana/engine/learner/residual_variance.py says why.
class NoiseLevel {
  public:
    Noise noise() const { return {level_}; }
    void clear() {
        variance_.clear();
        level_ = ResidualVariance::usual_start;
    }
    void observe(double square, double t) { variance_.observe(square, t); }
    void describe(Description& d) {
        variance_.describe(d);
        d.number("noise_level", level_, Description::positive);
    }

  private:
    ResidualVariance variance_;
    double level_ = ResidualVariance::usual_start;
};

}  // namespace nolana
