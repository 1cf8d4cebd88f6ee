// Reparameterized Random Features (Nguyen, Le, Bui, Phung 2017): Fourier features whose widths are learned too.
//     omega = exp(g) * e, phi = [cos(x'omega), sin(x'omega)], f = w.phi
//     s_j = -w_j sin(x'omega_j) + w_{D+j} cos(x'omega_j),   df/dg = exp(g) * x * (e s)
//     w -= rate (decay w + loss' phi),   g -= width_rate loss' df/dg,   both from the old w and g
// Several classes share g: s is that of the sum over outputs of loss'_o w_o.
#include "bind/bind.hpp"
#include "experts/fourier.hpp"
#include "rivals/rival.hpp"

namespace nolana {

class RRF final : public Rival {
  public:
    // start (2D) has the first weights, for every output.
    RRF(std::size_t features, Landmarks projections, std::shared_ptr<const Loss> loss, double rate, double width_rate,
        double decay, const double* start)
        : Rival(features), map_(std::move(projections)), loss_(std::move(loss)), rate_(rate), width_rate_(width_rate),
          decay_(decay), stride_(2 * map_.width()), start_(stride_), phi_(stride_), pulled_(stride_), w_(stride_),
          log_widths_(features), scaled_(features), slopes_(1), sums_(lanes * features) {
        map_.field("start", start_.data(), 1).set(start);
        reset();
    }

    void describe(Description& d) override {
        follow_gamma();
        Rival::describe(d);
        d.add(map_.field("weights", w_.data(), outputs_));
        d.vector("log_widths", log_widths_, features_);
        d.scratch(map_, start_, phi_, pulled_, w_, scaled_, slopes_, sums_);
    }

  private:
    // The widths start at gamma, which may be set any time before the first row.
    void follow_gamma() {
        if (rows == 0) std::fill_n(log_widths_.data(), features_, std::log(std::sqrt(2 * gamma)));
    }
    void reset() override {
        w_ = Buffer(outputs_ * stride_);
        slopes_ = Buffer(outputs_);
        for (std::size_t o = 0; o < outputs_; ++o) std::copy_n(start_.data(), stride_, w_.data() + o * stride_);
        follow_gamma();
    }
    void score(const double* x, double* f) override {
        follow_gamma();
        for (std::size_t j = 0; j < features_; ++j) scaled_[j] = std::exp(log_widths_[j]) * x[j];
        map_.evaluate(scaled_.data(), 1, 1, phi_.data());
        for (std::size_t o = 0; o < outputs_; ++o) f[o] = dot(w_.data() + o * stride_, phi_.data(), stride_);
    }
    void update(const double*, const double* y, double weight, const double* f) override {
        pulled_.clear();
        for (std::size_t o = 0; o < outputs_; ++o) {
            slopes_[o] = weight * loss_->slope(y[o], f[o]);
            add_scaled(slopes_[o], w_.data() + o * stride_, pulled_.data(), stride_);
        }
        turn();

        const Vec shrink = Vec::all(1 - rate_ * decay_);
        for (std::size_t o = 0; o < outputs_; ++o) {
            const Vec pull = Vec::all(-rate_ * slopes_[o]);
            double* w = w_.data() + o * stride_;
            for (std::size_t i = 0; i < stride_; i += lanes)
                fma(pull, Vec::load(phi_.data() + i), shrink * Vec::load(w + i)).store(w + i);
        }
    }
    // g -= width_rate exp(g) * x * (e s), s of the weights in pulled_.
    void turn() {
        const std::size_t width = map_.width();
        const double *cosine = phi_.data(), *sine = cosine + width, *a = pulled_.data(), *b = a + width;
        sums_.clear();
        for (std::size_t p = 0; p < width / panel_lanes; ++p) {
            const double* e = map_.draws().panel(p);
            for (std::size_t h = 0; h < panel_lanes; h += lanes) {
                const std::size_t i = p * panel_lanes + h;
                const Vec s = Vec::load(b + i) * Vec::load(cosine + i) - Vec::load(a + i) * Vec::load(sine + i);
                for (std::size_t j = 0; j < features_; ++j) {
                    double* to = sums_.data() + j * lanes;
                    fma(Vec::load(e + j * panel_lanes + h), s, Vec::load(to)).store(to);
                }
            }
        }
        for (std::size_t j = 0; j < features_; ++j)
            log_widths_[j] -= width_rate_ * scaled_[j] * sum(Vec::load(sums_.data() + j * lanes));
    }

    FourierFeatures map_;
    std::shared_ptr<const Loss> loss_;
    double rate_, width_rate_, decay_;
    std::size_t stride_;  // between outputs
    Buffer start_, phi_, pulled_, w_, log_widths_, scaled_, slopes_, sums_;
};

NOLANA_BINDING(rrf) {
    nb::class_<RRF, Rival>(m, "RRF")
        .def(
            "__init__",
            [](RRF* self, std::size_t features, const Matrix& projections, std::shared_ptr<const Loss> loss, double rate,
               double width_rate, double decay, const Vector& start) {
                expect(start.shape(0) == 2 * projections.shape(0), "start is not (2D,)");
                new (self) RRF(features, panels_of(projections, features), std::move(loss), rate, width_rate, decay,
                               start.data());
            },
            "features"_a, "projections"_a, "loss"_a, "rate"_a, "width_rate"_a, "decay"_a, "start"_a);
}

}  // namespace nolana
