// The binding of FeatureTable.
#include "experts/sparse_linear/feature_table.hpp"

#include "bind/sparse.hpp"

namespace nolana {

NOLANA_BINDING(feature_table) {
    const auto take = [](FeatureTable& self, const Starts& starts, const Places& indices, const Vector& values,
                         const double* weight, bool learned) {
        const SparseRows in = sparse_rows(starts, indices, values, self.features());
        const std::size_t count = starts.shape(0) - 1, entries = static_cast<std::size_t>(starts(count) - starts(0));
        auto* slots = new std::int32_t[std::max<std::size_t>(1, entries)];
        nb::capsule owner(slots, [](void* p) noexcept { delete[] static_cast<std::int32_t*>(p); });
        Fresh z = fresh({entries});
        {
            nb::gil_scoped_release unlocked;
            for (std::size_t r = 0; r < count; ++r) {
                const std::size_t from = static_cast<std::size_t>(starts(r) - starts(0));
                self.take(in.row(r), learned && (!weight || weight[r] > 0), slots + from, z.data + from);
            }
        }
        const std::size_t shape[1] = {entries};
        return nb::make_tuple(nb::ndarray<nb::numpy, std::int32_t>(slots, 1, shape, owner), z.array);
    };
    nb::class_<FeatureTable, Stateful>(m, "FeatureTable")
        .def(nb::init<std::size_t, std::size_t, std::size_t, std::uint64_t>(), "features"_a, "table"_a, "counters"_a,
             "seed"_a = 0)
        .def(
            "apply",
            [take](FeatureTable& self, const Starts& starts, const Places& indices, const Vector& values) {
                return take(self, starts, indices, values, nullptr, false);
            },
            "starts"_a, "indices"_a, "values"_a)
        .def(
            "advance",
            [take](FeatureTable& self, const Starts& starts, const Places& indices, const Vector& values,
                   const nb::object& weight) {
                Vector held;
                const double* w = weights_of(weight, std::max<std::size_t>(1, starts.shape(0)) - 1, held);
                return take(self, starts, indices, values, w, true);
            },
            "starts"_a, "indices"_a, "values"_a, "weight"_a = nb::none())
        .def_prop_ro("rows", [](const FeatureTable& self) { return static_cast<std::uint64_t>(self.rows); });
}

}  // namespace nolana
