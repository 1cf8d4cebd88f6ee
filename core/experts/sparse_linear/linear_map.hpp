// The non-zeros of a sparse row themselves, as places in a table and values.
#pragma once

#include "experts/map.hpp"

namespace nolana {

class LinearMap final : public Map {
  public:
    static constexpr const char* mismatch = "this head learns on sparse rows, and the map takes dense ones";

    explicit LinearMap(std::size_t table) : Map(table) {}

    bool takes_sparse_rows() const override { return true; }
    std::size_t table() const { return features(); }
    const SparseRow& row(std::size_t r) const { return rows_[r]; }

    void evaluate(const double*, std::size_t) override {}
    void evaluate(const SparseRows& x, std::size_t first, std::size_t rows) override {
        for (std::size_t r = 0; r < rows; ++r) rows_[r] = x.row(first + r);
    }
    void describe(Description& d) override { d.bytes += sizeof(*this); }
    void resize(const Sizes&, const std::string&) override {}

  private:
    SparseRow rows_[group] = {};
};

}  // namespace nolana
