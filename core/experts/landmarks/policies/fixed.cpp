// Landmarks that never move.
#include "bind/bind.hpp"
#include "experts/landmarks/policy.hpp"

namespace nolana {

class Fixed final : public Policy {
  public:
    using Policy::Policy;
    bool idle(double) const override { return true; }
    std::optional<std::size_t> decide(Landmarks&, const Situation&, double*, double&) override { return std::nullopt; }
};

NOLANA_BINDING(fixed) { nb::class_<Fixed, Policy>(m, "Fixed").def(nb::init<double>(), "novelty"_a); }

}  // namespace nolana
