// A ring buffer of the last W rows in fixed point: whole steps of 1/40 (or of 1/steps), clipped to +-127, so distances
// (sums of absolute differences) are integers and exact. One pass of distances serves nested windows; of two equal
// distances the more recent row comes first.
//
// More than 64 features are sketched to 64 (draw_sketch).
//
// Rows lie in panels of 32, eight features at a time: one instruction adds up 32 differences.
#include "experts/neighbours/neighbour_map.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include "base/draw.hpp"
#include "base/vec.hpp"
#include "bind/bind.hpp"

namespace nolana {

class NeighbourMap final : public RecentRows {
  public:
    NeighbourMap(std::size_t features, const Vector& windows, std::size_t neighbours, std::uint64_t seed,
                 const std::optional<Vector>& given, double steps)
        : RecentRows(features), width_(std::min(features, widest)), stride_(padded(width_, lump)), neighbours_(neighbours),
          steps_in_unit_(steps) {
        expect(steps > 0 && std::isfinite(steps), "steps are a positive number");
        double before = static_cast<double>(neighbours) - 1;
        for (std::size_t i = 0; i < windows.shape(0); ++i) {
            const double n = windows.data()[i];
            expect(n > before && n == std::floor(n) && n < 0x1p31,
                   "windows are integers in ascending order, the first at least the number of neighbours");
            windows_.push_back(static_cast<std::size_t>(n));
            before = n;
        }
        expect(neighbours > 0 && !windows_.empty(), "a neighbour map needs a window and a neighbour");
        capacity_ = windows_.back();
        rows_ = BufferOf<std::uint8_t>(padded(capacity_, panel) * stride_);
        found_ = BufferOf<Neighbour>(windows_.size() * neighbours);
        steps_ = BufferOf<std::uint8_t>(group * stride_);
        if (given) expect(is_sketch(*given, features), "drawn is not the sketch of so many features");
        if (features <= widest) return;
        places_ = BufferOf<std::uint8_t>(features);
        factors_ = Buffer(features);
        sums_ = Buffer(width_);
        const std::vector<double> own = given ? std::vector<double>{} : draw_sketch(features, seed);
        const double *drawn = given ? given->data() : own.data(), root = std::sqrt(static_cast<double>(features) / widest);
        for (std::size_t j = 0; j < features; ++j) {
            places_[j] = static_cast<std::uint8_t>(std::abs(drawn[j]) - 1);
            factors_[j] = (drawn[j] > 0 ? 1.0 : -1.0) / root;
        }
    }

    // For each of more than 64 features +-(1 + the place of its sum): a permutation modulo 64, by Fisher and Yates.
    static std::vector<double> draw_sketch(std::size_t features, std::uint64_t seed) {
        std::vector<double> drawn(features);
        std::vector<std::size_t> order(features);
        std::iota(order.begin(), order.end(), std::size_t{0});
        for (std::size_t j = 0; j < features; ++j) {
            const std::uint64_t word = draw(seed, j);
            std::swap(order[j], order[j + below(word, features - j)]);
            const auto place = static_cast<double>(order[j] % widest + 1);
            drawn[j] = word & 1 ? place : -place;
        }
        return drawn;
    }

    std::size_t window_count() const override { return windows_.size(); }
    std::size_t window(std::size_t i) const override { return windows_[i]; }

    void evaluate(const double* x, std::size_t rows) override {
        for (std::size_t r = 0; r < rows; ++r) {
            const double* row = sketched(x + r * features());
            for (std::size_t j = 0; j < width_; ++j) {
                const double v = std::nearbyint(row[j] * steps_in_unit_);
                steps_[r * stride_ + j] = byte(std::min(largest, std::max(-largest, v)));
            }
        }
        searched_ = none;
    }
    void after(std::size_t r, double) override {
        store(next_, steps_.data() + r * stride_);
        next_ = next_ + 1 == capacity_ ? 0 : next_ + 1;
        stored_ = std::min(stored_ + 1, capacity_);
        searched_ = none;
    }

    void observe(std::size_t r) override { after(r, 0); }

    double distance(std::size_t r, std::size_t window) override {
        return mean_distance(steps_.data() + r * stride_, 0, std::min(window, stored_));
    }
    // The same for the last stored rows, the oldest first, each with the rows before it.
    void past_distances(std::size_t rows, std::size_t window, double* out) {
        for (std::size_t age = rows; age-- > 0; ++out) {
            for (std::size_t j = 0; j < width_; ++j) steps_[j] = element(slot_of(age), j);
            *out = mean_distance(steps_.data(), age + 1, std::min(stored_, age + 1 + window));
        }
    }
    std::size_t stored() const { return stored_; }

