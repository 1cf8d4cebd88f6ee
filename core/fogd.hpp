// Fourier Online Gradient Descent (Lu, Hoi, Wang, Zhao, Liu 2016): gradient steps on random Fourier features.
//     f = w.z(x), z = [cos(u'x), sin(u'x)]/sqrt(D);   w -= eta_t (decay w + loss'(y, f) z),  eta_t = rate / t^power
// The authors leave out 1/sqrt(D): their rate is this one divided by D. Several classes: one w for each output.
#pragma once

#include "fourier.hpp"

namespace nolana {

class FOGD final : public Rival {
  public:
    FOGD(std::size_t features, Landmarks projections, std::shared_ptr<const Loss> loss, double rate, double power,
         double decay)
        : Rival(features), map_(std::move(projections)), loss_(std::move(loss)), rate_(rate), power_(power),
          decay_(decay), stride_(2 * map_.width()), phi_(stride_), w_(stride_) {}

    std::vector<Field> fields() override { return {map_.field("weights", w_.data(), outputs_)}; }
    std::size_t bytes() const override { return sizeof(*this) + map_.bytes() + phi_.bytes() + w_.bytes(); }

    // z (2D) of one row.
    void map(const double* x, double* out) {
        map_.evaluate(x, gamma, phi_.data());
        map_.field("features", phi_.data(), 1).get(out);
    }
    std::size_t projections() const { return map_.projections(); }

  private:
    void reset() override { w_ = Buffer(outputs_ * stride_); }
    void score(const double* x, double* f) override {
        map_.evaluate(x, gamma, phi_.data());
        for (std::size_t o = 0; o < outputs_; ++o) f[o] = dot(w_.data() + o * stride_, phi_.data(), stride_);
    }
    void update(const double*, const double* y, double weight, const double* f) override {
        const double step = rate_ / std::pow(rows, power_);
        const Vec kept = Vec::all(1 - step * decay_);
        for (std::size_t o = 0; o < outputs_; ++o) {
            const Vec pull = Vec::all(-step * weight * loss_->slope(y[o], f[o]));
            double* w = w_.data() + o * stride_;
            for (std::size_t i = 0; i < stride_; i += lanes)
                fma(pull, Vec::load(phi_.data() + i), kept * Vec::load(w + i)).store(w + i);
        }
    }

    FourierMap map_;
    std::shared_ptr<const Loss> loss_;
    double rate_, power_, decay_;
    std::size_t stride_;  // between outputs
    Buffer phi_, w_;
};

}  // namespace nolana
