// Cells: random grids whose bins are hashed into one table (random binning, Rahimi and Recht 2007; Wu et al. 2016). For
// grid g over its features:
//     bin_j = floor(z_j/pitch_gj + offset_gj),   key = (sum_j bin_j r_j, sum_j bin_j s_j) mod 2^16 each, as 32 bits
//     slot = mixed(key + salt_g) N >> 32
// All in integers: z in steps of 1/2048. Grids come in bundles of 16 lanes with the same number of features
// (grids.hpp); a bundle takes one instruction for each step of the sums.
#include "experts/bins/bin_map.hpp"

#include <bit>
#include <cmath>
#include <optional>

#include "bind/bind.hpp"
#include "base/vec.hpp"
#include "experts/bins/grids.hpp"
#include "experts/effects/keys.hpp"

namespace nolana {

static void check_relevance(const Vector& relevance, std::size_t features) {
    const auto positive = [](double v) { return v > 0; };
    expect(relevance.shape(0) == features && std::all_of(relevance.data(), relevance.data() + features, positive),
           "relevance has one positive number for each feature");
}

class BinMap final : public SparseMap {
  public:
    BinMap(std::size_t features, std::size_t table, std::size_t grids, std::uint64_t seed, const std::optional<Vector>& relevance,
           const std::optional<Vector>& given, const std::optional<Vector>& categories)
        : SparseMap(features, grids, table), keys_(group * grids), steps_(group * features) {
        expect(table > 0 && table <= 0x80000000u, "the table needs 1 to 2^31 slots");
        expect(features > 0 && grids > 0 && grids <= most_rows, "a cell map needs features and grids");
        if (relevance) check_relevance(*relevance, features);
        if (categories) set_categories(*categories);
        bundles_ = grids::bundles_of(features, grids, categories.has_value());
        std::vector<double> own;
        if (given)
            expect(grids::is_list(bundles_, features, given->data(), given->shape(0)), "drawn is not the list of such grids");
        else
            own = grids::draw(features, grids, seed, relevance ? relevance->data() : nullptr, categories.has_value());
        const double* drawn = given ? given->data() : own.data();
        for (std::size_t h = 0; h < 2; ++h)
            for (std::size_t j = 0; j < widest; ++j)
                multipliers_[h][j] = static_cast<std::int16_t>(static_cast<std::uint16_t>(*drawn++));
        salt_ = BufferOf<std::uint32_t>(bundles_.size() * lanes_);
        for (std::size_t i = 0; i < salt_.size(); ++i) salt_[i] = static_cast<std::uint32_t>(static_cast<std::uint64_t>(*drawn++));
        const Bundle& last = bundles_.back();
        const std::size_t entries = last.entry + last.size * lanes_, named = last.named + (last.names ? last.size * lanes_ : 0);
        inverse_pitch_ = BufferOf<std::int16_t>(entries);
        offset_ = BufferOf<std::uint8_t>(entries);
        if (features > widest) index_ = BufferOf<std::uint32_t>(named);
        chosen_ = BufferOf<std::int16_t>(features > widest ? named : padded(named, 32));
        if (features <= widest) bytes_ = BufferOf<std::uint8_t>(padded(named, 32));
        for (const Bundle& bundle : bundles_)
            for (std::size_t i = 0; i < bundle.size * lanes_; ++i) {
                const auto entry = static_cast<std::uint64_t>(*drawn++), feature = entry >> 21;
                inverse_pitch_[bundle.entry + i] = static_cast<std::int16_t>(entry >> 6 & 0x7FFF);
                offset_[bundle.entry + i] = static_cast<std::uint8_t>(entry & 0x3F);
                if (!bundle.names) continue;
                if (bytes_.size())
                    bytes_[bundle.named + i] = static_cast<std::uint8_t>(feature);
                else
                    index_[bundle.named + i] = static_cast<std::uint32_t>(feature);
            }
    }

