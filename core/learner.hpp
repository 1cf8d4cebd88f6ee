// Rows in, scores out: landmarks, the inverse over them, and a head.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>

#include "heads.hpp"
#include "kernels.hpp"
#include "landmarks.hpp"

namespace nolana {

// Which landmark a row moves that did not become one itself.
class Policy {
  public:
    virtual ~Policy() = default;
    virtual bool idle(double threshold) const = 0;
    // The landmark that moves, with its new place in `place`; distances are squared.
    virtual std::optional<std::size_t> propose(Landmarks& u, const double* x, const double* distances,
                                               double threshold, double* place) const = 0;
};

class Fixed final : public Policy {
  public:
    bool idle(double) const override { return true; }
    std::optional<std::size_t> propose(Landmarks&, const double*, const double*, double, double*) const override {
        return std::nullopt;
    }
};

inline std::size_t nearest(const double* distances, std::size_t n) {
    return static_cast<std::size_t>(std::min_element(distances, distances + n) - distances);
}

// q nearest to x; if |x - u_q|^2 >= epsilon: u_q <- (N_q u_q + x)/(N_q + 1), N_q += 1 (Si, Kumar, Li, Algorithm 1).
class KMeans final : public Policy {
  public:
    bool idle(double threshold) const override { return threshold == std::numeric_limits<double>::infinity(); }
    std::optional<std::size_t> propose(Landmarks& u, const double* x, const double* distances, double threshold,
                                       double* place) const override {
        const std::size_t q = nearest(distances, u.size());
        if (!(distances[q] >= threshold)) return std::nullopt;
        const double count = u.count(q);
        u.get(q, place);
        for (std::size_t j = 0; j < u.features(); ++j) place[j] = (count * place[j] + x[j]) / (count + 1);
        u.count(q) = count + 1;
        return q;
    }
};

class Learner {
  public:
    struct Counters {
        double rows = 0, moves = 0, since_refresh = 0;
    };

    Learner(std::size_t capacity, std::size_t features, std::shared_ptr<const Kernel> kernel,
            std::unique_ptr<Head> head, std::shared_ptr<const Policy> policy, double novelty)
        : landmarks(capacity, features), inverse(capacity), head(std::move(head)),
          kernel_(std::move(kernel)), policy_(std::move(policy)), novelty_(novelty),
          stride_(padded(capacity, panel_lanes)), values_(4 * group * stride_), places_(2 * features) {}

    std::size_t features() const { return landmarks.features(); }
    std::size_t outputs() const { return head->outputs(); }

    // x (rows, features), y and scores (rows, outputs), weight (rows) or null.
    void learn(const double* x, const double* y, const double* weight, std::size_t rows, double* scores) {
        const std::size_t d = landmarks.features(), c = head->outputs();
        for (std::size_t start = 0, count = 0; start < rows; start += count) {
            count = std::min(head->rows_to_sweep(), rows - start);
            evaluate(x + start * d, count);
            head->start_group();
            for (std::size_t r = 0; r < count; ++r) {
                const std::size_t at = start + r;
                const auto changed = row(r, count, x + at * d, y + at * c, weight ? weight[at] : 1.0, scores + at * c);
                if (changed && r + 1 < count) {
                    const std::size_t panel = *changed / panel_lanes;
                    kernel_->evaluate(landmarks, x + (at + 1) * d, count - r - 1, panel, panel + 1, gamma,
                                      values(r + 1));
                }
            }
        }
    }

    void scores(const double* x, std::size_t rows, double* out) {
        const std::size_t d = landmarks.features(), c = head->outputs();
        for (std::size_t start = 0; start < rows; start += group) {
            const std::size_t count = std::min(group, rows - start);
            evaluate(x + start * d, count);
            for (std::size_t r = 0; r < count; ++r)
                head->scores(values(r).kernel, landmarks.size(), out + (start + r) * c);
        }
    }

    // k(x_r, u_i), (rows, size)
    void kernel_rows(const double* x, std::size_t rows, double* out) {
        const std::size_t d = landmarks.features(), n = landmarks.size();
        for (std::size_t start = 0; start < rows; start += group) {
            const std::size_t count = std::min(group, rows - start);
            evaluate(x + start * d, count);
            for (std::size_t r = 0; r < count; ++r) std::copy_n(values(r).kernel, n, out + (start + r) * n);
        }
    }

