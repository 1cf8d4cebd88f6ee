// A hash table of bins in int16. A bucket (`cell` in the code) has a variance, if the head has one, and a weight for
// each output. Weights are in steps of 1/8192 up to 4, variances in steps of 1/65535 of the variance at the start.
//     weight += floor(s delta + u),   s <- max(floor, s + floor(u - s^2 e)),   in steps
// u in [0, 1) is a hash of row and grid: on average no step is lost to rounding (stochastic rounding).
// With one output all buckets of a row are read before the first is written, otherwise one after the other. Of many
// outputs most fall by less than a step: floor(s delta + u) is 0 unless s delta < -u, so that each bucket is changed
// only in those blocks of eight that are large enough for its s and u.
// All operations are in single precision, each one rounded: the NumPy engine computes the same numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/buffer.hpp"
#include "base/vec.hpp"

namespace nolana {

// What a row does to each of its buckets, in steps.
struct CellStep {
    const float* weights;  // for each value of a bucket: the change for each step of the variance, or the change itself
    float variance;        // e times the size of a step of the variance
    float floor;           // of the variance
    double rows;           // the number of the row
};

// fold: slots of the map that share a bucket; varies: whether buckets begin with a variance.
template <std::size_t fold, bool varies> class BinTable {
  public:
    static constexpr double weight_steps = 8192, most = 65535;
    static constexpr std::size_t eight = 8;  // numbers that one instruction takes

    // room: outputs that there may be later.
    void clear(std::size_t slots, std::size_t grids, std::size_t outputs, std::size_t room) {
        slots_ = slots;
        stride_ = room + varies;
        set_outputs(outputs);
        cells_ = BufferOf<std::int16_t>(slots * stride_ + 2 * eight);
        if (varies)
            for (std::size_t i = 0; i < slots; ++i) cells_[i * stride_] = middle - 1;
        read_ = BufferOf<std::uint32_t>(padded(grids, eight));
        draws_ = BufferOf<float>(padded(grids, eight));
    }
    void append_output() { set_outputs(outputs_ + 1); }
    std::size_t slots() const { return slots_; }
    std::size_t bytes() const { return cells_.bytes() + sums_.bytes() + read_.bytes() + draws_.bytes() + blocks_.bytes(); }
    double weight(std::uint32_t slot, std::size_t output) const {
        return cells_[slot / fold * stride_ + varies + output] / weight_steps;
    }

    int weight_in_steps(std::size_t bucket, std::size_t output) const { return cells_[bucket * stride_ + varies + output]; }
    void set_weight(std::size_t bucket, std::size_t output, double weight) {
        const double steps = std::nearbyint(weight * weight_steps), most_steps = static_cast<double>(largest);
        cells_[bucket * stride_ + varies + output] = static_cast<std::int16_t>(std::min(most_steps, std::max(-most_steps, steps)));
    }
    void set_variance(std::size_t bucket, double steps) {
        cells_[bucket * stride_] = static_cast<std::int16_t>(static_cast<int>(std::min(most, std::max(1.0, std::nearbyint(steps)))) - middle);
    }
    // Nothing learned in these buckets.
    void start_again(std::size_t first, std::size_t count) {
        std::fill_n(cells_.data() + first * stride_, count * stride_, std::int16_t{0});
        if (varies)
            for (std::size_t i = first; i < first + count; ++i) cells_[i * stride_] = middle - 1;
    }
    // The values of `count` buckets in the place of others.
    void copy(std::size_t first, std::size_t to, std::size_t count) {
        std::copy_n(cells_.data() + first * stride_, count * stride_, cells_.data() + to * stride_);
    }

    // Sums over the grids of the row that is learned next.
    void read(const std::uint32_t* at, std::size_t grids) const {
        if (outputs_ == 1)
            read_single(at, grids);
        else if (used_ > few)
            add_up_cells(at, grids);
        else
            for (std::size_t k = 0; k < used_; k += eight) add_up(at, grids, k);
        if (varies) sums_[0] += static_cast<std::int32_t>(grids) * middle;
    }
    double weights(std::size_t output) const { return sums_[varies + output] / weight_steps; }
    double variances() const { return sums_[0]; }  // in steps

    // The row that was read last.
    void learn(const std::uint32_t* at, std::size_t grids, const CellStep& step) {
        draw(step.rows, grids);
        if (outputs_ == 1) return learn_single(at, grids, step);
        if (used_ > few) sort_blocks(step.weights);
        learn_cells(at, grids, step);
    }

    // In single precision; variance_steps: steps of the variance 1.
    void get_weights(float* to) const {
        for (std::size_t i = 0; i < slots_; ++i)
            for (std::size_t o = 0; o < outputs_; ++o)
                *to++ = static_cast<float>(cells_[i * stride_ + varies + o] / weight_steps);
    }
    void set_weights(const float* from) {
        constexpr auto steps = static_cast<float>(weight_steps);
        for (std::size_t i = 0; i < slots_; ++i)
            for (std::size_t o = 0; o < outputs_; ++o)
                cells_[i * stride_ + varies + o] = static_cast<std::int16_t>(nearest(*from++ * steps, -largest, largest));
    }
    // At least one step: the values beyond a bucket are written again as they are, from -32767 on.
    void get_variances(float* to, double variance_steps) const {
        for (std::size_t i = 0; i < slots_; ++i) to[i] = static_cast<float>((cells_[i * stride_] + middle) / variance_steps);
    }
    void set_variances(const float* from, double variance_steps) {
        const auto steps = static_cast<float>(variance_steps);
        for (std::size_t i = 0; i < slots_; ++i)
            cells_[i * stride_] = static_cast<std::int16_t>(static_cast<int>(nearest(from[i] * steps, 1, static_cast<float>(most))) - middle);
    }

  private:
    static constexpr int middle = 32768;  // variances are stored less this
    static constexpr float largest = 32767;
    static constexpr std::size_t single_stride = 1 + varies;  // with one output
    static constexpr std::size_t few = 4 * eight;             // values of a bucket that are changed without a choice

    void set_outputs(std::size_t outputs) {
        outputs_ = outputs;
        used_ = outputs + varies;
        sums_ = BufferOf<std::int32_t>(padded(used_, eight));
        blocks_ = BufferOf<Block>(used_ > few ? (used_ - 1) / eight : 0);
    }
    // Eight values of a bucket from value k on, and the change of the one that falls most; -infinity if one rises.
    struct Block {
        float lowest;
        std::uint32_t k;
    };
    // All blocks but the first, those that fall most first.
    void sort_blocks(const float* changes) {
        Block* blocks = blocks_.data();
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            const std::size_t k = (b + 1) * eight;
            float lowest = 0, highest = 0;
            for (std::size_t i = k; i < k + eight; ++i) {
                lowest = std::min(lowest, changes[i]);
                highest = std::max(highest, changes[i]);
            }
            blocks[b] = {highest > 0 ? -std::numeric_limits<float>::infinity() : lowest, static_cast<std::uint32_t>(k)};
        }
        std::sort(blocks, blocks + blocks_.size(), [](const Block& a, const Block& b) { return a.lowest < b.lowest; });
    }
    // Calls change(k) for each block but the first that has a value to change in a bucket of variance s with draw u.
    template <class Change> void each_block(float s, float u, Change change) const {
        if (used_ <= few) {
            for (std::size_t k = eight; k < used_; k += eight) change(k);
            return;
        }
        const Block *block = blocks_.data(), *end = block + blocks_.size();
        for (; block < end && s * block->lowest + u < 0; ++block) change(block->k);
    }
    static float nearest(float value, float low, float high) {
        constexpr float whole = 0x1.8p23f;  // a float of this size has no fraction
        return (std::min(high, std::max(low, value)) + whole) - whole;
    }
    // u of each grid.
    void draw(double rows, std::size_t grids) {
        auto h = static_cast<std::uint32_t>(static_cast<std::uint64_t>(rows)) * 0x9E3779B1u;
        float* draws = draws_.data();
        for (std::size_t g = 0; g < grids; ++g, h += 0x85EBCA77u) {
            const std::uint32_t mixed = (h ^ (h >> 15)) * 0xC2B2AE3Du;
            draws[g] = static_cast<float>(static_cast<std::int32_t>(mixed >> 16)) * 0x1p-16f;
        }
    }
    static std::int16_t moved(std::int16_t weight, float by) {
        return static_cast<std::int16_t>(std::min(largest, std::max(-largest, static_cast<float>(weight) + by)));
    }
    static std::int16_t smaller(float s, float u, const CellStep& step) {
        const float after = std::max(step.floor, s + std::floor(s * -(s * step.variance) + u));
        return static_cast<std::int16_t>(static_cast<int>(after) - middle);
    }

