// q nearest to x; if |x - u_q|^2 >= epsilon: u_q <- (N_q u_q + x)/(N_q + 1), N_q += 1 (Si, Kumar, Li, Algorithm 1).
#include "bind/bind.hpp"
#include "policy.hpp"

namespace nolana {

class KMeans final : public Policy {
  public:
    using Policy::Policy;
    bool idle(double threshold) const override { return threshold == std::numeric_limits<double>::infinity(); }
    std::optional<std::size_t> propose(const Landmarks& u, const Situation& row, double* place, double& count) override {
        const std::size_t q = nearest(row.distances, u.size());
        if (!(row.distances[q] >= row.threshold)) return std::nullopt;
        const double before = u.count(q);
        u.get(q, place);
        for (std::size_t j = 0; j < u.features(); ++j) place[j] = (before * place[j] + row.x[j]) / (before + 1);
        count = before + 1;
        return q;
    }
};

NOLANA_BINDING(kmeans) { nb::class_<KMeans, Policy>(m, "KMeans").def(nb::init<double>(), "novelty"_a); }

}  // namespace nolana
