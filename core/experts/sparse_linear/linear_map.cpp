// The binding of LinearMap.
#include "experts/sparse_linear/linear_map.hpp"

#include "bind/bind.hpp"

namespace nolana {

NOLANA_BINDING(linear_map) { nb::class_<LinearMap, Map>(m, "LinearMap").def(nb::init<std::size_t>(), "table"_a); }

}  // namespace nolana
