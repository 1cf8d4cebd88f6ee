// Half-widths of prediction intervals: q sqrt(V), where V follows the squared residuals and q the misses. The rules and
// their reasons stand in nolana/engine/learner/interval_width.py.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/state.hpp"

namespace nolana {

class IntervalWidth final : public Stateful {
  public:
    IntervalWidth(const double* levels, std::size_t count) : n_(count), alpha_(count), start_(count), factors_(count) {
        for (std::size_t i = 0; i < n_; ++i) {
            alpha_[i] = 1 - levels[i];
            factors_[i] = start_[i] = normal_quantile(alpha_[i]);
        }
    }

    double rows = 0;

    std::size_t levels() const { return n_; }

    // 1 for a residual outside the interval of levels[level], else 0.
    double observe(double residual, std::size_t level) {
        rows += 1;
        if (!std::isfinite(residual)) return 1;  // a diverged model tells nothing about the width
        const double gain = std::max(1 / memory, 3 / (rows + 3)), step = std::max(smallest_step, 2 / (rows + 10));
        const double deviation = std::sqrt(variance_);
        double result = 0;
        for (std::size_t i = 0; i < n_; ++i) {
            const double miss = std::fabs(residual) > factors_[i] * deviation ? 1 : 0;
            if (i == level) result = miss;
            const double longer = std::max(1.0, std::sqrt(0.1 / alpha_[i]));
            const double changed = factors_[i] * std::exp(step * longer * (miss - alpha_[i]));
            factors_[i] = std::min(std::max(changed, start_[i] / largest_change), start_[i] * largest_change);
        }
        const double square = std::min(residual * residual, clip * std::max(variance_, smallest_clipped));
        variance_ = std::max(smallest_variance, variance_ + gain * (square - variance_));
        return result;
    }

    void rescale(double factor) { variance_ = std::max(smallest_variance, variance_ * factor * factor); }

    double half_width(double level) const {
        const double place = std::log(1 - level);
        double below = 0, above = 0, q_below = 0, q_above = 0;  // ln alpha and q on both sides
        for (std::size_t i = 0; i < n_; ++i) {
            below = above;
            q_below = q_above;
            above = std::log(alpha_[i]);
            q_above = std::max(factors_[i], q_above);  // a wider level is never narrower
            if (above <= place) break;
        }
        const double slope = (q_above - q_below) / (above - below);
        return std::sqrt(variance_) * (q_below + slope * (place - below));
    }

    void describe(Description& d) override {
        d.count("rows", rows);
        d.number("variance", variance_, 0);
        d.vector("factors", factors_, n_);
        d.fields.back().low = 0;
        d.scratch(alpha_, start_);
    }
    void resize(const Sizes&) override {}

  private:
    static constexpr double memory = 256, smallest_step = 0.02, clip = 10, smallest_clipped = 1e-6,
                            smallest_variance = 1e-12, largest_change = 100;

    // q with P(|z| > q) = alpha for a normal z, by bisection.
    static double normal_quantile(double alpha) {
        double low = 0, high = 40;
        for (int i = 0; i < 100; ++i) {
            const double middle = (low + high) / 2;
            (std::erfc(middle / std::sqrt(2.0)) > alpha ? low : high) = middle;
        }
        return high;
    }

    std::size_t n_;
    Buffer alpha_, start_, factors_;
    double variance_ = 1;  // V
};

}  // namespace nolana
