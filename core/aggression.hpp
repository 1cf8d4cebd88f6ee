// The step that Passive-Aggressive learning takes for a row (Crammer et al. 2006), in any feature space.
//     demand: how much of a loss l there is, and the direction s (one number for each output) that lowers it
//         margin   l = 1 - y f, s = y;   several classes: l = 1 - f_y + f_r, s = e_y - e_r, r the best wrong one
//         band     l = |y - f| - epsilon, s = sign(y - f)
//     step:   tau = l/n (PA), min(C, l/n) (PA-I), l/(n + 1/(2C)) (PA-II), with n = |s|^2 |x|^2
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

// What a row asks for: the loss, and the direction that lowers it, into `direction` (c numbers, zero before).
class Demand {
  public:
    virtual ~Demand() = default;
    virtual double of(const double* y, const double* f, std::size_t outputs, double* direction) const = 0;
};
class Margin final : public Demand {
    double of(const double* y, const double* f, std::size_t outputs, double* direction) const override {
        if (outputs == 1) {
            direction[0] = y[0];
            return 1 - y[0] * f[0];
        }
        const std::size_t own = own_class(y, outputs), other = runner_up(f, own, outputs);
        direction[own] = 1;
        direction[other] = -1;
        return 1 - f[own] + f[other];
    }
};
class Band final : public Demand {
  public:
    explicit Band(double epsilon) : epsilon_(epsilon) {}
    double of(const double* y, const double* f, std::size_t, double* direction) const override {
        direction[0] = y[0] > f[0] ? 1 : -1;
        return std::fabs(y[0] - f[0]) - epsilon_;
    }

  private:
    double epsilon_;
};

// tau s of a row, one number for each output.
class Aggression {
  public:
    Aggression(std::shared_ptr<const Demand> demand, std::shared_ptr<const Aggressiveness> how)
        : demand_(std::move(demand)), how_(std::move(how)), step_(1) {}

    void clear(std::size_t outputs) { step_ = Buffer(outputs); }
    // Whether the row, of squared length `norm`, asks for anything.
    bool evaluate(const double* y, const double* f, double norm) {
        if (!(norm > 0)) return false;
        step_.clear();
        const double loss = demand_->of(y, f, step_.size(), step_.data());
        if (!(loss > 0)) return false;
        double length = 0;
        for (std::size_t o = 0; o < step_.size(); ++o) length += step_[o] * step_[o];
        const double tau = how_->step(loss, length * norm);
        for (std::size_t o = 0; o < step_.size(); ++o) step_[o] *= tau;
        return true;
    }
    const double* data() const { return step_.data(); }
    std::size_t bytes() const { return step_.bytes(); }

  private:
    std::shared_ptr<const Demand> demand_;
    std::shared_ptr<const Aggressiveness> how_;
    Buffer step_;
};

}  // namespace nolana
