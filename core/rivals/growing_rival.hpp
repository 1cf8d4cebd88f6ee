// A rival on a support set without a bound: `budget` is the room at the start, and doubles when it is used up.
#pragma once

#include "rivals/support_rival.hpp"

namespace nolana {

class GrowingRival : public SupportRival {
  public:
    GrowingRival(std::size_t features, std::size_t budget, std::shared_ptr<const Kernel> kernel)
        : SupportRival(features, budget, kernel), budget_(budget), kernel_(std::move(kernel)) {}

    void resize(const Sizes& sizes) override {
        Rival::resize(sizes);
        while (supports_.capacity() < sizes.at("supports")) grow();
        supports_.resize(sizes.at("supports"));
    }

  protected:
    std::size_t most_supports() const override { return Side::unlimited; }
    void reset() override {
        supports_ = Supports(budget_, features_, kernel_);
        SupportRival::reset();
    }
    // SupportRival::add, with more room if there is none left.
    void append(const double* x, double scale, const double* coefficients) {
        if (supports_.full()) grow();
        add(x, scale, coefficients);
    }

  private:
    void grow() {
        Supports wider(2 * supports_.capacity(), features_, kernel_);
        wider.clear(outputs_);
        wider.resize(supports_.size());
        Description from, to;
        supports_.describe(from, Side::unlimited);
        wider.describe(to, Side::unlimited);
        for (std::size_t i = 0; i < from.fields.size(); ++i) {
            Buffer copy(from.fields[i].count());
            from.fields[i].get(copy.data());
            to.fields[i].set(copy.data());
        }
        supports_ = std::move(wider);
    }

    std::size_t budget_;
    std::shared_ptr<const Kernel> kernel_;
};

}  // namespace nolana
