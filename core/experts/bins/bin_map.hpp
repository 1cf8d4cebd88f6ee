// Sparse features: a short list of active places in a table for each row, and the row itself for a linear part.
#pragma once

#include <cstdint>

#include "experts/map.hpp"

namespace nolana {

class SparseMap : public Map {
  public:
    static constexpr const char* mismatch = "this head learns on sparse features, and the map has dense ones";

    SparseMap(std::size_t features, std::size_t grids, std::size_t table)
        : Map(features), grids_(grids), table_(table), width_(padded(features + 1, lanes)), slots_(group * grids),
          dense_(group * width_) {}

    std::size_t grids() const { return grids_; }
    std::size_t table() const { return table_; }
    // The active places (grids) of row r of the group.
    const std::uint32_t* slots(std::size_t r) const { return slots_.data() + r * grids_; }
    // z in single precision, 1, and zeros up to the width, a multiple of four.
    const double* dense(std::size_t r) const { return dense_.data() + r * width_; }
    std::size_t width() const { return width_; }

    // The active places of row r, with another value for one feature.
    virtual void slots_with(std::size_t r, std::size_t feature, float value, std::uint32_t* slots) const = 0;

  protected:
    std::size_t grids_, table_, width_;
    BufferOf<std::uint32_t> slots_;
    Buffer dense_;
};

}  // namespace nolana
