// The row itself: phi(z) = (z, 1). The prior of the weights is the identity.
#include "bind/bind.hpp"
#include "map.hpp"

namespace nolana {

class IdentityMap final : public DenseMap {
  public:
    explicit IdentityMap(std::size_t features) : DenseMap(features, features + 1) { size_ = features + 1; }

    Side side() const override { return features() + 1; }
    void evaluate(const double* x, std::size_t rows) override {
        const std::size_t d = features();
        rows_ = rows;
        for (std::size_t r = 0; r < rows; ++r) {
            std::copy_n(x + r * d, d, values(r));
            values(r)[d] = 1;
            self_[r] = dot(values(r), values(r), stride_);
        }
    }
    const double* prior_product(std::size_t r) override { return values(r); }
    double explained(std::size_t r) override { return self_[r]; }
    void add_prior(double factor, Symmetric& target) const override {
        for (std::size_t i = 0; i < size_; ++i) target.set(i, i, target(i, i) + factor);
    }
    void describe(Description& d) override {
        d.scratch(values_);
        d.bytes += sizeof(*this);
    }
    void resize(const Sizes&, const std::string&) override {}
};

NOLANA_BINDING(identity_map) {
    nb::class_<IdentityMap, Map>(m, "IdentityMap").def(nb::init<std::size_t>(), "features"_a);
}

}  // namespace nolana
