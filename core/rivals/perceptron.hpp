// What the kernel perceptrons share: when to learn, and in which direction.
//     two classes: direction y;   several: e_y - e_s, y the row's own class and s the best-scored other one
//     margin = direction . f (y f, or f_y - f_s); a mistake is margin <= 0
// The squared length of a direction is 1 or 2, so for two classes on two outputs the margin and the squared norm
// (2 k(x,x)) are both twice those on one output.
#pragma once

#include "rivals/support_rival.hpp"

namespace nolana {

class Perceptron : public SupportRival {
  public:
    Perceptron(std::size_t features, std::size_t budget, std::shared_ptr<const Kernel> kernel)
        : SupportRival(features, budget, std::move(kernel)), direction_(1) {}

    void describe(Description& d) override {
        SupportRival::describe(d);
        d.scratch(direction_);
    }

  protected:
    void reset() override {
        SupportRival::reset();
        direction_ = Buffer(outputs_);
    }
    // Learn x in the direction in direction_.
    virtual void mistake(const double* x) = 0;
    double length() const { return outputs_ == 1 ? 1 : 2; }  // |direction|^2

    Buffer direction_;

  private:
    void update(const double* x, const double* y, double, const double* f) final {
        direction_.clear();
        double margin;
        if (outputs_ == 1) {
            direction_[0] = y[0];
            margin = y[0] * f[0];
        } else {
            const std::size_t own = own_class(y, outputs_), other = runner_up(f, own, outputs_);
            direction_[own] = 1;
            direction_[other] = -1;
            margin = f[own] - f[other];
        }
        if (margin <= 0) mistake(x);
    }
};

}  // namespace nolana