    void see(const double* raw, std::size_t) override { special_.raw = raw; }
    void evaluate(const double* x, std::size_t rows) override {
        const std::size_t d = features();
        if (special_.raw) return evaluate_special(x, rows);
        for (std::size_t r = 0; r < rows; ++r) {
            const double* z = x + r * d;
            double* dense = dense_.data() + r * width_;
            std::int16_t* steps = steps_.data() + r * d;
            for (std::size_t j = 0; j < d; ++j) {
                dense[j] = static_cast<double>(static_cast<float>(z[j]));
                steps[j] = in_steps(dense[j]);
            }
            dense[d] = 1;
            choose(steps);
            for (std::size_t b = 0; b < bundles_.size(); ++b)
                if (bundles_[b].names) find<1, true>(b, r);
        }
        for (std::size_t b = 0; b < bundles_.size(); ++b) {
            if (bundles_[b].names) continue;
            if (rows == group)
                find<group, false>(b, 0);
            else
                for (std::size_t r = 0; r < rows; ++r) find<1, false>(b, r);
        }
    }
    void slots_with(std::size_t r, std::size_t feature, float value, std::uint32_t* slots) const override {
        const std::int16_t before = steps_[r * features() + feature], after = in_steps(static_cast<double>(value));
        std::copy_n(slots_.data() + r * grids_, grids_, slots);
        const int own = code(r, feature);  // a category becomes none at all, a missing value this one
        if (before == after && own == 0) return;
        for (std::size_t b = 0; b < bundles_.size(); ++b) {
            const Bundle& bundle = bundles_[b];
            const std::uint32_t *keys = keys_.data() + r * grids_ + bundle.slot, *salt = salt_.data() + b * lanes_;
            std::uint32_t changed[lanes_], lanes = 0;  // bit l of `lanes`: whether grid l has another key
            const auto replace = [&](std::size_t j, std::size_t l) {
                if (!(lanes >> l & 1)) changed[l] = keys[l];
                lanes |= 1u << l;
                const std::size_t at = bundle.entry + j * lanes_ + l;
                const int change = own != 0 && takes_codes(bundle, feature) ? (is_category(feature) ? 0 : bin(after, at)) - own
                                                                            : bin(after, at) - bin(before, at);
                const auto low = static_cast<std::uint32_t>(change * multipliers_[0][j]) & 0xFFFFu;
                const auto high = static_cast<std::uint32_t>(change * multipliers_[1][j]) << 16;
                changed[l] = ((changed[l] + low) & 0xFFFFu) | ((changed[l] & 0xFFFF0000u) + high);
            };
            if (bundle.names)
                named(bundle, feature, replace);
#ifdef NOLANA_AVX2
            else if (bundle.used == lanes_ && own == 0)
                replace_in_registers(bundle, feature, before, after, keys, salt, slots + bundle.slot);
#endif
            else
                for (std::size_t l = 0; l < bundle.used; ++l) replace(feature, l);
            for (; lanes; lanes &= lanes - 1) {
                const auto l = static_cast<std::size_t>(std::countr_zero(lanes));
                slots[bundle.slot + l] = slot(changed[l], salt[l]);
            }
        }
    }
    void describe(Description& d) override {
        d.scratch(slots_, dense_, keys_, steps_, salt_, inverse_pitch_, offset_, index_, bytes_, chosen_, special_.categories);
        d.bytes += sizeof(*this) - sizeof(Special) + bundles_.size() * sizeof(Bundle);
    }
    void resize(const Sizes&, const std::string&) override {}

  private:
    using Bundle = grids::Bundle;
    static constexpr std::size_t lanes_ = grids::lanes, widest = grids::widest;
    static constexpr double scale = grids::scale, largest = grids::largest;

