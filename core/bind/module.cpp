// The Python face of the core: the same names as nolana.engine, one for one. Base classes and what serves every
// learner are bound here; each algorithm binds itself (bind.hpp).
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "bind/bind.hpp"
#include "learner/combiner.hpp"
#include "experts/head.hpp"
#include "experts/landmarks/kernel.hpp"
#include "learner/online.hpp"
#include "experts/landmarks/policy.hpp"
#include "rivals/rival.hpp"

namespace nolana {

std::vector<Bind>& bindings() {
    static std::vector<Bind> all;
    return all;
}

Fresh fresh(const std::vector<std::size_t>& shape) {
    std::size_t n = 1;
    for (const std::size_t s : shape) n *= s;
    auto* data = new double[n > 0 ? n : 1];
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return {data, NumPyArray(data, shape.size(), shape.data(), owner)};
}

namespace {

using MutableVector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

NumPyArray learn(Online& self, const Matrix& x, const Matrix& y, const nb::object& weight) {
    const std::size_t rows = x.shape(0), c = self.outputs();
    expect(x.shape(1) == self.features(), "x has another number of features than the learner");
    expect(y.shape(0) == rows && y.shape(1) == c, "y is not (rows, outputs)");
    Vector held;
    const double* w = weights_of(weight, rows, held);
    Fresh out = fresh({rows, c});
    {
        nb::gil_scoped_release unlocked;
        self.learn(x.data(), y.data(), w, rows, out.data);
    }
    return out.array;
}

NumPyArray scores(Online& self, const Matrix& x) {
    expect(x.shape(1) == self.features(), "x has another number of features than the learner");
    Fresh out = fresh({x.shape(0), self.outputs()});
    {
        nb::gil_scoped_release unlocked;
        self.scores(x.data(), x.shape(0), out.data);
    }
    return out.array;
}

// The features (rows, width) of rows under a dense map.
NumPyArray transform(Map& self, const Matrix& x) {
    auto* map = dynamic_cast<DenseMap*>(&self);
    expect(map != nullptr, "the features of this map are sparse");
    expect(x.shape(1) == self.features(), "x has another number of features than the map");
    Fresh out = fresh({x.shape(0), map->side().value});
    {
        nb::gil_scoped_release unlocked;
        map->transform(x.data(), x.shape(0), out.data);
    }
    return out.array;
}

// Named arrays and numbers: all that outlives a call, or the fields whose names begin with one of these; tables and units if
// wanted.
nb::dict state(Stateful& self, const std::vector<std::string>& beginnings, bool tables, bool units) {
    const auto is_wanted = [&, extent = StateExtent{tables, units}](const Field& field) {
        if (!extent.includes(field)) return false;
        const auto begins = [&](const std::string& beginning) { return field.name.starts_with(beginning); };
        return std::any_of(beginnings.begin(), beginnings.end(), begins);
    };
    Description description;
    self.describe(description);
    nb::dict out;
    for (const Field& field : description.fields) {
        if (!is_wanted(field)) continue;
        if (field.shape.empty()) {
            double value;
            field.get(&value);
            out[field.name.c_str()] = value;
            continue;
        }
        std::vector<std::size_t> shape;
        for (const Side& side : field.shape) shape.push_back(side.length(side.value));
        if (field.get_single) {
            auto* data = new float[std::max<std::size_t>(1, field.count())];
            nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<float*>(p); });
            field.get_single(data);
            out[field.name.c_str()] = nb::ndarray<nb::numpy, float>(data, shape.size(), shape.data(), owner);
            continue;
        }
        Fresh array = fresh(shape);
        field.get(array.data);
        out[field.name.c_str()] = array.array;
    }
    return out;
}

// So much of a state, or (null) the fields that it has.
void restore_state(Stateful& self, const nb::dict& from, const StateExtent* extent) {
    using Any = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
    using Single = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;
    std::map<std::string, std::pair<Any, double>> held;  // what the pointers point into
    std::map<std::string, Single> singles;
    const auto shape_of = [](const auto& array) {
        std::vector<std::size_t> shape;
        for (std::size_t i = 0; i < array.ndim(); ++i) shape.push_back(array.shape(i));
        return shape;
    };
    const auto source = [&](const std::string& name) -> Array {
        if (!held.contains(name)) {
            if (!from.contains(name.c_str())) throw std::invalid_argument("state: " + name + " is missing");
            const nb::object value = from[name.c_str()];
            auto& [array, number] = held[name];
            Single single;
            if (nb::try_cast(value, single, false)) singles[name] = single;
            const bool scalar = nb::isinstance<nb::float_>(value) || nb::isinstance<nb::int_>(value);
            const bool fits = scalar ? !nb::isinstance<nb::bool_>(value) && nb::try_cast(value, number)
                                     : nb::try_cast(value, array);
            if (!fits) {
                throw std::invalid_argument("state: " + name + " is neither a number nor an array of numbers");
            }
        }
        const auto& [array, number] = held[name];
        if (const auto single = singles.find(name); single != singles.end())
            return {shape_of(single->second), nullptr, single->second.data()};
        if (!array.is_valid()) return {{}, &number};
        return {shape_of(array), array.data()};
    };
    if (extent) return restore(self, source, *extent);
    std::set<std::string> names;
    for (const auto& [name, value] : from) names.insert(nb::cast<std::string>(name));
    restore_part(self, names, source);
}

