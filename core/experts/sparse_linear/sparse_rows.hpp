// Rows as their non-zeros (CSR): row r has the entries starts[r] - starts[0] up to starts[r + 1] - starts[0]. A place
// below 0 is -1 - place: this feature has just got the place of another one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nolana {

struct SparseRow {
    const std::int32_t* places;
    const double* values;
    std::size_t size;
};

struct SparseRows {
    const std::int64_t* starts;
    const std::int32_t* places;
    const double* values;

    SparseRow row(std::size_t r) const {
        const std::int64_t from = starts[r] - starts[0];
        return {places + from, values + from, static_cast<std::size_t>(starts[r + 1] - starts[r])};
    }
    // Without the first r rows.
    SparseRows from(std::size_t r) const {
        const std::int64_t skipped = starts[r] - starts[0];
        return {starts + r, places + skipped, values + skipped};
    }
};

}  // namespace nolana
