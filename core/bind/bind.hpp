// What the Python bindings of the core share. Every file of an algorithm binds its own classes: a file that is in the
// build is in the module, and no list names it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "experts/landmarks/landmarks.hpp"

namespace nolana {

namespace nb = nanobind;
using namespace nb::literals;

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NumPyArray = nb::ndarray<nb::numpy, double>;

using Bind = void (*)(nb::module_&);
// The bindings of all files, run by module.cpp once the base classes are bound.
std::vector<Bind>& bindings();
struct Registration {
    explicit Registration(Bind bind) { bindings().push_back(bind); }
};
#define NOLANA_BINDING(name)                                   \
    static void bind_##name(nb::module_& m);                   \
    static const Registration registration_##name(bind_##name); \
    static void bind_##name(nb::module_& m)

struct Fresh {
    double* data;
    NumPyArray array;
};
// A new array for Python.
Fresh fresh(const std::vector<std::size_t>& shape);
inline NumPyArray as_array(const std::vector<double>& values) {
    const Fresh made = fresh({values.size()});
    std::copy(values.begin(), values.end(), made.data);
    return made.array;
}

inline void expect(bool holds, const char* what) {
    if (!holds) throw nb::value_error(what);
}

// The columns that hold keys of categories.
inline std::vector<std::size_t> category_columns(const Vector& named, std::size_t features) {
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < named.shape(0); ++i) {
        expect(named(i) >= 0 && named(i) < static_cast<double>(features), "a category names a column that does not exist");
        columns.push_back(static_cast<std::size_t>(named(i)));
    }
    return columns;
}

// The weights of so many rows, null where all are 1; `held` keeps them.
inline const double* weights_of(const nb::object& weight, std::size_t rows, Vector& held) {
    if (weight.is_none()) return nullptr;
    held = nb::cast<Vector>(weight);
    expect(held.shape(0) == rows, "weight is not (rows,)");
    return held.data();
}

// Random projections (D, d) that were drawn outside, as panels.
inline Landmarks panels_of(const Matrix& draws, std::size_t features) {
    expect(draws.shape(0) > 0 && draws.shape(1) == features, "projections are not (D, features)");
    Landmarks panels(draws.shape(0), features);
    for (std::size_t i = 0; i < draws.shape(0); ++i) panels.append(draws.data() + i * features, 1);
    return panels;
}

}  // namespace nolana
