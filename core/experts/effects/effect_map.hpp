// Which slots of a hash table the categories of a row have: a table of fingerprints in buckets of four. The rules and their
// reasons are in nolana/engine/experts/effects/effect_map.py.
#pragma once

#include <cstdint>
#include <vector>

#include "experts/effects/keys.hpp"
#include "experts/map.hpp"

namespace nolana {

class EffectMap final : public Map {
  public:
    static constexpr const char* mismatch = "this head learns on the slots of categories";
    static constexpr std::size_t most_pairs = 6, ways = 4;
    static constexpr float most_share = 65535;  // steps of the share 1
    static constexpr std::int32_t none = -1;

    // A value of a column, or of a pair of columns, in the row at hand.
    struct Active {
        std::uint32_t column;  // features() + p is pair p
        std::int32_t slot;     // none: it has no slot
        std::uint64_t hash;
    };

    EffectMap(std::size_t features, const std::vector<std::size_t>& categories, std::size_t slots, std::size_t pair_slots, bool wears)
        : Map(features), slots_(slots), pair_slots_(pair_slots), wears_(wears), is_category_(features),
          fingerprints_(slots + pair_slots), shares_(slots + pair_slots), pairs_(2 * most_pairs), open_(most_pairs),
          active_(group * (features + most_pairs)) {
        if (slots == 0 || slots % ways || pair_slots == 0 || pair_slots % ways || slots > most_rows || pair_slots > most_rows)
            throw std::invalid_argument("the tables need a multiple of four slots");
        for (const std::size_t j : categories) {
            if (j >= features) throw std::invalid_argument("a category names a column that does not exist");
            is_category_[j] = 1;
        }
        forget();
    }

    bool is_category(std::size_t j) const { return is_category_[j]; }
    std::size_t slots() const { return slots_ + pair_slots_; }
    std::size_t count(std::size_t r) const { return count_[r]; }
    const Active& active(std::size_t r, std::size_t i) const { return active_.data()[r * (features() + most_pairs) + i]; }
    const double* row(std::size_t r) const { return z_ + r * features(); }
    float share(std::int32_t slot) const { return shares_[static_cast<std::size_t>(slot)]; }
    void set_share(std::int32_t slot, float share) { shares_[static_cast<std::size_t>(slot)] = static_cast<std::uint16_t>(share); }
    bool is_open(std::uint32_t column) const { return column < features() || open_[column - features()] > 0; }
    // Two categorical columns: a state may name others, which have no keys.
    bool has_pair(std::size_t p) const { return is_named(pairs_[2 * p]) && is_named(pairs_[2 * p + 1]); }
    void open(std::size_t p) { open_[p] = 1; }
    void set_pair(std::size_t p, double a, double b) {
        pairs_[2 * p] = a;
        pairs_[2 * p + 1] = b;
    }

    void see(const double* raw, std::size_t rows) override {
        if (!raw) throw std::logic_error("effects need the rows as they came");
        for (std::size_t r = 0; r < rows; ++r) find_all(raw + r * features(), r);
    }
    void evaluate(const double* x, std::size_t) override { z_ = x; }

    // Slots for the values of row r that have none, if there is room; calls taken(slot) for each new one.
    template <class Taken> void claim(std::size_t r, Taken taken) {
        for (std::size_t i = 0; i < count_[r]; ++i) {
            Active& each = active_[r * (features() + most_pairs) + i];
            if (each.slot != none) continue;
            each.slot = claim(each);
            if (each.slot == none) continue;
            set_share(each.slot, most_share);
            taken(each.slot);
        }
    }
    void describe(Description& d) override {
        const std::size_t n = slots();
        d.scratch(active_, is_category_, fingerprints_, shares_);
        Field fingerprints{"fingerprints", {n}, {}, {}, 0.0, 32767.0};
        fingerprints.whole = true;
        fingerprints.get_single = [this, n](float* to) { std::copy_n(fingerprints_.data(), n, to); };
        fingerprints.set_single = [this, n](const float* from) {
            for (std::size_t i = 0; i < n; ++i) fingerprints_[i] = static_cast<std::int16_t>(from[i]);
        };
        d.add(std::move(fingerprints));
        Field shares{"shares", {n}, {}, {}, 1.0, 65535.0};
        shares.whole = true;
        shares.get_single = [this, n](float* to) { std::copy_n(shares_.data(), n, to); };
        shares.set_single = [this, n](const float* from) {
            for (std::size_t i = 0; i < n; ++i) shares_[i] = static_cast<std::uint16_t>(from[i]);
        };
        d.add(std::move(shares));
        d.vector("pairs", pairs_, 2 * most_pairs);
        d.fields.back().low = -1;
        d.fields.back().high = static_cast<double>(features() - 1);
        d.fields.back().whole = true;
        d.vector("open", open_, most_pairs);
        d.fields.back().low = 0;
        d.fields.back().high = 1;
        d.count("evicted", evicted_);
        d.bytes += sizeof(*this);
    }
    void resize(const Sizes&, const std::string&) override { forget(); }

