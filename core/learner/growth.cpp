// The binding of GrowthWatch.
#include "learner/growth.hpp"

#include "bind/bind.hpp"

namespace nolana {

NOLANA_BINDING(growth) {
    nb::class_<GrowthWatch, Stateful>(m, "GrowthWatch")
        .def(nb::init<std::size_t>(), "features"_a)
        .def(
            "observe",
            [](GrowthWatch& self, const Matrix& x, const nb::object& weight, const Vector& factor) {
                expect(x.shape(1) == self.features(), "x has another number of features than the watch");
                expect(factor.shape(0) == self.features(), "factor is not (features,)");
                const double* w = nullptr;
                Vector weights;
                if (!weight.is_none()) {
                    weights = nb::cast<Vector>(weight);
                    expect(weights.shape(0) == x.shape(0), "weight is not (rows,)");
                    w = weights.data();
                }
                self.observe(x.data(), w, x.shape(0), factor.data());
            },
            "x"_a, "weight"_a.none(), "factor"_a)
        .def("check", &GrowthWatch::check)
        .def_prop_ro("rows", [](const GrowthWatch& self) { return static_cast<std::uint64_t>(self.rows); });
}

}  // namespace nolana
