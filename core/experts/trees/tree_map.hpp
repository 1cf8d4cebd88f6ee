// Complete binary trees over 8-bit codes of the row; one of them at a time is grown again from the most recent rows.
// Formulas are in nolana/engine/experts/trees/tree_map.py.
#pragma once

#include <cstdint>

#include "experts/map.hpp"

namespace nolana {

// What a row asks of the tree that is grown, in whole steps: sums are exact.
struct Gradient {
    std::int16_t g, h;
};

// A head on the leaves of the trees.
class TreeListener {
  public:
    virtual ~TreeListener() = default;
    // All trees start again.
    virtual void restart() = 0;
    // Tree q was grown.
    virtual void start_tree(std::size_t q) = 0;
    virtual void copy_tree(std::size_t q, std::size_t to) = 0;
};

// The first of them knows the scores of the stored rows.
class ScoredRows {
  public:
    virtual ~ScoredRows() = default;
    // Tree q to these scores, or -1 times it.
    virtual void add(std::size_t q, int sign) = 0;
    // What is to be explained of the stored rows; l.
    virtual double gradients(std::uint64_t word, Gradient* gradients) = 0;
    // Whether tree `old` predicts the last stored rows clearly better than `now`.
    virtual bool was_better(std::size_t old, std::size_t now, std::size_t rows) = 0;
};

class TreeMap final : public Map {
  public:
    static constexpr const char* mismatch = "this head learns on leaves, and the map has no trees";
    TreeMap(std::size_t features, std::size_t trees, std::size_t depth, std::size_t rows, std::uint64_t seed, bool refits,
            std::vector<std::size_t> categories = {}, bool trials = false);

    // The first head knows the scores of the stored rows.
    void listen(TreeListener* head, ScoredRows* scored) {
        if (heads_.empty()) scored_ = scored;
        if (!scored_) throw std::invalid_argument("the first head on trees is one with variances");
        heads_.push_back(head);
    }

    std::size_t leaves() const { return leaves_; }  // of a tree
    std::size_t slots() const { return places_ * leaves_; }
    std::size_t trees() const { return trees_; }
    std::size_t grown() const { return grown_; }
    // With that before the one on trial, which is behind the last one.
    std::size_t kept_trees() const { return grown_ + on_trial_; }
    // The leaves of row r of the group, counted through all trees, of those that have one for it (leaf_count).
    const std::uint32_t* leaves_of_row(std::size_t r) const;
    std::size_t leaf_count(std::size_t r) const { return leaves_of_row(r), counts_[r]; }
    // Stored rows, and where the next one goes: the same in the heads.
    std::size_t capacity() const { return capacity_; }
    std::size_t stored() const { return stored_; }
    std::size_t next() const { return next_; }
    std::uint64_t seed() const { return seed_; }
    // Whether the row that was learned is stored.
    void keep(bool keeps) { keeps_ = keeps; }
    // Where the stored row number i is, the oldest first.
    std::size_t place(std::size_t i) const { return (next_ + capacity_ - stored_ + i) % capacity_; }
    Side side() const { return {"codes", stored_, capacity_, Side::Scope::map}; }
    // The leaf of the stored row at this place in a tree, and in the one that was looked up for all of them.
    std::size_t leaf_in(std::size_t q, std::size_t place) const;
    std::size_t leaf_of(std::size_t place) const { return order_[place]; }
    Gradient gradient(std::size_t place) const { return gradients_[place]; }

    void see(const double* raw, std::size_t) override { raw_ = raw; }
    void evaluate(const double* x, std::size_t rows) override;
    void after(std::size_t r, double step) override;
    void drifted() override {
        stale_ = static_cast<std::uint32_t>(refits_ ? grown_ : 0);
        on_trial_ = on_trial_ && !refits_;
    }
    void describe(Description& d) override;
    void resize(const Sizes& sizes, const std::string& prefix) override;

