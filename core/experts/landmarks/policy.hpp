// A landmark policy: which rows become landmarks, and which landmark a row moves or replaces.
#pragma once

#include <limits>
#include <optional>

#include "experts/landmarks/landmarks.hpp"
#include "base/state.hpp"

namespace nolana {

// What a policy decides by: the row that was just learned.
struct Situation {
    const double* x;          // (d)
    const double* distances;  // (landmarks), squared
    double threshold;         // the paper's epsilon
    double rows;              // learned, with this one
    double self;              // k(x, x)
    double novelty;           // k(x,x) - k.P k, NaN if the policy does not need it
};

class Policy {
  public:
    // A row is new if it adds this share of k(x, x) to what the landmarks explain.
    explicit Policy(double novelty) : novelty_(novelty) {}
    virtual ~Policy() = default;

    // How new a row must be to become a landmark, as a share of k(x, x). If places are still free after m rows,
    // less and less is enough.
    virtual double novelty(double rows, std::size_t capacity) const {
        return novelty_ * std::min(1.0, static_cast<double>(capacity) / rows);
    }
    // Whether decide would neither move a landmark nor change the policy's state.
    virtual bool idle(double threshold) const { return (void)threshold, false; }
    // Whether a situation must have its novelty, which may cost a product with P.
    virtual bool needs_novelty() const { return false; }
    // For a row that did not become a landmark: the landmark that moves, with its new place in `place` and its new count
    // in `count`. Counts of landmarks that stay may change too.
    virtual std::optional<std::size_t> decide(Landmarks& u, const Situation& row, double* place, double& count) = 0;
    // Row number `rows` became the last landmark.
    virtual void grown(Landmarks& u, double rows) { (void)u, (void)rows; }

    // The policy's own state, one entry for each landmark if it is an array.
    virtual void describe(Description& d, const Side& landmarks) { (void)d, (void)landmarks; }
    // Memory for this many landmarks.
    virtual void reserve(std::size_t capacity) { (void)capacity; }
    virtual void clear() {}

  protected:
    // For policies with a state, in `reserve`.
    void claim() {
        if (claimed_) throw std::invalid_argument("a policy with a state can belong to one map only");
        claimed_ = true;
    }
    static std::size_t least(const double* values, std::size_t n) {
        return static_cast<std::size_t>(std::min_element(values, values + n) - values);
    }
    static bool is_far(double distance, double threshold) {
        return distance >= threshold && threshold != std::numeric_limits<double>::infinity();
    }
    // u_q <- (N_q u_q + x)/(N_q + 1), N_q <- N_q + 1
    static void step_to_mean(const Landmarks& u, std::size_t q, const double* x, double* place, double& count) {
        const double before = u.count(q);
        u.get(q, place);
        for (std::size_t j = 0; j < u.features(); ++j) place[j] = (before * place[j] + x[j]) / (before + 1);
        count = before + 1;
    }

  private:
    double novelty_;
    bool claimed_ = false;
};

// A row number for each landmark.
class RowNumbers {
  public:
    void reserve(std::size_t capacity) { numbers_ = Buffer(capacity); }
    double& operator[](std::size_t i) { return numbers_[i]; }
    const double* data() const { return numbers_.data(); }
    void clear() { numbers_.clear(); }
    void describe(Description& d, const std::string& name, const Side& landmarks) {
        d.vector(name, numbers_, landmarks);
        d.fields.back().low = 0;
        d.fields.back().high = 0x1p53;
        d.fields.back().whole = true;
    }

  private:
    Buffer numbers_;
};

}  // namespace nolana
