// Passive-Aggressive in a kernel's space (Crammer et al. 2006): f = sum_i alpha_i k(x_i, .), without a budget.
//     a row that asks for a step is added with tau s, tau s as in aggression.hpp with k(x, x) for |x|^2
#pragma once

#include "aggression.hpp"
#include "growing_rival.hpp"

namespace nolana {

class KernelPassiveAggressive final : public GrowingRival {
  public:
    KernelPassiveAggressive(std::size_t features, std::size_t budget, std::shared_ptr<const Kernel> kernel,
                            std::shared_ptr<const Demand> demand, std::shared_ptr<const Aggressiveness> how)
        : GrowingRival(features, budget, std::move(kernel)), aggression_(std::move(demand), std::move(how)) {}

    std::size_t bytes() const override { return GrowingRival::bytes() + aggression_.bytes(); }

  private:
    void reset() override {
        GrowingRival::reset();
        aggression_.clear(outputs_);
    }
    void update(const double* x, const double* y, double, const double* f) override {
        if (aggression_.evaluate(y, f, supports_.self(x, gamma))) append(x, 1, aggression_.data());
    }

    Aggression aggression_;
};

}  // namespace nolana
