// Random Fourier features as a map (Rahimi and Recht 2007): phi(x) = [cos(u'x), sin(u'x)]/sqrt(D), u = sqrt(2 gamma) e,
// e the standard normal draws. The prior of the weights is the identity.
#include "bind/bind.hpp"
#include "experts/fourier.hpp"
#include "experts/map.hpp"

namespace nolana {

class FourierMap final : public DenseMap {
  public:
    explicit FourierMap(Landmarks draws)
        : DenseMap(draws.features(), 2 * draws.width()), phi_(std::move(draws)) {
        size_ = stride_;
    }

    Side side() const override { return 2 * phi_.projections(); }
    std::size_t place(std::size_t i) const override {
        return i < phi_.projections() ? i : phi_.width() + i - phi_.projections();
    }
    void evaluate(const double* x, std::size_t rows) override {
        rows_ = rows;
        for (std::size_t r = 0; r < rows; ++r) phi_.evaluate(x + r * features(), gamma, values(r));
    }
    const double* prior_product(std::size_t r) override { return values(r); }
    double explained(std::size_t r) override { return dot(values(r), values(r), stride_); }
    void add_prior(double factor, Symmetric& target) const override {
        for (std::size_t i = 0; i < side().value; ++i) target.set(place(i), place(i), target(place(i), place(i)) + factor);
    }
    void describe(Description& d) override {
        d.number("gamma", gamma, Description::positive);
        d.scratch(values_, phi_);
        d.bytes += sizeof(*this);
    }
    void resize(const Sizes&, const std::string&) override {}

    double gamma = 1;

  private:
    FourierFeatures phi_;
};

NOLANA_BINDING(fourier_map) {
    nb::class_<FourierMap, Map>(m, "FourierMap")
        .def("__init__", [](FourierMap* self, const Matrix& projections) { new (self) FourierMap(panels_of(projections, projections.shape(1))); },
             "projections"_a)
        .def_rw("gamma", &FourierMap::gamma);
    m.def(
        "sincos",
        [](const Vector& x) {
            const std::size_t n = x.shape(0);
            expect(n % lanes == 0, "sincos takes a multiple of four numbers");
            Fresh sine = fresh({n}), cosine = fresh({n});
            sincos(x.data(), sine.data, cosine.data, n);
            return nb::make_tuple(sine.array, cosine.array);
        },
        "x"_a);
}

}  // namespace nolana
