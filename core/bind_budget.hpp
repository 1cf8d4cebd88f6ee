// The Python face of gradient descent and perceptrons on a budget.
#pragma once

#include "bogd.hpp"
#include "forgetron.hpp"
#include "kernel_ogd.hpp"
#include "rbp.hpp"

namespace {

void bind_budget(nb::module_& m) {
    using KernelArgument = std::shared_ptr<const Kernel>;
    using LossArgument = std::shared_ptr<const Loss>;
    nb::class_<KernelOGD, Rival>(m, "KernelOGD")
        .def(nb::init<std::size_t, std::size_t, KernelArgument, LossArgument, double, double, double>(), "features"_a,
             "budget"_a, "kernel"_a, "loss"_a, "rate"_a, "power"_a, "decay"_a);
    nb::class_<BOGD, Rival>(m, "BOGD")
        .def(nb::init<std::size_t, std::size_t, KernelArgument, LossArgument, double, double, double, std::uint64_t>(),
             "features"_a, "budget"_a, "kernel"_a, "loss"_a, "rate"_a, "decay"_a, "cap"_a, "seed"_a);
    nb::class_<RBP, Rival>(m, "RBP")
        .def(nb::init<std::size_t, std::size_t, KernelArgument, std::uint64_t>(), "features"_a, "budget"_a, "kernel"_a,
             "seed"_a);
    nb::class_<Forgetron, Rival>(m, "Forgetron")
        .def(nb::init<std::size_t, std::size_t, KernelArgument>(), "features"_a, "budget"_a, "kernel"_a);
}

}  // namespace
