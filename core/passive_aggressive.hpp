// Passive-Aggressive, linear (Crammer et al. 2006): w moves just as far as the row's margin asks.
//     tau = l/|x|^2 (PA), min(C, l/|x|^2) (PA-I), l/(|x|^2 + 1/(2C)) (PA-II);   w += tau y x
// Several classes: s the best wrong one, l = max(0, 1 - f_y + f_s), |x|^2 becomes 2|x|^2, w_y += tau x, w_s -= tau x.
// Regression: l = max(0, |y-f| - epsilon), w += sign(y-f) tau x.
#pragma once

#include "rival.hpp"

namespace nolana {

// How far to go for a loss l over a squared length n.
class Aggressiveness {
  public:
    virtual ~Aggressiveness() = default;
    virtual double step(double loss, double norm) const = 0;
};
class Unbounded final : public Aggressiveness {  // PA
    double step(double loss, double norm) const override { return loss / norm; }
};
class Capped final : public Aggressiveness {  // PA-I
  public:
    explicit Capped(double c) : c_(c) {}
    double step(double loss, double norm) const override { return std::min(c_, loss / norm); }

  private:
    double c_;
};
class Softened final : public Aggressiveness {  // PA-II
  public:
    explicit Softened(double c) : c_(c) {}
    double step(double loss, double norm) const override { return loss / (norm + 1 / (2 * c_)); }

  private:
    double c_;
};

class PassiveAggressive final : public Rival {
  public:
    PassiveAggressive(std::size_t features, std::shared_ptr<const Aggressiveness> how, double epsilon, bool regression)
        : Rival(features), how_(std::move(how)), epsilon_(epsilon), regression_(regression), w_(features) {}

    std::vector<Field> fields() override {
        return {Field::of("weights", w_.data(), outputs_, features_, features_)};
    }
    std::size_t bytes() const override { return sizeof(*this) + w_.bytes(); }

  private:
    void reset() override { w_ = Buffer(outputs_ * features_); }
    void score(const double* x, double* f) override {
        for (std::size_t o = 0; o < outputs_; ++o) {
            double sum = 0;
            for (std::size_t j = 0; j < features_; ++j) sum = fma(w_[o * features_ + j], x[j], sum);
            f[o] = sum;
        }
    }
    void update(const double* x, const double* y, double, const double* f) override {
        const double norm = sums_over_features::squared_norm(x, features_);
        if (norm == 0) return;
        if (regression_) {
            const double loss = std::fabs(y[0] - f[0]) - epsilon_;
            if (loss > 0) add(0, (y[0] > f[0] ? 1 : -1) * how_->step(loss, norm), x);
        } else if (outputs_ == 1) {
            const double loss = 1 - y[0] * f[0];
            if (loss > 0) add(0, y[0] * how_->step(loss, norm), x);
        } else {
            const std::size_t own = label(y), other = runner_up(f, own);
            const double loss = 1 - f[own] + f[other];
            if (!(loss > 0)) return;
            const double tau = how_->step(loss, 2 * norm);
            add(own, tau, x);
            add(other, -tau, x);
        }
    }
    void add(std::size_t output, double scale, const double* x) {
        for (std::size_t j = 0; j < features_; ++j)
            w_[output * features_ + j] = fma(scale, x[j], w_[output * features_ + j]);
    }

    std::shared_ptr<const Aggressiveness> how_;
    double epsilon_;
    bool regression_;
    Buffer w_;
};

}  // namespace nolana
