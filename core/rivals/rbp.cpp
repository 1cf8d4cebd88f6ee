// Randomized Budget Perceptron (Cavallanti, Cesa-Bianchi, Gentile 2007).
//     on a mistake: if full, delete a uniformly random one of the old support vectors; add (x, direction)
#include "bind/bind.hpp"
#include "base/draw.hpp"
#include "rivals/perceptron.hpp"

namespace nolana {

class RBP final : public Perceptron {
  public:
    RBP(std::size_t features, std::size_t budget, std::shared_ptr<const Kernel> kernel, std::uint64_t seed)
        : Perceptron(features, budget, std::move(kernel)), seed_(seed) {}

  private:
    void mistake(const double* x) override {
        if (supports_.full())
            supports_.remove(draw_below(seed_, static_cast<std::uint64_t>(rows), supports_.size()));
        add(x, 1, direction_.data());
    }

    std::uint64_t seed_;
};

NOLANA_BINDING(rbp) {
    nb::class_<RBP, Rival>(m, "RBP")
        .def(nb::init<std::size_t, std::size_t, std::shared_ptr<const Kernel>, std::uint64_t>(), "features"_a, "budget"_a,
             "kernel"_a, "seed"_a);
}

}  // namespace nolana
