// Bounded online gradient descent (Zhao, Wang, Wu, Jin, Hoi 2012), with a uniformly drawn victim.
//     every step alpha *= 1 - rate decay; if any slope is nonzero: when full (B), drop a random term and scale the
//     others by B/(B-1); add (x, -rate slope weight); if it was full, alpha *= min(1, rate cap / max|alpha|)
// Several outputs: the loss of each one, on one support set; the last factor is each output's own.
#include "bind/bind.hpp"
#include "base/draw.hpp"
#include "rivals/support_rival.hpp"

namespace nolana {

class BOGD final : public SupportRival {
  public:
    BOGD(std::size_t features, std::size_t budget, std::shared_ptr<const Kernel> kernel,
         std::shared_ptr<const Loss> loss, double rate, double decay, double cap, std::uint64_t seed)
        : SupportRival(features, budget, std::move(kernel)), slopes_(std::move(loss)), rate_(rate), decay_(decay),
          cap_(cap), seed_(seed) {}

    void describe(Description& d) override {
        SupportRival::describe(d);
        d.scratch(slopes_);
    }

  private:
    void reset() override {
        SupportRival::reset();
        slopes_.clear(outputs_);
    }
    void update(const double* x, const double* y, double weight, const double* f) override {
        supports_.scale(1 - rate_ * decay_);
        if (!slopes_.evaluate(y, f, weight)) return;
        const bool full = supports_.full();
        if (full) drop();
        add(x, -rate_, slopes_.data());
        if (full) shorten();
    }
    void drop() {
        const std::size_t n = supports_.size();
        supports_.remove(draw_below(seed_, static_cast<std::uint64_t>(rows), n));
        if (n > 1) supports_.scale(static_cast<double>(n) / static_cast<double>(n - 1));
    }
    void shorten() {
        const std::size_t n = supports_.size();
        for (std::size_t o = 0; o < outputs_; ++o) {
            double* alpha = supports_.alpha(o);
            double largest = 0;
            for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(alpha[i]));
            if (!(largest > rate_ * cap_)) continue;
            const double factor = rate_ * cap_ / largest;
            for (std::size_t i = 0; i < n; ++i) alpha[i] *= factor;
        }
    }

    Slopes slopes_;
    double rate_, decay_, cap_;
    std::uint64_t seed_;
};

NOLANA_BINDING(bogd) {
    nb::class_<BOGD, Rival>(m, "BOGD")
        .def(nb::init<std::size_t, std::size_t, std::shared_ptr<const Kernel>, std::shared_ptr<const Loss>, double, double,
                      double, std::uint64_t>(),
             "features"_a, "budget"_a, "kernel"_a, "loss"_a, "rate"_a, "decay"_a, "cap"_a, "seed"_a);
}

}  // namespace nolana
