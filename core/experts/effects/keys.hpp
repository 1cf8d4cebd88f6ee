// Keys of categories: a cell of a categorical column holds an integer below 2^52, NaN is the category "missing".
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/draw.hpp"

namespace nolana {

constexpr std::uint64_t missing_key = std::uint64_t{1} << 52;

// 64 bits for the value of column j: the hash of (column, key).
inline std::uint64_t column_hash(std::size_t j, double value) {
    const std::uint64_t key = std::isnan(value) ? missing_key : static_cast<std::uint64_t>(value);
    return mixed(mixed(key) + (j + 1) * golden);
}

inline bool has_nan(const double* x, std::size_t n) {
    int found = 0;
    for (std::size_t i = 0; i < n; ++i) found |= x[i] != x[i];
    return found != 0;
}

}  // namespace nolana
