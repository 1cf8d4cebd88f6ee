// Online k-means that drops landmarks which are no longer used and places them anew.
//
// For a row x with nearest landmark q, e the landmark that has not been nearest to any row for the longest time:
//     last_q <- rows
//     if |x - u_q|^2 >= epsilon:
//         if rows - last_e > patience m:  u_e <- x, N_e <- 1, last_e <- rows
//         else:                           u_q <- (N_q u_q + x)/(N_q + 1), N_q <- N_q + 1      as kmeans
#include "bind/bind.hpp"
#include "experts/landmarks/policy.hpp"

namespace nolana {

class Expiring final : public Policy {
  public:
    Expiring(double novelty, double patience) : Policy(novelty), patience_(patience) {}

    std::optional<std::size_t> decide(Landmarks& u, const Situation& row, double* place, double& count) override {
        const std::size_t n = u.size(), q = least(row.distances, n);
        last_nearest_[q] = row.rows;
        if (!is_far(row.distances[q], row.threshold)) return std::nullopt;
        const std::size_t e = least(last_nearest_.data(), n);
        if (row.rows - last_nearest_[e] > patience_ * static_cast<double>(n)) {
            last_nearest_[e] = row.rows;
            std::copy_n(row.x, u.features(), place);
            count = 1;
            return e;
        }
        step_to_mean(u, q, row.x, place, count);
        return q;
    }
    void grown(Landmarks& u, double rows) override { last_nearest_[u.size() - 1] = rows; }

    void describe(Description& d, const Side& landmarks) override { last_nearest_.describe(d, "last_nearest", landmarks); }
    void reserve(std::size_t capacity) override {
        claim();
        last_nearest_.reserve(capacity);
    }
    void clear() override { last_nearest_.clear(); }

  private:
    double patience_;
    RowNumbers last_nearest_;
};

NOLANA_BINDING(expiring) {
    nb::class_<Expiring, Policy>(m, "Expiring").def(nb::init<double, double>(), "novelty"_a, "patience"_a = 20.0);
}

}  // namespace nolana
