// Passive-Aggressive learning (Crammer et al. 2006): the model moves just as far as the row's margin asks.
//     demand: how much of a loss l there is, and the direction s (one number for each output) that lowers it
//         margin   l = 1 - y f, s = y;   several classes: l = 1 - f_y + f_r, s = e_y - e_r, r the best wrong one
//         band     l = |y - f| - epsilon, s = sign(y - f)
//     step:   tau = l/n (PA), min(C, l/n) (PA-I), l/(n + 1/(2C)) (PA-II), with n = |s|^2 |x|^2
//     linear: w_o += tau s_o x for every output o; a zero row changes nothing
//     in a kernel's space: the row is added to f = sum_i alpha_i k(x_i, .) with tau s, k(x, x) for |x|^2; no budget
#include "bind/bind.hpp"
#include "rivals/growing_rival.hpp"

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

class PassiveAggressive final : public Rival {
  public:
    PassiveAggressive(std::size_t features, std::shared_ptr<const Demand> demand,
                      std::shared_ptr<const Aggressiveness> how)
        : Rival(features), aggression_(std::move(demand), std::move(how)), w_(features) {}

    void describe(Description& d) override {
        Rival::describe(d);
        d.matrix("weights", w_, Side::outputs(outputs_), features_, features_);
        d.scratch(aggression_);
    }

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

class KernelPassiveAggressive final : public GrowingRival {
  public:
    KernelPassiveAggressive(std::size_t features, std::size_t budget, std::shared_ptr<const Kernel> kernel,
                            std::shared_ptr<const Demand> demand, std::shared_ptr<const Aggressiveness> how)
        : GrowingRival(features, budget, std::move(kernel)), aggression_(std::move(demand), std::move(how)) {}

    void describe(Description& d) override {
        GrowingRival::describe(d);
        d.scratch(aggression_);
    }

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

NOLANA_BINDING(passive_aggressive) {
    nb::class_<Aggressiveness>(m, "Aggressiveness");
    nb::class_<Unbounded, Aggressiveness>(m, "Unbounded").def(nb::init<>());
    nb::class_<Capped, Aggressiveness>(m, "Capped").def(nb::init<double>(), "c"_a);
    nb::class_<Softened, Aggressiveness>(m, "Softened").def(nb::init<double>(), "c"_a);
    nb::class_<Demand>(m, "Demand");
    nb::class_<Margin, Demand>(m, "Margin").def(nb::init<>());
    nb::class_<Band, Demand>(m, "Band").def(nb::init<double>(), "epsilon"_a);
    nb::class_<PassiveAggressive, Rival>(m, "PassiveAggressive")
        .def(nb::init<std::size_t, std::shared_ptr<const Demand>, std::shared_ptr<const Aggressiveness>>(), "features"_a,
             "demand"_a, "how"_a);
    nb::class_<KernelPassiveAggressive, Rival>(m, "KernelPassiveAggressive")
        .def(nb::init<std::size_t, std::size_t, std::shared_ptr<const Kernel>, std::shared_ptr<const Demand>,
                      std::shared_ptr<const Aggressiveness>>(),
             "features"_a, "budget"_a, "kernel"_a, "demand"_a, "how"_a);
}

}  // namespace nolana
