// Four doubles at a time, with every operation's rounding written out.
//
// The same source is compiled for the plain target and, on x86-64, for AVX2 + FMA. fma(a, b, c) is
// fused if the target fuses and two roundings if it does not, and never left to the compiler
// (the build passes -ffp-contract=off): a row is summed alike however the block around it was cut.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define NOLANA_AVX2 1
#endif

namespace nolana {

constexpr std::size_t lanes = 4;        // doubles in a Vec
constexpr std::size_t panel_lanes = 8;  // landmarks in a panel
constexpr std::size_t group = 4;        // rows that are taken together

constexpr std::size_t padded(std::size_t n, std::size_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

inline double fma(double a, double b, double c) {
#if defined(NOLANA_AVX2) || defined(__FP_FAST_FMA)
    return std::fma(a, b, c);
#else
    return a * b + c;
#endif
}

#ifdef NOLANA_AVX2

struct Integers {  // four of them
    __m128i v;
    static Integers of(int a, int b, int c, int d) { return {_mm_setr_epi32(a, b, c, d)}; }
    static Integers all(int a) { return {_mm_set1_epi32(a)}; }
    static Integers of(std::array<std::int16_t, 2> pair) {  // and two zeros
        return {_mm_cvtepi16_epi32(_mm_cvtsi32_si128(std::bit_cast<std::int32_t>(pair)))};
    }
    int third() const { return _mm_extract_epi32(v, 2); }
    void store(std::int32_t* p) const { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v); }
};
inline Integers operator+(Integers a, Integers b) { return {_mm_add_epi32(a.v, b.v)}; }
inline Integers operator-(Integers a, Integers b) { return {_mm_sub_epi32(a.v, b.v)}; }
inline Integers operator&(Integers a, Integers b) { return {_mm_and_si128(a.v, b.v)}; }
inline bool all_zero(Integers a) { return _mm_testz_si128(a.v, a.v) != 0; }
// Mirrors a 4 x 4 square about its diagonal.
inline void transpose(Integers& a, Integers& b, Integers& c, Integers& d) {
    const __m128i ab = _mm_unpacklo_epi32(a.v, b.v), cd = _mm_unpacklo_epi32(c.v, d.v);
    const __m128i high_ab = _mm_unpackhi_epi32(a.v, b.v), high_cd = _mm_unpackhi_epi32(c.v, d.v);
    a.v = _mm_unpacklo_epi64(ab, cd);
    b.v = _mm_unpackhi_epi64(ab, cd);
    c.v = _mm_unpacklo_epi64(high_ab, high_cd);
    d.v = _mm_unpackhi_epi64(high_ab, high_cd);
}

struct Floats {  // four of them
    __m128 v;
    static Floats all(float a) { return {_mm_set1_ps(a)}; }
    static Floats load(const float* p) { return {_mm_loadu_ps(p)}; }
    static Floats from(Integers a) { return {_mm_cvtepi32_ps(a.v)}; }
};
inline Floats operator+(Floats a, Floats b) { return {_mm_add_ps(a.v, b.v)}; }
inline Floats operator*(Floats a, Floats b) { return {_mm_mul_ps(a.v, b.v)}; }
// A bit for each a that is not at most its b.
inline unsigned not_at_most(Floats a, Floats b) { return static_cast<unsigned>(_mm_movemask_ps(_mm_cmpnle_ps(a.v, b.v))); }

struct Vec {
    __m256d v;
    static Vec zero() { return {_mm256_setzero_pd()}; }
    static Vec all(double a) { return {_mm256_set1_pd(a)}; }
    static Vec load(const double* p) { return {_mm256_loadu_pd(p)}; }
    static Vec load(const float* p) { return {_mm256_cvtps_pd(_mm_loadu_ps(p))}; }
    void store(double* p) const { _mm256_storeu_pd(p, v); }
    void store(float* p) const { _mm_storeu_ps(p, _mm256_cvtpd_ps(v)); }
};
inline Vec operator+(Vec a, Vec b) { return {_mm256_add_pd(a.v, b.v)}; }
inline Vec operator-(Vec a, Vec b) { return {_mm256_sub_pd(a.v, b.v)}; }
inline Vec operator*(Vec a, Vec b) { return {_mm256_mul_pd(a.v, b.v)}; }
inline Vec operator/(Vec a, Vec b) { return {_mm256_div_pd(a.v, b.v)}; }
inline Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_pd(a.v, b.v, c.v)}; }
inline Vec max(Vec a, Vec b) { return {_mm256_max_pd(a.v, b.v)}; }
inline Vec abs(Vec a) { return {_mm256_andnot_pd(_mm256_set1_pd(-0.0), a.v)}; }

