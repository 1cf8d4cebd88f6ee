// The level that the targets have now, and the range of the last 1,000 of them. Rules and reasons are in
// nolana/engine/learner/target_level.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/state.hpp"

namespace nolana {

class TargetLevel {
  public:
    double value() const { return level_; }

    void clear() { *this = TargetLevel(); }

    // f within one range of the last targets.
    double bounded(double f) const {
        const std::size_t used = std::min(blocks, static_cast<std::size_t>(rows_) / range_rows + 1);
        const double low = *std::min_element(lows_.data(), lows_.data() + used);
        const double high = *std::max_element(highs_.data(), highs_.data() + used), range = high - low;
        return std::min(high + range, std::max(low - range, f));
    }

    // A target, its residual and what was cut off from it; returns what the level has changed by.
    double observe(double y, double residual, double excess) {
        const auto t = static_cast<std::size_t>(rows_);
        const bool back = std::fabs(residual + trial_) < std::fabs(residual);
        const double r = back ? 0 : std::min(largest, std::max(-largest, excess));
        const std::size_t own = t / level_rows % blocks, seen = t / range_rows % blocks;
        if (t % level_rows == 0) squares_[own] = steps_[own] = 0;
        const double from = back ? 0 : last_;
        steps_[own] += (r - from) * (r - from);
        squares_[own] += r * r;
        if (t > 0 && t % range_rows == 0) lows_[seen] = highs_[seen] = y;
        lows_[seen] = std::min(lows_[seen], y);
        highs_[seen] = std::max(highs_[seen], y);
        rows_ += 1;
        const double k = gain(std::min(t + 1, (blocks - 1) * level_rows + t % level_rows + 1));
        const double change = back ? -trial_ : k * r;
        level_ += change;
        last_ = (1 - k) * r;
        trial_ = k * r;
        if (k > 0) squares_.clear(), steps_.clear();  // evidence counts once
        return change;
    }

    void describe(Description& d) {
        const double any = -std::numeric_limits<double>::infinity();
        d.number("level", level_, any);
        d.count("level_rows", rows_);
        d.number("last_excess", last_, any);
        d.number("trial", trial_, any);
        d.vector("level_squares", squares_, blocks);
        d.fields.back().low = 0;
        d.vector("level_steps", steps_, blocks);
        d.fields.back().low = 0;
        d.vector("range_lows", lows_, blocks);
        d.vector("range_highs", highs_, blocks);
    }

  private:
    static constexpr std::size_t blocks = 8, level_rows = 32, range_rows = 125;
    static constexpr double prior = 64, largest = 1e100;

    static double gathered(const Buffer& sums) { return std::accumulate(sums.data(), sums.data() + blocks, 0.0); }
    double gain(std::size_t rows) const {
        const double squares = gathered(squares_), steps = gathered(steps_);
        if (!(squares > 0)) return 0;
        const double share = prior / static_cast<double>(rows), white = share * share;
        return std::max(0.0, 1 - (steps / squares + 2 * white) / (1 + white));
    }

    double level_ = 0, rows_ = 0, last_ = 0, trial_ = 0;
    Buffer squares_{blocks}, steps_{blocks}, lows_{blocks}, highs_{blocks};
};

}  // namespace nolana
