// BSGD (Wang, Crammer, Vucetic 2012): Pegasos steps, then the support set is held to its budget. At row t:
//     alpha *= 1 - 1/t;   if a slope l'(y, f) is not 0: add x with -weight l'(y, f)/(lambda t)
// Over the budget, i the vector of least |alpha_i| (the norm over the outputs):
//     remove    delete i
//     project   D = K^-1 k_i over the others, alpha_j += alpha_i D_j, delete i
//     merge     z = h x_i + (1-h) x_j for the j and h that lose least of alpha_i phi(x_i) + alpha_j phi(x_j)
// Merging wants the RBF kernel: k = k(x_i, x_j), k(x_i, z) = k^((1-h)^2) =: u, k(x_j, z) = k^(h^2) =: v,
// alpha_z = alpha_i u + alpha_j v; the loss, summed over the outputs, is
// |alpha_i|^2 + |alpha_j|^2 + 2 alpha_i.alpha_j k - |alpha_z|^2, and h is common to them.
#include "bind/bind.hpp"
#include "rivals/support_rival.hpp"

namespace nolana {

class BSGD : public SupportRival {
  public:
    BSGD(std::size_t features, std::size_t budget, std::shared_ptr<const Kernel> kernel,
         std::shared_ptr<const Loss> loss, double regularization)
        : SupportRival(features, budget + 1, std::move(kernel)), slopes_(1), budget_(budget), loss_(std::move(loss)),
          regularization_(regularization) {}

    void describe(Description& d) override {
        SupportRival::describe(d);
        d.scratch(slopes_);
    }

  protected:
    std::size_t most_supports() const final { return budget_; }
    // Drop one vector: i, the smallest, or replace i and another by one.
    virtual void shrink(std::size_t i) = 0;

    // alpha_i.alpha_j over the outputs
    double product(std::size_t i, std::size_t j) {
        double sum = 0;
        for (std::size_t o = 0; o < outputs_; ++o) sum += supports_.alpha(o)[i] * supports_.alpha(o)[j];
        return sum;
    }

    Buffer slopes_;  // one number for each output

  private:
    void reset() final {
        SupportRival::reset();
        slopes_ = Buffer(outputs_);
    }
    void update(const double* x, const double* y, double weight, const double* f) final {
        supports_.scale(1 - 1 / rows);
        bool violated = false;
        for (std::size_t o = 0; o < outputs_; ++o) {
            slopes_[o] = loss_->slope(y[o], f[o]);
            violated = violated || slopes_[o] != 0;
        }
        if (!violated) return;
        const std::size_t added = supports_.add(x, gamma);
        for (std::size_t o = 0; o < outputs_; ++o)
            supports_.alpha(o)[added] = -weight * slopes_[o] / (regularization_ * rows);
        if (supports_.size() > budget_) shrink(smallest());
    }
    std::size_t smallest() {
        std::size_t best = 0;
        double least = product(0, 0);
        for (std::size_t i = 1; i < supports_.size(); ++i)
            if (const double norm = product(i, i); norm < least) {
                best = i;
                least = norm;
            }
        return best;
    }

    std::size_t budget_;
    std::shared_ptr<const Loss> loss_;
    double regularization_;
};

class BSGDRemove final : public BSGD {
  public:
    using BSGD::BSGD;

  private:
    void shrink(std::size_t i) override { supports_.remove(i); }
};

class BSGDProject final : public BSGD {
  public:
    BSGDProject(std::size_t features, std::size_t budget, std::shared_ptr<const Kernel> kernel,
                std::shared_ptr<const Loss> loss, double regularization)
        : BSGD(features, budget, std::move(kernel), std::move(loss), regularization), row_(features),
          factor_(budget * budget), solution_(budget + 1) {}
    void describe(Description& d) override {
        BSGD::describe(d);
        d.scratch(row_, factor_, solution_);
    }

  private:
    static constexpr double ridge = 1e-6;  // of the largest k(x, x): keeps K solvable

    void shrink(std::size_t i) override {
        evaluate(i);
        std::copy_n(supports_.values(), supports_.size(), solution_.data());
        solution_[i] = solution_[supports_.size() - 1];
        for (std::size_t o = 0; o < outputs_; ++o) slopes_[o] = supports_.alpha(o)[i];
        supports_.remove(i);
        const std::size_t n = supports_.size();
        double largest = 0;
        for (std::size_t r = 0; r < n; ++r) {
            evaluate(r);
            std::copy_n(supports_.values(), r + 1, factor_.data() + r * n);
            largest = std::max(largest, factor_[r * n + r]);
        }
        if (!(largest > 0)) return;
        solve(n, ridge * largest);
        for (std::size_t o = 0; o < outputs_; ++o)
            for (std::size_t r = 0; r < n; ++r) supports_.alpha(o)[r] += slopes_[o] * solution_[r];
    }
    void evaluate(std::size_t i) {
        supports_.get(i, row_.data());
        supports_.evaluate(row_.data(), gamma);
    }
    // solution = (K + shift I)^-1 solution by Cholesky, K in the lower half of factor.
    void solve(std::size_t n, double shift) {
        for (std::size_t r = 0; r < n; ++r) {
            double* row = factor_.data() + r * n;
            for (std::size_t s = 0; s < r; ++s)
                row[s] = (row[s] - inner(row, factor_.data() + s * n, s)) / factor_[s * n + s];
            row[r] = std::sqrt(row[r] + shift - inner(row, row, r));
            solution_[r] = (solution_[r] - inner(row, solution_.data(), r)) / row[r];
        }
        for (std::size_t r = n; r-- > 0;) {
            solution_[r] /= factor_[r * n + r];
            for (std::size_t s = 0; s < r; ++s) solution_[s] -= factor_[r * n + s] * solution_[r];
        }
    }
    static double inner(const double* a, const double* b, std::size_t n) {
        const std::size_t whole = n / lanes * lanes;
        double sum = dot(a, b, whole);
        for (std::size_t j = whole; j < n; ++j) sum = fma(a[j], b[j], sum);
        return sum;
    }

