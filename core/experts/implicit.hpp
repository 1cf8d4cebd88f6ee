// Implicit logistic and least-squares steps: the prediction after the step is the one whose slope is taken.
//     two classes   solve f* = f + w v (t - p(f*)): at most 3 Newton iterations; delta = w (t - p*), h = w max p (1 - p)
//     more classes  the same for softmax, 2 diagonal iterations; h = w/2 max of sum_k p_k (1 - p_k)
//     regression    delta = clip(r, 3 sqrt(n + v))/(n + v), n = noise/w, h = 1/n; on a skewed side r is cut later
#pragma once

#include <algorithm>
#include <cmath>

#include "base/buffer.hpp"
#include "base/exponentials.hpp"
#include "learner/residual_variance.hpp"

namespace nolana {

inline double logistic(double z) {
    if (z >= 0) return 1 / (1 + std::exp(-z));
    const double e = std::exp(z);
    return e / (1 + e);
}

class ImplicitStep {
  public:
    explicit ImplicitStep(bool number) : number_(number) {}

    void clear(std::size_t outputs) {
        outputs_ = outputs;
        width_ = padded(std::max<std::size_t>(1, outputs), lanes);
        scratch_ = Buffer(outputs > 1 ? 4 * width_ : 1);
        if (outputs > 1) std::fill_n(scratch_.data() + 3 * width_, width_, absent);
    }
    const double* delta() const { return scratch_.data(); }
    // Of the class of the row, before the step; of several classes.
    double probability() const { return probability_; }
    std::size_t bytes() const { return scratch_.bytes(); }

    // Fills delta() and returns h for scores f of variance v.
    double take(const double* f, double v, const double* y, double weight, const Noise& noise) {
        if (number_) return number(f[0], v, y[0], weight, noise);
        return outputs_ == 1 ? binary(f[0], v, y[0], weight) : softmax(f, v, y, weight);
    }

  private:
    double number(double f, double v, double y, double weight, const Noise& noise) {
        const double n = noise.variance / weight;
        scratch_[0] = noise.clip(y - f, 3 * std::sqrt(n + v)) / (n + v);
        return 1 / n;
    }
    double binary(double f, double v, double y, double weight) {
        const double t = y > 0 ? 1 : 0, before = logistic(f);
        v *= weight;
        double g = f + v * (t - before) / (1 + 0.25 * v), p = logistic(g);
        for (int i = 0; i < 3; ++i) {
            const double slope = p * (1 - p), change = (f + v * (t - p) - g) / (1 + v * slope);
            g += change;
            if (std::fabs(change) < solved) {  // p by its slope is exact to the last bit or two
                p += slope * change;
                break;
            }
            p = logistic(g);
        }
        scratch_[0] = weight * (t - p);
        return weight * std::max(p * (1 - p), before * (1 - before));
    }
    double softmax(const double* f, double v, const double* y, double weight) {
        const std::size_t c = outputs_;
        double *delta = scratch_.data(), *p = delta + width_, *g = p + width_, *start = g + width_;
        std::fill_n(delta, width_, 0.0);  // the target until the end
        const std::size_t label = largest_of(y, c);
        delta[label] = 1;
        std::copy_n(f, c, start);  // followed by `absent`
        std::copy_n(start, width_, g);
        const Vec one = Vec::all(1), pull = Vec::all(v * weight), least = Vec::all(0.05);
        const double before = probabilities(g, p);
        double after = before;
        probability_ = p[label];
        for (int i = 0; i < 2; ++i) {
            for (std::size_t k = 0; k < width_; k += lanes) {
                const Vec own = Vec::load(p + k), now = Vec::load(g + k);
                const Vec target = Vec::load(start + k) + pull * (Vec::load(delta + k) - own);
                (now + (target - now) / (one + pull * max(own * (one - own), least))).store(g + k);
            }
            after = probabilities(g, p);
        }
        for (std::size_t k = 0; k < width_; k += lanes)
            (Vec::all(weight) * (Vec::load(delta + k) - Vec::load(p + k))).store(delta + k);
        return weight * std::max(before, after) / 2;
    }
    // p = softmax(g); returns sum_k p_k (1 - p_k).
    double probabilities(const double* g, double* p) const {
        Vec top = Vec::load(g), spread = Vec::zero();
        for (std::size_t k = lanes; k < width_; k += lanes) top = max(top, Vec::load(g + k));
        const Vec total = Vec::all(exponentials(g, largest(top), width_, p));
        for (std::size_t k = 0; k < width_; k += lanes) {
            const Vec own = Vec::load(p + k) / total;
            own.store(p + k);
            spread = spread + own * (Vec::all(1) - own);
        }
        return sum(spread);
    }

    static constexpr double solved = 1e-8;

    bool number_;
    std::size_t outputs_ = 1, width_ = lanes;
    double probability_ = 0;
    Buffer scratch_{1};
};

}  // namespace nolana