    // One output: the buckets of the row, a word for each.
    void read_single(const std::uint32_t* at, std::size_t grids) const {
        const std::int16_t* cells = cells_.data();
        std::uint32_t* read = read_.data();
        // One by one: a gather is slower on many processors.
        for (std::size_t g = 0; g < grids; ++g)
            std::memcpy(read + g, cells + static_cast<std::size_t>(at[g] / fold) * single_stride, 4);
        std::int32_t first = 0, second = 0;
        std::size_t g = 0;
#ifdef NOLANA_AVX2
        __m256i firsts = _mm256_setzero_si256(), seconds = firsts;
        for (; g + eight <= grids; g += eight) {
            const __m256i words = load_words(read + g);
            firsts = _mm256_add_epi32(firsts, low_halves(words));
            if constexpr (varies) seconds = _mm256_add_epi32(seconds, _mm256_srai_epi32(words, 16));
        }
        first = total(firsts);
        if constexpr (varies) second = total(seconds);
#endif
        for (; g < grids; ++g) {
            first += low_half(read[g]);
            second += high_half(read[g]);
        }
        sums_[0] = first;
        if (varies) sums_[1] = second;
    }
    static std::int16_t low_half(std::uint32_t word) { return static_cast<std::int16_t>(word & 0xFFFFu); }
    static std::int16_t high_half(std::uint32_t word) { return static_cast<std::int16_t>(word >> 16); }

