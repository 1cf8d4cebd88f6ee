// M phi for the rows of a group. While every row asks for it, the whole rest of the group is taken in one sweep over M;
// which rows were taken together changes no bit of any product.
#pragma once

#include "experts/map.hpp"

namespace nolana {

class Products {
  public:
    explicit Products(std::size_t stride) : stride_(stride), data_(group * stride) {}

    // M or the features changed: products at hand are void, and a change at every row makes them not worth taking.
    void invalidate() { end_ = streak_ = 0; }
    void start_group() { end_ = 0; }
    // M changed, as it does from time to time.
    void drop() { end_ = 0; }
    // Whether the row just learned asked for its product.
    void count(bool asked) { streak_ = asked ? streak_ + 1 : 0; }
    bool has(std::size_t row) const { return row < end_; }
    double* get(std::size_t row) { return data_.data() + row * stride_; }

    // M += outers, and the products of this row and, on a streak, of those after it.
    void take(Symmetric& m, const Symmetric::Outer* outers, std::size_t count, const Features& at) {
        const double* x[group];
        double* y[group];
        end_ = streak_ >= group ? at.rows : at.row + 1;
        for (std::size_t r = at.row; r < end_; ++r) {
            x[r - at.row] = at.group + r * at.stride;
            y[r - at.row] = data_.data() + r * stride_;
        }
        m.sweep(outers, count, x, y, end_ - at.row, at.size);
    }
    std::size_t bytes() const { return data_.bytes(); }

  private:
    std::size_t stride_, end_ = 0, streak_ = 0;
    Buffer data_;
};

}  // namespace nolana
