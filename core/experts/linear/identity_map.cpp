// The row itself: phi(z) = (z, 1), or, `unsquashed`, without the logarithmic tail of the scaling. Formulas are in
// nolana/engine/experts/linear/identity_map.py.
#include <cmath>

#include "bind/bind.hpp"
#include "experts/map.hpp"

namespace nolana {

class IdentityMap final : public DenseMap {
  public:
    IdentityMap(std::size_t features, bool unsquashed)
        : DenseMap(features, features + 1), metric_(unsquashed ? features : 0) {
        size_ = features + 1;
        std::fill_n(metric_.data(), metric_.size(), 1.0);
    }

    Side side() const override { return features() + 1; }
    void evaluate(const double* x, std::size_t rows) override {
        const std::size_t d = features();
        rows_ = rows;
        for (std::size_t r = 0; r < rows; ++r) {
            std::copy_n(x + r * d, d, values(r));
            for (std::size_t j = 0; j < metric_.size(); ++j)
                if (std::fabs(values(r)[j]) > metric_[j]) values(r)[j] = unsquashed(values(r)[j], metric_[j]);
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
        if (metric_.size() > 0) {
            d.vector("metric", metric_, metric_.size());
            d.fields.back().low = Description::positive;
        }
        d.scratch(values_);
        d.bytes += sizeof(*this);
    }
    void resize(const Sizes&, const std::string&) override { std::fill_n(metric_.data(), metric_.size(), 1.0); }

  private:
    static constexpr double largest = 16;

    static double unsquashed(double z, double metric) {
        return std::copysign(metric * std::min(std::exp(std::fabs(z) / metric - 1), largest), z);
    }

    Buffer metric_;
};

NOLANA_BINDING(identity_map) {
    nb::class_<IdentityMap, Map>(m, "IdentityMap").def(nb::init<std::size_t, bool>(), "features"_a, "unsquashed"_a = false);
}

}  // namespace nolana
