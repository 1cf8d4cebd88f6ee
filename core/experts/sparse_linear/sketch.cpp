// Sparse rows as `width` sums of their values with random signs, each feature in one of them; what it is good for is in
// nolana/engine/experts/sparse_linear/sketch.py.
#include <algorithm>

#include "bind/sparse.hpp"
#include "base/mixed.hpp"

namespace nolana {

NOLANA_BINDING(sketch) {
    m.def(
        "sketch_rows",
        [](const Starts& starts, const Places& indices, const Vector& values, std::size_t width, std::uint64_t seed) {
            expect(width > 0 && width <= 0x8000 && (width & (width - 1)) == 0, "the width of a sketch is a power of 2");
            const SparseRows in = sparse_rows(starts, indices, values, std::size_t{1} << 31);
            const std::size_t rows = starts.shape(0) - 1;
            const std::uint32_t salt = mixed(static_cast<std::uint32_t>(seed));
            Fresh out = fresh({rows, width});
            {
                nb::gil_scoped_release unlocked;
                for (std::size_t r = 0; r < rows; ++r) {
                    const SparseRow x = in.row(r);
                    double* sums = out.data + r * width;
                    std::fill_n(sums, width, 0.0);
                    for (std::size_t i = 0; i < x.size; ++i) {
                        const std::uint32_t bits = mixed(static_cast<std::uint32_t>(x.places[i]) ^ salt);
                        sums[bits % width] += bits & width ? -x.values[i] : x.values[i];
                    }
                }
            }
            return out.array;
        },
        "starts"_a, "indices"_a, "values"_a, "width"_a, "seed"_a);
}

}  // namespace nolana
