// p_k = exp(g_k - top) of `count` numbers, a multiple of four, none of them larger than top; returns the sum.
#pragma once

#include <numbers>

#include "base/vec.hpp"

namespace nolana {

constexpr double absent = -1e300;  // fills up to a multiple of four: its exponential is 0

inline double exponentials(const double* g, double top, std::size_t count, double* p) {
    const Vec largest = Vec::all(top), unit = Vec::all(std::numbers::log2e);
    Vec total = Vec::zero();
    for (std::size_t k = 0; k < count; k += lanes) {
        const Vec own = exp2_of_negative((Vec::load(g + k) - largest) * unit);
        own.store(p + k);
        total = total + own;
    }
    return sum(total);
}

}  // namespace nolana
