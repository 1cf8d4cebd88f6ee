// Features that grow without bound. The rules and their reasons are in nolana/engine/learner/growth.py.
#pragma once

#include <algorithm>

#include "base/state.hpp"

namespace nolana {

class GrowthWatch final : public Stateful {
  public:
    explicit GrowthWatch(std::size_t features)
        : d_(features), last_(features), up_(features), down_(features), jumps_(features), growing_(features) {}

    std::size_t features() const { return d_; }
    double rows = 0;

    // Rows of positive weight (null: all); factor: i0 of the scaling.
    void observe(const double* x, const double* weight, std::size_t count, const double* factor) {
        for (std::size_t r = 0; r < count; ++r, x += d_) {
            if (weight && !(weight[r] > 0)) continue;
            if (rows > 0)
                for (std::size_t j = 0; j < d_; ++j) {
                    const double step = x[j] - last_[j], size = step * factor[j];
                    up_[j] += step > 0 ? 1.0 : 0.0;
                    down_[j] += step < 0 ? 1.0 : 0.0;
                    jumps_[j] += (size > 1 ? 1.0 : 0.0) - (size < -1 ? 1.0 : 0.0);
                }
            std::copy_n(x, d_, last_.data());
            rows += 1;
        }
    }

    // Whether other features grow than before.
    bool check() {
        const auto t = static_cast<std::size_t>(rows);
        const bool doubling = t >= first_check && t <= last_doubling && (t & (t - 1)) == 0;
        if (!doubling && !(t > last_doubling && t % check_every == 0)) return false;
        bool all = true, changed = false;
        for (std::size_t j = 0; j < d_; ++j) all = all && grows(j);
        for (std::size_t j = 0; j < d_; ++j) {
            const double now = !all && grows(j) ? 1.0 : 0.0;
            changed = changed || now != growing_[j];
            growing_[j] = now;
        }
        if (t % halved_every == 0)
            for (std::size_t j = 0; j < d_; ++j) {
                up_[j] /= 2;
                down_[j] /= 2;
            }
        return changed;
    }

    void describe(Description& d) override {
        d.count("rows", rows);
        d.vector("up", up_, d_);
        d.fields.back().low = 0;
        d.vector("down", down_, d_);
        d.fields.back().low = 0;
        d.vector("last", last_, d_);
        d.vector("jumps", jumps_, d_);
        d.vector("growing", growing_, d_);
        d.fields.back().low = 0;
        d.fields.back().high = 1;
    }
    void resize(const Sizes&) override {}

  private:
    static constexpr std::size_t first_check = 128, last_doubling = 512, check_every = 64, halved_every = 512;
    static constexpr double back = 0.01, fewest_steps = 10;

    bool grows(std::size_t j) const {
        const double most = std::max(up_[j], down_[j]), fewest = std::min(up_[j], down_[j]);
        const double forward = up_[j] >= down_[j] ? jumps_[j] : -jumps_[j];
        return fewest <= back * most && forward >= 0 && (most >= fewest_steps || growing_[j] > 0);
    }

    std::size_t d_;
    Buffer last_, up_, down_, jumps_, growing_;
};

}  // namespace nolana
