// The losses; adding one here and in nolana/engine/learner/losses.py is all there is to do.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "bind/bind.hpp"
#include "learner/loss.hpp"

namespace nolana {

class Squared final : public Loss {  // (y - f)^2
  public:
    double slope(double y, double f) const override { return 2 * (f - y); }
    Proximal proximal(double y, double f, double kappa, double weight, double noise) const override {
        return {(y - f) / (noise / weight + kappa), weight / noise};
    }
    bool active(double, double) const override { return true; }
    bool linear() const override { return true; }
};

class SquaredHinge final : public Loss {  // max(0, 1 - y f)^2
  public:
    double slope(double y, double f) const override { return y * f < 1 ? -2 * y * (1 - y * f) : 0; }
    Proximal proximal(double y, double f, double kappa, double weight, double noise) const override {
        return {y * (1 - y * f) / (noise / weight + kappa), weight / noise};
    }
};

class FirstOrder : public Loss {
  public:
    Proximal proximal(double, double, double, double, double) const final {
        throw std::logic_error("this loss has no curvature: it learns by gradient steps only");
    }
    bool curved() const final { return false; }
};

class Hinge final : public FirstOrder {  // max(0, 1 - y f)
  public:
    double slope(double y, double f) const override { return y * f < 1 ? -y : 0; }
};

class EpsilonInsensitive final : public FirstOrder {  // max(0, |y - f| - epsilon)
  public:
    explicit EpsilonInsensitive(double epsilon) : epsilon_(epsilon) {}
    double slope(double y, double f) const override { return y - f > epsilon_ ? -1 : f - y > epsilon_ ? 1 : 0; }

  private:
    double epsilon_;
};

class Logistic final : public Loss {  // log(1 + exp(-y f))
  public:
    double slope(double y, double f) const override { return -y * sigmoid(-y * f); }
    // Solves r = weight (yt - sigma(f + kappa r)), yt = (1 + y)/2: the root lies between 0 and its value
    // at r = 0, and Newton's step is taken only inside the bracket.
    Proximal proximal(double y, double f, double kappa, double weight, double) const override {
        const double target = y > 0 ? 1 : 0;
        const double start = weight * (target - sigmoid(f));
        double low = std::min(0.0, start), high = std::max(0.0, start), r = 0;
        for (int i = 0; i < 100; ++i) {
            const double s = sigmoid(f + kappa * r);
            const double excess = r - weight * (target - s);
            (excess > 0 ? high : low) = r;
            double next = r - excess / (1 + weight * kappa * s * (1 - s));
            if (!(next > low && next < high)) next = low + (high - low) / 2;
            if (next == r || std::fabs(next - r) <= 1e-15 * std::fabs(next)) break;
            r = next;
        }
        const double s = sigmoid(f + kappa * r);
        return {r, weight * s * (1 - s)};
    }
    bool active(double, double) const override { return true; }

  private:
    static double sigmoid(double z) {
        if (z >= 0) return 1 / (1 + std::exp(-z));
        const double e = std::exp(z);
        return e / (1 + e);
    }
};

NOLANA_BINDING(losses) {
    nb::class_<Hinge, Loss>(m, "Hinge").def(nb::init<>());
    nb::class_<SquaredHinge, Loss>(m, "SquaredHinge").def(nb::init<>());
    nb::class_<Logistic, Loss>(m, "Logistic").def(nb::init<>());
    nb::class_<Squared, Loss>(m, "Squared").def(nb::init<>());
    nb::class_<EpsilonInsensitive, Loss>(m, "EpsilonInsensitive").def(nb::init<double>(), "epsilon"_a);
}

}  // namespace nolana
