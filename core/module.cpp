// The Python face of the core: the same names as nolana.reference, one for one.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <string>

#include "learner.hpp"
#include "text_module.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace nolana;

namespace {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using MutableVector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Array = nb::ndarray<nb::numpy, double>;

struct Fresh {
    double* data;
    Array array;
};

Fresh fresh(std::initializer_list<std::size_t> shape) {
    std::size_t n = 1;
    for (const std::size_t s : shape) n *= s;
    auto* data = new double[n > 0 ? n : 1];
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return {data, Array(data, shape.size(), shape.begin(), owner)};
}

std::size_t triangle(std::size_t n) { return n * (n + 1) / 2; }

Array packed(const Symmetric& m, std::size_t n) {
    Fresh out = fresh({triangle(n)});
    for (std::size_t i = 0, e = 0; i < n; ++i)
        for (std::size_t j = 0; j <= i; ++j) out.data[e++] = m(i, j);
    return out.array;
}

void unpack(Symmetric& m, const Vector& from, std::size_t n) {
    m.clear();
    for (std::size_t i = 0, e = 0; i < n; ++i)
        for (std::size_t j = 0; j <= i; ++j) m.set(i, j, from.data()[e++]);
}

void expect(bool holds, const char* what) {
    if (!holds) throw nb::value_error(what);
}

template <class Any> Array learn(Any& self, const Matrix& x, const Matrix& y, const nb::object& weight) {
    const std::size_t rows = x.shape(0), c = self.outputs();
    expect(x.shape(1) == self.features(), "x has another number of features than the learner");
    expect(y.shape(0) == rows && y.shape(1) == c, "y is not (rows, outputs)");
    const double* w = nullptr;
    Vector weights;
    if (!weight.is_none()) {
        weights = nb::cast<Vector>(weight);
        expect(weights.shape(0) == rows, "weight is not (rows,)");
        w = weights.data();
    }
    Fresh out = fresh({rows, c});
    {
        nb::gil_scoped_release unlocked;
        self.learn(x.data(), y.data(), w, rows, out.data);
    }
    return out.array;
}

template <class Any> Array scores(Any& self, const Matrix& x) {
    expect(x.shape(1) == self.features(), "x has another number of features than the learner");
    Fresh out = fresh({x.shape(0), self.outputs()});
    {
        nb::gil_scoped_release unlocked;
        self.scores(x.data(), x.shape(0), out.data);
    }
    return out.array;
}

Array kernel_rows(Learner& self, const Matrix& x) {
    expect(x.shape(1) == self.landmarks.features(), "x has another number of features than the learner");
    Fresh out = fresh({x.shape(0), self.landmarks.size()});
    {
        nb::gil_scoped_release unlocked;
        self.kernel_rows(x.data(), x.shape(0), out.data);
    }
    return out.array;
}

nb::dict state(Learner& self) {
    const std::size_t n = self.landmarks.size(), d = self.landmarks.features(), c = self.head->outputs();
    Fresh landmarks = fresh({n, d}), counts = fresh({n}), weights = fresh({c, n});
    for (std::size_t i = 0; i < n; ++i) {
        self.landmarks.get(i, landmarks.data + i * d);
        counts.data[i] = self.landmarks.count(i);
        for (std::size_t o = 0; o < c; ++o) weights.data[o * n + i] = self.head->alpha(o)[i];
    }
    nb::dict out;
    out["landmarks"] = landmarks.array;
    out["counts"] = counts.array;
    out["inverse"] = packed(self.inverse.matrix(), n);
    if (Covariance* r = self.head->covariance()) {
        const std::size_t p = r->waiting();
        Fresh left = fresh({p, n}), right = fresh({p, n});
        for (std::size_t o = 0; o < p; ++o) {
            std::copy_n(r->left(o), n, left.data + o * n);
            std::copy_n(r->right(o), n, right.data + o * n);
        }
        out["covariance"] = packed(r->matrix(), n);
        out["waiting_left"] = left.array;
        out["waiting_right"] = right.array;
    }
    out["weights"] = weights.array;
    out["gamma"] = self.gamma;
    out["threshold"] = self.threshold;
    out["ridge"] = self.ridge;
    out["rows"] = self.counters.rows;
    out["moves"] = self.counters.moves;
    out["since_refresh"] = self.counters.since_refresh;
    return out;
}

// A number of rows or moves: nothing else can become an index or a whole number later.
double count_of(const nb::dict& from, const char* name) {
    const double value = nb::cast<double>(from[name]);
    expect(value >= 0 && value <= 0x1p53 && value == std::floor(value), "state: a count is not a whole number");
    return value;
}

// Everything is checked before anything changes.
void restore(Learner& self, const nb::dict& from) {
    const auto landmarks = nb::cast<Matrix>(from["landmarks"]);
    const auto counts = nb::cast<Vector>(from["counts"]);
    const auto inverse = nb::cast<Vector>(from["inverse"]);
    const auto weights = nb::cast<Matrix>(from["weights"]);
    const auto gamma = nb::cast<double>(from["gamma"]), threshold = nb::cast<double>(from["threshold"]),
               ridge = nb::cast<double>(from["ridge"]);
    const Learner::Counters counters{count_of(from, "rows"), count_of(from, "moves"), count_of(from, "since_refresh")};
    const std::size_t n = landmarks.shape(0), d = landmarks.shape(1), c = weights.shape(0);
    expect(n <= self.landmarks.capacity() && d == self.landmarks.features(), "state: landmarks do not fit");
    expect(counts.shape(0) == n, "state: counts do not fit");
    expect(inverse.shape(0) == triangle(n), "state: inverse does not fit");
    expect(weights.shape(1) == n, "state: weights do not fit");
    if (Covariance* r = self.head->covariance()) {
        const auto covariance = nb::cast<Vector>(from["covariance"]);
        const auto left = nb::cast<Matrix>(from["waiting_left"]), right = nb::cast<Matrix>(from["waiting_right"]);
        const std::size_t p = left.shape(0);
        expect(covariance.shape(0) == triangle(n), "state: covariance does not fit");
        expect(p <= Covariance::room && right.shape(0) == p, "state: too many waiting updates");
        expect(p == 0 || (left.shape(1) == n && right.shape(1) == n), "state: waiting updates do not fit");
        r->clear();
        unpack(r->matrix(), covariance, n);
        for (std::size_t o = 0; o < p; ++o) {
            r->add();
            std::copy_n(left.data() + o * n, n, r->left(o));
            std::copy_n(right.data() + o * n, n, r->right(o));
        }
    }
    unpack(self.inverse.matrix(), inverse, n);
    self.landmarks.clear();
    self.head->set_outputs(c);
    for (std::size_t i = 0; i < n; ++i) {
        self.landmarks.append(landmarks.data() + i * d, counts.data()[i]);
        for (std::size_t o = 0; o < c; ++o) self.head->alpha(o)[i] = weights.data()[o * n + i];
    }
    self.gamma = gamma;
    self.threshold = threshold;
    self.ridge = ridge;
    self.counters = counters;
}

// Flat index of the first value that is NaN or beyond the bound, -1 where there is none.
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

// The best of the core's builds that this machine can run.
std::string best_build() {
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
        return wide ? "avx512" : "avx2";
    }
#endif
    return "baseline";
}

}  // namespace

