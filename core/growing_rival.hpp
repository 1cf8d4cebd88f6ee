// A rival on a support set without a bound: `budget` is the room at the start, and doubles when it is used up.
#pragma once

#include "support_rival.hpp"

namespace nolana {

class GrowingRival : public SupportRival {
  public:
    GrowingRival(std::size_t features, std::size_t budget, std::shared_ptr<const Kernel> kernel)
        : SupportRival(features, budget, kernel), budget_(budget), kernel_(std::move(kernel)) {}

    void resize(std::size_t n) override {
        while (supports_.capacity() < n) grow();
        supports_.resize(n);
    }

  protected:
    void reset() override {
        supports_ = Supports(budget_, features_, kernel_);
        SupportRival::reset();
    }
    // SupportRival::add, with more room where there is none left.
    void append(const double* x, double scale, const double* coefficients) {
        if (supports_.full()) grow();
        add(x, scale, coefficients);
    }

  private:
    void grow() {
        Supports wider(2 * supports_.capacity(), features_, kernel_);
        wider.clear(outputs_);
        wider.resize(supports_.size());
        const std::vector<Field> from = supports_.fields(), to = wider.fields();
        for (std::size_t i = 0; i < from.size(); ++i) {
            std::size_t count = 1;
            for (const std::size_t side : from[i].shape) count *= side;
            Buffer copy(count);
            from[i].get(copy.data());
            to[i].set(copy.data());
        }
        supports_ = std::move(wider);
    }

    std::size_t budget_;
    std::shared_ptr<const Kernel> kernel_;
};

}  // namespace nolana
