// The Python face of the rivals that project or merge; included by rivals_module.hpp.
#pragma once

#include "bpa.hpp"
#include "bsgd.hpp"
#include "projectron.hpp"

namespace {

template <class Learner> void bind_bsgd(nb::module_& m, const char* name) {
    nb::class_<Learner, Rival>(m, name).def(
        nb::init<std::size_t, std::size_t, std::shared_ptr<const Kernel>, std::shared_ptr<const Loss>, double>(),
        "features"_a, "budget"_a, "kernel"_a, "loss"_a, "regularization"_a);
}

template <class Learner> void bind_projectron(nb::module_& m, const char* name) {
    nb::class_<Learner, Rival>(m, name).def(
        nb::init<std::size_t, std::size_t, std::shared_ptr<const Kernel>, double>(), "features"_a, "budget"_a,
        "kernel"_a, "eta"_a);
}

template <class Learner> void bind_bpa(nb::module_& m, const char* name) {
    nb::class_<Learner, Rival>(m, name).def(
        nb::init<std::size_t, std::size_t, std::shared_ptr<const Kernel>, double>(), "features"_a, "budget"_a,
        "kernel"_a, "c"_a);
}

void bind_projection(nb::module_& m) {
    bind_bsgd<BSGDRemove>(m, "BSGDRemove");
    bind_bsgd<BSGDProject>(m, "BSGDProject");
    bind_bsgd<BSGDMerge>(m, "BSGDMerge");
    bind_projectron<Projectron>(m, "Projectron");
    bind_projectron<ProjectronPlusPlus>(m, "ProjectronPlusPlus");
    bind_bpa<BPASimple>(m, "BPASimple");
    bind_bpa<BPANearest>(m, "BPANearest");
}

}  // namespace
