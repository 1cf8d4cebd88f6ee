// The binding of Lags.
#include "learner/lags.hpp"

#include "bind/bind.hpp"

namespace nolana {

NOLANA_BINDING(lags) {
    nb::class_<Lags, Stateful>(m, "Lags")
        .def(nb::init<std::size_t, std::size_t, bool, std::size_t, std::size_t>(), "lag"_a, "rows"_a, "classes"_a = false,
             "slots"_a = 0, "group"_a = 0);
}

}  // namespace nolana
