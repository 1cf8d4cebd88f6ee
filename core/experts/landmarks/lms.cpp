// Normalised least mean squares: w += min(1, rate weight) (y - f) P phi / (phi.P phi + epsilon), for the outputs that the
// loss asks for. For regression a residual is clipped at 3 sqrt(noise + 0.1), on a skewed side later.
#include <cmath>

#include "bind/bind.hpp"
#include "experts/head.hpp"

namespace nolana {

class LMS final : public DenseHead {
  public:
    LMS(std::shared_ptr<const Loss> loss, double rate, double epsilon)
        : DenseHead(std::move(loss)), rate_(rate), epsilon_(epsilon) {}

    void learn(std::size_t r, const double* y, const double* f, double weight, double, const Noise& noise) override {
        const double limit =
            loss_->linear() ? clip * std::sqrt(noise.variance + variance) : std::numeric_limits<double>::infinity();
        const double* direction = nullptr;
        double gain = 0;
        for (std::size_t o = 0; o < outputs_; ++o) {
            if (!loss_->active(y[o], f[o])) continue;
            if (!direction) {
                direction = map_->prior_product(r);
                const Features at = map_->row(r);
                gain = std::min(1.0, rate_ * weight) / (dot(at.values(), direction, at.width()) + epsilon_);
            }
            add_scaled(gain * noise.clip(y[o] - f[o], limit), direction, weights(o), map_->row(r).width());
        }
    }

  private:
    static constexpr double clip = 3, variance = 0.1;  // of a prediction, in units of standardised targets
    double rate_, epsilon_;
};

NOLANA_BINDING(lms) {
    nb::class_<LMS, Head>(m, "LMS")
        .def(nb::init<std::shared_ptr<const Loss>, double, double>(), "loss"_a, "rate"_a, "epsilon"_a);
}

}  // namespace nolana
