// Rows of few non-zeros: which features have a slot, their units and frequencies. The rules and their reasons stand in
// nolana/engine/experts/sparse_linear/feature_table.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/mixed.hpp"
#include "base/state.hpp"
#include "experts/sparse_linear/sparse_rows.hpp"

namespace nolana {

class FeatureTable final : public Stateful {
  public:
    FeatureTable(std::size_t features, std::size_t table, std::size_t counters, std::uint64_t seed)
        : features_(features), seed_(static_cast<std::uint32_t>(seed)) {
        if (table == 0 || table > 0x80000000u || (table < features && table % ways > 0))
            throw std::invalid_argument("the table needs 1 to 2^31 slots, a multiple of 8 where there are more features");
        if (features == 0 || features >= 0x80000000u || counters == 0)
            throw std::invalid_argument("a feature table needs features and counters");
        table_ = std::min(table, features);
        counters_ = std::min(counters, features);
        keys_ = BufferOf<std::int32_t>(table_);
        std::fill_n(keys_.data(), table_, -1);
        scales_ = BufferOf<float>(table_);
        counts_ = BufferOf<std::uint8_t>(counters_);
        double total = 0, power = 1;
        for (std::size_t k = 0; k <= largest_count; ++k) {
            rows_of_[k] = total;
            chances_[k] = static_cast<std::uint64_t>(4294967296.0 / power);
            total += power;
            power *= base;
        }
    }

    double rows = 0;
    std::size_t features() const { return features_; }
    std::size_t slots() const { return table_; }
    std::uint32_t seed() const { return seed_; }  // of the sketches of its rows

    // Slots and values (entries of x) of the non-zeros of a row, which is observed where it is `learned`.
    void take(const SparseRow& x, bool learned, std::int32_t* slots, double* z) {
        if (learned) begin_row();
        double norm = 0;
        for (std::size_t i = 0; i < x.size; ++i) {
            const auto j = static_cast<std::uint32_t>(x.places[i]);
            const bool counts = learned && x.values[i] != 0;
            std::uint8_t& count = counts_[counter(j)];
            if (counts && count < largest_count && mixed(j ^ row_salt_) < chances_[count]) ++count;
            std::ptrdiff_t slot = find(j);
            const bool fresh = slot < 0 && counts && (slot = admit(j, count)) >= 0;
            slots[i] = 0;
            z[i] = 0;
            if (slot < 0) continue;
            slots[i] = static_cast<std::int32_t>(fresh ? -1 - slot : slot);
            float& scale = scales_[static_cast<std::size_t>(slot)];
            z[i] = scaled(x.values[i], static_cast<double>(scale), rows_of_[count]);
            norm += z[i] * z[i];
            if (learned) follow(scale, std::fabs(x.values[i]), rows_of_[count]);
        }
        const double root = norm > 0 ? std::sqrt(norm) : 1;
        for (std::size_t i = 0; i < x.size; ++i) z[i] /= root;
    }

    void describe(Description& d) override {
        d.count("rows", rows);
        d.number("total", total_, 0);
        d.scratch(keys_, scales_, counts_);
        d.bytes += sizeof(*this);
        const std::size_t n = table_, m = counters_;
        Field keys{"keys", {n}, [this, n](double* to) { std::copy_n(keys_.data(), n, to); },
                   [this, n](const double* from) {
                       for (std::size_t i = 0; i < n; ++i) keys_[i] = static_cast<std::int32_t>(from[i]);
                   },
                   -1.0, static_cast<double>(features_) - 1};
        keys.whole = true;
        d.add(std::move(keys));
        Field scales{"scales", {n}, {}, {}, 0.0};
        scales.get_single = [this, n](float* to) { std::copy_n(scales_.data(), n, to); };
        scales.set_single = [this, n](const float* from) { std::copy_n(from, n, scales_.data()); };
        d.add(std::move(scales));
        Field counts{"counts", {m}, {}, {}, 0.0, static_cast<double>(largest_count)};
        counts.whole = true;
        counts.get_single = [this, m](float* to) { std::copy_n(counts_.data(), m, to); };
        counts.set_single = [this, m](const float* from) {
            for (std::size_t i = 0; i < m; ++i) counts_[i] = static_cast<std::uint8_t>(from[i]);
        };
        d.add(std::move(counts));
    }
    void resize(const Sizes&) override {}

  private:
    static constexpr std::size_t ways = 8, largest_count = 255;
    static constexpr double largest = 13, memory = 256, clip = 4, largest_scale = 1e30, halving = 32768, base = 1.122462048309373;
    static constexpr std::uint8_t half = 6;

    static std::size_t share(std::uint32_t key, std::size_t n) {
        return static_cast<std::size_t>((static_cast<std::uint64_t>(key) * n) >> 32);
    }

    void begin_row() {
        rows += 1;
        total_ += 1;
        row_salt_ = mixed(static_cast<std::uint32_t>(static_cast<std::uint64_t>(rows)));
        if (std::fmod(rows, halving) != 0) return;
        total_ /= 2;
        for (std::size_t i = 0; i < counters_; ++i) counts_[i] = counts_[i] > half ? counts_[i] - half : 0;
    }
    std::size_t counter(std::uint32_t j) const {
        return counters_ == features_ ? j : share(mixed(j ^ 0x5BD1E995u), counters_);
    }
    std::ptrdiff_t find(std::uint32_t j) const {
        const auto key = static_cast<std::int32_t>(j);
        if (table_ == features_) return keys_[j] == key ? key : -1;
        const std::size_t first = share(mixed(j), table_ / ways) * ways;
        for (std::size_t slot = first; slot < first + ways; ++slot)
            if (keys_[slot] == key) return static_cast<std::ptrdiff_t>(slot);
        return -1;
    }
    std::ptrdiff_t admit(std::uint32_t j, int count) {
        std::size_t slot = j;
        if (table_ < features_) {
            const std::size_t first = share(mixed(j), table_ / ways) * ways;
            int least = count;
            slot = table_;
            for (std::size_t each = first; each < first + ways; ++each) {
                const int other = keys_[each] < 0 ? -1 : counts_[counter(static_cast<std::uint32_t>(keys_[each]))];
                if (other < least) least = other, slot = each;
            }
            if (slot == table_) return -1;
        }
        keys_[slot] = static_cast<std::int32_t>(j);
        scales_[slot] = 0;
        return static_cast<std::ptrdiff_t>(slot);
    }
    double scaled(double x, double scale, double with) const {
        const double size = std::fabs(x), q = scale > 0 ? size / scale : size > 0 ? 1 : 0;
        const double idf = 1 + std::log((1 + total_) / (1 + std::min(total_, with)));
        return std::copysign((q > 1 ? std::min(1 + std::log(q), largest) : q) * idf, x);
    }
    static void follow(float& slot, double size, double with) {
        if (!(size > 0)) return;
        const double scale = static_cast<double>(slot), gain = std::min(memory, 1 + with);
        const double next = scale > 0 ? scale + (std::min(size, clip * scale) - scale) / gain : size;
        slot = static_cast<float>(std::min(next, largest_scale));
    }

    std::size_t features_, table_ = 0, counters_ = 0;
    std::uint32_t seed_, row_salt_ = 0;
    double total_ = 0;  // rows that the counts stand for
    BufferOf<std::int32_t> keys_{0};
    BufferOf<float> scales_{0};
    BufferOf<std::uint8_t> counts_{0};
    double rows_of_[largest_count + 1];
    std::uint64_t chances_[largest_count + 1];
};

}  // namespace nolana