// 2^n for four integers n in [-1022, 1023] that are stored in the low bits of `shifted`.
inline Vec power_of_two(Vec shifted) {
    const __m256i n = _mm256_castpd_si256(shifted.v);
    const __m256i biased = _mm256_add_epi64(n, _mm256_set1_epi64x(1023));
    return {_mm256_castsi256_pd(_mm256_slli_epi64(biased, 52))};
}
inline Vec zero_where_below(Vec a, Vec x, double bound) {
    return {_mm256_and_pd(a.v, _mm256_cmp_pd(x.v, _mm256_set1_pd(bound), _CMP_GE_OQ))};
}

// The sums of four vectors, in one vector.
inline Vec sums(Vec a, Vec b, Vec c, Vec d) {
    const __m256d ab = _mm256_hadd_pd(a.v, b.v), cd = _mm256_hadd_pd(c.v, d.v);
    return {_mm256_add_pd(_mm256_permute2f128_pd(ab, cd, 0x20), _mm256_permute2f128_pd(ab, cd, 0x31))};
}

// (a0 + a1) + (a2 + a3), and the largest of the four.
inline double sum(Vec a) {
    const __m256d pairs = _mm256_hadd_pd(a.v, a.v);
    return _mm_cvtsd_f64(_mm_add_sd(_mm256_castpd256_pd128(pairs), _mm256_extractf128_pd(pairs, 1)));
}
inline double largest(Vec a) {
    const __m128d pair = _mm_max_pd(_mm256_castpd256_pd128(a.v), _mm256_extractf128_pd(a.v, 1));
    return _mm_cvtsd_f64(_mm_max_sd(pair, _mm_unpackhi_pd(pair, pair)));
}

// Mirrors a 4 x 4 square about its diagonal.
inline void transpose(Vec& a, Vec& b, Vec& c, Vec& d) {
    const __m256d ab0 = _mm256_unpacklo_pd(a.v, b.v), ab1 = _mm256_unpackhi_pd(a.v, b.v);
    const __m256d cd0 = _mm256_unpacklo_pd(c.v, d.v), cd1 = _mm256_unpackhi_pd(c.v, d.v);
    a.v = _mm256_permute2f128_pd(ab0, cd0, 0x20);
    b.v = _mm256_permute2f128_pd(ab1, cd1, 0x20);
    c.v = _mm256_permute2f128_pd(ab0, cd0, 0x31);
    d.v = _mm256_permute2f128_pd(ab1, cd1, 0x31);
}
// The first N lanes of a, the others of b.
template <int N> inline Vec first(Vec a, Vec b) { return {_mm256_blend_pd(b.v, a.v, (1 << N) - 1)}; }

// Keeps a loaded value in its register, where the compiler would rather load it once for each use, or in a vector with others.
inline double keep(double a) {
#ifdef __GNUC__
    __asm__("" : "+x"(a));
#endif
    return a;
}
inline Vec keep(Vec a) {
#ifdef __GNUC__
    __asm__("" : "+x"(a.v));
#endif
    return a;
}

#else

#ifdef __GNUC__
using Lanes = double __attribute__((vector_size(lanes * sizeof(double))));
#else
struct Lanes {
    double v[lanes];
    double& operator[](std::size_t i) { return v[i]; }
    double operator[](std::size_t i) const { return v[i]; }
};
#endif

struct Integers {  // four of them
    std::int32_t v[lanes];
    static Integers of(int a, int b, int c, int d) { return {{a, b, c, d}}; }
    static Integers all(int a) { return {{a, a, a, a}}; }
    static Integers of(std::array<std::int16_t, 2> pair) { return {{pair[0], pair[1], 0, 0}}; }
    int third() const { return v[2]; }
    void store(std::int32_t* p) const { std::copy_n(v, lanes, p); }
};
inline Integers operator+(Integers a, Integers b) { return {{a.v[0] + b.v[0], a.v[1] + b.v[1], a.v[2] + b.v[2], a.v[3] + b.v[3]}}; }
inline Integers operator-(Integers a, Integers b) { return {{a.v[0] - b.v[0], a.v[1] - b.v[1], a.v[2] - b.v[2], a.v[3] - b.v[3]}}; }
inline Integers operator&(Integers a, Integers b) { return {{a.v[0] & b.v[0], a.v[1] & b.v[1], a.v[2] & b.v[2], a.v[3] & b.v[3]}}; }
inline bool all_zero(Integers a) { return (a.v[0] | a.v[1] | a.v[2] | a.v[3]) == 0; }
inline void transpose(Integers& a, Integers& b, Integers& c, Integers& d) {
    std::swap(a.v[1], b.v[0]);
    std::swap(a.v[2], c.v[0]);
    std::swap(a.v[3], d.v[0]);
    std::swap(b.v[2], c.v[1]);
    std::swap(b.v[3], d.v[1]);
    std::swap(c.v[3], d.v[2]);
}

