// Implicit logistic and least-squares steps: the prediction after the step is the one whose slope is taken.
//     two classes   solve f* = f + w v (t - p(f*)): 3 Newton iterations; delta = w (t - p*), h = w max p (1 - p)
//     more classes  the same for softmax, 2 diagonal iterations; h = w/2 max of sum_k p_k (1 - p_k)
//     a number      delta = clip(r, 3 sqrt(n + v))/(n + v), n = noise/w, h = 1/n
#pragma once

#include <algorithm>
#include <cmath>

#include "buffer.hpp"

namespace nolana {

inline double logistic(double z) {
    if (z >= 0) return 1 / (1 + std::exp(-z));
    const double e = std::exp(z);
    return e / (1 + e);
}

class ImplicitStep {
  public:
    explicit ImplicitStep(bool number) : number_(number) {}

    void clear(std::size_t outputs) { scratch_ = Buffer(3 * std::max<std::size_t>(1, outputs)), outputs_ = outputs; }
    const double* delta() const { return scratch_.data(); }
    std::size_t bytes() const { return scratch_.bytes(); }

    // Fills delta() and returns h for scores f of variance v.
    double take(const double* f, double v, const double* y, double weight, double noise) {
        if (number_) return number(f[0], v, y[0], weight, noise);
        return outputs_ == 1 ? binary(f[0], v, y[0], weight) : softmax(f, v, y, weight);
    }

  private:
    double number(double f, double v, double y, double weight, double noise) {
        const double n = noise / weight, limit = 3 * std::sqrt(n + v);
        scratch_[0] = std::min(limit, std::max(-limit, y - f)) / (n + v);
        return 1 / n;
    }
    double binary(double f, double v, double y, double weight) {
        const double t = y > 0 ? 1 : 0, before = logistic(f);
        v *= weight;
        double g = f + v * (t - before) / (1 + 0.25 * v);
        for (int i = 0; i < 3; ++i) {
            const double p = logistic(g);
            g += (f + v * (t - p) - g) / (1 + v * p * (1 - p));
        }
        const double p = logistic(g);
        scratch_[0] = weight * (t - p);
        return weight * std::max(p * (1 - p), before * (1 - before));
    }
    double softmax(const double* f, double v, const double* y, double weight) {
        const std::size_t c = outputs_, own = static_cast<std::size_t>(std::max_element(y, y + c) - y);
        double *delta = scratch_.data(), *p = delta + c, *g = p + c;
        v *= weight;
        std::copy_n(f, c, g);
        const double before = probabilities(g, p);
        double after = before;
        for (int i = 0; i < 2; ++i) {
            for (std::size_t k = 0; k < c; ++k) {
                const double target = f[k] + v * ((k == own ? 1 : 0) - p[k]);
                g[k] += (target - g[k]) / (1 + v * std::max(0.05, p[k] * (1 - p[k])));
            }
            after = probabilities(g, p);
        }
        for (std::size_t k = 0; k < c; ++k) delta[k] = weight * ((k == own ? 1 : 0) - p[k]);
        return weight * std::max(before, after) / 2;
    }
    // p = softmax(g); returns sum_k p_k (1 - p_k).
    double probabilities(const double* g, double* p) const {
        const double top = *std::max_element(g, g + outputs_);
        double sum = 0, spread = 0;
        for (std::size_t k = 0; k < outputs_; ++k) sum += p[k] = std::exp(g[k] - top);
        for (std::size_t k = 0; k < outputs_; ++k) {
            p[k] /= sum;
            spread += p[k] * (1 - p[k]);
        }
        return spread;
    }

    bool number_;
    std::size_t outputs_ = 1;
    Buffer scratch_{3};
};

}  // namespace nolana
