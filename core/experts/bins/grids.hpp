// Random grids over the features, drawn from a seed: the same list of integers as nolana.engine.experts.bins.grids, bit for
// bit. The formulas are there. Only integers and operations that IEEE 754 rounds exactly: a model file holds the seed.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/draw.hpp"

namespace nolana::grids {

constexpr std::size_t lanes = 16, widest = 64, multipliers = 2 * widest;
constexpr double largest = 32767, scale = 2048, fraction = 64;

// Where a bundle's entries, its named features and its slots begin.
struct Bundle {
    std::size_t size, used, entry, named, slot;
    bool names;
    bool whole;  // its grids take all features, or 64 of them
};

// The grids of all features (or 64 of them), or those of fewer. Lane l of bundle b of them has grid b + l bundles.
struct Half {
    bool whole;
    std::size_t count, bundles;
};
// mixed: rows have categories, and only a quarter of the grids are whole.
inline std::array<Half, 2> halves_of(std::size_t grids, bool mixed) {
    const auto half = [](bool whole, std::size_t count) { return Half{whole, count, (count + lanes - 1) / lanes}; };
    const std::size_t whole = mixed ? std::max<std::size_t>(1, grids / 4) : (grids + 1) / 2;
    return {half(true, whole), half(false, grids - whole)};
}

// mixed: the smaller grids take one to four features.
inline std::vector<Bundle> bundles_of(std::size_t features, std::size_t grids, bool mixed = false) {
    const std::size_t width = std::min(features, widest);
    std::vector<std::size_t> sizes;
    if (mixed)
        for (std::size_t n = 1; n <= std::min<std::size_t>(4, width); ++n) sizes.push_back(n);
    else
        for (std::size_t n = 2; n < width; n *= 2) sizes.push_back(n);
    if (sizes.empty()) sizes.push_back(width);
    std::vector<Bundle> bundles;
    std::size_t entry = 0, named = 0, slot = 0;
    for (const Half& half : halves_of(grids, mixed))
        for (std::size_t b = 0; b < half.bundles; ++b) {
            const auto last = static_cast<double>(std::max<std::size_t>(2, half.bundles) - 1);
            const double place = static_cast<double>(b * (sizes.size() - 1)) / last;
            const std::size_t size = half.whole ? width : sizes[static_cast<std::size_t>(std::nearbyint(place))];
            const std::size_t used = (half.count - b + half.bundles - 1) / half.bundles;
            const bool names = !half.whole || features > widest;
            bundles.push_back({size, used, entry, named, slot, names, half.whole});
            entry += size * lanes;
            named += names ? size * lanes : 0;
            slot += used;
        }
    return bundles;
}

inline std::size_t length_of(const std::vector<Bundle>& bundles) {
    return multipliers + bundles.size() * lanes + bundles.back().entry + bundles.back().size * lanes;
}

// Uniform in (0, 1], from the upper 53 bits.
inline double above_zero(std::uint64_t word) { return static_cast<double>((word >> 11) + 1) * 0x1p-53; }

// -ln u to 1e-8, for u in (0, 1].
inline double minus_log(double u) {
    int e;
    const double m = std::frexp(u, &e), s = (m - 1) / (m + 1);
    double series = 0;
    for (const double k : {13.0, 11.0, 9.0, 7.0, 5.0, 3.0}) series = (series + 1 / k) * (s * s);
    return -(2 * s * (series + 1) + e * 0.6931471805599453);
}

// 4 (1/8)^(i/(count - 1)), the exponent in steps of 2^-16.
inline double level(std::size_t i, std::size_t count) {
    const std::size_t exponent = (i << 16) / std::max<std::size_t>(1, count - 1);
    double factor = 1.0 / 8, result = 4;
    for (int bit = 16; bit >= 0; --bit, factor = std::sqrt(factor))
        if (exponent >> bit & 1) result *= factor;
    return result;
}

// Running sums of the chances of the features in the smaller grids.
inline std::vector<double> cumulative_chances(std::size_t features, const double* relevance) {
    std::vector<double> sums(features);
    if (!relevance) {
        for (std::size_t j = 0; j < features; ++j) sums[j] = static_cast<double>(j + 1);
        return sums;
    }
    double total = 0, sum = 0;
    for (std::size_t j = 0; j < features; ++j) total += relevance[j];
    constexpr double relevant = 0.9;
    const double share = relevant / total, uniform = (1 - relevant) / static_cast<double>(features);
    for (std::size_t j = 0; j < features; ++j) sums[j] = sum += relevance[j] * share + uniform;
    return sums;
}

// The list of integers; `relevance` (d) or null.
inline std::vector<double> draw(std::size_t features, std::size_t grids, std::uint64_t seed, const double* relevance,
                                bool mixed = false) {
    const std::vector<Bundle> bundles = bundles_of(features, grids, mixed);
    std::vector<double> drawn(length_of(bundles));
    const auto word = [seed](std::size_t p, std::size_t k) { return nolana::draw(seed, 4 * p + k); };
    const std::size_t start = multipliers + bundles.size() * lanes;
    for (std::size_t p = 0; p < multipliers; ++p) drawn[p] = static_cast<double>(word(p, 0) >> 48 | 1);
    for (std::size_t p = multipliers; p < start; ++p) drawn[p] = static_cast<double>(word(p, 0) >> 32);
    const std::vector<double> chances = cumulative_chances(features, relevance);
    std::vector<std::size_t> order(features > widest ? features : 0);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::array<Half, 2> halves = halves_of(grids, mixed);
    for (std::size_t b = 0; b < bundles.size(); ++b) {
        const Bundle& bundle = bundles[b];
        const Half& half = halves[b < halves[0].bundles ? 0 : 1];
        const std::size_t first = half.whole ? b : b - halves[0].bundles;
        const double root = std::sqrt(static_cast<double>(bundle.size));
        for (std::size_t l = 0; l < bundle.used; ++l) {
            const double unit = level(first + l * half.bundles, half.count);
            for (std::size_t j = 0; j < bundle.size; ++j) {
                const std::size_t p = start + bundle.entry + j * lanes + l;
                const std::uint64_t one = word(p, 0), two = word(p, 1);
                std::size_t feature = j;
                if (!half.whole) {
                    const double u = static_cast<double>(word(p, 2) >> 11) * 0x1p-53;
                    const auto found = std::upper_bound(chances.begin(), chances.end(), u * chances.back());
                    feature = std::min(features - 1, static_cast<std::size_t>(found - chances.begin()));
                } else if (bundle.names) {  // Fisher and Yates
                    std::swap(order[j], order[j + below(word(p, 2), features - j)]);
                    feature = order[j];
                }
                const double pitch = std::max(0.05, minus_log(above_zero(one) * above_zero(two)) / 2) * unit * root;
                const double inverse = std::min(largest, std::nearbyint(scale / pitch));
                drawn[p] = (static_cast<double>(feature) * (largest + 1) + inverse) * fraction + static_cast<double>(one & 63);
            }
        }
    }
    return drawn;
}

// Whether a list of this length is one of such grids.
inline bool is_list(const std::vector<Bundle>& bundles, std::size_t features, const double* drawn, std::size_t length) {
    if (length != length_of(bundles)) return false;
    const std::size_t start = multipliers + bundles.size() * lanes;
    const double beyond = static_cast<double>(features) * (largest + 1) * fraction;
    for (std::size_t p = 0; p < length; ++p) {
        const double limit = p < multipliers ? 0x1p16 : p < start ? 0x1p32 : beyond;
        if (!(drawn[p] >= 0 && drawn[p] < limit && drawn[p] == std::floor(drawn[p]))) return false;
    }
    return true;
}

}  // namespace nolana::grids