struct Floats {  // four of them
    float v[lanes];
    static Floats all(float a) { return {{a, a, a, a}}; }
    static Floats load(const float* p) { return {{p[0], p[1], p[2], p[3]}}; }
    static Floats from(Integers a) {
        return {{static_cast<float>(a.v[0]), static_cast<float>(a.v[1]), static_cast<float>(a.v[2]), static_cast<float>(a.v[3])}};
    }
};
inline Floats operator+(Floats a, Floats b) { return {{a.v[0] + b.v[0], a.v[1] + b.v[1], a.v[2] + b.v[2], a.v[3] + b.v[3]}}; }
inline Floats operator*(Floats a, Floats b) { return {{a.v[0] * b.v[0], a.v[1] * b.v[1], a.v[2] * b.v[2], a.v[3] * b.v[3]}}; }
inline unsigned not_at_most(Floats a, Floats b) {
    unsigned bits = 0;
    for (unsigned i = 0; i < lanes; ++i) bits |= static_cast<unsigned>(!(a.v[i] <= b.v[i])) << i;
    return bits;
}

struct Vec {
    Lanes v;
    static Vec zero() { return all(0); }
    static Vec all(double a) { return {Lanes{a, a, a, a}}; }
    template <class T> static Vec load(const T* p) { return {Lanes{p[0], p[1], p[2], p[3]}}; }
    template <class T> void store(T* p) const {
        for (std::size_t i = 0; i < lanes; ++i) p[i] = static_cast<T>(v[i]);
    }
};
template <class F> inline Vec lanewise(F f) { return {Lanes{f(0), f(1), f(2), f(3)}}; }
#ifdef __GNUC__
inline Vec operator+(Vec a, Vec b) { return {a.v + b.v}; }
inline Vec operator-(Vec a, Vec b) { return {a.v - b.v}; }
inline Vec operator*(Vec a, Vec b) { return {a.v * b.v}; }
inline Vec operator/(Vec a, Vec b) { return {a.v / b.v}; }
#else
inline Vec operator+(Vec a, Vec b) { return lanewise([&](int i) { return a.v[i] + b.v[i]; }); }
inline Vec operator-(Vec a, Vec b) { return lanewise([&](int i) { return a.v[i] - b.v[i]; }); }
inline Vec operator*(Vec a, Vec b) { return lanewise([&](int i) { return a.v[i] * b.v[i]; }); }
inline Vec operator/(Vec a, Vec b) { return lanewise([&](int i) { return a.v[i] / b.v[i]; }); }
#endif
inline Vec fma(Vec a, Vec b, Vec c) {
#ifdef __FP_FAST_FMA
    return lanewise([&](int i) { return std::fma(a.v[i], b.v[i], c.v[i]); });
#else
    return a * b + c;
#endif
}
inline Vec max(Vec a, Vec b) { return lanewise([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; }); }
inline Vec abs(Vec a) { return lanewise([&](int i) { return std::fabs(a.v[i]); }); }
inline Vec power_of_two(Vec shifted) {
    return lanewise([&](int i) {
        return std::bit_cast<double>((std::bit_cast<std::uint64_t>(static_cast<double>(shifted.v[i])) + 1023) << 52);
    });
}
inline Vec zero_where_below(Vec a, Vec x, double bound) {
    return lanewise([&](int i) { return x.v[i] >= bound ? a.v[i] : 0.0; });
}
inline Vec sums(Vec a, Vec b, Vec c, Vec d) {
    const auto total = [](Vec x) { return (x.v[0] + x.v[1]) + (x.v[2] + x.v[3]); };
    return {Lanes{total(a), total(b), total(c), total(d)}};
}
inline double sum(Vec a) { return (a.v[0] + a.v[1]) + (a.v[2] + a.v[3]); }
inline double largest(Vec a) { return std::max(std::max(a.v[0], a.v[1]), std::max(a.v[2], a.v[3])); }
inline void transpose(Vec& a, Vec& b, Vec& c, Vec& d) {
    const Vec p = a, q = b, r = c, s = d;
    a = {Lanes{p.v[0], q.v[0], r.v[0], s.v[0]}};
    b = {Lanes{p.v[1], q.v[1], r.v[1], s.v[1]}};
    c = {Lanes{p.v[2], q.v[2], r.v[2], s.v[2]}};
    d = {Lanes{p.v[3], q.v[3], r.v[3], s.v[3]}};
}
template <int N> inline Vec first(Vec a, Vec b) {
    return lanewise([&](int i) { return i < N ? a.v[i] : b.v[i]; });
}
inline Vec keep(Vec a) { return a; }
inline double keep(double a) { return a; }

