#include "learner/drift_alarm.hpp"

#include "bind/bind.hpp"

namespace nolana {

NOLANA_BINDING(drift_alarm) {
    nb::class_<DriftAlarm, Stateful>(m, "DriftAlarm")
        .def(nb::init<>())
        .def(
            "observe",
            [](DriftAlarm& self, const Vector& errors) {
                std::vector<std::int64_t> places;
                for (std::size_t i = 0; i < errors.shape(0); ++i)
                    if (self.observe(errors.data()[i])) places.push_back(static_cast<std::int64_t>(i));
                auto* data = new std::int64_t[places.size() + 1];
                nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<std::int64_t*>(p); });
                std::copy(places.begin(), places.end(), data);
                return nb::ndarray<nb::numpy, std::int64_t>(data, {places.size()}, owner);
            },
            "errors"_a)
        .def_prop_ro("rows", [](const DriftAlarm& self) { return static_cast<std::uint64_t>(self.rows); });
}

}  // namespace nolana
