// A linear head with a full covariance C of its weights, which starts at s I. With h = C phi and v = phi.h:
//     f_o = w_o.phi,   delta and e of an implicit step,   w_o += delta_o h,   C -= e/(1 + e v) h h'  (Sherman-Morrison)
// Forgetting, every 8 rows with l = lambda^8: C <- l C + (1 - l) s I, w <- sqrt(l) w.
#include <cmath>

#include "bind/bind.hpp"
#include "experts/covariance.hpp"
#include "experts/head.hpp"
#include "experts/implicit.hpp"

namespace nolana {

class FullLinear final : public DenseHead {
  public:
    FullLinear(std::shared_ptr<const Loss> loss, double variance, double forgetting)
        : DenseHead(std::move(loss)), start_(variance), share_(std::pow(forgetting, forget_every)), step_(loss_->linear()) {}

    void attached() override {
        DenseHead::attached();
        if (!map_->side().name.empty()) throw std::invalid_argument("this head learns on a map whose features never change");
        covariance_ = std::make_unique<Covariance>(map_->stride());
        clear(0);
    }
    void clear(std::size_t outputs) override {
        DenseHead::clear(outputs);
        step_.clear(outputs);
        if (!covariance_) return;
        covariance_->clear();
        map_->add_prior(start_, covariance_->matrix());
    }
    void append_output(double rows) override {
        weights(outputs_++)[map_->place(map_->side().value - 1)] = unseen(rows);
        step_.clear(outputs_);
    }
    void start_group() override { covariance_->products().start_group(); }
    std::size_t rows_to_sweep() const override {
        return covariance_->waiting() == Covariance::room ? group : group - covariance_->waiting();
    }
    void learn(std::size_t r, const double* y, const double* f, double weight, double rows, const Noise& noise) override {
        const Features at = map_->row(r);
        const double* h = covariance_->respond(at);
        const double v = dot(at.values(), h, at.width());
        if (v > 0) {  // else rounding ate the variance in this direction
            const double curvature = step_.take(f, v, y, weight, noise), *delta = step_.delta();
            for (std::size_t o = 0; o < outputs_; ++o) add_scaled(delta[o], h, weights(o), at.width());
            covariance_->reserve(1, at.size);
            covariance_->add(h, -curvature / (1 + curvature * v), h, at.size);
        }
        covariance_->products().count(true);
        if (share_ < 1 && std::fmod(rows, forget_every) == 0) forget();
    }
    void describe(Description& d) override {
        DenseHead::describe(d);
        d.scratch(step_);
        covariance_->describe(d, map_->side(), [this](std::size_t i) { return map_->place(i); });
    }
    void resize(const Sizes& sizes, const std::string& prefix) override {
        covariance_->resize(sizes.at(prefix + "waiting"));
    }

  private:
    static constexpr double forget_every = 8;  // rows

    void forget() {
        covariance_->blend(share_, (1 - share_) * start_, *map_, map_->side().value);
        const double root = std::sqrt(share_);
        for (std::size_t o = 0; o < outputs_; ++o)
            for (std::size_t i = 0; i < map_->stride(); ++i) weights(o)[i] *= root;
    }

    double start_, share_;
    ImplicitStep step_;
    std::unique_ptr<Covariance> covariance_;
};

NOLANA_BINDING(full_linear) {
    nb::class_<FullLinear, Head>(m, "FullLinear")
        .def(nb::init<std::shared_ptr<const Loss>, double, double>(), "loss"_a, "variance"_a, "forgetting"_a = 1.0);
}

}  // namespace nolana
