// Sine and cosine, four at a time; absolute error below 2e-16.
//
// x = n pi/2 + r, |r| <= pi/4: the multiple of pi/2 is taken off in three parts, the first two short enough that
// n times them is exact for |x| <= 1e6. Taylor polynomials in r (odd powers to 17, even to 16: the next terms are
// below 1e-19); then the quadrant n mod 4. Beyond 1e6 the library's functions serve.
#pragma once

#include "base/vec.hpp"

namespace nolana {

struct SineCosine {
    Vec sine, cosine;
};

inline SineCosine sincos(Vec x) {  // |x| <= 1e6
    const Vec magic = Vec::all(0x1.8p52);  // adding and subtracting it rounds to an integer
    const Vec n = (fma(x, Vec::all(0x1.45f306dc9c883p-1), magic)) - magic;
    Vec r = fma(n, Vec::all(-0x1.921fb544p0), x);
    r = fma(n, Vec::all(-0x1.0b4611a6p-34), r);
    r = fma(n, Vec::all(-0x1.3198a2e037073p-69), r);

    const auto line = [](Vec z, double a, double b) { return fma(Vec::all(b), z, Vec::all(a)); };
    const Vec z = r * r, z2 = z * z, z4 = z2 * z2;
    const Vec s01 = line(z, -1.0 / 6, 1.0 / 120), s23 = line(z, -1.0 / 5040, 1.0 / 362880);
    const Vec s45 = line(z, -1.0 / 39916800, 1.0 / 6227020800.0), s67 = line(z, -1.0 / 1307674368000.0, 1.0 / 355687428096000.0);
    const Vec c01 = line(z, 1.0 / 24, -1.0 / 720), c23 = line(z, 1.0 / 40320, -1.0 / 3628800);
    const Vec c45 = line(z, 1.0 / 479001600, -1.0 / 87178291200.0);
    const Vec odd = fma(fma(s67, z2, s45), z4, fma(s23, z2, s01));
    const Vec even = fma(fma(Vec::all(1.0 / 20922789888000.0), z2, c45), z4, fma(c23, z2, c01));
    const Vec s = fma(r * z, odd, r);
    const Vec c = fma(z2, even, fma(z, Vec::all(-0.5), Vec::all(1.0)));

    // q = n mod 4 in {-2..2}; along = cos(q pi/2) and across = sin(q pi/2) are 0 or +-1, so nothing is rounded here.
    const Vec q = n - Vec::all(4.0) * (fma(n, Vec::all(0.25), magic) - magic);
    const Vec along = Vec::all(1.0) - abs(q), across = q * (Vec::all(2.0) - abs(q));
    return {fma(along, s, across * c), along * c - across * s};
}

// sine and cosine of x[0..n), n a multiple of 4; the three do not overlap.
inline void sincos(const double* x, double* sine, double* cosine, std::size_t n) {
    Vec largest = Vec::zero();
    for (std::size_t i = 0; i < n; i += lanes) {
        const Vec v = Vec::load(x + i);
        largest = max(largest, abs(v));
        const SineCosine both = sincos(v);
        both.sine.store(sine + i);
        both.cosine.store(cosine + i);
    }
    double far[lanes];
    largest.store(far);
    if (far[0] <= 1e6 && far[1] <= 1e6 && far[2] <= 1e6 && far[3] <= 1e6) return;
    for (std::size_t i = 0; i < n; ++i) {
        if (std::fabs(x[i]) <= 1e6) continue;
        sine[i] = std::sin(x[i]);
        cosine[i] = std::cos(x[i]);
    }
}

}  // namespace nolana