// The names of the sides of each array; empty for a side whose length does not depend on the state.
nb::dict axes(Stateful& self) {
    Description description;
    self.describe(description);
    nb::dict out;
    for (const Field& field : description.fields) {
        nb::list names;
        for (const Side& side : field.shape) names.append(side.name.substr(side.name.rfind('/') + 1));
        out[field.name.c_str()] = names;
    }
    return out;
}

std::size_t memory_bytes(Stateful& self) {
    Description description;
    self.describe(description);
    return description.bytes;
}

// Flat index of the first value that is NaN or beyond the bound, -1 if there is none.
std::ptrdiff_t first_beyond(const nb::ndarray<const double, nb::c_contig, nb::device::cpu>& x, double bound) {
    const double* p = x.data();
    const std::size_t n = x.size(), stretch = 64;
    const auto is_bad = [bound](double value) { return !(std::fabs(value) <= bound); };
    for (std::size_t start = 0; start < n; start += stretch) {
        const std::size_t end = std::min(n, start + stretch);
        int bad = 0;
        for (std::size_t i = start; i < end; ++i) bad |= is_bad(p[i]);
        if (!bad) continue;
        for (std::size_t i = start; i < end; ++i)
            if (is_bad(p[i])) return static_cast<std::ptrdiff_t>(i);
    }
    return -1;
}

// Welford's running mean and sum of squared deviations, row by row; returns the new count.
double add_moments(double count, const MutableVector& mean, const MutableVector& squares, const Matrix& x) {
    const std::size_t d = x.shape(1);
    expect(mean.shape(0) == d && squares.shape(0) == d, "moments do not fit the rows");
    for (std::size_t r = 0; r < x.shape(0); ++r) {
        count += 1;
        for (std::size_t j = 0; j < d; ++j) {
            const double value = x.data()[r * d + j], off = value - mean.data()[j];
            mean.data()[j] += off / count;
            squares.data()[j] += off * (value - mean.data()[j]);
        }
    }
    return count;
}

}  // namespace

NB_MODULE(NOLANA_MODULE, m) {
    nb::class_<Kernel>(m, "Kernel");
    nb::class_<Loss>(m, "Loss");
    nb::class_<Policy>(m, "Policy");
    nb::class_<Map>(m, "Map").def("transform", &transform, "x"_a);
    nb::class_<Head>(m, "Head");
    nb::class_<Combiner>(m, "Combiner");
    nb::class_<Stateful>(m, "Stateful")
        .def("state", &state, "beginnings"_a = std::vector<std::string>{""}, "tables"_a = true, "units"_a = true)
        .def(
            "restore",
            [](Stateful& self, const nb::dict& from, bool tables, bool units) {
                const StateExtent extent{tables, units};
                restore_state(self, from, &extent);
            },
            "state"_a, "tables"_a = true, "units"_a = true)
        .def(
            "restore_part", [](Stateful& self, const nb::dict& from) { restore_state(self, from, nullptr); }, "state"_a)
        .def("axes", &axes)
        .def_prop_ro("memory_bytes", &memory_bytes);
    nb::class_<Online, Stateful>(m, "Online")
        .def("learn", &learn, "x"_a, "y"_a, "weight"_a = nb::none())
        .def("scores", &scores, "x"_a)
        .def("clear", &Online::clear, "outputs"_a)
        .def_prop_ro("rows", [](const Online& self) { return static_cast<std::uint64_t>(self.rows); })
        .def_prop_ro("outputs", &Online::outputs);
    nb::class_<Rival, Online>(m, "Rival").def_rw("gamma", &Rival::gamma);
    for (const Bind bind : bindings()) bind(m);

    m.def("add_moments", &add_moments, "count"_a, "mean"_a, "squares"_a, "x"_a);
    m.def("first_beyond", &first_beyond, "x"_a, "bound"_a);
}

}  // namespace nolana