#endif

// 2^x for x <= 0, to about one unit in the last place; 0 below -1021, and 2^0 is exactly 1.
//
// x = n + r with n an integer and |r| <= 1/2; 2^r = 1 + r q(r), q of degree 10 through the Chebyshev nodes
// (relative error 8.0e-18 before rounding).
inline Vec exp2_of_negative(Vec x) {
    const Vec clamped = max(x, Vec::all(-1021.0));
    const Vec magic = Vec::all(0x1.8p52);  // adding it rounds to an integer, kept in the low bits
    const Vec shifted = clamped + magic;
    const Vec r = clamped - (shifted - magic);

    const auto line = [&](double a, double b) { return fma(Vec::all(b), r, Vec::all(a)); };
    const Vec r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
    const Vec p01 = line(1.0, 0x1.62e42fefa39efp-1), p23 = line(0x1.ebfbdff82c598p-3, 0x1.c6b08d704a0c2p-5);
    const Vec p45 = line(0x1.3b2ab6fba1ddap-7, 0x1.5d87fe78a5276p-10), p67 = line(0x1.430913096fd9fp-13, 0x1.ffcbfc670dcd4p-17);
    const Vec p89 = line(0x1.62bfd47773353p-20, 0x1.b524fae627834p-24), pab = line(0x1.e6063f7217bc6p-28, 0x1.e9d3fe3952179p-32);
    const Vec low = fma(fma(p67, r2, p45), r4, fma(p23, r2, p01));
    return zero_where_below(fma(fma(pab, r2, p89), r8, low) * power_of_two(shifted), x, -1021.0);
}

// a.b over n numbers, n a multiple of 4, in one fixed order.
inline double dot(const double* a, const double* b, std::size_t n) {
    Vec s[4] = {Vec::zero(), Vec::zero(), Vec::zero(), Vec::zero()};
    std::size_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes)
        for (std::size_t k = 0; k < 4; ++k) s[k] = fma(Vec::load(a + i + k * lanes), Vec::load(b + i + k * lanes), s[k]);
    for (std::size_t k = 0; i < n; i += lanes, ++k) s[k] = fma(Vec::load(a + i), Vec::load(b + i), s[k]);
    return sum((s[0] + s[1]) + (s[2] + s[3]));
}

// The place of the largest of n numbers, the first one if there are several; of few numbers without a branch for each. Any
// place if one of them is NaN.
inline std::size_t largest_of(const double* x, std::size_t n) {
    if (n < 2 * lanes) {
        double top = x[0];
        std::size_t at = 0;
        for (std::size_t i = 1; i < n; ++i) {
            at = x[i] > top ? i : at;
            top = x[i] > top ? x[i] : top;
        }
        return at;
    }
    Vec even = Vec::load(x), odd = Vec::load(x + lanes);
    std::size_t i = 2 * lanes;
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
        even = max(even, Vec::load(x + i));
        odd = max(odd, Vec::load(x + i + lanes));
    }
    double top = largest(max(even, odd));
    for (; i < n; ++i) top = std::max(top, x[i]);
    const double* at = std::find(x, x + n, top);
    return at == x + n ? 0 : static_cast<std::size_t>(at - x);  // not found: NaN
}

// y += a x over n numbers, n a multiple of 4.
inline void add_scaled(double a, const double* x, double* y, std::size_t n) {
    const Vec av = Vec::all(a);
    for (std::size_t i = 0; i < n; i += lanes) fma(av, Vec::load(x + i), Vec::load(y + i)).store(y + i);
}

}  // namespace nolana
