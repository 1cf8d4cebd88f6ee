// Random Fourier features (Rahimi and Recht 2007): z(x) = [cos(u'x), sin(u'x)]/sqrt(D), u_j ~ N(0, 2 gamma I),
// so that z(x).z(x') is exp(-gamma |x-x'|^2) on average.
#pragma once

#include "experts/landmarks/kernel.hpp"
#include "base/sincos.hpp"

namespace nolana {

// Pairs of a cosine and a sine: D cosines from 0, D sines from width(), zeros in between.
class FourierFeatures {
  public:
    explicit FourierFeatures(Landmarks draws) : draws_(std::move(draws)), angles_(draws_.width()) {}

    std::size_t projections() const { return draws_.size(); }
    std::size_t width() const { return draws_.width(); }
    const Landmarks& draws() const { return draws_; }
    std::size_t bytes() const { return draws_.bytes() + angles_.bytes(); }

    // phi (2 width) = size [cos, sin](scale e'x), e the draws.
    void evaluate(const double* x, double scale, double size, double* phi) {
        const std::size_t w = width();
        double* cosine = phi;
        double* sine = phi + w;
        sums_over_features::panels<sums_over_features::Product>(draws_, x, 1, 0, draws_.panel_count(), angles_.data(), w);
        const Vec factor = Vec::all(scale), length = Vec::all(size);
        for (std::size_t i = 0; i < w; i += lanes) (factor * Vec::load(angles_.data() + i)).store(angles_.data() + i);
        sincos(angles_.data(), sine, cosine, w);
        for (std::size_t i = 0; i < 2 * w; i += lanes) (length * Vec::load(phi + i)).store(phi + i);
        for (std::size_t i = projections(); i < w; ++i) cosine[i] = sine[i] = 0;
    }
    // The features of exp(-gamma |x-x'|^2).
    void evaluate(const double* x, double gamma, double* phi) {
        evaluate(x, std::sqrt(2 * gamma), 1 / std::sqrt(static_cast<double>(projections())), phi);
    }

    // Weights (outputs, 2D) that are laid out as phi is.
    Field field(std::string name, double* data, std::size_t outputs) const {
        const std::size_t n = projections(), w = width();
        return {std::move(name), {Side::outputs(outputs), 2 * n},
                [=](double* to) {
                    for (std::size_t h = 0; h < 2 * outputs; ++h) std::copy_n(data + h * w, n, to + h * n);
                },
                [=](const double* from) {
                    for (std::size_t h = 0; h < 2 * outputs; ++h) std::copy_n(from + h * n, n, data + h * w);
                }};
    }

  private:
    Landmarks draws_;
    Buffer angles_;
};

}  // namespace nolana
