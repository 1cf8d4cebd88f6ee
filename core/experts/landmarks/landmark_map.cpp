// The landmarks u_1..u_m, a kernel and P = (E + delta I)^-1: phi(x) = k_x = [k(x,u_1)..k(x,u_m)].
//
// Rows that are new enough become landmarks until all places are taken; the policy moves or replaces landmarks. Each
// change costs one product with P (inverse.hpp).
#include <memory>
#include <optional>

#include "bind/bind.hpp"
#include "experts/landmarks/inverse.hpp"
#include "experts/landmarks/kernel.hpp"
#include "experts/landmarks/policy.hpp"
#include "base/products.hpp"

namespace nolana {

class LandmarkMap final : public DenseMap {
  public:
    LandmarkMap(std::size_t features, std::size_t capacity, std::shared_ptr<const Kernel> kernel,
                std::shared_ptr<Policy> policy, bool single)
        : DenseMap(features, checked(capacity)), kernel_(std::move(kernel)), policy_(std::move(policy)),
          landmarks_(capacity, features, single), inverse_(capacity), products_(stride_), distances_(group * stride_),
          move_values_(4 * stride_), places_(2 * features) {
        policy_->reserve(capacity);
    }

    Side side() const override { return {"landmarks", landmarks_.size(), landmarks_.capacity(), Side::Scope::map}; }

    void evaluate(const double* x, std::size_t rows) override {
        x_ = x;
        rows_ = rows;
        products_.start_group();
        kernel_->evaluate(landmarks_, x, rows, 0, landmarks_.panel_count(), gamma,
                          {values(0), distances_.data(), stride_});
    }
    void before(std::size_t r, double step) override {
        asked_ = false;
        changed_ = std::nullopt;
        self_[r] = kernel_->self(row_of(r), features(), gamma);
        if (!landmarks_.full()) grow(r, step);
    }
    void after(std::size_t r, double step) override {
        const bool open = !changed_ && landmarks_.size() > 0 && !policy_->idle(threshold);
        const double fresh = open && policy_->needs_novelty() ? novelty(r) : std::numeric_limits<double>::quiet_NaN();
        products_.count(asked_);
        if (open) {
            const Situation situation{row_of(r), distances_.data() + r * stride_, threshold, step, self_[r], fresh};
            double count = 0;
            changed_ = policy_->decide(landmarks_, situation, places_.data(), count);
            if (changed_) move(*changed_, count);
        }
        if (!changed_ || r + 1 == rows_) return;
        const std::size_t panel = *changed_ / panel_lanes;  // of the other rows only this part has changed
        kernel_->evaluate(landmarks_, row_of(r + 1), rows_ - r - 1, panel, panel + 1, gamma,
                          {values(r + 1), distances_.data() + (r + 1) * stride_, stride_});
    }

    const double* prior_product(std::size_t r) override {
        asked_ = true;
        if (!products_.has(r)) products_.take(inverse_.matrix(), nullptr, 0, row(r));
        return products_.get(r);
    }
    double explained(std::size_t r) override { return self_[r] - novelty(r); }
    void add_prior(double factor, Symmetric& target) const override { target.add(factor, inverse_.matrix()); }
    void prior_times(const double* x, double* y) override { inverse_.matrix().multiply(x, y, landmarks_.size()); }

    // P from the landmarks alone: A = E + delta I by its Cholesky factor. The ridge grows if it has become
    // too small for the landmarks, or A is not positive definite even so.
    void refresh() {
        const std::size_t n = landmarks_.size(), d = features();
        double total = 0;
        for (std::size_t i = 0; i < n; ++i) {
            landmarks_.get(i, places_.data());
            total += kernel_->self(places_.data(), d, gamma);
        }
        ridge = std::max(ridge, smallest_ridge * total / static_cast<double>(n));
        for (;; ridge = ridge > 0 ? 10 * ridge : 1e-12) {
            if (!std::isfinite(ridge))  // no ridge helps if the kernel itself is not finite
                throw std::overflow_error("the kernel matrix of the landmarks overflowed; scale the features");
            for (std::size_t i = 0; i < n; ++i) {
                landmarks_.get(i, places_.data());
                kernel_->evaluate(landmarks_, places_.data(), 1, 0, i / panel_lanes + 1, gamma, move_values());
                for (std::size_t j = 0; j < i; ++j) inverse_.matrix().set(i, j, move_values_[j]);
                inverse_.matrix().set(i, i, kernel_->self(places_.data(), d, gamma) + ridge);
            }
            if (inverse_.matrix().invert(n)) break;
        }
        since_refresh_ = 0;
        products_.invalidate();
    }

