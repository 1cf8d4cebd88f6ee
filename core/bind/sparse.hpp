// Sparse rows from Python: starts (n + 1), and places and values of the non-zeros. A place is below the width; if
// slots may have new features, -1 - place marks one of these.
#pragma once

#include "bind/bind.hpp"
#include "experts/sparse_linear/sparse_rows.hpp"

namespace nolana {

using Starts = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline SparseRows sparse_rows(const Starts& starts, const Places& places, const Vector& values, std::size_t width,
                              bool marked = false) {
    expect(starts.shape(0) > 0, "starts has one entry more than there are rows");
    for (std::size_t r = 0; r + 1 < starts.shape(0); ++r) expect(starts(r) <= starts(r + 1), "starts does not ascend");
    const std::int64_t first = starts(0), last = starts(starts.shape(0) - 1);
    expect(first >= 0 && places.shape(0) == values.shape(0) && last <= static_cast<std::int64_t>(values.shape(0)),
           "starts does not fit the non-zeros");
    for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t place = marked && places(i) < 0 ? -1 - places(i) : places(i);
        expect(place >= 0 && static_cast<std::size_t>(place) < width, "a non-zero is beyond the features");
    }
    return {starts.data(), places.data() + first, values.data() + first};
}

}  // namespace nolana
