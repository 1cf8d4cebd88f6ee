// q nearest to x; if |x - u_q|^2 >= epsilon: u_q <- (N_q u_q + x)/(N_q + 1), N_q += 1 (Si, Kumar, Li, Algorithm 1).
#include "bind/bind.hpp"
#include "experts/landmarks/policy.hpp"

namespace nolana {

class KMeans final : public Policy {
  public:
    using Policy::Policy;
    bool idle(double threshold) const override { return threshold == std::numeric_limits<double>::infinity(); }
    std::optional<std::size_t> decide(Landmarks& u, const Situation& row, double* place, double& count) override {
        const std::size_t q = least(row.distances, u.size());
        if (!is_far(row.distances[q], row.threshold)) return std::nullopt;
        step_to_mean(u, q, row.x, place, count);
        return q;
    }
};

NOLANA_BINDING(kmeans) { nb::class_<KMeans, Policy>(m, "KMeans").def(nb::init<double>(), "novelty"_a); }

}  // namespace nolana
