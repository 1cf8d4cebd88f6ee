// The binding of RobustScaling.
#include "learner/robust_scaling.hpp"

#include "bind/bind.hpp"

namespace nolana {

NOLANA_BINDING(robust_scaling) {
    const auto check = [](const RobustScaling& self, const Matrix& x) {
        expect(x.shape(1) == self.features(), "x has another number of features than the scaling");
    };
    nb::class_<RobustScaling, Stateful>(m, "RobustScaling")
        .def(
            "__init__",
            [](RobustScaling* self, std::size_t features, bool follows_level, const std::optional<Vector>& fixed, bool keeps_first) {
                std::vector<std::size_t> places;
                for (std::size_t i = 0; fixed && i < fixed->shape(0); ++i) {
                    expect((*fixed)(i) >= 0, "fixed names a feature that does not exist");
                    places.push_back(static_cast<std::size_t>((*fixed)(i)));
                }
                new (self) RobustScaling(features, follows_level, places, keeps_first);
            },
            "features"_a, "follows_level"_a = true, "fixed"_a.none() = nb::none(), "keeps_first"_a = false)
        .def(
            "apply",
            [check](const RobustScaling& self, const Matrix& x) {
                check(self, x);
                Fresh z = fresh({x.shape(0), x.shape(1)});
                self.apply(x.data(), x.shape(0), z.data);
                return z.array;
            },
            "x"_a)
        .def(
            "observe",
            [check](RobustScaling& self, const Matrix& x) {
                check(self, x);
                Buffer z(self.features());
                for (std::size_t r = 0; r < x.shape(0); ++r) self.observe(x.data() + r * x.shape(1), z.data());
            },
            "x"_a)
        .def(
            "advance",
            [check](RobustScaling& self, const Matrix& x, const nb::object& weight, bool late_anchors) {
                check(self, x);
                Vector held;
                const double* w = weights_of(weight, x.shape(0), held);
                Fresh z = fresh({x.shape(0), x.shape(1)});
                self.advance(x.data(), w, x.shape(0), z.data, late_anchors);
                return z.array;
            },
            "x"_a, "weight"_a = nb::none(), "late_anchors"_a = true)
        .def("anchor",
             [](RobustScaling& self) {
                 Fresh due = fresh({self.features()});
                 self.anchor(due.data);
                 return due.array;
             })
        .def_prop_ro("rows", [](const RobustScaling& self) { return static_cast<std::uint64_t>(self.rows); });
}

}  // namespace nolana