  private:
    bool is_named(double column) const { return column >= 0 && is_category_[static_cast<std::size_t>(column)]; }
    void forget() {
        fingerprints_.clear();
        std::fill_n(shares_.data(), slots(), static_cast<std::uint16_t>(most_share));
        std::fill_n(pairs_.data(), 2 * most_pairs, -1.0);
        open_.clear();
        evicted_ = 0;
    }
    static std::int16_t fingerprint(std::uint64_t hash) { return static_cast<std::int16_t>(1 + hash % 32767); }
    std::size_t bucket(std::uint64_t hash, bool pair) const {
        const std::size_t own = below(hash, (pair ? pair_slots_ : slots_) / ways) * ways;
        return pair ? slots_ + own : own;
    }
    std::int32_t find(std::uint64_t hash, bool pair) const {
        const std::size_t first = bucket(hash, pair);
        const std::int16_t own = fingerprint(hash);
        for (std::size_t i = first; i < first + ways; ++i)
            if (fingerprints_[i] == own) return static_cast<std::int32_t>(i);
        return none;
    }
    void find_all(const double* x, std::size_t r) {
        const std::size_t d = features();
        Active* to = active_.data() + r * (d + most_pairs);
        std::size_t n = 0;
        for (std::size_t j = 0; j < d; ++j) {
            if (!is_category_[j] && x[j] == x[j]) continue;
            const std::uint64_t hash = column_hash(j, x[j]);
            to[n++] = {static_cast<std::uint32_t>(j), find(hash, false), hash};
        }
        for (std::size_t p = 0; p < most_pairs; ++p) {
            if (!has_pair(p)) continue;
            const auto a = static_cast<std::size_t>(pairs_[2 * p]), b = static_cast<std::size_t>(pairs_[2 * p + 1]);
            const std::uint64_t hash = mixed(column_hash(a, x[a]) + mixed(column_hash(b, x[b])));
            to[n++] = {static_cast<std::uint32_t>(d + p), find(hash, true), hash};
        }
        count_[r] = n;
    }
    std::int32_t claim(const Active& each) {
        const bool pair = each.column >= features();
        const std::size_t first = bucket(each.hash, pair);
        std::size_t largest = first;
        for (std::size_t i = first; i < first + ways; ++i) {
            if (fingerprints_[i] == 0) return take(i, each.hash);
            if (shares_[i] > shares_[largest]) largest = i;
        }
        if (!wears_) return none;
        const auto share = static_cast<float>(shares_[largest]);
        const float worn = share + std::floor(0.05f * (most_share - share));
        shares_[largest] = static_cast<std::uint16_t>(worn);
        if (!(worn > 0.9f * most_share)) return none;
        evicted_ += 1;
        return take(largest, each.hash);
    }
    std::int32_t take(std::size_t i, std::uint64_t hash) {
        fingerprints_[i] = fingerprint(hash);
        return static_cast<std::int32_t>(i);
    }

    std::size_t slots_, pair_slots_;
    bool wears_;
    BufferOf<std::uint8_t> is_category_;
    BufferOf<std::int16_t> fingerprints_;  // 0: empty
    BufferOf<std::uint16_t> shares_;       // of the prior variance, in steps of 1/65535
    Buffer pairs_, open_;                  // columns of each pair, -1 if there is none
    double evicted_ = 0;
    BufferOf<Active> active_;
    std::size_t count_[group] = {};
    const double* z_ = nullptr;
};

}  // namespace nolana
