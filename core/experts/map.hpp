// A map turns rows into features and knows when it changes; the heads that learn on it are notified.
#pragma once

#include <algorithm>
#include <vector>

#include "experts/sparse_linear/sparse_rows.hpp"
#include "base/state.hpp"

namespace nolana {

// One more feature: P' = P (+) 0 + z z' / g.
struct Growth {
    const double* z;
    double g;
    std::size_t size;  // with the new feature
};

// Landmark q moved: weights become T alpha with T = I + carry e_q'.
struct Move {
    std::size_t q;
    double s;              // how new the place is
    const double* carry;   // T's column q, minus e_q
    const double* column;  // P'[:,q]
    std::size_t size;
};

// What hears of the changes of a map.
class Listener {
  public:
    virtual ~Listener() = default;
    virtual void grown(const Growth& growth) = 0;
    virtual void moved(const Move& move) = 0;
};

class Map {
  public:
    explicit Map(std::size_t features) : features_(features) {
        if (features == 0) throw std::invalid_argument("a map needs at least one feature");
        if (features > most_rows) throw std::bad_array_new_length();
    }

    virtual ~Map() = default;
    std::size_t features() const { return features_; }
    // A map belongs to one learner: listeners are never detached.
    void claim() {
        if (claimed_) throw std::invalid_argument("a map can belong to one learner only");
        claimed_ = true;
    }
    void attach(Listener* listener) { listeners_.push_back(listener); }

    // Rows as they came, with keys of categories and NaN, before they are scaled and evaluated; null if no cell of the group
    // is special.
    virtual void see(const double* raw, std::size_t rows) { (void)raw, (void)rows; }
    // The features of up to `group` rows of x, until the next call; x must stay where it is.
    virtual void evaluate(const double* x, std::size_t rows) = 0;
    // Some maps read the non-zeros of the rows instead; `features` are then the places that these may have.
    virtual bool takes_sparse_rows() const { return false; }
    virtual void evaluate(const SparseRows& x, std::size_t first, std::size_t rows) { (void)x, (void)first, (void)rows; }
    // Row r of the group is about to be learned, and was learned; `step` counts the rows learned, with this one.
    virtual void before(std::size_t r, double step) { (void)r, (void)step; }
    virtual void after(std::size_t r, double step) { (void)r, (void)step; }
    // The row that is being learned has raised the drift alarm.
    virtual void drifted() {}
    // Row r of the group has no label; only what needs none learns it.
    virtual void observe(std::size_t r) { (void)r; }

    virtual void describe(Description& d) = 0;
    // Clear, with room for a state of these sizes, whose names begin with the prefix; none: nothing learned.
    virtual void resize(const Sizes& sizes, const std::string& prefix) = 0;

  protected:
    void notify(const Growth& growth) {
        for (Listener* listener : listeners_) listener->grown(growth);
    }
    void notify(const Move& move) {
        for (Listener* listener : listeners_) listener->moved(move);
    }

  private:
    std::size_t features_;
    bool claimed_ = false;
    std::vector<Listener*> listeners_;
};

// The features of a row in its group, as a head sees them.
struct Features {
    const double* group;  // (rows, stride)
    std::size_t stride, row, rows;
    std::size_t size;  // features in use
    double self;       // k(x, x)
    std::size_t width() const { return padded(size, panel_lanes); }  // zero beyond size
    const double* values() const { return group + row * stride; }
};

// Every feature of a row has a value. P is the prior covariance of the weights, up to a factor.
class DenseMap : public Map {
  public:
    static constexpr const char* mismatch = "this head learns on dense features, and the map has sparse ones";

    DenseMap(std::size_t features, std::size_t capacity)
        : Map(features), stride_(padded(capacity, panel_lanes)), values_(group * stride_) {}

    std::size_t stride() const { return stride_; }
    // Features in use; the state decides how many if the side is named.
    virtual Side side() const = 0;
    // Where feature i is in a row of values.
    virtual std::size_t place(std::size_t i) const { return i; }
    Features row(std::size_t r) const { return {values_.data(), stride_, r, rows_, size_, self_[r]}; }

    // P phi of row r, shared by all who ask.
    virtual const double* prior_product(std::size_t r) = 0;
    // phi.P phi of row r
    virtual double explained(std::size_t r) = 0;
    // target += factor P
    virtual void add_prior(double factor, Symmetric& target) const = 0;
    // y = P x over the places of a row of values; P is I if the features never change.
    virtual void prior_times(const double* x, double* y) { std::copy_n(x, stride_, y); }

    // (rows, side) of rows that are not learned.
    void transform(const double* x, std::size_t rows, double* out) {
        const std::size_t n = side().value;
        for (std::size_t start = 0; start < rows; start += group) {
            const std::size_t count = std::min(group, rows - start);
            evaluate(x + start * features(), count);
            for (std::size_t r = 0; r < count; ++r, out += n)
                for (std::size_t i = 0; i < n; ++i) out[i] = values_[r * stride_ + place(i)];
        }
    }

  protected:
    double* values(std::size_t r) { return values_.data() + r * stride_; }

    std::size_t stride_, rows_ = 0;
    std::size_t size_ = 0;  // places of a row of values that are in use
    double self_[group] = {1, 1, 1, 1};
    Buffer values_;
};

}  // namespace nolana
