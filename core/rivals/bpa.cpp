// BPA, Passive-Aggressive on a budget (Wang & Vucetic 2010): a row takes the place of the vector that is least missed.
// l = max(0, 1 - y f) > 0, tau = min(C, l/k(x, x)); below the budget x is added with tau y. At the budget, for every r,
// alpha_r phi(x_r) is projected on a span that holds phi(x), tau y is added to the coefficient of x, and the r of least
// Q_r = |w_r - w|^2/2 + C max(0, 1 - y f_r(x)) gives its place to x:
//     BPA-S (simple)     span {x}:     beta_r = alpha_r k(x_r, x)/k(x, x) + tau y
//     BPA-NN (nearest)   span {x, n}:  n the nearest neighbour of r, whose coefficient changes as well
// As phi(x) is in the span, f_r(x) = f(x) + tau y k(x, x) for every r, and |w_r - w|^2 = alpha_r^2 e_r + tau^2 k(x, x)
// with e_r what of phi(x_r) lies outside the span: the r of least alpha_r^2 e_r is the r of least Q_r.
// Several classes: the update goes to e_y - e_s, s the best wrong one, (f_y - f_s)/2 takes the place of y f.
#include <limits>

#include "bind/bind.hpp"
#include "rivals/support_rival.hpp"

namespace nolana {

class BPA : public SupportRival {
  public:
    BPA(std::size_t features, std::size_t budget, std::shared_ptr<const Kernel> kernel, double c)
        : SupportRival(features, budget, std::move(kernel)), row_(features), c_(c) {}

    void describe(Description& d) override {
        SupportRival::describe(d);
        d.scratch(row_);
    }

  protected:
    // Vector r loses its place to x, whose k(x, x) is `norm`; its coefficients become what the projection leaves on x.
    // Returns r.
    virtual std::size_t swap(const double* x, double norm) = 0;
    // The row just scored has taken this place.
    virtual void arrived(std::size_t place) { (void)place; }
    // |alpha_i|^2 over the outputs
    double squared_weight(std::size_t i) {
        double sum = 0;
        for (std::size_t o = 0; o < outputs_; ++o) sum += supports_.alpha(o)[i] * supports_.alpha(o)[i];
        return sum;
    }
    double self_of(std::size_t i) {
        supports_.get(i, row_.data());
        return supports_.self(row_.data(), gamma);
    }

    Buffer row_;

  private:
    void update(const double* x, const double* y, double, const double* f) final {
        const bool several = outputs_ > 1;
        const std::size_t own = several ? own_class(y, outputs_) : 0;
        const std::size_t other = several ? runner_up(f, own, outputs_) : 0;
        const double loss = 1 - (several ? (f[own] - f[other]) / 2 : y[0] * f[0]), norm = supports_.self(x, gamma);
        if (!(loss > 0 && norm > 0)) return;
        const double tau = std::min(c_, loss / norm);
        const std::size_t place = supports_.full() ? swap(x, norm) : supports_.add(x, gamma);
        supports_.alpha(own)[place] += several ? tau : tau * y[0];
        if (several) supports_.alpha(other)[place] -= tau;
        arrived(place);
    }

    double c_;
};

class BPASimple final : public BPA {
  public:
    using BPA::BPA;

  private:
    std::size_t swap(const double* x, double norm) override {
        const double* k = supports_.values();
        std::size_t r = 0;
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < supports_.size(); ++i) {
            const double cost = squared_weight(i) * (self_of(i) - k[i] * k[i] / norm);
            if (cost < least) {
                least = cost;
                r = i;
            }
        }
        for (std::size_t o = 0; o < outputs_; ++o) supports_.alpha(o)[r] *= k[r] / norm;
        supports_.replace(r, x);
        return r;
    }
};

class BPANearest final : public BPA {
  public:
    BPANearest(std::size_t features, std::size_t budget, std::shared_ptr<const Kernel> kernel, double c)
        : BPA(features, budget, std::move(kernel), c), nearest_(budget), gap_(budget), affinity_(budget) {}

