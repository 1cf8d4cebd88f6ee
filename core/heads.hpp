// What is learned on top of the landmarks: f_o(x) = alpha_o . k_x for c outputs.
#pragma once

#include <cmath>
#include <memory>
#include <stdexcept>

#include "inverse.hpp"
#include "losses.hpp"

namespace nolana {

// A row's place in its group: kernel values k (group, stride), of which `rows` are filled.
struct Place {
    const double* k;
    std::size_t stride, row, rows;
    const double* values() const { return k + row * stride; }
};

// M k_x for the rows of a group. While every row asks for it, the whole rest of the group is taken in one
// sweep over M; which rows were taken together changes no bit of any product.
class Products {
  public:
    explicit Products(std::size_t stride) : stride_(stride), data_(group * stride) {}

    // The values changed: products at hand are void, and a change at every row makes them not worth taking.
    void forget() { end_ = streak_ = 0; }
    void start_group() { end_ = 0; }
    // Whether the row just learned asked for its product.
    void count(bool asked) { streak_ = asked ? streak_ + 1 : 0; }
    bool has(const Place& at) const { return at.row < end_; }
    double* get(const Place& at) { return data_.data() + at.row * stride_; }

    // M += outers, and the products of this row and, on a streak, of those after it.
    void take(Symmetric& m, const Symmetric::Outer* outers, std::size_t count, const Place& at, std::size_t n) {
        const double* x[group];
        double* y[group];
        end_ = streak_ >= group ? at.rows : at.row + 1;
        for (std::size_t r = at.row; r < end_; ++r) {
            x[r - at.row] = at.k + r * at.stride;
            y[r - at.row] = data_.data() + r * stride_;
        }
        m.sweep(outers, count, x, y, end_ - at.row, n);
    }
    std::size_t bytes() const { return data_.bytes(); }

  private:
    std::size_t stride_, end_ = 0, streak_ = 0;
    Buffer data_;
};

// R, the covariance of alpha: a matrix and a few outer products not yet added to it, so that several rows
// share one sweep. What waits is part of the state; when it is added changes no later bit.
class Covariance {
  public:
    static constexpr std::size_t room = Symmetric::most_outers;

    explicit Covariance(std::size_t capacity)
        : stride_(padded(capacity, panel_lanes)), matrix_(capacity), waiting_(2 * room * stride_) {
        for (std::size_t o = 0; o < room; ++o) outers_[o] = {left(o), right(o)};
    }

    Symmetric& matrix() { return matrix_; }
    std::size_t waiting() const { return count_; }
    double* left(std::size_t o) { return waiting_.data() + 2 * o * stride_; }
    double* right(std::size_t o) { return waiting_.data() + (2 * o + 1) * stride_; }
    void clear() {
        matrix_.clear();
        waiting_.clear();
        count_ = 0;
    }

    // Makes room for `outers` more, whose sum is symmetric: they wait, and are added, together.
    void reserve(std::size_t outers, std::size_t n) {
        if (count_ + outers > room) settle(n);
    }
    // The next one's place; the caller fills left(o) and right(o), zero beyond n.
    std::size_t add() { return count_++; }
    void settle(std::size_t n) {
        matrix_.update(outers_, count_, n);
        count_ = 0;
    }

    void scale(double factor, std::size_t n) {
        settle(n);
        matrix_.scale(factor);
    }

    // h = R k of the row.
    double* respond(const Place& at, std::size_t n, Products& products) {
        if (count_ == room || !products.has(at)) {
            const std::size_t due = count_ == room ? room : 0;
            products.take(matrix_, outers_, due, at, n);
            count_ -= due;
        }
        double* h = products.get(at);
        for (std::size_t o = 0; o < count_; ++o)
            add_scaled(dot(right(o), at.values(), padded(n, panel_lanes)), left(o), h, padded(n, panel_lanes));
        return h;
    }

    // R[i,q], what waits included.
    double element(std::size_t i, std::size_t q) const { return matrix_.updated(outers_, count_, i, q); }

    std::size_t bytes() const { return matrix_.bytes() + waiting_.bytes(); }

  private:
    std::size_t stride_, count_ = 0;
    Symmetric matrix_;
    Buffer waiting_;
    Symmetric::Outer outers_[room];
};

class Head {
  public:
    Head(std::size_t capacity, std::shared_ptr<const Loss> loss)
        : stride_(padded(capacity, panel_lanes)), loss_(std::move(loss)), products_(stride_), alpha_(stride_) {}
    virtual ~Head() = default;

