// Dual Space Gradient Descent (Le, Nguyen, Nguyen, Phung 2016): a support set whose least vectors move into random
// Fourier features when it is full.
//     f = sum_i w_i k(x_i, x) + v.z(x),   z = [cos(u'x), sin(u'x)]/sqrt(D)
//     at step t: w, v *= (t-1)/t;  if loss' is not 0: when full, v += w_i z(x_i) for the k smallest |w_i|, which
//     are deleted; then x is added with -loss'/(lambda t)
// Several classes: one coefficient for each output, |w_i| the sum over them, a row is added if any slope is not 0.
#include "bind/bind.hpp"
#include "experts/fourier.hpp"
#include "rivals/support_rival.hpp"

namespace nolana {

class DualSGD final : public SupportRival {
  public:
    DualSGD(std::size_t features, std::size_t budget, std::size_t merged, Landmarks projections,
            std::shared_ptr<const Kernel> kernel, std::shared_ptr<const Loss> loss, double regularization)
        : SupportRival(features, budget, std::move(kernel)), merged_(merged), map_(std::move(projections)),
          loss_(std::move(loss)), regularization_(regularization), stride_(2 * map_.width()), phi_(stride_),
          v_(stride_), slopes_(1), row_(features) {
        if (merged < 1 || merged > budget) throw std::invalid_argument("merged is not in 1..budget");
    }

    void describe(Description& d) override {
        SupportRival::describe(d);
        d.add(map_.field("fourier_weights", v_.data(), outputs_));
        d.scratch(map_, phi_, v_, slopes_, row_);
    }

  private:
    void reset() override {
        SupportRival::reset();
        v_ = Buffer(outputs_ * stride_);
        slopes_ = Buffer(outputs_);
    }
    void score(const double* x, double* f) override {
        SupportRival::score(x, f);
        map_.evaluate(x, gamma, phi_.data());
        for (std::size_t o = 0; o < outputs_; ++o) f[o] += dot(v_.data() + o * stride_, phi_.data(), stride_);
    }
    void update(const double* x, const double* y, double weight, const double* f) override {
        bool active = false;
        for (std::size_t o = 0; o < outputs_; ++o) {
            slopes_[o] = weight * loss_->slope(y[o], f[o]);
            active = active || slopes_[o] != 0;
        }
        const double decay = (rows - 1) / rows;
        supports_.scale(decay);
        for (std::size_t i = 0; i < outputs_ * stride_; ++i) v_[i] *= decay;
        if (!active) return;
        if (supports_.full())
            for (std::size_t n = 0; n < merged_; ++n) move(least());
        const std::size_t at = supports_.add(x, gamma);
        for (std::size_t o = 0; o < outputs_; ++o) supports_.alpha(o)[at] = -slopes_[o] / (regularization_ * rows);
    }
    // The first of the vectors of least weight.
    std::size_t least() const {
        std::size_t best = 0;
        double lowest = supports_.weight(0);
        for (std::size_t i = 1; i < supports_.size(); ++i) {
            const double w = supports_.weight(i);
            if (w < lowest) {
                lowest = w;
                best = i;
            }
        }
        return best;
    }
    // v += w_i z(x_i), and vector i is deleted.
    void move(std::size_t i) {
        supports_.get(i, row_.data());
        map_.evaluate(row_.data(), gamma, phi_.data());
        for (std::size_t o = 0; o < outputs_; ++o)
            add_scaled(supports_.alpha(o)[i], phi_.data(), v_.data() + o * stride_, stride_);
        supports_.remove(i);
    }

    std::size_t merged_;
    FourierFeatures map_;
    std::shared_ptr<const Loss> loss_;
    double regularization_;
    std::size_t stride_;  // between outputs of v
    Buffer phi_, v_, slopes_, row_;
};

NOLANA_BINDING(dual_sgd) {
    nb::class_<DualSGD, Rival>(m, "DualSGD")
        .def(
            "__init__",
            [](DualSGD* self, std::size_t features, std::size_t budget, std::size_t merged, const Matrix& projections,
               std::shared_ptr<const Kernel> kernel, std::shared_ptr<const Loss> loss, double regularization) {
                new (self) DualSGD(features, budget, merged, panels_of(projections, features), std::move(kernel),
                                   std::move(loss), regularization);
            },
            "features"_a, "budget"_a, "merged"_a, "projections"_a, "kernel"_a, "loss"_a, "regularization"_a);
}

}  // namespace nolana