    void learn_single(const std::uint32_t* at, std::size_t grids, const CellStep& step) {
        std::int16_t* cells = cells_.data();
        const float by = step.weights[varies];
#ifdef NOLANA_AVX2
        const __m256 bys = _mm256_set1_ps(by), curve = _mm256_set1_ps(-step.variance), floors = _mm256_set1_ps(step.floor);
        const __m256i shift = _mm256_set1_epi32(middle);
        for (std::size_t g = 0; g < grids; g += eight) {
            const __m256i words = load_words(read_.data() + g);
            const __m256 u = _mm256_load_ps(draws_.data() + g);
            if (varies) {
                const __m256 s = _mm256_cvtepi32_ps(_mm256_add_epi32(low_halves(words), shift));
                const __m256i weight = moved(_mm256_srai_epi32(words, 16), _mm256_add_ps(_mm256_mul_ps(s, bys), u));
                const __m256 less = _mm256_floor_ps(_mm256_add_ps(_mm256_mul_ps(s, _mm256_mul_ps(s, curve)), u));
                const __m256i variance = _mm256_cvttps_epi32(_mm256_max_ps(floors, _mm256_add_ps(s, less)));
                store_words(read_.data() + g, _mm256_blend_epi16(_mm256_sub_epi32(variance, shift), _mm256_slli_epi32(weight, 16), 0xAA));
            } else {
                store_words(read_.data() + g, moved(low_halves(words), _mm256_add_ps(bys, u)));
            }
        }
#else
        for (std::size_t g = 0; g < grids; ++g) {
            const float u = draws_[g];
            if (varies) {
                const float s = static_cast<float>(low_half(read_[g]) + middle);
                const std::int16_t weight = moved(high_half(read_[g]), std::floor(s * by + u));
                read_[g] = static_cast<std::uint32_t>(weight) << 16 | static_cast<std::uint16_t>(smaller(s, u, step));
            } else {
                read_[g] = static_cast<std::uint16_t>(moved(low_half(read_[g]), std::floor(by + u)));
            }
        }
#endif
        const std::uint32_t* words = read_.data();
        for (std::size_t g = 0; g < grids; ++g)
            std::memcpy(cells + static_cast<std::size_t>(at[g] / fold) * single_stride, words + g, varies ? 4 : 2);
    }
    // Bucket after bucket, four at a time: wide buckets are read in the order of the memory.
    void add_up_cells(const std::uint32_t* at, std::size_t grids) const {
        std::int32_t* sums = sums_.data();
        const auto cell = [&](std::size_t g) { return cells_.data() + static_cast<std::size_t>(at[g] / fold) * stride_; };
        sums_.clear();
        std::size_t g = 0;
        for (; g + 4 <= grids; g += 4) {
            const std::int16_t *a = cell(g), *b = cell(g + 1), *c = cell(g + 2), *d = cell(g + 3);
            for (std::size_t k = 0; k < used_; ++k) sums[k] += (a[k] + b[k]) + (c[k] + d[k]);
        }
        for (; g < grids; ++g) {
            const std::int16_t* a = cell(g);
            for (std::size_t k = 0; k < used_; ++k) sums[k] += a[k];
        }
    }
    // Eight values of each bucket from value k on.
    void add_up(const std::uint32_t* at, std::size_t grids, std::size_t k) const {
        const std::int16_t* cells = cells_.data() + k;
#ifdef NOLANA_AVX2
        const auto cell = [&](std::size_t g) { return load_halves(cells + static_cast<std::size_t>(at[g] / fold) * stride_); };
        __m256i even = _mm256_setzero_si256(), odd = even;
        std::size_t g = 0;
        for (; g + 2 <= grids; g += 2) {
            even = _mm256_add_epi32(even, cell(g));
            odd = _mm256_add_epi32(odd, cell(g + 1));
        }
        if (g < grids) even = _mm256_add_epi32(even, cell(g));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums_.data() + k), _mm256_add_epi32(even, odd));
#else
        const std::size_t n = std::min(eight, used_ - k);
        std::fill_n(sums_.data() + k, n, 0);
        for (std::size_t g = 0; g < grids; ++g)
            for (std::size_t i = 0; i < n; ++i) sums_[k + i] += cells[static_cast<std::size_t>(at[g] / fold) * stride_ + i];