    const Neighbour* nearest(std::size_t r, std::size_t i, std::size_t& count) override {
        if (searched_ != r) search(r);
        count = std::min({neighbours_, stored_, windows_[i]});
        return found_.data() + i * neighbours_;
    }

    void describe(Description& d) override {
        const std::size_t n = stored_, width = width_;
        Field recent{"recent", {Side("recent", n, capacity_), width}, {}, {}, -largest, largest, {}, true};
        recent.get_single = [this, n, width](float* to) {
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t j = 0; j < width; ++j) *to++ = static_cast<float>(element(slot_of(n - 1 - i), j) - zero);
        };
        recent.set_single = [this, n, width](const float* from) {
            for (std::size_t i = 0; i < n; ++i, from += width) {
                for (std::size_t j = 0; j < width; ++j) steps_[j] = byte(from[j]);
                store(i, steps_.data());
            }
            next_ = n % capacity_;
        };
        d.add(std::move(recent));
        d.scratch(rows_, found_, steps_, places_, factors_, sums_);
        // With what was once stored, counts beside the windows and the distances of a panel: so tables have the sizes that they had.
        d.bytes += sizeof(*this) + former_panel + 2 * windows_.size() * sizeof(std::size_t);
    }
    void resize(const Sizes& sizes, const std::string& prefix) override {
        const auto size = sizes.find(prefix + "recent");
        stored_ = size == sizes.end() ? 0 : size->second;
        next_ = stored_ % capacity_;
        searched_ = none;
    }

  private:
    static constexpr double largest = 127;
    static constexpr int zero = 128;  // the byte of 0
    static constexpr std::size_t panel = 32, none = group, widest = 64;
    static constexpr std::size_t lump = 8;     // features side by side
    static constexpr std::size_t first_lumps = 4;     // that may be enough to leave a panel
    static constexpr std::size_t most_panels = 16;    // measured before any is looked at
    static constexpr std::size_t former_panel = 152;  // bytes
    static constexpr Neighbour nobody{std::numeric_limits<std::int32_t>::max() * Neighbour::step};

    static bool is_sketch(const Vector& drawn, std::size_t features) {
        const auto is_place = [](double v) { return v == std::floor(v) && std::abs(v) >= 1 && std::abs(v) <= widest; };
        return features > widest && drawn.shape(0) == features && std::all_of(drawn.data(), drawn.data() + features, is_place);
    }
    const double* sketched(const double* x) {
        if (features() <= widest) return x;
        sums_.clear();
        for (std::size_t j = 0; j < features(); ++j) sums_[places_[j]] += x[j] * factors_[j];
        return sums_.data();
    }

    static std::uint8_t byte(double steps) { return static_cast<std::uint8_t>(static_cast<int>(steps) + zero); }
    // Of eight rows 0, 1, 4, 5 come first: two vectors of sums are then packed in the order of the rows.
    static std::size_t offset(std::size_t i, std::size_t j) {  // of feature j of the panel's row i
        const std::size_t place = (i & ~std::size_t{7}) | (i & 2) << 1 | (i & 4) >> 1 | (i & 1);
        return j / lump * lump * panel + place * lump + j % lump;
    }
    std::uint8_t& element(std::size_t slot, std::size_t j) {
        return rows_[slot / panel * panel * stride_ + offset(slot % panel, j)];
    }
    void store(std::size_t slot, const std::uint8_t* row) {
        for (std::size_t j = 0; j < stride_; j += lump) std::memcpy(&element(slot, j), row + j, lump);
    }
    // Where the row of this age is.
    std::size_t slot_of(std::size_t age) const { return (next_ + capacity_ - 1 - age) % capacity_; }

