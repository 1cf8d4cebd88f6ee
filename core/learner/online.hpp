// Rows in, scores out: what Python sees of every learner.
#pragma once

#include "base/state.hpp"

namespace nolana {

class Online : public Stateful {
  public:
    explicit Online(std::size_t features) : features_(features) {
        if (features > most_rows) throw std::bad_array_new_length();
    }

    std::size_t features() const { return features_; }
    std::size_t outputs() const { return outputs_; }
    double rows = 0;  // learned

    // Back to before the first row, with this many outputs.
    void clear(std::size_t outputs) {
        if (outputs > Side::most_outputs) throw std::invalid_argument("too many outputs");
        check_outputs(outputs);
        outputs_ = outputs;
        rows = 0;
        reset();
    }
    // x (rows, features), y and scores (rows, outputs), weight (rows) or null. A row of weight 0 is scored only.
    virtual void learn(const double* x, const double* y, const double* weight, std::size_t count, double* scores) = 0;
    virtual void scores(const double* x, std::size_t count, double* out) = 0;

    void describe(Description& d) override { d.count("rows", rows); }
    void resize(const Sizes& sizes) override { clear(sizes.at("outputs")); }

  protected:
    // Throws where this learner cannot have so many outputs.
    virtual void check_outputs(std::size_t outputs) const { (void)outputs; }
    // Forget all that was learned; outputs_ is the new number of outputs.
    virtual void reset() = 0;

    std::size_t features_, outputs_ = 1;
};

}  // namespace nolana
