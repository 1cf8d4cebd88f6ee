// Sparse features: a short list of active places in a table for each row, and the row itself for a linear part.
#pragma once

#include <cstdint>

#include "map.hpp"

namespace nolana {

class SparseMap : public Map {
  public:
    SparseMap(std::size_t features, std::size_t grids, std::size_t table)
        : Map(features), grids_(grids), table_(table), slots_(group * grids), dense_(group * (features + 1)) {}

    std::size_t grids() const { return grids_; }
    std::size_t table() const { return table_; }
    // The active places (grids) of row r of the group.
    const std::uint32_t* slots(std::size_t r) const { return slots_.data() + r * grids_; }
    // z in single precision and 1, (features + 1).
    const double* dense(std::size_t r) const { return dense_.data() + r * (features() + 1); }

    // The active places of row r, with another value for one feature.
    virtual void slots_with(std::size_t r, std::size_t feature, float value, std::uint32_t* slots) const = 0;

  protected:
    std::size_t grids_, table_;
    BufferOf<std::uint32_t> slots_;
    Buffer dense_;
};

}  // namespace nolana
