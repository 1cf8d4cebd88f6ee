// Forgetron, self-tuned (Dekel, Shalev-Shwartz, Singer 2005): before the oldest support vector is deleted, all shrink.
//     on a mistake M += 1 and f' = f + (x, y). Over the budget, r the oldest:
//     d = alpha_r / y_r,  mu = y_r f'(x_r),  a = d^2 k(x_r,x_r) - 2 d mu,  b = 2 d,  c = Q - (15/32) M
//     phi = 1 if a + b + c <= 0, else -2c / (b + sqrt(b^2 - 4ac));  all alpha *= phi;  Q += a phi^2 + b phi;  delete r
// Several classes: alpha_r = d (e_y - e_s) and mu = (f'_y - f'_s) / 2: the norm and the margin of a direction of
// squared length 2, both divided by that length.
#include "bind/bind.hpp"
#include "rivals/perceptron.hpp"

namespace nolana {

class Forgetron final : public Perceptron {
  public:
    Forgetron(std::size_t features, std::size_t budget, std::shared_ptr<const Kernel> kernel)
        : Perceptron(features, budget, std::move(kernel)), oldest_(features), f_(1) {}

    void describe(Description& d) override {
        Perceptron::describe(d);
        d.vector("damage", damage_, 1);
        d.vector("mistakes", mistakes_, 1);
        d.scratch(oldest_, f_);
    }

  private:
    void reset() override {
        Perceptron::reset();
        f_ = Buffer(outputs_);
        damage_[0] = mistakes_[0] = 0;
    }
    void mistake(const double* x) override {
        mistakes_[0] += 1;
        // The new vector shrinks with the others, and takes the place that the oldest leaves.
        add(x, supports_.full() ? shrink_and_delete() : 1, direction_.data());
    }
    // phi
    double shrink_and_delete() {
        const std::size_t r = supports_.oldest();
        const double to_new = supports_.values()[r];  // k(x, x_r)
        supports_.get(r, oldest_.data());
        score(oldest_.data(), f_.data());
        double pull = 0;  // d mu
        for (std::size_t o = 0; o < outputs_; ++o)
            pull += supports_.alpha(o)[r] * (f_[o] + direction_[o] * to_new) / length();
        const double d = supports_.weight(r) / length();
        const double a = d * d * supports_.self(oldest_.data(), gamma) - 2 * pull, b = 2 * d;
        const double phi = shrink(a, b, damage_[0] - 15.0 / 32 * mistakes_[0]);
        damage_[0] += (a * phi + b) * phi;
        supports_.scale(phi);
        supports_.remove(r);
        return phi;
    }
    // The largest phi in [0, 1] with a phi^2 + b phi + c <= 0; b >= 0 and c < 0.
    static double shrink(double a, double b, double c) {
        return a + b + c <= 0 ? 1 : -2 * c / (b + std::sqrt(b * b - 4 * a * c));
    }

    Buffer oldest_, f_;
    Buffer damage_{1}, mistakes_{1};  // Q and M
};

NOLANA_BINDING(forgetron) {
    nb::class_<Forgetron, Rival>(m, "Forgetron")
        .def(nb::init<std::size_t, std::size_t, std::shared_ptr<const Kernel>>(), "features"_a, "budget"_a, "kernel"_a);
}

}  // namespace nolana
