// A rival f_o(x) = sum_i weights_oi k(x, supports_i).
#pragma once

#include <stdexcept>

#include "rivals/supports.hpp"

namespace nolana {

class SupportRival : public Rival {
  public:
    SupportRival(std::size_t features, std::size_t budget, std::shared_ptr<const Kernel> kernel)
        : Rival(features), supports_(checked(budget), features, std::move(kernel)) {
        if (budget == 0) throw std::invalid_argument("the budget must be at least one support vector");
    }

    void describe(Description& d) override {
        Rival::describe(d);
        supports_.describe(d, most_supports());
    }
    void resize(const Sizes& sizes) override {
        Rival::resize(sizes);
        supports_.resize(sizes.at("supports"));
    }

  protected:
    // How many support vectors a state may have.
    virtual std::size_t most_supports() const { return supports_.capacity(); }
    void reset() override { supports_.clear(outputs_); }
    void score(const double* x, double* f) override {
        supports_.evaluate(x, gamma);
        supports_.score(f);
    }
    // The support set takes x with scale * coefficients (one for each output).
    void add(const double* x, double scale, const double* coefficients) {
        const std::size_t i = supports_.add(x, gamma);
        for (std::size_t o = 0; o < outputs_; ++o) supports_.alpha(o)[i] = scale * coefficients[o];
    }

    Supports supports_;

  private:
    static std::size_t checked(std::size_t budget) {
        if (budget > most_rows) throw std::bad_array_new_length();
        return budget;
    }
};

// The slopes of a row's loss, times its weight, one for each output.
class Slopes {
  public:
    explicit Slopes(std::shared_ptr<const Loss> loss) : loss_(std::move(loss)), values_(1) {}

    void clear(std::size_t outputs) { values_ = Buffer(outputs); }
    // Whether any is nonzero.
    bool evaluate(const double* y, const double* f, double weight) {
        bool any = false;
        for (std::size_t o = 0; o < values_.size(); ++o) {
            values_[o] = loss_->slope(y[o], f[o]) * weight;
            any |= values_[o] != 0;
        }
        return any;
    }
    const double* data() const { return values_.data(); }
    std::size_t bytes() const { return values_.bytes(); }

  private:
    std::shared_ptr<const Loss> loss_;
    Buffer values_;
};

}  // namespace nolana