    std::size_t outputs() const { return outputs_; }
    double* alpha(std::size_t output) { return alpha_.data() + output * stride_; }
    void set_outputs(std::size_t outputs) {
        outputs_ = outputs;
        alpha_ = Buffer(std::max<std::size_t>(1, outputs) * stride_);
    }

    void scores(const double* k, std::size_t n, double* f) const {
        for (std::size_t o = 0; o < outputs_; ++o) f[o] = dot(alpha_.data() + o * stride_, k, padded(n, panel_lanes));
    }

    // The row at `at`: y and f have one entry for each output; step counts the rows from 1.
    virtual void learn(const Place& at, double self, std::size_t n, const double* y, const double* f, double weight,
                       double step, Inverse& inverse) = 0;
    virtual void carry(const Move& move, std::size_t n) {
        for (std::size_t o = 0; o < outputs_; ++o) add_scaled(alpha(o)[move.q], move.carry, alpha(o), padded(n, panel_lanes));
        products_.forget();
    }
    // z and g of Inverse::grow; n counts the new landmark, whose alpha is 0.
    virtual void grow(const double*, double, std::size_t) { products_.forget(); }
    // Rows until the next sweep that cannot be put off: groups that end there waste no work.
    virtual std::size_t rows_to_sweep() const { return group; }
    void start_group() { products_.start_group(); }
    virtual Covariance* covariance() { return nullptr; }
    virtual std::size_t bytes() const { return products_.bytes() + alpha_.bytes(); }

  protected:
    std::size_t stride_, outputs_ = 0;
    std::shared_ptr<const Loss> loss_;
    Products products_;
    Buffer alpha_;
};

// alpha <- (1 - eta lambda) alpha - eta loss'(y, f) P k_x: the gradient step in w, written in alpha.
class SGD final : public Head {
  public:
    static constexpr bool needs_curvature = false;
    SGD(std::size_t capacity, std::shared_ptr<const Loss> loss, double rate, double power, double decay)
        : Head(capacity, std::move(loss)), rate_(rate), power_(power), decay_(decay) {}

    void learn(const Place& at, double, std::size_t n, const double* y, const double* f, double weight, double step,
               Inverse& inverse) override {
        const double eta = power_ == 0 ? rate_ : rate_ * std::pow(step, -power_);
        bool asked = false;
        for (std::size_t o = 0; o < outputs_; ++o) {
            double* a = alpha(o);
            if (decay_ > 0) add_scaled(-std::min(1.0, eta * decay_), a, a, padded(n, panel_lanes));
            const double slope = loss_->slope(y[o], f[o]);
            if (slope == 0) continue;
            if (!products_.has(at)) products_.take(inverse.matrix(), nullptr, 0, at, n);
            add_scaled(-eta * weight * slope, products_.get(at), a, padded(n, panel_lanes));
            asked = true;
        }
        products_.count(asked);
    }

  private:
    double rate_, power_, decay_;
};

// The Newton head: R, the covariance of alpha, starts at tau P. h = R k_x, kappa = k_x.h, and
//     alpha_o += pull_o h,   R -= g h h' / (1 + g kappa),   g = mean of the outputs' curvatures.
// When landmark q moves: R <- T R T' + tau (s + nu) v v', v = P'[:,q]; with nu = 0 tau P becomes tau P', and nu
// stops where R_qq has reached its prior.
//
class Newton final : public Head {
  public:
    static constexpr bool needs_curvature = true;
    Newton(std::size_t capacity, std::shared_ptr<const Loss> loss, double noise, double prior, double move_noise)
        : Head(capacity, std::move(loss)), noise_(noise), prior_(prior), move_noise_(move_noise), r_(capacity),
          column_(stride_) {}

    void learn(const Place& at, double self, std::size_t n, const double* y, const double* f, double weight, double,
               Inverse& inverse) override {
        bool asked = false;
        for (std::size_t o = 0; o < outputs_ && !asked; ++o) asked = loss_->active(y[o], f[o]);
        if (asked) step(at, self, n, y, f, weight, inverse);
        products_.count(asked);
    }

    void carry(const Move& move, std::size_t n) override {
        Head::carry(move, n);
        const std::size_t width = padded(n, panel_lanes), q = move.q;
        double* a = column_.data();
        for (std::size_t i = 0; i < n; ++i) a[i] = r_.element(i, q);
        for (std::size_t i = n; i < width; ++i) a[i] = 0;
        const double spread = prior_ * move.s + process_noise(move, a[q]);
        add_scaled(a[q] / 2, move.carry, a, width);
        r_.reserve(3, n);
        wait(move.carry, 1, a, n);
        wait(a, 1, move.carry, n);
        wait(move.column, spread, move.column, n);
    }

