// A landmark policy: which rows become landmarks, and which landmark a row moves or replaces.
#pragma once

#include <limits>
#include <optional>

#include "landmarks.hpp"
#include "state.hpp"

namespace nolana {

// What a policy decides by: the row that was just learned.
struct Situation {
    const double* x;          // (d)
    const double* distances;  // (landmarks), squared
    double threshold;         // the paper's epsilon
    double rows;              // learned, with this one
};

class Policy {
  public:
    // A row is new where it adds this share of k(x, x) to what the landmarks explain.
    explicit Policy(double novelty) : novelty_(novelty) {}
    virtual ~Policy() = default;

    // How new a row must be to become a landmark, as a share of k(x, x). Where places are still free after m rows,
    // less and less is enough.
    virtual double novelty(double rows, std::size_t capacity) const {
        return novelty_ * std::min(1.0, static_cast<double>(capacity) / rows);
    }
    // Whether propose would never move a landmark.
    virtual bool idle(double threshold) const = 0;
    // The landmark that moves, with its new place in `place` and its new count in `count`.
    virtual std::optional<std::size_t> propose(const Landmarks& u, const Situation& row, double* place, double& count) = 0;

    // The policy's own state, one entry for each landmark where it is an array.
    virtual void describe(Description& d, const Side& landmarks) { (void)d, (void)landmarks; }
    virtual void resize(std::size_t landmarks) { (void)landmarks; }

  protected:
    static std::size_t nearest(const double* distances, std::size_t n) {
        return static_cast<std::size_t>(std::min_element(distances, distances + n) - distances);
    }

  private:
    double novelty_;
};

}  // namespace nolana
