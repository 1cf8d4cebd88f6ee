// How the scores of several experts become one.
#pragma once

#include <cmath>

#include "base/state.hpp"
#include "learner/residual_variance.hpp"

namespace nolana {

class Combiner {
  public:
    virtual ~Combiner() = default;
    virtual void clear(std::size_t experts, std::size_t outputs) = 0;
    // This many outputs from now on; what was learned holds for all of them.
    virtual void set_outputs(std::size_t outputs) = 0;
    // What is known when the next row is combined. Regression: what the experts did not explain of the last known target;
    // classes: the last known label, and 1 if another one had been predicted. NaN: nothing.
    virtual void know(double target, double error) { (void)target, (void)error; }
    // Whether the next row has a category that nobody has learned.
    virtual void set_unknown(bool unknown) { (void)unknown; }
    // What the experts did not explain of the target of the row that was learned last.
    virtual double unexplained() const { return 0; }
    // scores (experts, outputs) -> f (outputs)
    virtual void combine(const double* scores, double* f) const = 0;
    // Root mean square distance of the experts' scores of a scalar target, combined last, from their combination f.
    virtual double spread(const double* scores, std::size_t experts, double f) const {
        double sum = 0;
        for (std::size_t e = 0; e < experts; ++e) sum += (scores[e] - f) * (scores[e] - f);
        return std::sqrt(sum / static_cast<double>(experts));
    }
    // The row whose scores were combined last.
    virtual void learn(const double* scores, const double* y, const double* f, double weight) = 0;
    // The noise of a scalar target, as far as it is known.
    virtual Noise noise() const { return {}; }
    // What the experts learn from the row that the combiner has just learned.
    virtual const double* target(const double* y) const { return y; }
    // Names of the fields that judge the experts by rows that they had not seen: a second pass leaves them as they were.
    virtual std::vector<std::string> judgement() const { return {}; }
    // Whether the row that was learned last raised the drift alarm.
    virtual bool alarmed() const { return false; }
    // Rows (from 1) at which the experts' error rose suddenly, the last ones.
    virtual std::vector<double> alarms() const { return {}; }
    virtual void describe(Description& d) = 0;
    // Room for a state of these sizes.
    virtual void resize(const Sizes& sizes) { (void)sizes; }
};

}  // namespace nolana
