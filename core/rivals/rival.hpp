// What every rival shares: one row at a time is scored and learned.
#pragma once

#include "experts/landmarks/kernel.hpp"
#include "learner/loss.hpp"
#include "learner/online.hpp"

namespace nolana {

// The class of a row from its targets, one for each of several outputs.
inline std::size_t own_class(const double* y, std::size_t outputs) {
    return static_cast<std::size_t>(std::max_element(y, y + outputs) - y);
}
// The best-scored output other than `own`.
inline std::size_t runner_up(const double* f, std::size_t own, std::size_t outputs) {
    std::size_t best = own == 0 ? 1 : 0;
    for (std::size_t o = 0; o < outputs; ++o)
        if (o != own && f[o] > f[best]) best = o;
    return best;
}

class Rival : public Online {
  public:
    using Online::Online;

    double gamma = 1;  // kernel width

    void learn(const double* x, const double* y, const double* weight, std::size_t count, double* scores) override {
        for (std::size_t r = 0; r < count; ++r) {
            const double* xr = x + r * features_;
            double* f = scores + r * outputs_;
            score(xr, f);
            const double w = weight ? weight[r] : 1.0;
            if (w == 0) continue;
            rows += 1;
            update(xr, y + r * outputs_, w, f);
        }
    }
    void scores(const double* x, std::size_t count, double* out) override {
        for (std::size_t r = 0; r < count; ++r) score(x + r * features_, out + r * outputs_);
    }
    void describe(Description& d) override {
        Online::describe(d);
        d.number("gamma", gamma, Description::positive);
    }

  protected:
    // f of one row; whatever is computed on the way may be used by the update that follows.
    virtual void score(const double* x, double* f) = 0;
    // Learn the row that was just scored.
    virtual void update(const double* x, const double* y, double weight, const double* f) = 0;
};

}  // namespace nolana
