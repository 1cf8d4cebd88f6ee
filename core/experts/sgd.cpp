// Gradient steps: w <- (1 - eta lambda) w - eta loss'(y, f) P phi(x), eta = rate t^-power.
// On a landmark map, P = (E + delta I)^-1, it is the gradient step in the weights of the Nystroem map, written in
// alpha; on Fourier features P is the identity. For regression a residual is clipped at `clip` standard
// deviations of the noise: Huber's loss.
#include <cmath>

#include "bind/bind.hpp"
#include "experts/head.hpp"

namespace nolana {

class SGD final : public DenseHead {
  public:
    SGD(std::shared_ptr<const Loss> loss, double rate, double power, double decay, double clip)
        : DenseHead(std::move(loss)), rate_(rate), power_(power), decay_(decay), clip_(loss_->linear() ? clip : infinity) {}

    void learn(std::size_t r, const double* y, const double* f, double weight, double step, const Noise& noise) override {
        const double limit = clip_ < infinity ? clip_ * std::sqrt(noise.variance) : infinity;
        const std::size_t width = map_->row(r).width();
        const double eta = power_ == 0 ? rate_ : rate_ * std::pow(step, -power_);
        for (std::size_t o = 0; o < outputs_; ++o) {
            double* w = weights(o);
            if (decay_ > 0) add_scaled(-std::min(1.0, eta * decay_), w, w, width);
            const double target = limit < infinity ? f[o] + std::min(limit, std::max(-limit, y[o] - f[o])) : y[o];
            const double slope = loss_->slope(target, f[o]);
            if (slope != 0) add_scaled(-eta * weight * slope, map_->prior_product(r), w, width);
        }
    }

  private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    double rate_, power_, decay_, clip_;
};

NOLANA_BINDING(sgd) {
    nb::class_<SGD, Head>(m, "SGD")
        .def(nb::init<std::shared_ptr<const Loss>, double, double, double, double>(), "loss"_a, "rate"_a, "power"_a,
             "decay"_a, "clip"_a = std::numeric_limits<double>::infinity());
}

}  // namespace nolana