    void set_categories(const Vector& columns) {
        special_.categories = BufferOf<std::uint8_t>(features());
        for (const std::size_t j : category_columns(columns, features())) special_.categories[j] = 1;
    }
    bool is_category(std::size_t j) const { return special_.categories.size() > 0 && special_.categories[j]; }
    // Whether the grids of a bundle take the code of a feature as its bin: categories only in the smaller grids.
    bool takes_codes(const Bundle& bundle, std::size_t feature) const { return !bundle.whole || !is_category(feature); }
    // What is added to the bin of a feature, which is 0 where this is not: a category, or that the value is missing.
    int code(std::size_t r, std::size_t feature) const {
        if (!special_.raw) return 0;
        const double value = special_.raw[r * features() + feature];
        if (is_category(feature)) return static_cast<std::int16_t>(static_cast<std::uint16_t>(column_hash(feature, value) >> 48 | 1));
        return std::isnan(value) ? missing : 0;
    }
    // Rows with categories or missing values.
    void evaluate_special(const double* x, std::size_t rows) {
        const std::size_t d = features(), sums = bundles_.size() * lanes_;
        std::vector<std::int16_t> codes(d), plain(d), added(2 * sums);  // of a row; without categories; to the halves of the keys
        for (std::size_t r = 0; r < rows; ++r) {
            double* dense = dense_.data() + r * width_;
            std::int16_t* steps = steps_.data() + r * d;
            for (std::size_t j = 0; j < d; ++j) {
                dense[j] = static_cast<double>(static_cast<float>(x[r * d + j]));
                steps[j] = in_steps(dense[j]);
                codes[j] = static_cast<std::int16_t>(code(r, j));
                plain[j] = is_category(j) ? std::int16_t{0} : steps[j];
            }
            dense[d] = 1;
            std::fill(added.begin(), added.end(), std::int16_t{0});
            for (std::size_t b = 0; b < bundles_.size(); ++b) {
                const Bundle& bundle = bundles_[b];
                std::int16_t *low = added.data() + b * lanes_, *high = low + sums;
                for (std::size_t j = 0; j < bundle.size; ++j) {
                    if (!bundle.names && (codes[j] == 0 || is_category(j))) continue;
                    for (std::size_t l = 0; l < bundle.used; ++l) {
                        const std::size_t feature = bundle.names ? named_feature(bundle.named + j * lanes_ + l) : j;
                        if (codes[feature] == 0 || !takes_codes(bundle, feature)) continue;
                        low[l] = static_cast<std::int16_t>(low[l] + codes[feature] * multipliers_[0][j]);
                        high[l] = static_cast<std::int16_t>(high[l] + codes[feature] * multipliers_[1][j]);
                    }
                }
            }
            if (d > widest || special_.categories.size() == 0) choose(steps);
            for (std::size_t b = 0; b < bundles_.size(); ++b)
                if (bundles_[b].whole) bundles_[b].names ? find<1, true>(b, r, added.data()) : find<1, false>(b, r, added.data());
            if (special_.categories.size() > 0) choose(plain.data());
            for (std::size_t b = 0; b < bundles_.size(); ++b)
                if (!bundles_[b].whole) find<1, true>(b, r, added.data());
        }
    }

    static std::int16_t in_steps(double z) {
        return static_cast<std::int16_t>(std::min(largest, std::max(-largest, std::nearbyint(z * scale))));
    }
    int bin(std::int16_t steps, std::size_t at) const {
        return ((static_cast<std::int32_t>(steps) * inverse_pitch_[at] >> 16) + offset_[at]) >> 6;
    }
    std::uint32_t slot(std::uint32_t key, std::uint32_t salt) const {
        key = (key + salt) * 0x85EBCA6Bu;
        key = (key ^ (key >> 15)) * 0xC2B2AE35u;
        key ^= key >> 13;
        return static_cast<std::uint32_t>((static_cast<std::uint64_t>(key) * table_) >> 32);
    }

    // Calls visit(j, lane) where a grid of the bundle names the feature.
    template <class Visit> void named(const Bundle& bundle, std::size_t feature, Visit visit) const {
        const std::size_t end = bundle.size * lanes_;
#ifdef NOLANA_AVX2
        if (bytes_.size()) {
            const __m128i own = _mm_set1_epi8(static_cast<char>(feature));
            for (std::size_t i = 0; i < end; i += lanes_) {
                const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes_.data() + bundle.named + i));
                auto equal = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(some, own)));
                for (; equal; equal &= equal - 1) visit_used(bundle, i / lanes_, static_cast<std::size_t>(std::countr_zero(equal)), visit);
            }
            return;
        }