    void grow(const double* z, double g, std::size_t n) override {
        Head::grow(z, g, n);
        r_.reserve(1, n);
        wait(z, prior_ / g, z, n);
    }

    std::size_t rows_to_sweep() const override { return r_.waiting() == Covariance::room ? group : group - r_.waiting(); }
    Covariance* covariance() override { return &r_; }
    std::size_t bytes() const override { return Head::bytes() + r_.bytes() + column_.bytes(); }

  private:
    void step(const Place& at, double self, std::size_t n, const double* y, const double* f, double weight,
              Inverse& inverse) {
        const double* k = at.values();
        const double* h = r_.respond(at, n, products_);
        double kappa = dot(k, h, padded(n, panel_lanes));
        if (!(kappa > 0)) {  // rounding ate the variance in this direction: lift it towards the prior
            lift(k, self, kappa, n, inverse);
            products_.forget();
            h = r_.respond(at, n, products_);
            kappa = dot(k, h, padded(n, panel_lanes));
            if (!(kappa > 0)) return;
        }
        if (kappa > most_variance * prior_ * self) {  // far beyond the prior: the kernel has outgrown it
            r_.scale(prior_ * self / kappa, n);
            products_.forget();
            h = r_.respond(at, n, products_);
            kappa = dot(k, h, padded(n, panel_lanes));
        }
        double curvature = 0;
        for (std::size_t o = 0; o < outputs_; ++o) {
            if (!loss_->active(y[o], f[o])) continue;
            const Proximal prox = loss_->proximal(y[o], f[o], kappa, weight, noise_);
            add_scaled(prox.pull, h, alpha(o), padded(n, panel_lanes));
            curvature += prox.curvature;
        }
        curvature /= static_cast<double>(outputs_);
        r_.reserve(1, n);
        wait(h, -curvature / (1 + curvature * kappa), h, n);
    }

    // tau nu, but never so much that R_qq passes its prior tau P'_qq: moves without end and without rows that
    // teach must not wind the covariance up. `variance` is R_qq before the move.
    double process_noise(const Move& move, double variance) const {
        const double p = move.column[move.q], stretch = 1 + move.carry[move.q];
        const double after = variance * stretch * stretch + prior_ * move.s * p * p;
        return std::min(prior_ * move_noise_, std::max(0.0, (prior_ * p - after) / (p * p)));
    }

    // R += left (scale right)', when its turn comes.
    void wait(const double* left, double scale, const double* right, std::size_t n) {
        const std::size_t o = r_.add(), width = padded(n, panel_lanes);
        double *l = r_.left(o), *r = r_.right(o);
        std::copy_n(left, width, l);
        std::fill_n(r, width, 0.0);
        add_scaled(scale, right, r, width);
    }

    // R <- R + e tau P with e just large enough that k.R k is again a small positive part of the prior's.
    void lift(const double* k, double self, double kappa, std::size_t n, Inverse& inverse) {
        const double explained = self - inverse.novelty(k, self, n);
        if (!(explained > 0)) return;
        r_.settle(n);
        const double e = (1e-9 * explained * prior_ - kappa) / (explained * prior_);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j <= i; ++j)
                r_.matrix().set(i, j, fma(e * prior_, inverse.matrix()(i, j), r_.matrix()(i, j)));
    }

    static constexpr double most_variance = 4;  // times the prior's; process noise alone stays below 3

    double noise_, prior_, move_noise_;
    Covariance r_;
    Buffer column_;
};

// How a head learns, before it is known for how many landmarks.
class Optimizer {
  public:
    virtual ~Optimizer() = default;
    virtual std::unique_ptr<Head> head(std::size_t capacity) const = 0;
};

template <class Kind> class OptimizerOf final : public Optimizer {
  public:
    OptimizerOf(std::shared_ptr<const Loss> loss, double first, double second, double third)
        : loss_(std::move(loss)), first_(first), second_(second), third_(third) {
        if (Kind::needs_curvature && !loss_->has_proximal())
            throw std::invalid_argument("Newton steps need a loss with curvature");
    }
    std::unique_ptr<Head> head(std::size_t capacity) const override {
        return std::make_unique<Kind>(capacity, loss_, first_, second_, third_);
    }

  private:
    std::shared_ptr<const Loss> loss_;
    double first_, second_, third_;
};

}  // namespace nolana
