// Projectron and Projectron++ (Orabona, Keshet, Caputo 2008): perceptrons that add a row only if the support set
// cannot express it. k_x = k(x, x_i) over the support set; on a mistake (y f <= 0):
//     D = K^-1 k_x,   delta2 = k(x, x) - k_x.D
//     if delta2 <= eta^2 or the set is full:   alpha += y D
//     else add x with y, and K^-1 = [K^-1 0; 0 0] + [D; -1][D; -1]'/delta2
// Projectron++ learns from margin errors as well, 0 < l < 1 with l = 1 - y f (the form of 2008):
//     p = k_x.D,   tau = min(l/p, 1),   U = sqrt((B+1)/ln(B+1))/4,   beta = tau (2 l - tau p - 2 U sqrt(delta2))
//     if beta >= 0:   alpha += tau y D
// Several classes: the update goes to e_y - e_s, s the best wrong one, and (f_y - f_s)/2 takes the place of y f.
// A row counts as inside the span when delta2 is below 1e-10 k(x, x).
#include "bind/bind.hpp"
#include "rivals/support_rival.hpp"

namespace nolana {

class Projectron : public SupportRival {
  public:
    Projectron(std::size_t features, std::size_t budget, std::shared_ptr<const Kernel> kernel, double eta)
        : SupportRival(features, budget, std::move(kernel)), stride_(padded(budget, panel_lanes)),
          inverse_(budget * stride_), projected_(stride_), eta2_(eta * eta) {}

    // State: that of the support set and inverse (n, n) = K^-1.
    void describe(Description& d) final {
        SupportRival::describe(d);
        const Side n("supports", supports_.size(), supports_.capacity());
        d.matrix("inverse", inverse_, n, n, stride_);
        d.scratch(projected_);
    }

  protected:
    // The outputs an update goes to: +1 for `own` and -1 for `other`, or y for the only one.
    struct Direction {
        std::size_t own, other;
        double sign;
    };
    // Right, though by less than 1: nothing to learn for the Projectron.
    virtual void margin_error(const double* x, Direction, double loss) { (void)x, (void)loss; }

    // D = K^-1 k_x; returns k_x.D.
    double project() {
        const std::size_t n = supports_.size(), width = padded(n, panel_lanes);
        for (std::size_t i = 0; i < n; ++i)
            projected_[i] = dot(inverse_.data() + i * stride_, supports_.values(), width);
        return dot(projected_.data(), supports_.values(), width);
    }
    // alpha += scale D in the direction.
    void spread(Direction to, double scale) {
        const std::size_t width = padded(supports_.size(), panel_lanes);
        add_scaled(to.sign * scale, projected_.data(), supports_.alpha(to.own), width);
        if (outputs_ > 1) add_scaled(-scale, projected_.data(), supports_.alpha(to.other), width);
    }

  private:
    static constexpr double rounding = 1e-10;  // of k(x, x): a delta2 below it is rounding

    void reset() final {
        SupportRival::reset();
        inverse_.clear();
        projected_.clear();
    }
    void update(const double* x, const double* y, double, const double* f) final {
        Direction to{0, 0, y[0]};
        double margin = y[0] * f[0];
        if (outputs_ > 1) {
            const std::size_t own = own_class(y, outputs_);
            to = {own, runner_up(f, own, outputs_), 1};
            margin = (f[to.own] - f[to.other]) / 2;
        }
        if (margin <= 0)
            mistake(x, to);
        else if (margin < 1)
            margin_error(x, to, 1 - margin);
    }
    void mistake(const double* x, Direction to) {
        const double self = supports_.self(x, gamma), delta2 = self - project();
        if (supports_.full() || delta2 <= std::max(eta2_, rounding * self)) return spread(to, 1);
        const std::size_t n = supports_.add(x, gamma);
        supports_.alpha(to.own)[n] = to.sign;
        if (outputs_ > 1) supports_.alpha(to.other)[n] = -1;
        projected_[n] = -1;
        for (std::size_t i = 0; i <= n; ++i)
            for (std::size_t j = 0; j <= n; ++j) inverse_[i * stride_ + j] += projected_[i] * projected_[j] / delta2;
    }

    std::size_t stride_;
    Buffer inverse_, projected_;  // rows `stride_` apart, zero beyond the support set
    double eta2_;
};

class ProjectronPlusPlus final : public Projectron {
  public:
    ProjectronPlusPlus(std::size_t features, std::size_t budget, std::shared_ptr<const Kernel> kernel, double eta)
        : Projectron(features, budget, std::move(kernel), eta),
          u_(std::sqrt((budget + 1.0) / std::log(budget + 1.0)) / 4) {}

  private:
    void margin_error(const double* x, Direction to, double loss) override {
        const double p = project();
        if (!(p > 0)) return;
        const double delta2 = std::max(0.0, supports_.self(x, gamma) - p), tau = std::min(loss / p, 1.0);
        const double beta = tau * (2 * loss - tau * p - 2 * u_ * std::sqrt(delta2));
        if (beta >= 0) spread(to, tau);
    }

    double u_;
};

template <class Kind> static void bind_kind_of_projectron(nb::module_& m, const char* name) {
    nb::class_<Kind, Rival>(m, name).def(nb::init<std::size_t, std::size_t, std::shared_ptr<const Kernel>, double>(),
                                         "features"_a, "budget"_a, "kernel"_a, "eta"_a);
}

NOLANA_BINDING(projectron) {
    bind_kind_of_projectron<Projectron>(m, "Projectron");
    bind_kind_of_projectron<ProjectronPlusPlus>(m, "ProjectronPlusPlus");
}

}  // namespace nolana
