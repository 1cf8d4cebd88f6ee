// Second-order steps: R, the covariance of the weights, starts at tau P. h = R phi, kappa = phi.h, and
//     w_o += pull_o h,   R -= g h h' / (1 + g kappa),   g = mean of the outputs' curvatures.
// For the squared loss this is a Kalman filter; the step of R is Sherman-Morrison's.
// When landmark q moves: R <- T R T' + tau (s + nu) v v', v = P'[:,q]; with nu = 0 tau P becomes tau P', and nu
// stops when R_qq has reached its prior. Forgetting, every 8 rows with l = lambda^8: R <- l R + (1 - l) tau P,
// w <- sqrt(l) w. For regression a residual is clipped at `clip` standard deviations, sqrt(n + kappa).
#include <cmath>

#include "bind/bind.hpp"
#include "experts/covariance.hpp"
#include "experts/head.hpp"

namespace nolana {

class Newton final : public DenseHead {
  public:
    Newton(std::shared_ptr<const Loss> loss, double noise, double prior, double move_noise, double forgetting, double clip)
        : DenseHead(std::move(loss)), noise_(noise), prior_(prior), move_noise_(move_noise),
          share_(std::pow(forgetting, forget_every)), clip_(loss_->linear() ? clip : infinity) {
        if (!loss_->curved()) throw std::invalid_argument("Newton steps need a loss with curvature");
    }

    void attached() override {
        DenseHead::attached();
        r_ = std::make_unique<Covariance>(map_->stride());
        column_ = Buffer(map_->stride());
        clear(0);
    }
    void clear(std::size_t outputs) override {
        DenseHead::clear(outputs);
        if (!r_) return;
        r_->clear();
        map_->add_prior(prior_, r_->matrix());
    }

    void start_group() override { r_->products().start_group(); }
    std::size_t rows_to_sweep() const override {
        return r_->waiting() == Covariance::room ? group : group - r_->waiting();
    }
    void learn(std::size_t r, const double* y, const double* f, double weight, double rows, const Noise& noise) override {
        bool asked = false;
        for (std::size_t o = 0; o < outputs_ && !asked; ++o) asked = loss_->active(y[o], f[o]);
        if (asked) step(r, y, f, weight, {noise_ * noise.variance, noise.above, noise.below});
        r_->products().count(asked);
        if (share_ < 1 && std::fmod(rows, forget_every) == 0) forget();
    }

    void grown(const Growth& growth) override {
        r_->products().invalidate();
        r_->reserve(1, growth.size);
        r_->add(growth.z, prior_ / growth.g, growth.z, growth.size);
    }
    void moved(const Move& move) override {
        DenseHead::moved(move);
        r_->products().invalidate();
        const std::size_t n = move.size, width = padded(n, panel_lanes), q = move.q;
        double* a = column_.data();
        for (std::size_t i = 0; i < n; ++i) a[i] = r_->element(i, q);
        for (std::size_t i = n; i < width; ++i) a[i] = 0;
        const double spread = prior_ * move.s + process_noise(move, a[q]);
        add_scaled(a[q] / 2, move.carry, a, width);
        r_->reserve(3, n);
        r_->add(move.carry, 1, a, n);
        r_->add(a, 1, move.carry, n);
        r_->add(move.column, spread, move.column, n);
    }

    void describe(Description& d) override {
        DenseHead::describe(d);
        d.scratch(column_);
        r_->describe(d, map_->side(), [this](std::size_t i) { return map_->place(i); });
    }
    void resize(const Sizes& sizes, const std::string& prefix) override {
        r_->resize(sizes.at(prefix + "waiting"));
    }

  private:
    void forget() {
        r_->blend(share_, (1 - share_) * prior_, *map_, map_->side().value);
        const std::size_t width = map_->stride();
        const double root = std::sqrt(share_);
        for (std::size_t o = 0; o < outputs_; ++o)
            for (std::size_t i = 0; i < width; ++i) weights(o)[i] *= root;
    }

    void step(std::size_t r, const double* y, const double* f, double weight, const Noise& noise) {
        const Features at = map_->row(r);
        const double* h = r_->respond(at);
        double kappa = dot(at.values(), h, at.width());
        const auto again = [&] {
            h = r_->respond(at);
            kappa = dot(at.values(), h, at.width());
        };
        if (!(kappa > 0)) {  // rounding ate the variance in this direction: lift it towards the prior
            lift(r, kappa, at.size);
            again();
            if (!(kappa > 0)) return;
        }
        if (kappa > most_variance * prior_ * at.self) {  // far beyond the prior: the kernel has outgrown it
            r_->scale(prior_ * at.self / kappa, at.size);
            again();
        }
        double curvature = 0;
        const double limit = clip_ < infinity ? clip_ * std::sqrt(noise.variance / weight + kappa) : infinity;
        for (std::size_t o = 0; o < outputs_; ++o) {
            if (!loss_->active(y[o], f[o])) continue;
            const double target = limit < infinity ? f[o] + noise.clip(y[o] - f[o], limit) : y[o];
            const Proximal prox = loss_->proximal(target, f[o], kappa, weight, noise.variance);
            add_scaled(prox.pull, h, weights(o), at.width());
            curvature += prox.curvature;
        }
        curvature /= static_cast<double>(outputs_);
        r_->reserve(1, at.size);
        r_->add(h, -curvature / (1 + curvature * kappa), h, at.size);
    }

    // tau nu, but never so much that R_qq passes its prior tau P'_qq: moves without end and without rows that
    // teach must not wind the covariance up. `variance` is R_qq before the move.
    double process_noise(const Move& move, double variance) const {
        const double p = move.column[move.q], stretch = 1 + move.carry[move.q];
        const double after = variance * stretch * stretch + prior_ * move.s * p * p;
        return std::min(prior_ * move_noise_, std::max(0.0, (prior_ * p - after) / (p * p)));
    }

    // R <- R + e tau P with e just large enough that phi.R phi is again a small positive part of the prior's.
    void lift(std::size_t r, double kappa, std::size_t n) {
        const double explained = map_->explained(r);
        if (!(explained > 0)) return;
        r_->settle(n);
        map_->add_prior((1e-9 * explained * prior_ - kappa) / (explained * prior_) * prior_, r_->matrix());
        r_->products().invalidate();
    }

    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr double forget_every = 8;   // rows
    static constexpr double most_variance = 4;  // times the prior's; process noise alone stays below 3

    double noise_, prior_, move_noise_, share_, clip_;
    std::unique_ptr<Covariance> r_;
    Buffer column_{0};
};

NOLANA_BINDING(newton) {
    nb::class_<Newton, Head>(m, "Newton")
        .def(nb::init<std::shared_ptr<const Loss>, double, double, double, double, double>(), "loss"_a, "noise"_a,
             "prior"_a, "move_noise"_a, "forgetting"_a = 1.0, "clip"_a = std::numeric_limits<double>::infinity());
}

}  // namespace nolana