    // Calls use(n) with n the lumps of a row as a constant: loops over them are unrolled, which takes half the time.
    template <class Use> void with_lumps(Use use) {
        switch (stride_ / lump) {
            case 1: return use(std::integral_constant<std::size_t, 1>());
            case 2: return use(std::integral_constant<std::size_t, 2>());
            case 3: return use(std::integral_constant<std::size_t, 3>());
            case 4: return use(std::integral_constant<std::size_t, 4>());
            case 5: return use(std::integral_constant<std::size_t, 5>());
            case 6: return use(std::integral_constant<std::size_t, 6>());
            case 7: return use(std::integral_constant<std::size_t, 7>());
            default: return use(std::integral_constant<std::size_t, widest / lump>());
        }
    }
    void search(std::size_t r) {
        searched_ = r;
        find(steps_.data() + r * stride_, 0, stored_, 0);
    }
    // To the nearest rows of these ages, by the same search.
    double mean_distance(const std::uint8_t* q, std::size_t first, std::size_t last) {
        searched_ = none;
        find(q, first, last, windows_.size() - 1);
        const std::size_t count = std::min(neighbours_, last > first ? last - first : 0);
        double sum = 0;
        for (std::size_t i = 0; i < count; ++i) sum += found_[i].distance();
        return count ? sum / static_cast<double>(count) / steps_in_unit_ : 0;
    }
    // The nearest rows of these ages, in this window and those after it, the first of them in front.
    void find(const std::uint8_t* q, std::size_t first, std::size_t last, std::size_t window) {
        std::fill_n(found_.data(), neighbours_, nobody);
        Found found{found_.data(), window};
        with_lumps([&](auto lumps) {
            for (std::size_t age = first, run = 0; age < last; age += run) {  // from the newest, then from the end of the ring
                const std::size_t newest = slot_of(age);
                run = std::min(last - age, newest + 1);
                find_among<lumps>(q, newest, run, age, found);
            }
        });
        while (found.window + 1 < windows_.size()) next_window(found);
    }

    struct Found {
        Neighbour* best;  // of the window
        std::size_t window, width = 1;
    };
    // Among `run` slots down from `newest`, which has this age. A few panels at a time: which of them have a row that may be
    // among the nearest is found for all of them without a branch, and then those are looked at, the newest first.
    template <std::size_t lumps>
    void find_among(const std::uint8_t* q, std::size_t newest, std::size_t run, std::size_t age, Found& found) {
        Sums sums[most_panels];
        const std::size_t oldest = newest + 1 - run, last = oldest / panel;
        for (std::size_t p = newest / panel + 1, count = 0; p > last; p -= count) {
            count = std::min(found.width, p - last);
            found.width = std::min(2 * found.width, most_panels);
            const std::int32_t limit = found.best[neighbours_ - 1].distance();
            std::uint32_t some = measure<lumps>(rows_.data() + p * panel * lumps * lump, count, q, limit, sums);
            for (; some; some &= some - 1) {
                const auto i = static_cast<std::size_t>(std::countr_zero(some));
                const std::size_t slot = (p - 1 - i) * panel;  // the first of the panel
                std::int32_t distances[panel];
                std::uint32_t near = nearer(sums[i], limit, distances);
                if (slot + panel > newest + 1) near &= ~std::uint32_t{0} >> (slot + panel - newest - 1);
                if (slot < oldest) near &= ~std::uint32_t{0} << (oldest - slot);
                while (near) {
                    const auto k = static_cast<std::size_t>(std::bit_width(near) - 1);
                    const std::size_t own = age + newest - slot - k;
                    while (own >= windows_[found.window]) next_window(found);
                    insert(Neighbour::of(distances[k], own), found.best);
                    near ^= std::uint32_t{1} << k;
                }
            }
        }
        while (age + run > windows_[found.window]) next_window(found);
    }
    // What was found in a window is also found in the next one.
    void next_window(Found& found) const {
        ++found.window;
        std::copy_n(found.best, neighbours_, found.best + neighbours_);
        found.best += neighbours_;
    }
    // Without a branch: whether a row is among the nearest cannot be foreseen. One by one: as vectors, unaligned stores would
    // delay the loads that follow.
    void insert(Neighbour own, Neighbour* best) const {
        for (std::size_t i = neighbours_ - 1; i > 0; --i)
            best[i].both = std::min(best[i].both, std::max(keep(best[i - 1].both), own.both));
        best[0].both = std::min(best[0].both, own.both);
    }