    void describe(Description& d) override {
        landmarks_.describe(d, side());
        d.symmetric("inverse", inverse_.matrix(), side(), [](std::size_t i) { return i; });
        d.number("gamma", gamma, Description::positive);
        d.number("threshold", threshold, 0);
        d.number("ridge", ridge, 0);
        d.count("moves", moves_);
        d.count("since_refresh", since_refresh_);
        policy_->describe(d, side());
        d.scratch(values_, products_, distances_, move_values_, places_);
        d.bytes += sizeof(*this) + inverse_.scratch_bytes();
    }
    void resize(const Sizes& sizes, const std::string& prefix) override {
        const auto size = sizes.find(prefix + "landmarks");
        const std::size_t n = size == sizes.end() ? 0 : size->second;
        landmarks_.resize(n);
        size_ = n;
        inverse_.matrix().clear();
        products_.invalidate();
        policy_->clear();
        moves_ = since_refresh_ = 0;
    }

    std::size_t moves() const { return static_cast<std::size_t>(moves_); }
    double gamma = 1, threshold = std::numeric_limits<double>::infinity(), ridge = 1e-3;

  private:
    static constexpr double smallest_ridge = 1e-6;  // relative to the mean of k(u, u)

    static std::size_t checked(std::size_t capacity) {
        if (capacity == 0) throw std::invalid_argument("a landmark map needs room for at least one landmark");
        if (capacity > most_rows) throw std::bad_array_new_length();
        return capacity;
    }

    const double* row_of(std::size_t r) const { return x_ + r * features(); }
    Values move_values() { return {move_values_.data(), move_values_.data() + 2 * stride_, stride_}; }

    // k(x,x) - k.P k
    double novelty(std::size_t r) { return self_[r] - dot(values(r), prior_product(r), row(r).width()); }

    void grow(std::size_t r, double step) {
        const std::size_t n = landmarks_.size();
        const double self = self_[r], fresh = novelty(r);
        if (!(fresh > policy_->novelty(step, landmarks_.capacity()) * self) || !(fresh > 2 * ridge)) return;
        const Growth growth = inverse_.grow(products_.get(r), fresh + ridge, n);
        notify(growth);
        landmarks_.append(row_of(r), 1);
        policy_->grown(landmarks_, step);
        size_ = n + 1;
        if (n % panel_lanes == 0) std::fill_n(values(r) + n, panel_lanes, 0.0);
        values(r)[n] = self;
        products_.invalidate();
        changed_ = n;
    }

    // Landmark q goes to places_[0..d).
    void move(std::size_t q, double count) {
        const std::size_t n = landmarks_.size(), d = features();
        double *place = places_.data(), *old_place = place + d;
        landmarks_.get(q, old_place);
        kernel_->evaluate(landmarks_, place, 2, 0, landmarks_.panel_count(), gamma, move_values());
        const double* k = move_values_.data();
        const double self = kernel_->self(place, d, gamma);
        const Move m = inverse_.move(q, k, k + stride_, self, kernel_->self(old_place, d, gamma), ridge, n);
        landmarks_.set(q, place);
        landmarks_.count(q) = count;
        notify(m);
        moves_ += 1;
        since_refresh_ += 1;
        products_.invalidate();
        const bool outgrown = ridge < smallest_ridge * self / static_cast<double>(n);
        if (!inverse_.trusted() || outgrown || since_refresh_ >= static_cast<double>(n)) refresh();
    }

    std::shared_ptr<const Kernel> kernel_;
    std::shared_ptr<Policy> policy_;
    Landmarks landmarks_;
    Inverse inverse_;
    Products products_;  // P k
    double moves_ = 0, since_refresh_ = 0;

    // Scratch.
    const double* x_ = nullptr;  // the group's rows
    bool asked_ = false;         // whether this row's product was asked for
    std::optional<std::size_t> changed_;
    Buffer distances_, move_values_, places_;
};

NOLANA_BINDING(landmark_map) {
    nb::class_<LandmarkMap, Map>(m, "LandmarkMap")
        .def(nb::init<std::size_t, std::size_t, std::shared_ptr<const Kernel>, std::shared_ptr<Policy>, bool>(), "features"_a,
             "capacity"_a, "kernel"_a, "policy"_a, "single"_a = false)
        .def("refresh", &LandmarkMap::refresh)
        .def_rw("gamma", &LandmarkMap::gamma)
        .def_rw("threshold", &LandmarkMap::threshold)
        .def_rw("ridge", &LandmarkMap::ridge)
        .def_prop_ro("size", [](const LandmarkMap& self) { return self.side().value; })
        .def_prop_ro("moves", &LandmarkMap::moves);
}

}  // namespace nolana
