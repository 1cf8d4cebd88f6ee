// A window of landmarks: a row that is new replaces the oldest.
//
// For a row x:
//     moved = (k(x,x) - k_x.P k_x > tol k(x,x))
//     if moved:  q the oldest landmark:  u_q <- x, N_q <- 1, placed_q <- rows
//     tol <- max(0.02, tol exp(0.1 (moved - rate)))
#include <cmath>

#include "bind/bind.hpp"
#include "experts/landmarks/policy.hpp"

namespace nolana {

class Window final : public Policy {
  public:
    Window(double novelty, double rate)
        : Policy(novelty), after_move_(std::exp(gain * (1 - rate))), after_none_(std::exp(-gain * rate)) {}

    bool needs_novelty() const override { return true; }
    std::optional<std::size_t> decide(Landmarks& u, const Situation& row, double* place, double& count) override {
        const bool moved = row.novelty > tolerance_ * row.self;
        tolerance_ = std::max(least_tolerance, tolerance_ * (moved ? after_move_ : after_none_));
        if (!moved) return std::nullopt;
        const std::size_t q = least(placed_.data(), u.size());
        placed_[q] = row.rows;
        std::copy_n(row.x, u.features(), place);
        count = 1;
        return q;
    }
    void grown(Landmarks& u, double rows) override { placed_[u.size() - 1] = rows; }

    void describe(Description& d, const Side& landmarks) override {
        placed_.describe(d, "placed", landmarks);
        d.number("tolerance", tolerance_, least_tolerance);
    }
    void reserve(std::size_t capacity) override {
        claim();
        placed_.reserve(capacity);
    }
    void clear() override {
        placed_.clear();
        tolerance_ = least_tolerance;
    }

  private:
    static constexpr double least_tolerance = 0.02, gain = 0.1;

    double after_move_, after_none_, tolerance_ = least_tolerance;
    RowNumbers placed_;
};

NOLANA_BINDING(window) {
    nb::class_<Window, Policy>(m, "Window").def(nb::init<double, double>(), "novelty"_a, "rate"_a = 0.05);
}

}  // namespace nolana