#endif
        for (std::size_t i = 0; i < end; ++i)
            if (named_feature(bundle.named + i) == feature) visit_used(bundle, i / lanes_, i % lanes_, visit);
    }
    template <class Visit> static void visit_used(const Bundle& bundle, std::size_t j, std::size_t lane, Visit visit) {
        if (lane < bundle.used) visit(j, lane);
    }

    std::size_t named_feature(std::size_t i) const { return bytes_.size() ? bytes_[i] : index_[i]; }

    // The steps of the features that grids name.
    void choose(const std::int16_t* steps) {
#ifdef NOLANA_AVX2
        if (bytes_.size()) return choose_in_registers(steps);
#endif
        for (std::size_t i = 0; i < chosen_.size(); ++i) chosen_[i] = steps[named_feature(i)];
    }
#ifdef NOLANA_AVX2
    // 32 at a time. The low or the high bytes of 16 features are the table of a shuffle, which gives 0 for the features of
    // other tables.
    void choose_in_registers(const std::int16_t* steps) {
        constexpr std::size_t most = widest / 16;
        const std::size_t tables = (features() + 15) / 16;
        alignas(32) std::int16_t own[widest] = {};
        std::copy_n(steps, features(), own);
        __m256i low[most], high[most];
        for (std::size_t t = 0; t < most; ++t) {
            const auto* from = reinterpret_cast<const __m128i*>(own + 16 * t);
            const __m128i a = _mm_load_si128(from), b = _mm_load_si128(from + 1), byte = _mm_set1_epi16(0xFF);
            low[t] = _mm256_broadcastsi128_si256(_mm_packus_epi16(_mm_and_si128(a, byte), _mm_and_si128(b, byte)));
            high[t] = _mm256_broadcastsi128_si256(_mm_packus_epi16(_mm_srli_epi16(a, 8), _mm_srli_epi16(b, 8)));
        }
        for (std::size_t i = 0; i < chosen_.size(); i += 32) {
            const __m256i at = _mm256_load_si256(reinterpret_cast<const __m256i*>(bytes_.data() + i));
            __m256i lows = _mm256_setzero_si256(), highs = lows;
            for (std::size_t t = 0; t < tables; ++t) {
                // 0 to 15 become 0x70 to 0x7F; what is smaller or larger gets the bit that makes the shuffle give 0.
                const __m256i before = _mm256_set1_epi8(static_cast<char>(16 * t));
                const __m256i in = _mm256_adds_epu8(_mm256_sub_epi8(at, before), _mm256_set1_epi8(0x70));
                lows = _mm256_or_si256(lows, _mm256_shuffle_epi8(low[t], in));
                highs = _mm256_or_si256(highs, _mm256_shuffle_epi8(high[t], in));
            }
            const __m256i a = _mm256_unpacklo_epi8(lows, highs), b = _mm256_unpackhi_epi8(lows, highs);
            auto* to = reinterpret_cast<__m256i*>(chosen_.data() + i);
            _mm256_store_si256(to, _mm256_permute2x128_si256(a, b, 0x20));
            _mm256_store_si256(to + 1, _mm256_permute2x128_si256(a, b, 0x31));
        }
    }
