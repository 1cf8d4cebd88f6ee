// A symmetric matrix in half the memory: 8 x 8 blocks of the lower triangle, one panel of columns after
// the other, each block column by column. n rows and columns are in use; the padding beyond stays zero.
//
// Diagonal blocks hold both halves, mirrored from the lower one after every change: nothing that is not
// exported is state.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/buffer.hpp"
#include "base/vec.hpp"

namespace nolana {

class Symmetric {
  public:
    static constexpr std::size_t edge = 2 * lanes;

    explicit Symmetric(std::size_t capacity)
        : blocks_(padded(capacity, edge) / edge), data_(blocks_ * (blocks_ + 1) / 2 * edge * edge) {}

    double operator()(std::size_t i, std::size_t j) const {
        if (i < j) std::swap(i, j);
        return block(i / edge, j / edge)[(j % edge) * edge + i % edge];
    }
    void set(std::size_t i, std::size_t j, double value) {
        if (i < j) std::swap(i, j);
        double* b = block(i / edge, j / edge);
        b[(j % edge) * edge + i % edge] = value;
        if (i / edge == j / edge) b[(i % edge) * edge + j % edge] = value;
    }
    void clear() { data_.clear(); }
    void scale(double factor) {
        for (std::size_t i = 0; i < data_.size(); ++i) data_[i] *= factor;
    }
    // M += factor other, a matrix of the same capacity.
    void add(double factor, const Symmetric& other) {
        for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = fma(factor, other.data_[i], data_[i]);
    }
    std::size_t bytes() const { return data_.bytes(); }

    // left right', one of several whose sum is symmetric.
    struct Outer {
        const double *left, *right;
    };

    // M += the sum of `count` outer products, then y_v = M x_v for each vector: one sweep over the memory.
    void sweep(const Outer* outers, std::size_t count, const double* const* x, double* const* y, std::size_t vectors,
               std::size_t n) {
        const Span span(n);
        for (std::size_t v = 0; v < vectors; ++v) std::fill_n(y[v], span.blocks * edge, 0.0);
        for (std::size_t j = 0; j < span.blocks; ++j) {
            switch (count) {
                case 0: break;
                case 1: update_panel<1>(j, span, outers); break;
                case 2: update_panel<2>(j, span, outers); break;
                case 3: update_panel<3>(j, span, outers); break;
                default: update_panel<4>(j, span, outers);
            }
            for (std::size_t v = 0; v < vectors; ++v) multiply_panel(j, span, x[v], y[v]);
        }
    }
    static constexpr std::size_t most_outers = 4;

    void update(const Outer* outers, std::size_t count, std::size_t n) {
        sweep(outers, count, nullptr, nullptr, 0, n);
    }

    // y = M x
    void multiply(const double* x, double* y, std::size_t n) { sweep(nullptr, 0, &x, &y, 1, n); }

    // The element (i, j) that update would leave, bit for bit, without the update.
    double updated(const Outer* outers, std::size_t count, std::size_t i, std::size_t j) const {
        if (i < j) std::swap(i, j);
        double v = (*this)(i, j);
        for (std::size_t o = 0; o < count; ++o) v = fma(outers[o].left[i], outers[o].right[j], v);
        return v;
    }

    // M <- M^-1 by M = L L'. False, with M spoiled, if M is not positive definite.
    bool invert(std::size_t n);

  private:
    std::size_t offset(std::size_t i, std::size_t j) const {
        return edge * edge * (j * blocks_ - j * (j + 1) / 2 + i);
    }
    double* block(std::size_t i, std::size_t j) { return data_.data() + offset(i, j); }
    const double* block(std::size_t i, std::size_t j) const { return data_.data() + offset(i, j); }
    // Quarter (i, j) of a block, counted in steps of 4 rows and columns; its columns are `edge` apart.
    double* quarter(std::size_t i, std::size_t j) {
        return block(i / 2, j / 2) + (j % 2) * lanes * edge + (i % 2) * lanes;
    }
    // The upper half of a diagonal block from its lower half, by whole vectors.
    static void mirror(double* b) {
        for (std::size_t h = 0; h < edge; h += lanes) {
            double* t = b + h * edge + h;
            const Vec c1 = Vec::load(t + edge), c2 = Vec::load(t + 2 * edge), c3 = Vec::load(t + 3 * edge);
            Vec r0 = Vec::load(t), r1 = c1, r2 = c2, r3 = c3;
            transpose(r0, r1, r2, r3);
            first<1>(r1, c1).store(t + edge);
            first<2>(r2, c2).store(t + 2 * edge);
            first<3>(r3, c3).store(t + 3 * edge);
        }
        const double* low = b + lanes;
        Vec r0 = Vec::load(low), r1 = Vec::load(low + edge), r2 = Vec::load(low + 2 * edge), r3 = Vec::load(low + 3 * edge);
        transpose(r0, r1, r2, r3);
        double* high = b + lanes * edge;
        r0.store(high);
        r1.store(high + edge);
        r2.store(high + 2 * edge);
        r3.store(high + 3 * edge);
    }

