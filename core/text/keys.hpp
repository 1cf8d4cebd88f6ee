// The key of a category: 52 bits of a hash of its bytes, the same as nolana.columns.keys on every machine.
//
// Bytes are taken as little-endian words of 64 bits, the last one padded with zeros; n is their number:
//   h = mixed(n + golden),   h = (h ^ word) multiplier, h ^= h >> 29 for each word,   key = mixed(h) >> 12
// The steps are one-to-one in the word and in h, and n tells padding from zeros. `mixed` is that of splitmix64.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/draw.hpp"

namespace nolana {

static_assert(std::endian::native == std::endian::little, "words of bytes are little-endian");

constexpr std::uint64_t multiplier = 0xD1342543DE82EF95;  // odd, of a full-period generator (Steele, Vigna 2021)

inline double key_of(std::string_view bytes) {
    std::uint64_t h = mixed(bytes.size() + golden);
    const char* p = bytes.data();
    for (std::size_t left = bytes.size(); left > 0;) {
        const std::size_t taken = left < 8 ? left : 8;
        std::uint64_t word = 0;
        std::memcpy(&word, p, taken);
        h = (h ^ word) * multiplier;
        h ^= h >> 29;
        p += taken;
        left -= taken;
    }
    return static_cast<double>(mixed(h) >> 12);
}

}  // namespace nolana