    Buffer row_, factor_, solution_;
};

class BSGDMerge final : public BSGD {
  public:
    BSGDMerge(std::size_t features, std::size_t budget, std::shared_ptr<const Kernel> kernel,
              std::shared_ptr<const Loss> loss, double regularization)
        : BSGD(features, budget, std::move(kernel), std::move(loss), regularization), row_(features), z_(features) {}
    void describe(Description& d) override {
        BSGD::describe(d);
        d.scratch(row_, z_);
    }

  private:
    void shrink(std::size_t i) override {
        supports_.get(i, row_.data());
        supports_.evaluate(row_.data(), gamma);
        const double a = product(i, i);
        double least = 0, share = 0;
        std::size_t partner = i;
        for (std::size_t j = 0; j < supports_.size(); ++j) {
            if (j == i) continue;
            const double rate = gamma * supports_.distances()[j], b = product(j, j), c = product(i, j);
            const double h = best_share(rate, supports_.values()[j], a, b, c);
            const double loss = -a * std::expm1(-2 * rate * (1 - h) * (1 - h)) - b * std::expm1(-2 * rate * h * h) -
                                2 * c * supports_.values()[j] * std::expm1(2 * rate * h * (1 - h));
            if (partner == i || loss < least) {
                partner = j;
                least = loss;
                share = h;
            }
        }
        if (partner != i) merge(i, partner, share);
        supports_.remove(i);
    }
    void merge(std::size_t i, std::size_t j, double h) {
        const double rate = gamma * supports_.distances()[j];
        const double u = std::exp(-rate * (1 - h) * (1 - h)), v = std::exp(-rate * h * h);
        for (std::size_t o = 0; o < outputs_; ++o) {
            double* alpha = supports_.alpha(o);
            alpha[j] = alpha[i] * u + alpha[j] * v;
        }
        supports_.get(j, z_.data());
        for (std::size_t f = 0; f < features_; ++f) z_[f] = h * row_[f] + (1 - h) * z_[f];
        supports_.replace(j, z_.data());
    }

    // The h of greatest |alpha_z|; rate = -ln k, a = |alpha_i|^2 <= b = |alpha_j|^2, c their product.
    //
    // With r = u/v = k^(1-2h), d|alpha_z|^2/dh has the sign of q(h) = a (1-h) r^2 + c (1-2h) r - b h. As j is the
    // larger, z lies on its side: h in [0, 1/2] if q(0) >= 0, and else, the two pulling against each other, beyond
    // x_j but no further than the width of the kernel: h in [-1/sqrt(2 rate), 0]. Newton's steps, held inside.
    static double best_share(double rate, double k, double a, double b, double c) {
        const bool apart = a * k + c < 0;
        double low = apart && rate > 0 ? -1 / std::sqrt(2 * rate) : 0.0, high = apart ? 0.0 : 0.5, h = 0;
        for (int n = 0; n < 100; ++n) {
            const double r = n == 0 ? k : std::exp(-rate * (1 - 2 * h));
            const double q = a * (1 - h) * r * r + c * (1 - 2 * h) * r - b * h;
            if (q == 0) break;
            const double slope = a * r * r * (4 * rate * (1 - h) - 1) + 2 * c * r * (rate * (1 - 2 * h) - 1) - b;
            (q > 0 ? low : high) = h;
            double after = h - q / slope;
            if (!(after > low && after < high)) after = low + (high - low) / 2;
            if (std::fabs(after - h) <= 1e-15 * std::fabs(after)) break;
            h = after;
        }
        return h;
    }

    Buffer row_, z_;
};

template <class Kind> static void bind_kind(nb::module_& m, const char* name) {
    nb::class_<Kind, Rival>(m, name).def(
        nb::init<std::size_t, std::size_t, std::shared_ptr<const Kernel>, std::shared_ptr<const Loss>, double>(),
        "features"_a, "budget"_a, "kernel"_a, "loss"_a, "regularization"_a);
}

NOLANA_BINDING(bsgd) {
    bind_kind<BSGDRemove>(m, "BSGDRemove");
    bind_kind<BSGDProject>(m, "BSGDProject");
    bind_kind<BSGDMerge>(m, "BSGDMerge");
}

}  // namespace nolana