#endif
    }
    void learn_cells(const std::uint32_t* at, std::size_t grids, const CellStep& step) {
        const std::size_t stride = stride_;
        const float* draws = draws_.data();
        std::int16_t* cells = cells_.data();
#ifdef NOLANA_AVX2
        const __m256 by = _mm256_loadu_ps(step.weights), lowest = _mm256_set1_ps(-largest), shift = _mm256_set1_ps(middle);
        const __m256 curve = _mm256_set1_ps(-step.variance);
        const __m256 least = _mm256_blend_ps(lowest, _mm256_set1_ps(step.floor - middle), varies ? 1 : 0);
        for (std::size_t g = 0; g < grids; ++g) {
            // Values beyond the bucket change by floor(0 + u) = 0.
            std::int16_t* cell = cells + static_cast<std::size_t>(at[g] / fold) * stride;
            const __m256 u = _mm256_broadcast_ss(draws + g);
            const __m256i first = load_halves(cell);
            if constexpr (varies) {
                const __m256 s = _mm256_add_ps(_mm256_broadcastss_ps(_mm256_castps256_ps128(_mm256_cvtepi32_ps(first))), shift);
                const auto pull = [&](__m256 each) { return _mm256_add_ps(_mm256_mul_ps(s, each), u); };
                const float variance = static_cast<float>(cell[0] + middle);
                store_halves(cell, moved(first, pull(_mm256_blend_ps(by, _mm256_mul_ps(s, curve), 1)), least));
                each_block(variance, draws[g], [&](std::size_t k) {
                    store_halves(cell + k, moved(load_halves(cell + k), pull(_mm256_loadu_ps(step.weights + k)), lowest));
                });
            } else {
                store_halves(cell, moved(first, _mm256_add_ps(by, u), least));
                each_block(1, draws[g], [&](std::size_t k) {
                    store_halves(cell + k, moved(load_halves(cell + k), _mm256_add_ps(_mm256_loadu_ps(step.weights + k), u), lowest));
                });
            }
        }
#else
        for (std::size_t g = 0; g < grids; ++g) {
            std::int16_t* cell = cells + static_cast<std::size_t>(at[g] / fold) * stride;
            const float s = varies ? static_cast<float>(cell[0] + middle) : 1, u = draws[g];
            const auto change = [&](std::size_t from) {
                const std::size_t end = std::min(used_, (from / eight + 1) * eight);
                for (std::size_t k = from; k < end; ++k) cell[k] = moved(cell[k], std::floor(s * step.weights[k] + u));
            };
            change(varies);
            each_block(s, u, change);
            if (varies) cell[0] = smaller(s, u, step);
        }
#endif
    }
#ifdef NOLANA_AVX2
    static __m256i load_words(const std::uint32_t* p) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(p)); }
    static void store_words(std::uint32_t* p, __m256i words) { _mm256_store_si256(reinterpret_cast<__m256i*>(p), words); }
    static __m256i load_halves(const std::int16_t* p) {
        return _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    }
    static void store_halves(std::int16_t* p, __m256i numbers) {
        const __m128i packed = _mm_packs_epi32(_mm256_castsi256_si128(numbers), _mm256_extracti128_si256(numbers, 1));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), packed);
    }
    static __m256i low_halves(__m256i words) { return _mm256_srai_epi32(_mm256_slli_epi32(words, 16), 16); }
    // Weights moved by floor(by).
    static __m256i moved(__m256i weights, __m256 by, __m256 least = _mm256_set1_ps(-largest)) {
        const __m256 after = _mm256_add_ps(_mm256_cvtepi32_ps(weights), _mm256_floor_ps(by));
        return _mm256_cvttps_epi32(_mm256_min_ps(_mm256_set1_ps(largest), _mm256_max_ps(least, after)));
    }
    static std::int32_t total(__m256i v) {
        alignas(32) std::int32_t each[eight];
        _mm256_store_si256(reinterpret_cast<__m256i*>(each), v);
        return ((each[0] + each[1]) + (each[2] + each[3])) + ((each[4] + each[5]) + (each[6] + each[7]));
    }
#endif

    std::size_t slots_ = 0, outputs_ = 0, stride_ = 0;  // stride: values from one bucket to the next
    std::size_t used_ = 0;                              // values of a bucket that are in use
    BufferOf<std::int16_t> cells_{0};
    mutable BufferOf<std::int32_t> sums_{0};   // of a row's buckets
    mutable BufferOf<std::uint32_t> read_{0};  // with one output: a row's buckets
    BufferOf<float> draws_{0};
    BufferOf<Block> blocks_{0};  // with many outputs
};

}  // namespace nolana
