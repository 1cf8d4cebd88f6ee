// Probabilities of scores that are not log-odds: online Platt scaling with a monotone curve, on prequential
// scores. The rules and their reasons are in nolana/engine/learner/calibration.py.
#include <algorithm>
#include <cmath>
#include <limits>

#include "bind/bind.hpp"
#include "base/state.hpp"

namespace nolana {

class Calibration final : public Stateful {
  public:
    Calibration() : slopes_(k), information_(k * k) {
        for (std::size_t i = 0; i < k; ++i) {
            slopes_[i] = start;
            information_[i * k + i] = prior;
        }
    }

    double rows = 0;

    // f and y (c); weight > 0.
    void observe(const double* f, const double* y, std::size_t c, double weight) {
        double square = 0;
        for (std::size_t o = 0; o < c; ++o) {
            if (!std::isfinite(f[o])) return;
            square += f[o] * f[o];
        }
        rows += 1;
        square /= static_cast<double>(c);
        if (!(scale_ > 0)) {
            scale_ = square <= largest_square ? square : 0;
            return;
        }
        const std::size_t columns = c == 1 ? 2 : c;
        if (scratch_.size() < columns * (k + 1)) scratch_ = Buffer(columns * (k + 1));  // a class is new
        double *seen = scratch_.data(), *p = seen + columns * k;
        std::fill_n(seen, columns * k, 0.0);
        const double unit = std::sqrt(scale_);
        for (std::size_t o = 0; o < c; ++o)
            inputs(std::min(clip, std::max(-clip, f[o] / unit)), seen + (columns - c + o) * k);
        const std::size_t own = c == 1 ? (y[0] > 0 ? 1 : 0) : static_cast<std::size_t>(std::max_element(y, y + c) - y);
        learn(seen, p, columns, own, weight);
        const double gain = std::max(1 / memory, 3 / (rows + 3));
        scale_ = std::min(largest_square, scale_ + gain * (std::min(square, clip * scale_) - scale_));
    }

    double logit(double f) const {
        double e[k];
        inputs(scale_ > 0 ? f / std::sqrt(scale_) : f, e);
        return (slopes_[0] * e[0] + slopes_[1] * e[1]) + slopes_[2] * e[2] + slopes_[3] * e[3];
    }

    void describe(Description& d) override {
        d.count("rows", rows);
        d.number("scale", scale_, 0);
        d.fields.back().high = largest_square;
        d.vector("slopes", slopes_, k);
        d.fields.back().low = smallest;
        d.fields.back().high = largest;
        d.matrix("information", information_, k, k, k);
        d.scratch(scratch_);
    }
    void resize(const Sizes&) override {}

  private:
    static constexpr std::size_t k = 4;
    static constexpr double bend = 0.3, start = 0.5, smallest = 1e-3, largest = 100, forgetting = 0.999, prior = 1,
                            memory = 512, clip = 10, largest_square = 1e300;

    static void inputs(double u, double* e) {
        const double up = std::max(u, 0.0), down = std::min(u, 0.0);
        e[0] = up;
        e[1] = down;
        e[2] = up / (bend + up);
        e[3] = down / (bend - down);
    }

    // A step on inputs (columns, k); p is scratch.
    void learn(double* seen, double* p, std::size_t columns, std::size_t own, double weight) {
        double top = -std::numeric_limits<double>::infinity(), sum = 0, middle[k] = {}, gradient[k];
        for (std::size_t c = 0; c < columns; ++c) {
            p[c] = 0;
            for (std::size_t i = 0; i < k; ++i) p[c] += slopes_[i] * seen[c * k + i];
            top = std::max(top, p[c]);
        }
        for (std::size_t c = 0; c < columns; ++c) sum += p[c] = std::exp(p[c] - top);
        for (std::size_t c = 0; c < columns; ++c) {
            p[c] /= sum;
            for (std::size_t i = 0; i < k; ++i) middle[i] += p[c] * seen[c * k + i];
        }
        const double back = (1 - forgetting) * prior;
        for (std::size_t i = 0; i < k * k; ++i) information_[i] *= forgetting;
        for (std::size_t c = 0; c < columns; ++c) {
            double* away = seen + c * k;
            for (std::size_t i = 0; i < k; ++i) away[i] -= middle[i];
            for (std::size_t i = 0; i < k; ++i)
                for (std::size_t j = 0; j < k; ++j) information_[i * k + j] += weight * p[c] * away[i] * away[j];
        }
        for (std::size_t i = 0; i < k; ++i) {
            information_[i * k + i] += back;
            gradient[i] = weight * seen[own * k + i] - back * (slopes_[i] - start);
        }
        if (!solve(gradient)) return;
        for (std::size_t i = 0; i < k; ++i) slopes_[i] = std::min(largest, std::max(smallest, slopes_[i] + gradient[i]));
    }

    // H^-1 b in the place of b; false if a restored H is not positive definite.
    bool solve(double* b) const {
        double a[k * k];
        std::copy_n(information_.data(), k * k, a);
        for (std::size_t i = 0; i < k; ++i) {
            if (!(a[i * k + i] > 0)) return false;
            for (std::size_t r = i + 1; r < k; ++r) {
                const double factor = a[r * k + i] / a[i * k + i];
                for (std::size_t j = i; j < k; ++j) a[r * k + j] -= factor * a[i * k + j];
                b[r] -= factor * b[i];
            }
        }
        for (std::size_t i = k; i-- > 0;) {
            for (std::size_t j = i + 1; j < k; ++j) b[i] -= a[i * k + j] * b[j];
            b[i] /= a[i * k + i];
            if (!std::isfinite(b[i])) return false;
        }
        return true;
    }

    Buffer slopes_, information_, scratch_;
    double scale_ = 0;  // V; 0: not known
};

NOLANA_BINDING(calibration) {
    nb::class_<Calibration, Stateful>(m, "Calibration")
        .def(nb::init<>())
        .def(
            "observe",
            [](Calibration& self, const Matrix& scores, const Matrix& targets, const nb::object& weight) {
                const std::size_t n = scores.shape(0), c = scores.shape(1);
                expect(c > 0 && targets.shape(0) == n && targets.shape(1) == c, "targets are not of the shape of scores");
                Vector weights;
                if (!weight.is_none()) {
                    weights = nb::cast<Vector>(weight);
                    expect(weights.shape(0) == n, "weight is not (rows,)");
                }
                Fresh before = fresh({n, c});  // the logits of each row before it is observed
                for (std::size_t i = 0; i < n; ++i) {
                    const double* f = scores.data() + i * c;
                    for (std::size_t o = 0; o < c; ++o) before.data[i * c + o] = self.logit(f[o]);
                    const double w = weight.is_none() ? 1.0 : weights.data()[i];
                    if (w > 0) self.observe(f, targets.data() + i * c, c, w);
                }
                return before.array;
            },
            "scores"_a, "targets"_a, "weight"_a = nb::none())
        .def(
            "logits",
            [](const Calibration& self, const Matrix& scores) {
                Fresh out = fresh({scores.shape(0), scores.shape(1)});
                for (std::size_t i = 0; i < scores.shape(0) * scores.shape(1); ++i)
                    out.data[i] = self.logit(scores.data()[i]);
                return out.array;
            },
            "scores"_a)
        .def_prop_ro("rows", [](const Calibration& self) { return static_cast<std::uint64_t>(self.rows); });
}

}  // namespace nolana
