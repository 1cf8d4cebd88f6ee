// The scale of a row's residual, from what the experts say of the row. The rules and their reasons stand in
// nolana/engine/learner/residual_scale.py.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/state.hpp"

namespace nolana {

class ResidualScale {
  public:
    ResidualScale() : weights_(inputs), information_(inputs * inputs) { start_at(0); }

    // ln s of a row.
    double log_scale(double score, double spread) const {
        double phi[inputs];
        fill(score, spread, phi);
        return log_scale(phi);
    }

    void observe(double residual, double score, double spread) {
        double phi[inputs], gradient[inputs];
        fill(score, spread, phi);
        const double own = log_scale(phi), back = (1 - forgetting) * prior;
        double pull = std::min(clip, std::fabs(residual) * std::exp(-own - level())) - 1;
        if (std::fabs(own) == largest && pull * own > 0) pull = 0;
        for (std::size_t a = 0; a < inputs; ++a) {
            gradient[a] = pull * phi[a] - back * weights_[a];
            for (std::size_t b = 0; b < inputs; ++b) {
                double& h = information_[a * inputs + b];
                h = forgetting * h + (a == b ? back : 0) + phi[a] * phi[b];
            }
        }
        solve(gradient);
        for (std::size_t a = 0; a < inputs; ++a) weights_[a] += gradient[a];
        weights_[0] = std::min(largest_level, std::max(-largest_level, weights_[0]));
    }

    // Residuals are `factor` times what they were: nothing but the level stays.
    void rescale(double factor) { start_at(std::min(largest_level, std::max(-largest_level, level() + std::log(factor)))); }

    void describe(Description& d) {
        d.vector("scale_weights", weights_, inputs);
        d.matrix("scale_information", information_, inputs, inputs, inputs);
    }

  private:
    static constexpr std::size_t inputs = 4;
    static constexpr double largest_score = 4, smallest_spread = 1e-3, forgetting = 0.9995, prior = 10, clip = 3, largest = 3,
                            largest_level = 6;

    void start_at(double level) {
        weights_.clear();
        weights_[0] = level;
        information_.clear();
        for (std::size_t i = 0; i < inputs; ++i) information_[i * inputs + i] = prior;
    }
    static void fill(double score, double spread, double* phi) {
        const double f = std::min(largest_score, std::max(-largest_score, score));
        phi[0] = 1;
        phi[1] = std::log(std::max(smallest_spread, spread));
        phi[2] = f;
        phi[3] = f * f;
    }
    double product(const double* phi) const {
        double sum = 0;
        for (std::size_t i = 0; i < inputs; ++i) sum += weights_[i] * phi[i];
        return sum;
    }
    // The mean of w.phi.
    double level() const { return product(information_.data()) / information_[0]; }
    double log_scale(const double* phi) const { return std::min(largest, std::max(-largest, product(phi) - level())); }
    // g <- H^-1 g, by elimination: H is positive definite.
    void solve(double* g) const {
        double h[inputs][inputs];
        std::copy_n(information_.data(), inputs * inputs, &h[0][0]);
        for (std::size_t k = 0; k < inputs; ++k)
            for (std::size_t i = k + 1; i < inputs; ++i) {
                const double factor = h[i][k] / h[k][k];
                for (std::size_t j = k + 1; j < inputs; ++j) h[i][j] -= factor * h[k][j];
                g[i] -= factor * g[k];
            }
        for (std::size_t k = inputs; k-- > 0;) {
            for (std::size_t j = k + 1; j < inputs; ++j) g[k] -= h[k][j] * g[j];
            g[k] /= h[k][k];
        }
    }

    Buffer weights_, information_;
};

}  // namespace nolana
