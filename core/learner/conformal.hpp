// Thresholds that scores exceed as often as stated: adaptive conformal inference by tracking quantiles. The rules and
// their reasons stand in nolana/engine/learner/conformal.py.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/state.hpp"

namespace nolana {

class ConformalThresholds {
  public:
    // `start` says where q begins for an alpha, and `change` by what factor it may differ from it.
    template <class Start>
    ConformalThresholds(const double* levels, std::size_t count, double change, Start start)
        : n_(count), change_(change), alpha_(count), start_(count), q_(count) {
        for (std::size_t i = 0; i < n_; ++i) {
            alpha_[i] = 1 - levels[i];
            q_[i] = start_[i] = start(alpha_[i]);
        }
    }

    std::size_t levels() const { return n_; }
    // The row of this number, whose score is in terms of `unit`; 1 if it misses levels[level], else 0.
    double observe(double score, double unit, double rows, std::size_t level) {
        const double step = std::max(smallest_step, 2 / (rows + 10));
        double result = 0;
        for (std::size_t i = 0; i < n_; ++i) {
            const double miss = score > q_[i] * unit ? 1 : 0;
            if (i == level) result = miss;
            const double longer = std::max(1.0, std::sqrt(0.1 / alpha_[i]));
            const double changed = q_[i] * std::exp(step * longer * (miss - alpha_[i]));
            q_[i] = std::min(std::max(changed, start_[i] / change_), start_[i] * change_);
        }
        return result;
    }
    // q of any level, 0 < level < 1.
    double at(double level) const {
        const double place = std::log(1 - level);
        double below = 0, above = 0, q_below = 0, q_above = 0;  // ln alpha and q on both sides
        for (std::size_t i = 0; i < n_; ++i) {
            below = above;
            q_below = q_above;
            above = std::log(alpha_[i]);
            q_above = std::max(q_[i], q_above);  // a higher level is never narrower
            if (above <= place) break;
        }
        const double slope = (q_above - q_below) / (above - below);
        return q_below + slope * (place - below);
    }

    void describe(Description& d) {
        d.vector("factors", q_, n_);
        d.fields.back().low = 0;
        d.scratch(alpha_, start_);
    }

  private:
    static constexpr double smallest_step = 0.02;
    std::size_t n_;
    double change_;
    Buffer alpha_, start_, q_;
};

}  // namespace nolana
