// A sparse row as `width` sums of its values with random signs, each feature in one of them; what it is good for stands in
// nolana/engine/experts/sparse_linear/sketch.py.
#pragma once

#include <algorithm>
#include <stdexcept>

#include "base/mixed.hpp"
#include "experts/sparse_linear/sparse_rows.hpp"

namespace nolana {

class Sketch {
  public:
    Sketch(std::size_t width, std::uint64_t seed) : width_(width), salt_(mixed(static_cast<std::uint32_t>(seed))) {
        if (width == 0 || width > 0x8000 || (width & (width - 1)) > 0)
            throw std::invalid_argument("the width of a sketch is a power of 2");
    }
    std::size_t width() const { return width_; }

    void take(const SparseRow& x, double* sums) const {
        std::fill_n(sums, width_, 0.0);
        for (std::size_t i = 0; i < x.size; ++i) {
            const std::uint32_t bits = mixed(static_cast<std::uint32_t>(x.places[i]) ^ salt_);
            sums[bits % width_] += bits & width_ ? -x.values[i] : x.values[i];
        }
    }

  private:
    std::size_t width_;
    std::uint32_t salt_;
};

}  // namespace nolana
