// Random choices inside learning: a hash of (seed, rows learned), the same as nolana.engine.base.draw, so that neither
// a saved state nor the way a block is cut can change what is drawn.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nolana {

constexpr std::uint64_t golden = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio

// splitmix64's output function (Steele, Lea, Flood 2014).
constexpr std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

// 64 bits for step `row` of the stream `seed`: hashing the seed first keeps neighbouring seeds apart.
constexpr std::uint64_t draw(std::uint64_t seed, std::uint64_t row) {
    return mixed(mixed(seed + golden) + row * golden);
}

// Uniform in [0, n), n < 2^32, from the upper half of 64 bits.
constexpr std::size_t below(std::uint64_t word, std::size_t n) {
    return static_cast<std::size_t>(((word >> 32) * static_cast<std::uint64_t>(n)) >> 32);
}
constexpr std::size_t draw_below(std::uint64_t seed, std::uint64_t row, std::size_t n) { return below(draw(seed, row), n); }

}  // namespace nolana
