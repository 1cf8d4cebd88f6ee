// Kernel online gradient descent without a budget, and NORMA (Kivinen et al. 2004): the unbounded method.
//     eta_t = rate t^-power;   alpha *= 1 - eta_t decay;   if any slope is nonzero, add (x, -eta_t slope weight)
// decay > 0 is NORMA's; it drops the oldest terms once they are below 1e-8 of the largest. Several outputs: the loss of
// each one, on one support set.
#include "bind/bind.hpp"
#include "rivals/growing_rival.hpp"

namespace nolana {

class KernelOGD final : public GrowingRival {
  public:
    KernelOGD(std::size_t features, std::size_t budget, std::shared_ptr<const Kernel> kernel,
              std::shared_ptr<const Loss> loss, double rate, double power, double decay)
        : GrowingRival(features, budget, std::move(kernel)), slopes_(std::move(loss)), rate_(rate), power_(power),
          decay_(decay) {}

    void describe(Description& d) override {
        GrowingRival::describe(d);
        d.scratch(slopes_);
    }

  private:
    void reset() override {
        GrowingRival::reset();
        slopes_.clear(outputs_);
    }
    void update(const double* x, const double* y, double weight, const double* f) override {
        const double eta = rate_ * std::pow(rows, -power_);
        if (decay_ > 0) supports_.scale(1 - eta * decay_);
        if (!slopes_.evaluate(y, f, weight)) return;
        append(x, -eta, slopes_.data());
        if (decay_ > 0) forget();
    }
    // The decay keeps all ratios, so only a new term can make an old one negligible.
    void forget() {
        double largest = 0;
        for (std::size_t i = 0; i < supports_.size(); ++i) largest = std::max(largest, supports_.weight(i));
        for (std::size_t i = supports_.oldest(); supports_.weight(i) < negligible * largest; i = supports_.oldest())
            supports_.remove(i);
    }

    static constexpr double negligible = 1e-8;
    Slopes slopes_;
    double rate_, power_, decay_;
};

NOLANA_BINDING(kernel_ogd) {
    nb::class_<KernelOGD, Rival>(m, "KernelOGD")
        .def(nb::init<std::size_t, std::size_t, std::shared_ptr<const Kernel>, std::shared_ptr<const Loss>, double, double,
                      double>(),
             "features"_a, "budget"_a, "kernel"_a, "loss"_a, "rate"_a, "power"_a, "decay"_a);
}

}  // namespace nolana
