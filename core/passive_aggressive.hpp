// Passive-Aggressive, linear (Crammer et al. 2006): w moves just as far as the row's margin asks.
//     w_o += tau s_o x for every output o, tau s as in aggression.hpp; a zero row changes nothing
#pragma once

#include "aggression.hpp"

namespace nolana {

class PassiveAggressive final : public Rival {
  public:
    PassiveAggressive(std::size_t features, std::shared_ptr<const Demand> demand,
                      std::shared_ptr<const Aggressiveness> how)
        : Rival(features), aggression_(std::move(demand), std::move(how)), w_(features) {}

    std::vector<Field> fields() override {
        return {Field::of("weights", w_.data(), outputs_, features_, features_)};
    }
    std::size_t bytes() const override { return sizeof(*this) + w_.bytes() + aggression_.bytes(); }

  private:
    void reset() override {
        w_ = Buffer(outputs_ * features_);
        aggression_.clear(outputs_);
    }
    void score(const double* x, double* f) override {
        for (std::size_t o = 0; o < outputs_; ++o) {
            double sum = 0;
            for (std::size_t j = 0; j < features_; ++j) sum = fma(w_[o * features_ + j], x[j], sum);
            f[o] = sum;
        }
    }
    void update(const double* x, const double* y, double, const double* f) override {
        if (!aggression_.evaluate(y, f, sums_over_features::squared_norm(x, features_))) return;
        for (std::size_t o = 0; o < outputs_; ++o) {
            const double step = aggression_.data()[o];
            if (step == 0) continue;
            for (std::size_t j = 0; j < features_; ++j)
                w_[o * features_ + j] = fma(step, x[j], w_[o * features_ + j]);
        }
    }

    Aggression aggression_;
    Buffer w_;
};

}  // namespace nolana
