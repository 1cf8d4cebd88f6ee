// The variance of standardised targets around their predictions, which outliers cannot raise suddenly:
//     nu += (min(r^2, 10 nu + .01) - nu) max(.002, 1/(t + 10)),  t the row, from 1.
#pragma once

#include <algorithm>

#include "base/state.hpp"

namespace nolana {

class ResidualVariance {
  public:
    static constexpr double usual_start = 0.1, smallest = 1e-3;
    explicit ResidualVariance(double start = usual_start) : start_(start), value_(start) {}

    double noise() const { return std::max(value_, smallest); }
    void clear() { value_ = start_; }
    // The squared residual of a row.
    void observe(double square, double t) {
        value_ += (std::min(square, 10 * value_ + 0.01) - value_) * std::max(slowest, 1 / (t + 10));
    }
    void describe(Description& d) { d.number("residual_variance", value_, 0); }

  private:
    static constexpr double slowest = 0.002;
    double start_, value_;
};

// The same, and the level in use, which the driver sets: nolana/engine/learner/residual_variance.py says why.
class NoiseLevel {
  public:
    double noise() const { return level_; }
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
