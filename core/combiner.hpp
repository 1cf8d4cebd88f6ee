// How the scores of several experts become one.
#pragma once

#include "state.hpp"

namespace nolana {

class Combiner {
  public:
    virtual ~Combiner() = default;
    virtual void clear(std::size_t experts, std::size_t outputs) = 0;
    // scores (experts, outputs) -> f (outputs)
    virtual void combine(const double* scores, double* f) const = 0;
    // The row whose scores were combined last.
    virtual void learn(const double* scores, const double* y, const double* f, double weight) = 0;
    // The variance of a target that is a number, as far as it is known.
    virtual double noise() const { return 1; }
    virtual void describe(Description& d) = 0;
};

}  // namespace nolana
