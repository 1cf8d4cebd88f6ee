// The kernels; adding one here and in nolana/engine/experts/landmarks/kernels.py is all there is to do.
#include <numbers>

#include "bind/bind.hpp"
#include "experts/landmarks/kernel.hpp"

namespace nolana {

// Applies f to whole vectors of each row's part [first, last), and zeroes the lanes beyond the landmarks.
template <class F>
void finish(const Landmarks& u, std::size_t rows, std::size_t first, std::size_t last, Values out, F f) {
    const std::size_t end = last * panel_lanes;
    for (std::size_t r = 0; r < rows; ++r) {
        double* k = out.kernel + r * out.stride;
        for (std::size_t i = first * panel_lanes; i < end; i += lanes) f(r, i).store(k + i);
        for (std::size_t i = u.size(); i < end; ++i) k[i] = 0;
    }
}

class RBF final : public Kernel {  // exp(-gamma |x-u|^2)
  public:
    void evaluate(const Landmarks& u, const double* x, std::size_t rows, std::size_t first, std::size_t last,
                  double gamma, Values out) const override {
        sums_over_features::panels<sums_over_features::SquaredDifference>(u, x, rows, first, last, out.distance, out.stride);
        const Vec minus = Vec::all(-gamma * std::numbers::log2e);
        finish(u, rows, first, last, out, [&](std::size_t r, std::size_t i) {
            return exp2_of_negative(minus * Vec::load(out.distance + r * out.stride + i));
        });
    }
    double self(const double*, std::size_t, double) const override { return 1; }
};

class Laplacian final : public Kernel {  // exp(-gamma |x-u|_1)
  public:
    void evaluate(const Landmarks& u, const double* x, std::size_t rows, std::size_t first, std::size_t last,
                  double gamma, Values out) const override {
        sums_over_features::panels<sums_over_features::SquaredDifference>(u, x, rows, first, last, out.distance, out.stride);
        sums_over_features::panels<sums_over_features::AbsoluteDifference>(u, x, rows, first, last, out.kernel, out.stride);
        const Vec minus = Vec::all(-gamma * std::numbers::log2e);
        finish(u, rows, first, last, out, [&](std::size_t r, std::size_t i) {
            return exp2_of_negative(minus * Vec::load(out.kernel + r * out.stride + i));
        });
    }
    double self(const double*, std::size_t, double) const override { return 1; }
};

// A function of x.u, |x|^2 and |u|^2.
class DotKernel : public Kernel {
  public:
    double self(const double* x, std::size_t d, double gamma) const final {
        const double norm = sums_over_features::squared_norm(x, d);
        return value(norm, norm, norm, gamma);
    }
    void evaluate(const Landmarks& u, const double* x, std::size_t rows, std::size_t first, std::size_t last,
                  double gamma, Values out) const final {
        sums_over_features::panels<sums_over_features::Product>(u, x, rows, first, last, out.kernel, out.stride);
        const std::size_t begin = first * panel_lanes, end = std::min(last * panel_lanes, u.size());
        for (std::size_t r = 0; r < rows; ++r) {
            double* k = out.kernel + r * out.stride;
            double* distance = out.distance + r * out.stride;
            const double norm = sums_over_features::squared_norm(x + r * u.features(), u.features());
            for (std::size_t i = begin; i < end; ++i) {
                distance[i] = std::max(0.0, (norm + u.norms()[i]) - 2 * k[i]);
                k[i] = value(k[i], norm, u.norms()[i], gamma);
            }
            for (std::size_t i = u.size(); i < last * panel_lanes; ++i) k[i] = 0;
        }
    }

  private:
    virtual double value(double product, double x_norm, double u_norm, double gamma) const = 0;
};

class Linear final : public DotKernel {  // x.u
    double value(double product, double, double, double) const override { return product; }
};

class Cosine final : public DotKernel {  // x.u / |x||u|, 0 if either is 0
    double value(double product, double x_norm, double u_norm, double) const override {
        return x_norm > 0 && u_norm > 0 ? product / (std::sqrt(x_norm) * std::sqrt(u_norm)) : 0;
    }
};

class Polynomial final : public DotKernel {  // (gamma x.u + coef0)^degree
  public:
    Polynomial(unsigned degree, double coef0) : degree_(degree), coef0_(coef0) {}

  private:
    double value(double product, double, double, double gamma) const override {
        double base = gamma * product + coef0_, result = 1;
        for (unsigned n = degree_; n > 0; n >>= 1, base *= base)
            if (n & 1) result *= base;
        return result;
    }
    unsigned degree_;
    double coef0_;
};

NOLANA_BINDING(kernels) {
    nb::class_<RBF, Kernel>(m, "RBF").def(nb::init<>());
    nb::class_<Laplacian, Kernel>(m, "Laplacian").def(nb::init<>());
    nb::class_<Polynomial, Kernel>(m, "Polynomial").def(nb::init<unsigned, double>(), "degree"_a, "coef0"_a);
    nb::class_<Cosine, Kernel>(m, "Cosine").def(nb::init<>());
    nb::class_<Linear, Kernel>(m, "Linear").def(nb::init<>());
}

}  // namespace nolana
