// A linear head on the non-zeros z_j of a sparse row: a slot has a variance s and c weights, both new if the slot has
// just got another feature; the bias is one more feature, always 1.
//     f = b + sum_j w_j z_j,   v = s_b + sum_j s_j z_j^2,   delta and h of an implicit step (implicit.hpp)
//     w_j += s_j z_j delta,   s_j <- max(floor, s_j - (s_j z_j)^2 h/(1 + h v))
#include "bind/bind.hpp"
#include "experts/head.hpp"
#include "experts/implicit.hpp"
#include "experts/sparse_linear/linear_map.hpp"

namespace nolana {

class DiagonalLinear final : public HeadOn<LinearMap> {
  public:
    DiagonalLinear(std::shared_ptr<const Loss> loss, double variance, double bias, double floor)
        : step_(loss->linear()), start_(static_cast<float>(variance)), bias_start_(bias), floor_(floor) {}

    void clear(std::size_t outputs) override {
        outputs_ = outputs;
        stride_ = 1 + room_for(outputs);
        step_.clear(outputs);
        bias_ = Buffer(std::max<std::size_t>(1, outputs));
        bias_variance_ = bias_start_;
        slots_ = BufferOf<float>(map_->table() * stride_);
        for (std::size_t i = 0; i < map_->table(); ++i) slots_[i * stride_] = start_;
    }
    void append_output(double rows) override {
        step_.clear(++outputs_);
        bias_ = extended(bias_, outputs_);
        bias_[outputs_ - 1] = unseen(rows);
    }
    void scores(std::size_t r, double* f) const override {
        const SparseRow& x = map_->row(r);
        double v = bias_variance_;
        std::copy_n(bias_.data(), outputs_, f);
        for (std::size_t i = 0; i < x.size; ++i) {
            const double z = x.values[i];
            if (x.places[i] < 0) {
                v += static_cast<double>(start_) * z * z;
                continue;
            }
            const float* slot = slots_.data() + static_cast<std::size_t>(x.places[i]) * stride_;
            v += static_cast<double>(slot[0]) * z * z;
            for (std::size_t o = 0; o < outputs_; ++o) f[o] += static_cast<double>(slot[1 + o]) * z;
        }
        variance_[r] = v;
    }
    void learn(std::size_t r, const double* y, const double* f, double weight, double, const Noise& noise) override {
        const double v = variance_[r], h = step_.take(f, v, y, weight, noise), e = h / (1 + h * v);
        const double* delta = step_.delta();
        const SparseRow& x = map_->row(r);
        for (std::size_t i = 0; i < x.size; ++i) {
            const bool fresh = x.places[i] < 0;
            float* slot = slots_.data() + static_cast<std::size_t>(fresh ? -1 - x.places[i] : x.places[i]) * stride_;
            if (fresh) {
                slot[0] = start_;
                std::fill_n(slot + 1, outputs_, 0.0f);
            }
            const double s = static_cast<double>(slot[0]), pull = s * x.values[i];
            for (std::size_t o = 0; o < outputs_; ++o)
                slot[1 + o] = static_cast<float>(static_cast<double>(slot[1 + o]) + pull * delta[o]);
            slot[0] = static_cast<float>(std::max(floor_, s - pull * pull * e));
        }
        for (std::size_t o = 0; o < outputs_; ++o) bias_[o] += bias_variance_ * delta[o];
        bias_variance_ = std::max(floor_, bias_variance_ - bias_variance_ * bias_variance_ * e);
    }

    void describe(Description& d) override {
        const std::size_t n = map_->table(), c = outputs_;
        d.scratch(slots_, step_);
        Field weights{"slots", {n, Side::outputs(c)}, {}, {}};
        weights.get_single = [this, n, c](float* to) {
            for (std::size_t i = 0; i < n; ++i) std::copy_n(slots_.data() + i * stride_ + 1, c, to + i * c);
        };
        weights.set_single = [this, n, c](const float* from) {
            for (std::size_t i = 0; i < n; ++i) std::copy_n(from + i * c, c, slots_.data() + i * stride_ + 1);
        };
        d.add(std::move(weights));
        Field variances{"variances", {n}, {}, {}, 0.0};
        variances.get_single = [this, n](float* to) {
            for (std::size_t i = 0; i < n; ++i) to[i] = slots_[i * stride_];
        };
        variances.set_single = [this, n](const float* from) {
            for (std::size_t i = 0; i < n; ++i) slots_[i * stride_] = from[i];
        };
        d.add(std::move(variances));
        d.vector("bias", bias_, Side::outputs(c));
        d.number("bias_variance", bias_variance_, 0);
    }

  private:
    ImplicitStep step_;
    std::size_t outputs_ = 0, stride_ = 1;
    float start_;
    double bias_start_, floor_, bias_variance_ = 0;
    Buffer bias_{0};
    BufferOf<float> slots_{0};  // for each slot a variance and its weights
    mutable double variance_[group] = {};
};

NOLANA_BINDING(linear) {
    nb::class_<DiagonalLinear, Head>(m, "DiagonalLinear")
        .def(nb::init<std::shared_ptr<const Loss>, double, double, double>(), "loss"_a, "variance"_a, "bias"_a, "floor"_a);
}

}  // namespace nolana
