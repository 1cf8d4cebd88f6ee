// A kernel, a few rows against a range of panels at a time. The kernels are in kernels.cpp.
//
// Every kernel leaves the squared Euclidean distances beside its values: the landmark policy reads them.
#pragma once

#include <cmath>
#include <memory>

#include "experts/landmarks/landmarks.hpp"

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
template <class Term, std::size_t Rows, std::size_t Panels, class T>
void tile(const T* p, const double* x, std::size_t d, double* out, std::size_t stride) {
    Vec acc[Rows][Panels][2];
    for (std::size_t r = 0; r < Rows; ++r)
        for (std::size_t q = 0; q < Panels; ++q) acc[r][q][0] = acc[r][q][1] = Vec::zero();
    for (std::size_t j = 0; j < d; ++j)
        for (std::size_t q = 0; q < Panels; ++q) {
            const T* u = p + (q * d + j) * panel_lanes;
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

template <class Term, std::size_t Rows, std::size_t Panels, class T>
void tiles(const Landmarks& u, const double* x, std::size_t first, std::size_t last, double* out, std::size_t stride) {
    const std::size_t d = u.features();
    std::size_t p = first;
    for (; p + Panels <= last; p += Panels)
        tile<Term, Rows, Panels>(u.panel<T>(p), x, d, out + p * panel_lanes, stride);
    for (; p < last; ++p) tile<Term, Rows, 1>(u.panel<T>(p), x, d, out + p * panel_lanes, stride);
}

template <class Term, class T>
void panels_of_type(const Landmarks& u, const double* x, std::size_t rows, std::size_t first, std::size_t last,
                    double* out, std::size_t stride) {
    switch (rows) {
#ifdef __AVX512VL__  // 32 registers
        case 4: tiles<Term, 4, 2, T>(u, x, first, last, out, stride); break;
#else
        case 4: tiles<Term, 4, 1, T>(u, x, first, last, out, stride); break;
#endif
        case 3: tiles<Term, 3, 1, T>(u, x, first, last, out, stride); break;
        case 2: tiles<Term, 2, 2, T>(u, x, first, last, out, stride); break;
        default: tiles<Term, 1, 4, T>(u, x, first, last, out, stride);
    }
}

template <class Term>
void panels(const Landmarks& u, const double* x, std::size_t rows, std::size_t first, std::size_t last,
            double* out, std::size_t stride) {
    if (u.single())
        panels_of_type<Term, float>(u, x, rows, first, last, out, stride);
    else
        panels_of_type<Term, double>(u, x, rows, first, last, out, stride);
}

inline double squared_norm(const double* x, std::size_t d) {
    double norm = 0;
    for (std::size_t j = 0; j < d; ++j) norm = fma(x[j], x[j], norm);
    return norm;
}

}  // namespace sums_over_features

}  // namespace nolana
