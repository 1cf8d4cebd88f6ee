// The Python face of the rivals; module.cpp includes it after its templates.
#pragma once

#include "bind_fourier.hpp"
#include "bind_budget.hpp"
#include "bind_projection.hpp"
#include "kernel_passive_aggressive.hpp"
#include "passive_aggressive.hpp"
#include "rival.hpp"

namespace {

nb::dict rival_state(Rival& self) {
    nb::dict out;
    for (const Field& field : self.fields()) {
        Fresh array = field.shape.size() == 1 ? fresh({field.shape[0]}) : fresh({field.shape[0], field.shape[1]});
        field.get(array.data);
        out[field.name.c_str()] = array.array;
    }
    out["rows"] = self.rows;
    out["gamma"] = self.gamma;
    return out;
}

void rival_restore(Rival& self, const nb::dict& from) {
    using Any = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
    const double rows = count_of(from, "rows"), gamma = nb::cast<double>(from["gamma"]);
    self.clear(nb::cast<Matrix>(from["weights"]).shape(0));
    if (from.contains("supports")) {
        const std::size_t n = nb::cast<Matrix>(from["supports"]).shape(0);
        expect(n <= self.most_supports(), "state: more support vectors than the budget");
        self.resize(n);
    }
    for (const Field& field : self.fields()) {
        expect(from.contains(field.name.c_str()), "state: an array is missing");
        const auto array = nb::cast<Any>(from[field.name.c_str()]);
        expect(array.ndim() == field.shape.size(), "state: an array has the wrong number of dimensions");
        for (std::size_t i = 0; i < field.shape.size(); ++i)
            expect(array.shape(i) == field.shape[i], "state: an array does not fit");
        field.set(array.data());
    }
    self.rows = rows;
    self.gamma = gamma;
}

// Projections (D, d) that were drawn outside, as panels.
[[maybe_unused]] Landmarks panels_of(const Matrix& draws) {
    Landmarks panels(draws.shape(0), draws.shape(1));
    for (std::size_t i = 0; i < draws.shape(0); ++i) panels.append(draws.data() + i * draws.shape(1), 1);
    return panels;
}

void bind_passive_aggressive(nb::module_& m) {
    nb::class_<Aggressiveness>(m, "Aggressiveness");
    nb::class_<Unbounded, Aggressiveness>(m, "Unbounded").def(nb::init<>());
    nb::class_<Capped, Aggressiveness>(m, "Capped").def(nb::init<double>(), "c"_a);
    nb::class_<Softened, Aggressiveness>(m, "Softened").def(nb::init<double>(), "c"_a);
    nb::class_<Demand>(m, "Demand");
    nb::class_<Margin, Demand>(m, "Margin").def(nb::init<>());
    nb::class_<Band, Demand>(m, "Band").def(nb::init<double>(), "epsilon"_a);
    using DemandArgument = std::shared_ptr<const Demand>;
    using HowArgument = std::shared_ptr<const Aggressiveness>;
    nb::class_<PassiveAggressive, Rival>(m, "PassiveAggressive")
        .def(nb::init<std::size_t, DemandArgument, HowArgument>(), "features"_a, "demand"_a, "how"_a);
    nb::class_<KernelPassiveAggressive, Rival>(m, "KernelPassiveAggressive")
        .def(nb::init<std::size_t, std::size_t, std::shared_ptr<const Kernel>, DemandArgument, HowArgument>(),
             "features"_a, "budget"_a, "kernel"_a, "demand"_a, "how"_a);
}

void bind_rivals(nb::module_& m) {
    nb::class_<Rival>(m, "Rival")
        .def("learn", &learn<Rival>, "x"_a, "y"_a, "weight"_a = nb::none())
        .def("scores", &scores<Rival>, "x"_a)
        .def("state", &rival_state)
        .def("restore", &rival_restore, "state"_a)
        .def("clear", &Rival::clear, "outputs"_a)
        .def_rw("gamma", &Rival::gamma)
        .def_prop_ro("rows", [](const Rival& self) { return static_cast<std::uint64_t>(self.rows); })
        .def_prop_ro("outputs", &Rival::outputs)
        .def_prop_ro("memory_bytes", &Rival::bytes);
    bind_passive_aggressive(m);
    bind_fourier(m);
    bind_budget(m);
    bind_projection(m);
}

}  // namespace