#endif

    // Keys and slots of a bundle, for rows r, r + 1, ... of the group.
    // `added`: what is added to the lower halves of the keys of all bundles, and then to the upper ones; null: nothing.
    template <std::size_t rows, bool names> void find(std::size_t b, std::size_t r, const std::int16_t* added = nullptr) {
        const Bundle& bundle = bundles_[b];
        const std::int16_t *pitch = inverse_pitch_.data() + bundle.entry, *chosen = chosen_.data() + bundle.named;
        const std::int16_t* steps = steps_.data() + r * features();
        const std::uint8_t* offset = offset_.data() + bundle.entry;
        const std::uint32_t* salt = salt_.data() + b * lanes_;
        std::uint32_t *keys = keys_.data() + r * grids_ + bundle.slot, *slots = slots_.data() + r * grids_ + bundle.slot;
#ifdef NOLANA_AVX2
        __m256i lows[rows], highs[rows];
        std::fill_n(lows, rows, added ? load(added + b * lanes_) : _mm256_setzero_si256());
        std::fill_n(highs, rows, added ? load(added + (bundles_.size() + b) * lanes_) : _mm256_setzero_si256());
        for (std::size_t j = 0; j < bundle.size; ++j) {
            const __m256i inverse = load(pitch + j * lanes_), shift = load_bytes(offset + j * lanes_);
            const __m256i low = _mm256_set1_epi16(multipliers_[0][j]), high = _mm256_set1_epi16(multipliers_[1][j]);
            for (std::size_t i = 0; i < rows; ++i) {
                const __m256i z = names ? load(chosen + j * lanes_) : _mm256_set1_epi16(steps[i * features() + j]);
                const __m256i bin = bins(z, inverse, shift);
                lows[i] = _mm256_add_epi16(lows[i], _mm256_mullo_epi16(bin, low));
                highs[i] = _mm256_add_epi16(highs[i], _mm256_mullo_epi16(bin, high));
            }
        }
        for (std::size_t i = 0; i < rows; ++i, keys += grids_, slots += grids_) {
            alignas(32) std::uint32_t own[lanes_];
            store_keys(lows[i], highs[i], own);
            std::copy_n(own, bundle.used, keys);
            if (bundle.used == lanes_)
                store_slots(own, salt, slots);
            else
                for (std::size_t l = 0; l < bundle.used; ++l) slots[l] = slot(own[l], salt[l]);
        }
#else
        for (std::size_t i = 0; i < rows; ++i, steps += features(), keys += grids_, slots += grids_) {
            std::uint16_t low[lanes_] = {}, high[lanes_] = {};
            for (std::size_t l = 0; added && l < lanes_; ++l) {
                low[l] = static_cast<std::uint16_t>(added[b * lanes_ + l]);
                high[l] = static_cast<std::uint16_t>(added[(bundles_.size() + b) * lanes_ + l]);
            }
            for (std::size_t j = 0; j < bundle.size; ++j)
                for (std::size_t l = 0; l < lanes_; ++l) {
                    const std::size_t at = j * lanes_ + l;
                    const std::int32_t z = names ? chosen[at] : steps[j];
                    const std::int32_t bins = ((z * pitch[at] >> 16) + offset[at]) >> 6;
                    low[l] = static_cast<std::uint16_t>(low[l] + bins * multipliers_[0][j]);
                    high[l] = static_cast<std::uint16_t>(high[l] + bins * multipliers_[1][j]);
                }
            for (std::size_t l = 0; l < bundle.used; ++l) {
                keys[l] = low[l] | static_cast<std::uint32_t>(high[l]) << 16;
                slots[l] = slot(keys[l], salt[l]);
            }
        }
#endif
    }