    // Whole blocks below the diagonal, and whether half a block with anything in it follows.
    struct Span {
        std::size_t whole, blocks;
        explicit Span(std::size_t n) : whole((n + lanes - 1) / edge), blocks(padded(n, edge) / edge) {}
    };

    template <std::size_t K> void update_panel(std::size_t j, Span span, const Outer* outers) {
        double right[K][edge];  // local copies, which no store through b can touch
        const double* from[K];
        for (std::size_t o = 0; o < K; ++o) {
            std::copy_n(outers[o].right + j * edge, edge, right[o]);
            from[o] = outers[o].left;
        }
        const auto one = [&]<std::size_t Halves>(std::size_t i, double* b) {
            Vec left[K][Halves];
            for (std::size_t o = 0; o < K; ++o)
                for (std::size_t h = 0; h < Halves; ++h) left[o][h] = Vec::load(from[o] + i * edge + h * lanes);
            for (std::size_t c = 0; c < edge; ++c) {
                Vec v[Halves];
                for (std::size_t h = 0; h < Halves; ++h) v[h] = Vec::load(b + c * edge + h * lanes);
                for (std::size_t o = 0; o < K; ++o) {
                    const Vec r = Vec::all(right[o][c]);
                    for (std::size_t h = 0; h < Halves; ++h) v[h] = fma(left[o][h], r, v[h]);
                }
                for (std::size_t h = 0; h < Halves; ++h) v[h].store(b + c * edge + h * lanes);
            }
        };
        double* b = block(j, j);
        std::size_t i = j;
        for (; i < span.whole; ++i, b += edge * edge) one.template operator()<2>(i, b);
        if (i < span.blocks) one.template operator()<1>(i, b);
        mirror(block(j, j));
    }

    // The part of y += M x that panel j holds: its columns times x_j, and, mirrored, its rows times x_i.
    void multiply_panel(std::size_t j, Span span, const double* x, double* y) const {
        double xj[edge];  // a local copy, which no store through y can touch
        std::copy_n(x + j * edge, edge, xj);
        Vec across[edge];
        for (std::size_t c = 0; c < edge; ++c) across[c] = Vec::zero();
        const auto one = [&]<std::size_t Halves>(std::size_t i, const double* b) {
            Vec xi[Halves], down[Halves];
            for (std::size_t h = 0; h < Halves; ++h) {
                xi[h] = Vec::load(x + i * edge + h * lanes);
                down[h] = Vec::load(y + i * edge + h * lanes);
            }
            for (std::size_t c = 0; c < edge; ++c) {
                const Vec xc = Vec::all(xj[c]);
                for (std::size_t h = 0; h < Halves; ++h) {
                    const Vec v = keep(Vec::load(b + c * edge + h * lanes));
                    down[h] = fma(v, xc, down[h]);
                    across[c] = fma(v, xi[h], across[c]);
                }
            }
            for (std::size_t h = 0; h < Halves; ++h) down[h].store(y + i * edge + h * lanes);
        };
        const double* b = block(j, j);
        Vec own[2] = {Vec::load(y + j * edge), Vec::load(y + j * edge + lanes)};
        for (std::size_t c = 0; c < edge; ++c)
            for (std::size_t h = 0; h < 2; ++h)
                own[h] = fma(Vec::load(b + c * edge + h * lanes), Vec::all(xj[c]), own[h]);
        b += edge * edge;
        std::size_t i = j + 1;
        for (; i < span.whole; ++i, b += edge * edge) one.template operator()<2>(i, b);
        if (i < span.blocks) one.template operator()<1>(i, b);
        (own[0] + sums(across[0], across[1], across[2], across[3])).store(y + j * edge);
        (own[1] + sums(across[4], across[5], across[6], across[7])).store(y + j * edge + lanes);
    }

