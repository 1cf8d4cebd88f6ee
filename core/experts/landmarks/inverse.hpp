// P = (E + delta I)^-1 over the landmarks, updated by one product per landmark move.
//
// Moving u_q to u' (all vectors over the OLD landmarks):
//     b = k_u' - E[:,q]       t = e_q + P b       p = P[:,q]
//     s = |phi(u') - phi(u_q)|^2 - b.P b          D = s P_qq + t_q^2
//     P'[i,j] = P[i,j] + (P_qq t_i t_j - t_q (p_i t_j + t_i p_j) - s p_i p_j) / D      i, j != q
//     P'[i,q] = (t_q p_i - P_qq t_i) / D          P'[q,q] = P_qq / D
//     alpha' = T alpha,  T = I + c e_q',  c_i = -(s p_i + t_q t_i) / D,  c_q = t_q / D - 1
// D is a sum of non-negatives: nothing cancels, even if landmarks are duplicated.
#pragma once

#include <algorithm>
#include <cmath>

#include "experts/map.hpp"

namespace nolana {

class Inverse {
  public:
    explicit Inverse(std::size_t capacity)
        : p_(capacity), scratch_(rows * padded(capacity + 1, panel_lanes)),
          stride_(padded(capacity + 1, panel_lanes)) {}

    Symmetric& matrix() { return p_; }
    const Symmetric& matrix() const { return p_; }
    std::size_t scratch_bytes() const { return scratch_.bytes(); }

    // A new landmark: P' = P (+) 0 + z z' / g, z = [-P k; 1], g = k(x,x) - k.P k + delta; `explained` is P k.
    Growth grow(const double* explained, double g, std::size_t n) {
        double *z = row(product), *over = row(left);
        for (std::size_t i = 0; i < n; ++i) z[i] = -explained[i];
        z[n] = 1;
        for (std::size_t i = n + 1; i < stride_; ++i) z[i] = 0;
        for (std::size_t i = 0; i < stride_; ++i) over[i] = z[i] / g;
        const Symmetric::Outer outer{z, over};
        p_.update(&outer, 1, n + 1);
        return {z, g, n + 1};
    }

    // new_values = k(u', u_j) and old_values = E[:,q], both over the old landmarks.
    Move move(std::size_t q, const double* new_values, const double* old_values, double new_self, double old_self,
              double delta, std::size_t n) {
        const std::size_t width = padded(n, panel_lanes);
        double *b = row(product), *t = row(left), *p = row(right), *a = row(across), *c = row(carry_row);
        for (std::size_t i = 0; i < width; ++i) b[i] = new_values[i] - old_values[i];
        p_.multiply(b, t, n);
        const double raw = (new_self - 2 * new_values[q] + old_self) - dot(b, t, width);
        const double s = std::max(0.0, raw);
        t[q] += 1;
        for (std::size_t i = 0; i < n; ++i) p[i] = p_(i, q);
        for (std::size_t i = n; i < width; ++i) p[i] = 0;
        const double tq = t[q], pqq = p[q], d = fma(s, pqq, tq * tq);
        for (std::size_t i = 0; i < width; ++i) {
            a[i] = (pqq * t[i] - tq * p[i]) / d;
            c[i] = -fma(s, p[i], tq * t[i]) / d;
        }
        // The sweep also multiplies P' by the new row of E + delta I, which must give e_q.
        double *target = row(product), *result = row(check);
        std::copy_n(new_values, width, target);
        target[q] = new_self + delta;
        const Symmetric::Outer outers[] = {{t, a}, {p, c}};
        const double* const x[] = {target};
        double* const y[] = {result};
        p_.sweep(outers, 2, x, y, 1, n);

        double* v = row(right);
        for (std::size_t i = 0; i < width; ++i) v[i] = -a[i];
        v[q] = pqq / d;
        for (std::size_t i = 0; i < n; ++i) p_.set(i, q, v[i]);
        c[q] = tq / d - 1;

        double error = std::fabs(dot(v, target, width) - 1);
        for (std::size_t i = 0; i < n; ++i)
            if (i != q) error = std::max(error, std::fabs(fma(v[i], target[q], result[i])));
        trusted_ = error <= 1e-6 && raw >= -1e-10 * (new_self + old_self);  // false for NaN as well
        return {q, s, c, v, n};
    }

    // Whether the last move left P as exact as it should be.
    bool trusted() const { return trusted_; }

  private:
    enum Row { product, left, right, across, carry_row, check, rows };
    double* row(Row r) { return scratch_.data() + r * stride_; }

    Symmetric p_;
    Buffer scratch_;
    std::size_t stride_;
    bool trusted_ = true;
};

}  // namespace nolana
