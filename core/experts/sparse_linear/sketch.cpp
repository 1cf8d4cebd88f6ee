// The binding of Sketch.
#include "experts/sparse_linear/sketch.hpp"

#include "bind/sparse.hpp"

namespace nolana {

NOLANA_BINDING(sketch) {
    m.def(
        "sketch_rows",
        [](const Starts& starts, const Places& indices, const Vector& values, std::size_t width, std::uint64_t seed) {
            const Sketch sketch(width, seed);
            const SparseRows in = sparse_rows(starts, indices, values, std::size_t{1} << 31);
            const std::size_t rows = starts.shape(0) - 1;
            Fresh out = fresh({rows, width});
            {
                nb::gil_scoped_release unlocked;
                for (std::size_t r = 0; r < rows; ++r) sketch.take(in.row(r), out.data + r * width);
            }
            return out.array;
        },
        "starts"_a, "indices"_a, "values"_a, "width"_a, "seed"_a);
}

}  // namespace nolana
