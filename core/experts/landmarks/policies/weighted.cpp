// Density-weighted online k-means: the step of a landmark depends on how many rows it stands for.
//
// N_j is the number of recent rows whose nearest landmark is u_j; counts add up to about M = memory m rows. For a row x
// with nearest landmark q:
//     N_j <- N_j M/(M + 1)  for all j
//     if |x - u_q|^2 >= epsilon:  u_q <- u_q + step (x - u_q),  step = max(1/(N_q + 1), 0.01)
//     N_q <- N_q + 1
// N_j = unit counts_j: only `unit` decays, and the row adds 1/unit.
#include "bind/bind.hpp"
#include "experts/landmarks/policy.hpp"

namespace nolana {

class Weighted final : public Policy {
  public:
    Weighted(double novelty, double memory) : Policy(novelty), memory_(memory) {}

    std::optional<std::size_t> decide(Landmarks& u, const Situation& row, double* place, double& count) override {
        decay(u);
        const std::size_t q = least(row.distances, u.size());
        const double before = u.count(q);
        count = u.count(q) = before + 1 / unit_;
        if (!is_far(row.distances[q], row.threshold)) return std::nullopt;
        const double step = std::max(1 / (unit_ * before + 1), least_step);
        u.get(q, place);
        for (std::size_t j = 0; j < u.features(); ++j) place[j] += step * (row.x[j] - place[j]);
        return q;
    }
    void grown(Landmarks& u, double) override {
        decay(u);
        u.count(u.size() - 1) = 1 / unit_;
    }

    void describe(Description& d, const Side&) override { d.number("count_unit", unit_, Description::positive); }
    void clear() override { unit_ = 1; }
    void reserve(std::size_t) override { claim(); }

  private:
    static constexpr double least_step = 0.01;
    static constexpr double least_unit = 0x1p-64;  // below it the unit goes into the counts, which would overflow

    void decay(Landmarks& u) {
        const double rows = memory_ * static_cast<double>(u.size());
        unit_ *= rows / (rows + 1);
        if (unit_ >= least_unit) return;
        for (std::size_t j = 0; j < u.size(); ++j) u.count(j) *= unit_;
        unit_ = 1;
    }

    double memory_, unit_ = 1;
};

NOLANA_BINDING(weighted) {
    nb::class_<Weighted, Policy>(m, "Weighted").def(nb::init<double, double>(), "novelty"_a, "memory"_a = 20.0);
}

}  // namespace nolana
