// The bindings of IntervalWidth and LabelSets.
#include "learner/interval_width.hpp"

#include <nanobind/stl/optional.h>

#include "bind/bind.hpp"
#include "learner/label_sets.hpp"

namespace nolana {

namespace {

void check_levels(const Vector& levels) {
    const double* p = levels.data();
    const std::size_t n = levels.shape(0);
    bool legal = n > 0 && p[0] > 0 && p[n - 1] >= 0.9 && p[n - 1] < 1;
    for (std::size_t i = 1; i < n; ++i) legal = legal && p[i - 1] < p[i];
    expect(legal, "levels are not increasing numbers between 0 and 1 with the last at least 0.9");
}

// The place of a level, which may count from the end.
std::size_t place_of(std::ptrdiff_t level, std::size_t levels) {
    const auto n = static_cast<std::ptrdiff_t>(levels);
    expect(-n <= level && level < n, "level is not an index of levels");
    return static_cast<std::size_t>(level < 0 ? level + n : level);
}

void check_level(double level) { expect(level > 0 && level < 1, "level is not between 0 and 1"); }

}  // namespace

NOLANA_BINDING(interval_width) {
    nb::class_<IntervalWidth, Stateful>(m, "IntervalWidth")
        .def(
            "__init__",
            [](IntervalWidth* self, const Vector& levels, bool by_row) {
                check_levels(levels);
                new (self) IntervalWidth(levels.data(), levels.shape(0), by_row);
            },
            "levels"_a, "by_row"_a = false)
        .def(
            "observe",
            [](IntervalWidth& self, const Vector& residuals, std::ptrdiff_t level, const std::optional<Vector>& scores,
               const std::optional<Vector>& spreads) {
                const std::size_t place = place_of(level, self.levels()), n = residuals.shape(0);
                expect((!scores || scores->shape(0) == n) && (!spreads || spreads->shape(0) == n),
                       "scores and spreads are not as many as residuals");
                Fresh misses = fresh({n});
                for (std::size_t i = 0; i < n; ++i)
                    misses.data[i] = self.observe(residuals.data()[i], place, scores ? scores->data()[i] : 0,
                                                  spreads ? spreads->data()[i] : 0);
                return misses.array;
            },
            "residuals"_a, "level"_a = -1, "scores"_a.none() = nb::none(), "spreads"_a.none() = nb::none())
        .def("rescale", &IntervalWidth::rescale, "factor"_a)
        .def(
            "half_width",
            [](const IntervalWidth& self, double level, double score, double spread) {
                check_level(level);
                return self.half_width(level, score, spread);
            },
            "level"_a, "score"_a = 0.0, "spread"_a = 0.0)
        .def_prop_ro("rows", [](const IntervalWidth& self) { return static_cast<std::uint64_t>(self.rows); });
    nb::class_<LabelSets, Stateful>(m, "LabelSets")
        .def(
            "__init__",
            [](LabelSets* self, const Vector& levels) {
                check_levels(levels);
                new (self) LabelSets(levels.data(), levels.shape(0));
            },
            "levels"_a)
        .def(
            "observe",
            [](LabelSets& self, const Matrix& scores, const Matrix& targets, std::ptrdiff_t level) {
                const std::size_t place = place_of(level, self.levels()), n = scores.shape(0), c = scores.shape(1);
                expect(c > 0 && targets.shape(0) == n && targets.shape(1) == c, "targets have another shape than scores");
                Fresh misses = fresh({n});
                for (std::size_t i = 0; i < n; ++i)
                    misses.data[i] = self.observe(scores.data() + i * c, targets.data() + i * c, c, place);
                return misses.array;
            },
            "scores"_a, "targets"_a, "level"_a = -1)
        .def(
            "threshold",
            [](const LabelSets& self, double level) {
                check_level(level);
                return self.threshold(level);
            },
            "level"_a)
        .def_prop_ro("rows", [](const LabelSets& self) { return static_cast<std::uint64_t>(self.rows); });
}

}  // namespace nolana