    // Of the rows of a panel.
#ifdef NOLANA_AVX2
    struct Sums {
        __m256i of_four[8];
    };
#else
    struct Sums {
        std::int32_t each[panel];
    };
#endif
    // Fills the distances of `count` panels down from the one that ends at `rows`; a bit for each that has one below the limit.
    // Distances only grow with the lumps: the last ones are added only where the first ones leave a row below the limit.
    template <std::size_t lumps>
    static std::uint32_t measure(const std::uint8_t* rows, std::size_t count, const std::uint8_t* q, std::int32_t limit, Sums* sums) {
        constexpr std::size_t first = std::min(lumps, first_lumps), size = panel * lumps * lump;
        std::uint32_t some = 0;
        for (std::size_t i = 0; i < count; ++i)
            some |= static_cast<std::uint32_t>(add<0, first>(rows - (i + 1) * size, q, limit, sums[i])) << i;
        if constexpr (lumps > first)
            for (std::uint32_t left = some; left; left &= left - 1) {
                const auto i = static_cast<std::size_t>(std::countr_zero(left));
                some &= ~(static_cast<std::uint32_t>(!add<first, lumps>(rows - (i + 1) * size, q, limit, sums[i])) << i);
            }
        return some;
    }
    // Adds the distances of a panel by the lumps `from` to `to`; whether one of them is below the limit.
    template <std::size_t from, std::size_t to>
    static bool add(const std::uint8_t* rows, const std::uint8_t* q, std::int32_t limit, Sums& sums) {
#ifdef NOLANA_AVX2
        __m256i sum[8];
        for (std::size_t k = 0; k < 8; ++k) sum[k] = from == 0 ? _mm256_setzero_si256() : sums.of_four[k];
#pragma GCC unroll 8
        for (std::size_t j = from; j < to; ++j) {
            long long lumped;
            std::memcpy(&lumped, q + j * lump, sizeof(lumped));
            const __m256i own = _mm256_set1_epi64x(lumped);
            const auto* at = reinterpret_cast<const __m256i*>(rows + j * lump * panel);
            for (std::size_t k = 0; k < 8; ++k) {
                const __m256i part = _mm256_sad_epu8(own, _mm256_load_si256(at + k));
                sum[k] = j == 0 ? part : _mm256_add_epi64(sum[k], part);
            }
        }
        __m256i least = sum[0];
        for (std::size_t k = 0; k < 8; ++k) {
            sums.of_four[k] = sum[k];
            least = _mm256_min_epi32(least, sum[k]);
        }
        least = _mm256_cmpgt_epi32(_mm256_set1_epi64x(limit), least);
        return !_mm256_testz_si256(least, least);
#else
        if (from == 0) std::fill_n(sums.each, panel, 0);
        for (std::size_t j = from * lump; j < to * lump; j += lump)
            for (std::size_t i = 0; i < panel; ++i)
                for (std::size_t l = 0; l < lump; ++l) sums.each[i] += std::abs(rows[offset(i, j + l)] - q[j + l]);
        return *std::min_element(sums.each, sums.each + panel) < limit;
#endif
    }
    // A bit for each row of a panel that is nearer than the limit, and their distances.
    static std::uint32_t nearer(const Sums& sums, std::int32_t limit, std::int32_t* distances) {
        std::uint32_t near = 0;
#ifdef NOLANA_AVX2
        for (std::size_t k = 0; k < 4; ++k) {
            const __m256i packed = _mm256_castps_si256(
                _mm256_shuffle_ps(_mm256_castsi256_ps(sums.of_four[2 * k]), _mm256_castsi256_ps(sums.of_four[2 * k + 1]), 0x88));
            const __m256i below = _mm256_cmpgt_epi32(_mm256_set1_epi32(limit), packed);
            near |= static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(below))) << (8 * k);
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(distances) + k, packed);
        }
#else
        std::copy_n(sums.each, panel, distances);
        for (std::size_t i = 0; i < panel; ++i) near |= static_cast<std::uint32_t>(distances[i] < limit) << i;
#endif
        return near;
    }

    std::size_t width_, stride_, neighbours_, capacity_ = 0, stored_ = 0, next_ = 0, searched_ = none;
    double steps_in_unit_;
    std::vector<std::size_t> windows_;
    BufferOf<std::uint8_t> rows_{0};
    BufferOf<Neighbour> found_{0};       // (windows, neighbours)
    BufferOf<std::uint8_t> steps_{0};    // the rows of the group
    BufferOf<std::uint8_t> places_{0};   // of features in a sketch, with their factors
    Buffer factors_{0}, sums_{0};
};

NOLANA_BINDING(neighbour_map) {
    nb::class_<NeighbourMap, Map>(m, "NeighbourMap")
        .def(nb::init<std::size_t, const Vector&, std::size_t, std::uint64_t, const std::optional<Vector>&, double>(),
             "features"_a, "windows"_a, "neighbours"_a, "seed"_a = 0, "drawn"_a.none() = nb::none(), "steps"_a = 40.0)
        .def_prop_ro("stored", &NeighbourMap::stored)
        .def(
            "past_distances",
            [](NeighbourMap& self, std::size_t rows, std::size_t window) {
                expect(rows <= self.stored(), "there are fewer rows");
                Fresh out = fresh({rows});
                self.past_distances(rows, window, out.data);
                return out.array;
            },
            "rows"_a, "window"_a);
    m.def("draw_sketch", [](std::size_t features, std::uint64_t seed) { return as_array(NeighbourMap::draw_sketch(features, seed)); },
          "features"_a, "seed"_a);
}

}  // namespace nolana
