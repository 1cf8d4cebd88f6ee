// The most recent rows themselves: the nearest of them, in nested windows.
#pragma once

#include <cstdint>

#include "experts/map.hpp"

namespace nolana {

// A row nearby as one number: its distance in steps times 2^32, and how many rows ago it was learned (0: the last one). The
// nearest is the smallest; of two equal distances the more recent row. As a double, of which the smaller one of two is found
// without a branch.
struct Neighbour {
    static constexpr double step = 0x1p32;
    double both;
    static Neighbour of(std::int32_t distance, std::size_t age) { return {distance * step + static_cast<double>(age)}; }
    std::int32_t distance() const { return static_cast<std::int32_t>(both / step); }
    std::size_t age() const { return static_cast<std::size_t>(both - distance() * step); }
};

class RecentRows : public Map {
  public:
    static constexpr const char* mismatch = "this head votes by neighbours, and the map has none";

    using Map::Map;
    virtual std::size_t window_count() const = 0;
    virtual std::size_t window(std::size_t i) const = 0;
    // The mean distance of row r to the nearest of the last `window` rows, in units; 0 if there are none.
    virtual double distance(std::size_t r, std::size_t window) = 0;
    // The nearest rows of window i, the nearest first; `count` of them.
    virtual const Neighbour* nearest(std::size_t r, std::size_t i, std::size_t& count) = 0;
};

}  // namespace nolana
