// The binding of IntervalWidth.
#include "learner/interval_width.hpp"

#include "bind/bind.hpp"

namespace nolana {

NOLANA_BINDING(interval_width) {
    nb::class_<IntervalWidth, Stateful>(m, "IntervalWidth")
        .def(
            "__init__",
            [](IntervalWidth* self, const Vector& levels) {
                const double* p = levels.data();
                const std::size_t n = levels.shape(0);
                bool legal = n > 0 && p[0] > 0 && p[n - 1] >= 0.9 && p[n - 1] < 1;
                for (std::size_t i = 1; i < n; ++i) legal = legal && p[i - 1] < p[i];
                expect(legal, "levels are not increasing numbers between 0 and 1 with the last at least 0.9");
                new (self) IntervalWidth(p, n);
            },
            "levels"_a)
        .def(
            "observe",
            [](IntervalWidth& self, const Vector& residuals, std::ptrdiff_t level) {
                const auto n = static_cast<std::ptrdiff_t>(self.levels());
                expect(-n <= level && level < n, "level is not an index of levels");
                const auto place = static_cast<std::size_t>(level < 0 ? level + n : level);
                Fresh misses = fresh({residuals.shape(0)});
                for (std::size_t i = 0; i < residuals.shape(0); ++i)
                    misses.data[i] = self.observe(residuals.data()[i], place);
                return misses.array;
            },
            "residuals"_a, "level"_a = -1)
        .def("rescale", &IntervalWidth::rescale, "factor"_a)
        .def(
            "half_width",
            [](const IntervalWidth& self, double level) {
                expect(level > 0 && level < 1, "level is not between 0 and 1");
                return self.half_width(level);
            },
            "level"_a)
        .def_prop_ro("rows", [](const IntervalWidth& self) { return static_cast<std::uint64_t>(self.rows); });
}

}  // namespace nolana
