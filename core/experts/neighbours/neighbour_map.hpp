// The most recent rows themselves: the nearest of them, in nested windows.
#pragma once

#include <cstdint>

#include "experts/map.hpp"

namespace nolana {

// A row nearby: how many rows ago it was learned (0: the last one), and its distance in steps.
struct Neighbour {
    std::uint32_t age;
    std::int32_t distance;
};

class RecentRows : public Map {
  public:
    static constexpr const char* mismatch = "this head votes by neighbours, and the map has none";

    using Map::Map;
    virtual std::size_t window_count() const = 0;
    virtual std::size_t window(std::size_t i) const = 0;
    // The nearest rows of window i, the nearest first; `count` of them.
    // The mean distance of row r to the nearest of the last `window` rows, in units; 0 if there are none.
    virtual double distance(std::size_t r, std::size_t window) = 0;
    virtual const Neighbour* nearest(std::size_t r, std::size_t i, std::size_t& count) = 0;
};

}  // namespace nolana