#ifdef NOLANA_AVX2
    static __m256i load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
    static __m256i load_bytes(const std::uint8_t* p) {
        return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    }
    static __m256i bins(__m256i steps, __m256i inverse_pitch, __m256i offset) {
        return _mm256_srai_epi16(_mm256_add_epi16(_mm256_mulhi_epi16(steps, inverse_pitch), offset), 6);
    }
    // Halves of 16 keys side by side.
    static void store_keys(__m256i lows, __m256i highs, std::uint32_t* keys) {
        const __m256i a = _mm256_unpacklo_epi16(lows, highs), b = _mm256_unpackhi_epi16(lows, highs);
        auto* to = reinterpret_cast<__m256i*>(keys);
        _mm256_storeu_si256(to, _mm256_permute2x128_si256(a, b, 0x20));
        _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(a, b, 0x31));
    }
    // slot() of 16 keys.
    void store_slots(const std::uint32_t* keys, const std::uint32_t* salt, std::uint32_t* slots) const {
        const __m256i table = _mm256_set1_epi64x(static_cast<long long>(table_));
        for (std::size_t l = 0; l < lanes_; l += 8) {
            __m256i key = _mm256_add_epi32(load(keys + l), load(salt + l));
            key = _mm256_mullo_epi32(key, _mm256_set1_epi32(static_cast<int>(0x85EBCA6Bu)));
            key = _mm256_xor_si256(key, _mm256_srli_epi32(key, 15));
            key = _mm256_mullo_epi32(key, _mm256_set1_epi32(static_cast<int>(0xC2B2AE35u)));
            key = _mm256_xor_si256(key, _mm256_srli_epi32(key, 13));
            const __m256i even = _mm256_srli_epi64(_mm256_mul_epu32(key, table), 32);
            const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(key, 32), table);
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(slots + l), _mm256_blend_epi32(even, odd, 0b10101010));
        }
    }
    // Slots of a full bundle of whole grids whose feature has other steps.
    void replace_in_registers(const Bundle& bundle, std::size_t feature, std::int16_t before, std::int16_t after,
                              const std::uint32_t* keys, const std::uint32_t* salt, std::uint32_t* slots) const {
        const std::size_t at = bundle.entry + feature * lanes_;
        const __m256i inverse = load(inverse_pitch_.data() + at), shift = load_bytes(offset_.data() + at);
        const __m256i change = _mm256_sub_epi16(bins(_mm256_set1_epi16(after), inverse, shift),
                                                bins(_mm256_set1_epi16(before), inverse, shift));
        alignas(32) std::uint32_t changed[lanes_];
        store_keys(_mm256_mullo_epi16(change, _mm256_set1_epi16(multipliers_[0][feature])),
                   _mm256_mullo_epi16(change, _mm256_set1_epi16(multipliers_[1][feature])), changed);
        for (std::size_t l = 0; l < lanes_; l += 8) {
            auto* own = reinterpret_cast<__m256i*>(changed + l);
            _mm256_store_si256(own, _mm256_add_epi16(_mm256_load_si256(own), load(keys + l)));
        }
        store_slots(changed, salt, slots);
    }
#endif

    std::vector<Bundle> bundles_;
    std::int16_t multipliers_[2][widest];
    BufferOf<std::uint32_t> keys_;
    BufferOf<std::int16_t> steps_;  // of the rows of the group
    BufferOf<std::uint32_t> salt_{0}, index_{0};  // index: of named features, in bytes_ where there are 64 or fewer
    BufferOf<std::int16_t> inverse_pitch_{0}, chosen_{0};
    BufferOf<std::uint8_t> offset_{0}, bytes_{0};
    static constexpr int missing = 0x5EB1;
    // What rows of numbers do not use: it is not counted, and changes no size of theirs.
    struct Special {
        BufferOf<std::uint8_t> categories{0};  // whether each feature is one; empty: none is
        const double* raw = nullptr;           // rows of the group as they came, if some cell is special
    } special_;
};

NOLANA_BINDING(cell_map) {
    nb::class_<BinMap, Map>(m, "BinMap")
        .def(nb::init<std::size_t, std::size_t, std::size_t, std::uint64_t, const std::optional<Vector>&, const std::optional<Vector>&,
                      const std::optional<Vector>&>(),
             "features"_a, "table"_a, "grids"_a, "seed"_a, "relevance"_a.none() = nb::none(), "drawn"_a.none() = nb::none(),
             "categories"_a.none() = nb::none());
    m.def("draw_grids", [](std::size_t features, std::size_t grids, std::uint64_t seed, const std::optional<Vector>& relevance,
                           bool mixed) {
        expect(features > 0 && grids > 0 && grids <= most_rows, "a cell map needs features and grids");
        if (relevance) check_relevance(*relevance, features);
        return as_array(grids::draw(features, grids, seed, relevance ? relevance->data() : nullptr, mixed));
    }, "features"_a, "grids"_a, "seed"_a, "relevance"_a.none() = nb::none(), "mixed"_a = false);
}

}  // namespace nolana
