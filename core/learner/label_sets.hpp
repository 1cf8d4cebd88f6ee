// Label sets: all classes of a probability of at least exp(-q), and the most probable one. The rules and their reasons
// stand in nolana/engine/learner/label_sets.py.
#pragma once

#include "learner/conformal.hpp"

namespace nolana {

class LabelSets final : public Stateful {
  public:
    LabelSets(const double* levels, std::size_t count)
        : tracked_(levels, count, largest_change, [](double alpha) { return -std::log(alpha); }) {}

    double rows = 0;

    std::size_t levels() const { return tracked_.levels(); }

    // 1 if the class of targets y is not in the set of levels[level], else 0; f are scores, both (outputs).
    double observe(const double* f, const double* y, std::size_t outputs, std::size_t level) {
        rows += 1;
        for (std::size_t o = 0; o < outputs; ++o)
            if (!std::isfinite(f[o])) return 1;  // a diverged model tells nothing about probabilities
        return tracked_.observe(outputs == 1 ? score_of_two(f[0], y[0]) : score(f, y, outputs), 1, rows, level);
    }

    double threshold(double level) const { return tracked_.at(level); }

    void describe(Description& d) override {
        d.count("rows", rows);
        tracked_.describe(d);
    }
    void resize(const Sizes&) override {}

  private:
    static constexpr double largest_change = 10;

    static double score_of_two(double f, double y) {
        if ((f > 0) == (y > 0)) return 0;
        return std::log1p(std::exp(-2 * std::fabs(f))) + 2 * std::fabs(f);
    }
    static double score(const double* f, const double* y, std::size_t outputs) {
        const auto own = std::max_element(y, y + outputs) - y, best = std::max_element(f, f + outputs) - f;
        if (own == best) return 0;
        double sum = 0;
        for (std::size_t o = 0; o < outputs; ++o) sum += std::exp(f[o] - f[best]);
        return std::log(sum) + f[best] - f[own];
    }

    ConformalThresholds tracked_;
};

}  // namespace nolana
