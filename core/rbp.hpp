// Randomized Budget Perceptron (Cavallanti, Cesa-Bianchi, Gentile 2007).
//     on a mistake: if full, delete a uniformly random one of the old support vectors; add (x, direction)
#pragma once

#include "draw.hpp"
#include "perceptron.hpp"

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

}  // namespace nolana
