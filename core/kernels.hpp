// Kernels, a few rows against a range of panels at a time.
//
// Every kernel leaves the squared Euclidean distances beside its values: the landmark policy reads them.
#pragma once

#include <cmath>
#include <memory>
#include <numbers>
#include <utility>

#include "landmarks.hpp"

namespace nolana {

struct Values {
    double* kernel;    // (rows, stride)
    double* distance;  // (rows, stride), squared Euclidean
    std::size_t stride;
};

class Kernel {
  public:
    virtual ~Kernel() = default;
    // k(x_r, u_i) for r < rows <= group and the landmarks of panels [first, last); x is (rows, features).
    virtual void evaluate(const Landmarks& u, const double* x, std::size_t rows, std::size_t first,
                          std::size_t last, double gamma, Values out) const = 0;
    // k(x, x)
    virtual double self(const double* x, std::size_t features, double gamma) const = 0;
};

namespace sums_over_features {

struct SquaredDifference {
    static Vec add(Vec x, Vec u, Vec acc) {
        const Vec t = x - u;
        return fma(t, t, acc);
    }
};
struct AbsoluteDifference {
    static Vec add(Vec x, Vec u, Vec acc) { return acc + abs(x - u); }
};
struct Product {
    static Vec add(Vec x, Vec u, Vec acc) { return fma(x, u, acc); }
};

// Rows x Panels x 8 sums at a time: eight vectors in flight hide the latency of the additions.
template <class Term, std::size_t Rows, std::size_t Panels>
void tile(const double* p, const double* x, std::size_t d, double* out, std::size_t stride) {
    Vec acc[Rows][Panels][2];
    for (std::size_t r = 0; r < Rows; ++r)
        for (std::size_t q = 0; q < Panels; ++q) acc[r][q][0] = acc[r][q][1] = Vec::zero();
    for (std::size_t j = 0; j < d; ++j)
        for (std::size_t q = 0; q < Panels; ++q) {
            const double* u = p + (q * d + j) * panel_lanes;
            const Vec u0 = keep(Vec::load(u)), u1 = keep(Vec::load(u + lanes));
            for (std::size_t r = 0; r < Rows; ++r) {
                const Vec xr = Vec::all(x[r * d + j]);
                acc[r][q][0] = Term::add(xr, u0, acc[r][q][0]);
                acc[r][q][1] = Term::add(xr, u1, acc[r][q][1]);
            }
        }
    for (std::size_t r = 0; r < Rows; ++r)
        for (std::size_t q = 0; q < Panels; ++q)
            for (std::size_t h = 0; h < 2; ++h) acc[r][q][h].store(out + r * stride + q * panel_lanes + h * lanes);
}

template <class Term, std::size_t Rows, std::size_t Panels>
void tiles(const Landmarks& u, const double* x, std::size_t first, std::size_t last, double* out, std::size_t stride) {
    const std::size_t d = u.features();
    std::size_t p = first;
    for (; p + Panels <= last; p += Panels)
        tile<Term, Rows, Panels>(u.panel(p), x, d, out + p * panel_lanes, stride);
    for (; p < last; ++p) tile<Term, Rows, 1>(u.panel(p), x, d, out + p * panel_lanes, stride);
}

template <class Term>
void panels(const Landmarks& u, const double* x, std::size_t rows, std::size_t first, std::size_t last,
            double* out, std::size_t stride) {
    switch (rows) {
#ifdef __AVX512VL__  // 32 registers
        case 4: tiles<Term, 4, 2>(u, x, first, last, out, stride); break;
#else
        case 4: tiles<Term, 4, 1>(u, x, first, last, out, stride); break;
#endif
        case 3: tiles<Term, 3, 1>(u, x, first, last, out, stride); break;
        case 2: tiles<Term, 2, 2>(u, x, first, last, out, stride); break;
        default: tiles<Term, 1, 4>(u, x, first, last, out, stride);
    }
}

inline double squared_norm(const double* x, std::size_t d) {
    double norm = 0;
    for (std::size_t j = 0; j < d; ++j) norm = fma(x[j], x[j], norm);
    return norm;
}

}  // namespace sums_over_features

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

class Cosine final : public DotKernel {  // x.u / |x||u|, 0 where either is 0
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

}  // namespace nolana
