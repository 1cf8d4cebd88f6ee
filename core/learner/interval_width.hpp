// Half-widths of prediction intervals: q sqrt(V) s^.8, where V follows the squared residuals, q the misses and s the row.
// The rules and their reasons stand in nolana/engine/learner/interval_width.py.
#pragma once

#include <memory>

#include "learner/conformal.hpp"
#include "learner/residual_scale.hpp"

namespace nolana {

class IntervalWidth final : public Stateful {
  public:
    IntervalWidth(const double* levels, std::size_t count, bool by_row) : tracked_(levels, count, largest_change, normal_quantile) {
        if (by_row) scale_ = std::make_unique<ResidualScale>();
    }

    double rows = 0;

    std::size_t levels() const { return tracked_.levels(); }
    bool by_row() const { return scale_ != nullptr; }

    // 1 for a residual outside the interval of levels[level], else 0; of a row of this score and spread.
    double observe(double residual, std::size_t level, double score, double spread) {
        rows += 1;
        if (!std::isfinite(residual)) return 1;  // a diverged model tells nothing about the width
        const double gain = std::max(1 / memory, 3 / (rows + 3)), own = residual / row_scale(score, spread);
        const double result = tracked_.observe(std::fabs(own), std::sqrt(variance_), rows, level);
        const double square = std::min(own * own, clip * std::max(variance_, smallest_clipped));
        variance_ = std::max(smallest_variance, variance_ + gain * (square - variance_));
        if (scale_) scale_->observe(residual, score, spread);
        return result;
    }

    void rescale(double factor) {
        variance_ = std::max(smallest_variance, variance_ * factor * factor);
        if (scale_) scale_->rescale(factor);
    }

    double half_width(double level, double score, double spread) const {
        return tracked_.at(level) * std::sqrt(variance_) * row_scale(score, spread);
    }

    void describe(Description& d) override {
        d.count("rows", rows);
        d.number("variance", variance_, 0);
        tracked_.describe(d);
        if (scale_) scale_->describe(d);
    }
    void resize(const Sizes&) override {}

  private:
    static constexpr double memory = 256, clip = 10, smallest_clipped = 1e-6, smallest_variance = 1e-12, largest_change = 100,
                            power = 0.8;

    double row_scale(double score, double spread) const { return scale_ ? std::exp(power * scale_->log_scale(score, spread)) : 1; }
    // q with P(|z| > q) = alpha for a normal z, by bisection.
    static double normal_quantile(double alpha) {
        double low = 0, high = 40;
        for (int i = 0; i < 100; ++i) {
            const double middle = (low + high) / 2;
            (std::erfc(middle / std::sqrt(2.0)) > alpha ? low : high) = middle;
        }
        return high;
    }

    ConformalThresholds tracked_;
    double variance_ = 1;  // V
    std::unique_ptr<ResidualScale> scale_;
};

}  // namespace nolana
