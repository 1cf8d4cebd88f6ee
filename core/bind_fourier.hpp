// The Python face of the rivals on random Fourier features; included by rivals_module.hpp.
#pragma once

#include "doubly_sgd.hpp"
#include "dual_sgd.hpp"
#include "fogd.hpp"
#include "rrf.hpp"

namespace {

Landmarks panels_of(const Matrix& draws);  // rivals_module.hpp

void expect_projections(const Matrix& projections, std::size_t features) {
    expect(projections.shape(0) > 0 && projections.shape(1) == features, "projections are not (D, features)");
}

nb::tuple sincos_of(const Vector& x) {
    const std::size_t n = x.shape(0);
    expect(n % lanes == 0, "sincos takes a multiple of four numbers");
    Fresh sine = fresh({n}), cosine = fresh({n});
    sincos(x.data(), sine.data, cosine.data, n);
    return nb::make_tuple(sine.array, cosine.array);
}

Array fogd_map(FOGD& self, const Matrix& x) {
    expect(x.shape(1) == self.features(), "x has another number of features than the learner");
    const std::size_t width = 2 * self.projections();
    Fresh out = fresh({x.shape(0), width});
    for (std::size_t i = 0; i < x.shape(0); ++i) self.map(x.data() + i * self.features(), out.data + i * width);
    return out.array;
}

void new_fogd(FOGD* self, std::size_t features, const Matrix& projections, std::shared_ptr<const Loss> loss,
              double rate, double power, double decay) {
    expect_projections(projections, features);
    new (self) FOGD(features, panels_of(projections), std::move(loss), rate, power, decay);
}

void new_rrf(RRF* self, std::size_t features, const Matrix& projections, std::shared_ptr<const Loss> loss, double rate,
             double width_rate, double decay, const Vector& start) {
    expect_projections(projections, features);
    expect(start.shape(0) == 2 * projections.shape(0), "start is not (2D,)");
    new (self) RRF(features, panels_of(projections), std::move(loss), rate, width_rate, decay, start.data());
}

void new_dual_sgd(DualSGD* self, std::size_t features, std::size_t budget, std::size_t merged,
                  const Matrix& projections, std::shared_ptr<const Kernel> kernel, std::shared_ptr<const Loss> loss,
                  double regularization) {
    expect_projections(projections, features);
    expect(merged >= 1 && merged <= budget, "merged is not in 1..budget");
    new (self) DualSGD(features, budget, merged, panels_of(projections), std::move(kernel), std::move(loss),
                       regularization);
}

void new_doubly_sgd(DoublySGD* self, std::size_t features, std::size_t budget, std::shared_ptr<const Loss> loss,
                    double rate, double decay, std::uint64_t seed) {
    expect(budget >= 1, "budget is not at least 1");
    new (self) DoublySGD(features, budget, std::move(loss), rate, decay, seed);
}

void bind_fourier(nb::module_& m) {
    m.def("sincos", &sincos_of, "x"_a);
    nb::class_<FOGD, Rival>(m, "FOGD")
        .def("__init__", &new_fogd, "features"_a, "projections"_a, "loss"_a, "rate"_a, "power"_a, "decay"_a)
        .def("map", &fogd_map, "x"_a);
    nb::class_<RRF, Rival>(m, "RRF")
        .def("__init__", &new_rrf, "features"_a, "projections"_a, "loss"_a, "rate"_a, "width_rate"_a, "decay"_a,
             "start"_a);
    nb::class_<DualSGD, Rival>(m, "DualSGD")
        .def("__init__", &new_dual_sgd, "features"_a, "budget"_a, "merged"_a, "projections"_a, "kernel"_a, "loss"_a,
             "regularization"_a);
    nb::class_<DoublySGD, Rival>(m, "DoublySGD")
        .def("__init__", &new_doubly_sgd, "features"_a, "budget"_a, "loss"_a, "rate"_a, "decay"_a, "seed"_a);
}

}  // namespace