    std::size_t blocks_;
    Buffer data_;
};

// The steps of the inversion on 4 x 4 quarters, whose columns are `ld` apart.
namespace quarters {

constexpr std::size_t ld = Symmetric::edge;

struct Columns {
    Vec c[lanes];
    static Columns load(const double* t) {
        return {{Vec::load(t), Vec::load(t + ld), Vec::load(t + 2 * ld), Vec::load(t + 3 * ld)}};
    }
    static Columns zero() { return {{Vec::zero(), Vec::zero(), Vec::zero(), Vec::zero()}}; }
    void store(double* t) const {
        for (std::size_t i = 0; i < lanes; ++i) c[i].store(t + i * ld);
    }
};

// Lower Cholesky factor, zeros above; false if a pivot is not positive.
inline bool factor(double* t) {
    for (std::size_t c = 0; c < lanes; ++c) {
        for (std::size_t k = 0; k < c; ++k)
            for (std::size_t r = c; r < lanes; ++r) t[c * ld + r] = fma(-t[k * ld + r], t[k * ld + c], t[c * ld + r]);
        const double pivot = t[c * ld + c];
        if (!(pivot > 0) || !std::isfinite(pivot)) return false;
        const double root = std::sqrt(pivot);
        for (std::size_t r = c; r < lanes; ++r) t[c * ld + r] /= root;
        for (std::size_t r = 0; r < c; ++r) t[c * ld + r] = 0;
    }
    return true;
}

// Inverse of a lower triangle, in place.
inline void invert_lower(double* t) {
    double w[lanes * lanes] = {};
    for (std::size_t c = 0; c < lanes; ++c)
        for (std::size_t r = c; r < lanes; ++r) {
            double v = r == c ? 1.0 : 0.0;
            for (std::size_t k = c; k < r; ++k) v = fma(-t[k * ld + r], w[c * lanes + k], v);
            w[c * lanes + r] = v / t[r * ld + r];
        }
    for (std::size_t c = 0; c < lanes; ++c) std::copy_n(w + c * lanes, lanes, t + c * ld);
}

// acc -= A B'
inline void subtract_outer(Columns& acc, const double* a, const double* b) {
    for (std::size_t k = 0; k < lanes; ++k) {
        const Vec minus = Vec::zero() - Vec::load(a + k * ld);
        for (std::size_t c = 0; c < lanes; ++c) acc.c[c] = fma(minus, Vec::all(b[k * ld + c]), acc.c[c]);
    }
}

// acc += A B
inline void add_product(Columns& acc, const double* a, const double* b) {
    for (std::size_t k = 0; k < lanes; ++k) {
        const Vec column = Vec::load(a + k * ld);
        for (std::size_t c = 0; c < lanes; ++c) acc.c[c] = fma(column, Vec::all(b[c * ld + k]), acc.c[c]);
    }
}

}  // namespace quarters

inline bool Symmetric::invert(std::size_t n) {
    using quarters::Columns, quarters::ld;
    const std::size_t used = padded(n, edge) / lanes;  // in quarters
    for (std::size_t i = n; i < used * lanes; ++i) set(i, i, 1.0);

    // L, a panel at a time: A_IJ - sum_K L_IK L_JK', then the factor of the diagonal quarter divides out.
    for (std::size_t j = 0; j < used; ++j)
        for (std::size_t i = j; i < used; ++i) {
            double* t = quarter(i, j);
            Columns acc = Columns::load(t);
            for (std::size_t k = 0; k < j; ++k) quarters::subtract_outer(acc, quarter(i, k), quarter(j, k));
            if (i > j) {
                const double* l = quarter(j, j);
                for (std::size_t c = 0; c < lanes; ++c) {
                    for (std::size_t k = 0; k < c; ++k) acc.c[c] = fma(acc.c[k], Vec::all(-l[k * ld + c]), acc.c[c]);
                    acc.c[c] = acc.c[c] * Vec::all(1.0 / l[c * ld + c]);
                }
            }
            acc.store(t);
            if (i == j && !quarters::factor(t)) return false;
        }

    // W = L^-1: W_IJ = -W_II sum_{J <= K < I} L_IK W_KJ, down each column.
    for (std::size_t j = 0; j < used; ++j) quarters::invert_lower(quarter(j, j));
    for (std::size_t j = 0; j < used; ++j)
        for (std::size_t i = j + 1; i < used; ++i) {
            Columns acc = Columns::zero(), result = Columns::zero();
            for (std::size_t k = j; k < i; ++k) quarters::add_product(acc, quarter(i, k), quarter(k, j));
            double minus[lanes * ld];
            for (std::size_t c = 0; c < lanes; ++c) (Vec::zero() - acc.c[c]).store(minus + c * ld);
            quarters::add_product(result, quarter(i, i), minus);
            result.store(quarter(i, j));
        }

    // M^-1 = W' W: quarter (I, J) is the sum over K >= I of W_KI' W_KJ, two columns at a time.
    for (std::size_t j = 0; j < used; ++j)
        for (std::size_t i = j; i < used; ++i) {
            Columns result;
            for (std::size_t c = 0; c < lanes; c += 2) {
                Columns first = Columns::zero(), second = Columns::zero();
                for (std::size_t k = i; k < used; ++k) {
                    const double *a = quarter(k, i), *b = quarter(k, j);
                    const Vec b0 = Vec::load(b + c * ld), b1 = Vec::load(b + (c + 1) * ld);
                    for (std::size_t r = 0; r < lanes; ++r) {
                        const Vec ar = Vec::load(a + r * ld);
                        first.c[r] = fma(ar, b0, first.c[r]);
                        second.c[r] = fma(ar, b1, second.c[r]);
                    }
                }
                result.c[c] = sums(first.c[0], first.c[1], first.c[2], first.c[3]);
                result.c[c + 1] = sums(second.c[0], second.c[1], second.c[2], second.c[3]);
            }
            result.store(quarter(i, j));
        }

    for (std::size_t j = 0; j < used / 2; ++j) mirror(block(j, j));
    for (std::size_t i = n; i < used * lanes; ++i) set(i, i, 0.0);
    return true;
}

}  // namespace nolana