  private:
    static constexpr double steps_in_unit = 40, largest = 127, largest_number = 126;
    static constexpr std::int8_t missing = 127;
    static constexpr std::uint64_t category_codes = 254;
    static constexpr std::size_t most_features = 256, candidates = 64, least_rows = 8, fine = 256, coarse = 64;
    static constexpr std::size_t grow_every = 64, refit_every = 1024, last_start = 513;
    static constexpr double least_gain = 1, gradient_steps = 1024;
    static constexpr double slack = 1e-5;  // far beyond what single precision rounds
    static constexpr double largest_single = 1e37;
    static constexpr std::size_t together = 8;  // trees that are walked at once

    // Rows from one tree to the next.
    std::size_t pace() const { return grown_ < trees_ || stale_ > 0 ? grow_every : refit_every; }
    // Trees that are grown at once after a row; 0: none.
    static std::size_t started(std::uint64_t step) { return step == 129 || step == 257 ? 8 : step == last_start ? 16 : 0; }

    bool is_category(std::size_t j) const { return !categories_.empty() && new_[group * features() + j] != 0; }
    // Whether a row goes right at this node, counted through all trees; `step` from the code of a feature to the next one.
    template <bool has_categories> bool goes_right(std::size_t node, const std::int8_t* code, std::size_t step = 1) const {
        const std::uint8_t feature = split_features_[node];
        const std::int8_t own = code[feature * step], threshold = thresholds_[node];
        if constexpr (has_categories) return is_category(feature) ? own == threshold : own > threshold;
        return own > threshold;
    }
    template <bool has_categories> std::size_t find_in(std::size_t q, const std::int8_t* code, std::size_t step = 1) const;
    template <bool has_categories> void find_all(const std::int8_t* code, std::uint32_t* found) const;
    template <bool has_categories> void find_leaves(std::size_t q);
    void look_up(std::size_t q) { categories_.empty() ? find_leaves<false>(q) : find_leaves<true>(q); }
    void judge();
    void copy(std::size_t q, std::size_t to);
    std::size_t known_leaves(std::size_t r, std::uint32_t* found) const;
    void refit(std::uint64_t step);
    void grow(std::size_t q, double ridge, std::uint64_t word);
    bool split(std::size_t node, const std::uint16_t* rows, std::size_t n, double ridge, std::uint64_t word, std::size_t& feature,
               int& threshold);

    std::size_t trees_, places_, depth_, nodes_, leaves_, capacity_;
    std::uint64_t seed_;
    bool refits_, keeps_ = true;
    std::uint32_t stale_ = 0;  // trees of before the last drift alarm
    bool on_trial_ = false;      // whether the tree that was grown last may be undone
    double kept_ = 0, fresh_ = 0;  // rows stored so far, and since it was grown
    std::size_t grown_ = 0, oldest_ = 0, stored_ = 0, next_ = 0;
    std::vector<std::size_t> categories_;  // columns that hold keys
    const double* raw_ = nullptr;          // the group as it came, if a cell of it is special
    BufferOf<std::uint8_t> learned_codes_{0};  // (categories, codes): whether a learned row had it
    BufferOf<std::uint8_t> new_{0};  // (group + 1, d): whether a value is new; in the last row whether the column has categories
    bool any_new_[group] = {};
    mutable std::size_t counts_[group] = {};
    std::vector<TreeListener*> heads_;
    ScoredRows* scored_ = nullptr;
    BufferOf<std::uint8_t> split_features_;
    BufferOf<std::int8_t> thresholds_, group_codes_;
    BufferOf<std::int8_t> codes_;  // (d, rows): a split reads four features of many rows
    Buffer metric_, factors_;  // factors: steps of a unit of each feature
    BufferOf<Gradient> gradients_;
    BufferOf<std::uint16_t> order_;             // rows by the nodes of the tree that is grown, or their leaves in it
    mutable BufferOf<std::uint32_t> found_;     // leaves of the rows of a group
    mutable bool known_[group] = {};            // whether they were looked up
    std::vector<std::uint16_t> features_order_;  // for the draw of candidates
};

}  // namespace nolana