    // P from the landmarks alone: A = E + delta I by its Cholesky factor. The ridge grows where it has become
    // too small for the landmarks, or A is not positive definite even so.
    void refresh() {
        const std::size_t n = landmarks.size(), d = landmarks.features();
        double total = 0;
        for (std::size_t i = 0; i < n; ++i) {
            landmarks.get(i, places_.data());
            total += kernel_->self(places_.data(), d, gamma);
        }
        ridge = std::max(ridge, smallest_ridge * total / static_cast<double>(n));
        for (;; ridge = ridge > 0 ? 10 * ridge : 1e-12) {
            if (!std::isfinite(ridge))  // no ridge helps where the kernel itself is not finite
                throw std::overflow_error("the kernel matrix of the landmarks overflowed; scale the features");
            for (std::size_t i = 0; i < n; ++i) {
                landmarks.get(i, places_.data());
                kernel_->evaluate(landmarks, places_.data(), 1, 0, i / panel_lanes + 1, gamma, spare());
                for (std::size_t j = 0; j < i; ++j) inverse.matrix().set(i, j, spare().kernel[j]);
                inverse.matrix().set(i, i, kernel_->self(places_.data(), d, gamma) + ridge);
            }
            if (inverse.matrix().invert(n)) break;
        }
        counters.since_refresh = 0;
    }

    std::size_t bytes() const {
        return sizeof(*this) + landmarks.bytes() + inverse.bytes() + head->bytes() +
               values_.bytes() + places_.bytes();
    }

    // State: everything that outlives a call. The rest is scratch.
    Landmarks landmarks;
    Inverse inverse;
    std::unique_ptr<Head> head;
    Counters counters;
    double gamma = 1, threshold = std::numeric_limits<double>::infinity(), ridge = 1e-3;

  private:
    static constexpr double smallest_ridge = 1e-6;  // relative to the mean of k(u, u)

    Values values(std::size_t r) {
        return {values_.data() + r * stride_, values_.data() + (group + r) * stride_, stride_};
    }
    Values spare() { return {values_.data() + 2 * group * stride_, values_.data() + 3 * group * stride_, stride_}; }

    void evaluate(const double* x, std::size_t rows) {
        kernel_->evaluate(landmarks, x, rows, 0, landmarks.panel_count(), gamma, values(0));
    }

    // Scores and learns row r of the group; returns the landmark that was added or moved.
    std::optional<std::size_t> row(std::size_t r, std::size_t count, const double* x, const double* y,
                                   double weight, double* f) {
        const Place at{values(0).kernel, stride_, r, count};
        head->scores(at.values(), landmarks.size(), f);
        if (weight == 0) return std::nullopt;
        counters.rows += 1;
        const double self = kernel_->self(x, landmarks.features(), gamma);
        std::optional<std::size_t> changed;
        if (!landmarks.full()) changed = grow(r, x, self);
        head->learn(at, self, landmarks.size(), y, f, weight, counters.rows, inverse);
        if (changed || landmarks.size() == 0 || policy_->idle(threshold)) return changed;
        changed = policy_->propose(landmarks, x, values(r).distance, threshold, places_.data());
        if (changed) move(*changed, places_.data());
        return changed;
    }

    // The row becomes a landmark where it is new enough: k(x,x) - k.P k > novelty k(x,x). Where places are
    // still free after m rows, less and less is enough.
    std::optional<std::size_t> grow(std::size_t r, const double* x, double self) {
        const std::size_t n = landmarks.size();
        double* k = values(r).kernel;
        const double fresh = inverse.novelty(k, self, n);
        const double wanted = novelty_ * std::min(1.0, static_cast<double>(landmarks.capacity()) / counters.rows);
        if (!(fresh > wanted * self) || !(fresh > 2 * ridge)) return std::nullopt;
        const double g = fresh + ridge;
        const double* z = inverse.grow(g, n);
        head->grow(z, g, n + 1);
        landmarks.append(x, 1);
        if (n % panel_lanes == 0) std::fill_n(k + n, panel_lanes, 0.0);
        k[n] = self;
        return n;
    }

    void move(std::size_t q, const double* place) {
        const std::size_t n = landmarks.size(), d = landmarks.features();
        double* old_place = places_.data() + d;
        landmarks.get(q, old_place);
        kernel_->evaluate(landmarks, place, 2, 0, landmarks.panel_count(), gamma, spare());
        const Values v = spare();
        const double self = kernel_->self(place, d, gamma);
        const Move m = inverse.move(q, v.kernel, v.kernel + stride_, self, kernel_->self(old_place, d, gamma), ridge, n);
        landmarks.set(q, place);
        head->carry(m, n);
        counters.moves += 1;
        counters.since_refresh += 1;
        const bool outgrown = ridge < smallest_ridge * self / static_cast<double>(n);
        if (!inverse.trusted() || outgrown || counters.since_refresh >= static_cast<double>(n)) refresh();
    }

    std::shared_ptr<const Kernel> kernel_;
    std::shared_ptr<const Policy> policy_;
    double novelty_;
    std::size_t stride_;
    Buffer values_;  // kernel values and distances of a group of rows, then of a move
    Buffer places_;
};

}  // namespace nolana
