// Doubly stochastic gradients (Dai, Xie, He, Liang, Raj, Balcan, Song 2014): every step brings its own feature.
//     f = sum_i a_i phi_i(x),   phi_i(x) = sqrt(2) cos(omega_i'x + b_i),  omega_i ~ N(0, 2 gamma I), b_i ~ U[0, 2 pi)
//     step t: eta = rate/t;  a *= 1 - eta decay;  a_t -= eta loss'(y, f) phi_t(x)
// Only a is stored: feature i is drawn anew from (seed, i) whenever it is needed, 2 ceil(d/2) + 1 uniform numbers and
// the Box-Muller transform. On a budget of D features step t takes feature t mod D: once all are in use the steps go
// round, and a step adds to the coefficient that is there. Several classes: one a for each output.
#include <numbers>

#include "bind/bind.hpp"
#include "base/draw.hpp"
#include "rivals/rival.hpp"
#include "base/sincos.hpp"

namespace nolana {

class DoublySGD final : public Rival {
  public:
    DoublySGD(std::size_t features, std::size_t budget, std::shared_ptr<const Loss> loss, double rate, double decay,
              std::uint64_t seed)
        : Rival(features), budget_(budget), pairs_((features + 1) / 2), stride_(padded(budget, lanes)),
          loss_(std::move(loss)), rate_(rate), decay_(decay), seed_(seed), angles_(stride_), sines_(stride_),
          phi_(stride_), a_(stride_), radii_(pairs_), turns_(padded(pairs_, lanes)), across_(turns_.size()),
          along_(turns_.size()) {
        if (budget == 0) throw std::invalid_argument("the budget must be at least one feature");
    }

    void describe(Description& d) override {
        Rival::describe(d);
        d.matrix("weights", a_, Side::outputs(outputs_), budget_, stride_);
        d.scratch(angles_, sines_, phi_, radii_, turns_, across_, along_);
    }

  private:
    void reset() override { a_ = Buffer(outputs_ * stride_); }
    void score(const double* x, double* f) override {
        for (std::size_t i = 0; i < budget_; ++i) angles_[i] = angle(i, x);
        sincos(angles_.data(), sines_.data(), phi_.data(), stride_);
        for (std::size_t i = 0; i < budget_; ++i) phi_[i] *= std::numbers::sqrt2;
        for (std::size_t i = budget_; i < stride_; ++i) phi_[i] = 0;
        for (std::size_t o = 0; o < outputs_; ++o) f[o] = dot(a_.data() + o * stride_, phi_.data(), stride_);
    }
    void update(const double*, const double* y, double weight, const double* f) override {
        const double step = rate_ / rows, shrink = 1 - step * decay_;
        const std::size_t i = static_cast<std::size_t>(rows) % budget_;
        for (std::size_t o = 0; o < outputs_; ++o) {
            double* a = a_.data() + o * stride_;
            for (std::size_t j = 0; j < budget_; ++j) a[j] *= shrink;
            a[i] -= step * weight * loss_->slope(y[o], f[o]) * phi_[i];
        }
    }
    // omega_i'x + b_i
    double angle(std::size_t i, const double* x) {
        const std::uint64_t first = static_cast<std::uint64_t>(i) * (2 * pairs_ + 1);
        const auto uniform = [&](std::size_t k) { return static_cast<double>(draw(seed_, first + k) >> 11) * 0x1p-53; };
        const double whole = 2 * std::numbers::pi;
        for (std::size_t p = 0; p < pairs_; ++p) {
            radii_[p] = std::sqrt(-2 * std::log(1 - uniform(2 * p)));
            turns_[p] = whole * uniform(2 * p + 1);
        }
        sincos(turns_.data(), across_.data(), along_.data(), turns_.size());
        double sum = 0;
        for (std::size_t j = 0; j < features_; ++j) {
            const std::size_t p = j / 2;
            sum = fma(radii_[p] * (j % 2 == 0 ? along_[p] : across_[p]), x[j], sum);
        }
        return std::sqrt(2 * gamma) * sum + whole * uniform(2 * pairs_);
    }

    std::size_t budget_, pairs_, stride_;
    std::shared_ptr<const Loss> loss_;
    double rate_, decay_;
    std::uint64_t seed_;
    Buffer angles_, sines_, phi_, a_, radii_, turns_, across_, along_;
};

NOLANA_BINDING(doubly_sgd) {
    nb::class_<DoublySGD, Rival>(m, "DoublySGD")
        .def(nb::init<std::size_t, std::size_t, std::shared_ptr<const Loss>, double, double, std::uint64_t>(),
             "features"_a, "budget"_a, "loss"_a, "rate"_a, "decay"_a, "seed"_a);
}

}  // namespace nolana