    // State: that of the support set and, for each vector r, nearest: the place of its nearest neighbour n, -1 while
    // there is none; gap: |x_r - x_n|^2; affinity: k(x_r, x_n).
    void describe(Description& d) override {
        BPA::describe(d);
        const Side n("supports", supports_.size(), supports_.capacity());
        d.vector("nearest", nearest_, n);
        d.fields.back().whole = true;
        d.fields.back().low = -1;
        d.fields.back().below = "supports";
        d.vector("gap", gap_, n);
        d.vector("affinity", affinity_, n);
    }

  private:
    static constexpr double rounding = 1e-10;  // x and n are one direction if their determinant is below this part

    struct Projection {
        double on_x, on_n, outside;
    };

    void reset() override {
        BPA::reset();
        std::fill_n(nearest_.data(), nearest_.size(), -1.0);
    }
    std::size_t swap(const double* x, double norm) override {
        std::size_t r = 0;
        Projection best{0, 0, 0};
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < supports_.size(); ++i) {
            const Projection p = projection(i, norm);
            const double cost = squared_weight(i) * p.outside;
            if (cost < least) {
                least = cost;
                best = p;
                r = i;
            }
        }
        for (std::size_t o = 0; o < outputs_; ++o) {
            double* alpha = supports_.alpha(o);
            if (nearest_[r] >= 0) alpha[static_cast<std::size_t>(nearest_[r])] += alpha[r] * best.on_n;
            alpha[r] *= best.on_x;
        }
        supports_.replace(r, x);
        return r;
    }
    // phi(x_r)'s coefficients on phi(x) and phi(x_n), and what is left outside.
    Projection projection(std::size_t r, double norm) {
        const double* k = supports_.values();
        const double self = self_of(r), k_rx = k[r], k_rn = affinity_[r];
        if (nearest_[r] >= 0) {
            const auto n = static_cast<std::size_t>(nearest_[r]);
            const double k_nn = self_of(n), k_nx = k[n], determinant = norm * k_nn - k_nx * k_nx;
            if (determinant > rounding * norm * k_nn) {
                const double on_x = (k_rx * k_nn - k_rn * k_nx) / determinant;
                const double on_n = (k_rn * norm - k_rx * k_nx) / determinant;
                return {on_x, on_n, self - on_x * k_rx - on_n * k_rn};
            }
        }
        return {k_rx / norm, 0, self - k_rx / norm * k_rx};
    }
    void arrived(std::size_t place) override {
        const std::size_t n = supports_.size();
        nearest_[place] = static_cast<double>(place);  // as those whose neighbour was replaced: to be searched for
        for (std::size_t i = 0; i < n; ++i) {
            if (nearest_[i] == static_cast<double>(place))
                nearest_[i] = stale;
            else if (nearest_[i] < 0 || supports_.distances()[i] < gap_[i])
                take(i, place, supports_.distances()[i], supports_.values()[i]);
        }
        for (std::size_t i = 0; i < n; ++i)
            if (nearest_[i] == stale) search(i);
    }
    void search(std::size_t i) {
        supports_.get(i, row_.data());
        supports_.evaluate(row_.data(), gamma);
        nearest_[i] = gap_[i] = affinity_[i] = -1;
        const double* distances = supports_.distances();
        for (std::size_t n = 0; n < supports_.size(); ++n)
            if (n != i && (nearest_[i] < 0 || distances[n] < gap_[i])) take(i, n, distances[n], supports_.values()[n]);
    }
    void take(std::size_t i, std::size_t n, double distance, double value) {
        nearest_[i] = static_cast<double>(n);
        gap_[i] = distance;
        affinity_[i] = value;
    }

    static constexpr double stale = -2;  // within arrived() only
    Buffer nearest_, gap_, affinity_;
};

template <class Kind> static void bind_kind_of_bpa(nb::module_& m, const char* name) {
    nb::class_<Kind, Rival>(m, name).def(nb::init<std::size_t, std::size_t, std::shared_ptr<const Kernel>, double>(),
                                         "features"_a, "budget"_a, "kernel"_a, "c"_a);
}

NOLANA_BINDING(bpa) {
    bind_kind_of_bpa<BPASimple>(m, "BPASimple");
    bind_kind_of_bpa<BPANearest>(m, "BPANearest");
}

}  // namespace nolana