#include "rivals_module.hpp"

NB_MODULE(NOLANA_MODULE, m) {
    nb::class_<Kernel>(m, "Kernel");
    nb::class_<RBF, Kernel>(m, "RBF").def(nb::init<>());
    nb::class_<Laplacian, Kernel>(m, "Laplacian").def(nb::init<>());
    nb::class_<Polynomial, Kernel>(m, "Polynomial").def(nb::init<unsigned, double>(), "degree"_a, "coef0"_a);
    nb::class_<Cosine, Kernel>(m, "Cosine").def(nb::init<>());
    nb::class_<Linear, Kernel>(m, "Linear").def(nb::init<>());

    nb::class_<Loss>(m, "Loss");
    nb::class_<Hinge, Loss>(m, "Hinge").def(nb::init<>());
    nb::class_<SquaredHinge, Loss>(m, "SquaredHinge").def(nb::init<>());
    nb::class_<Logistic, Loss>(m, "Logistic").def(nb::init<>());
    nb::class_<Squared, Loss>(m, "Squared").def(nb::init<>());
    nb::class_<EpsilonInsensitive, Loss>(m, "EpsilonInsensitive").def(nb::init<double>(), "epsilon"_a);

    using LossArgument = std::shared_ptr<const Loss>;
    nb::class_<Optimizer>(m, "Optimizer");
    nb::class_<OptimizerOf<SGD>, Optimizer>(m, "SGD")
        .def(nb::init<LossArgument, double, double, double>(), "loss"_a, nb::kw_only(), "rate"_a, "power"_a, "decay"_a);
    nb::class_<OptimizerOf<Newton>, Optimizer>(m, "Newton")
        .def(nb::init<LossArgument, double, double, double>(), "loss"_a, nb::kw_only(), "noise"_a, "prior"_a,
             "move_noise"_a);

    nb::class_<Policy>(m, "Policy");
    nb::class_<Fixed, Policy>(m, "Fixed").def(nb::init<>());
    nb::class_<KMeans, Policy>(m, "KMeans").def(nb::init<>());

    nb::class_<Learner>(m, "Learner")
        .def(
            "__init__",
            [](Learner* self, std::size_t capacity, std::size_t features, std::shared_ptr<const Kernel> kernel,
               std::shared_ptr<const Optimizer> optimizer, std::shared_ptr<const Policy> policy, double novelty) {
                expect(capacity > 0 && features > 0, "a learner needs at least one landmark and one feature");
                new (self) Learner(capacity, features, std::move(kernel), optimizer->head(capacity),
                                   std::move(policy), novelty);
            },
            nb::kw_only(), "capacity"_a, "features"_a, "kernel"_a, "optimizer"_a, "policy"_a, "novelty"_a)
        .def("learn", &learn<Learner>, "x"_a, "y"_a, "weight"_a = nb::none())
        .def("scores", &scores<Learner>, "x"_a)
        .def("kernel_rows", &kernel_rows, "x"_a)
        .def("state", &state)
        .def("restore", &restore, "state"_a)
        .def("refresh", &Learner::refresh)
        .def_rw("gamma", &Learner::gamma)
        .def_rw("threshold", &Learner::threshold)
        .def_rw("ridge", &Learner::ridge)
        .def_prop_ro("size", [](const Learner& self) { return self.landmarks.size(); })
        .def_prop_ro("outputs", [](const Learner& self) { return self.head->outputs(); })
        .def_prop_ro("rows", [](const Learner& self) { return static_cast<std::uint64_t>(self.counters.rows); })
        .def_prop_ro("moves", [](const Learner& self) { return static_cast<std::uint64_t>(self.counters.moves); })
        .def_prop_ro("memory_bytes", &Learner::bytes);

    m.def("add_moments", &add_moments, "count"_a, "mean"_a, "squares"_a, "x"_a);
    m.def("first_beyond", &first_beyond, "x"_a, "bound"_a);
    m.def("best_build", &best_build);

    nb::module_ rivals = m.def_submodule("rivals", "The rivals, one class for each algorithm");
    bind_rivals(rivals);
    bind_text(m);
}
