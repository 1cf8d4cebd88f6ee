// A ring buffer of the last W rows in fixed point: whole steps of 1/40, clipped to +-127, so distances are whole numbers
// and exact. One pass of distances serves nested windows; of two equal distances the more recent row comes first.
//
// More than 64 features are sketched to 64 (nolana/reference/maps/neighbour_map.py).
//
// Rows lie in panels of 32, two features at a time: one instruction squares and adds both for eight rows.
#include "maps/neighbour_map.hpp"

#include <cmath>
#include <cstring>

#include "bind/bind.hpp"

namespace nolana {

class NeighbourMap final : public RecentRows {
  public:
    NeighbourMap(std::size_t features, const Vector& windows, std::size_t neighbours, std::uint64_t seed)
        : RecentRows(features), width_(std::min(features, widest)), pairs_((width_ + 1) / 2), neighbours_(neighbours) {
        double before = static_cast<double>(neighbours) - 1;
        for (std::size_t i = 0; i < windows.shape(0); ++i) {
            const double n = windows.data()[i];
            expect(n > before && n == std::floor(n) && n < 0x1p31,
                   "windows are whole numbers in ascending order, the first at least the number of neighbours");
            windows_.push_back(static_cast<std::size_t>(n));
            before = n;
        }
        expect(neighbours > 0 && !windows_.empty(), "a neighbour map needs a window and a neighbour");
        capacity_ = windows_.back();
        rows_ = BufferOf<std::int8_t>(padded(capacity_, panel) * pairs_ * 2);
        found_ = BufferOf<Neighbour>(windows_.size() * neighbours);
        counts_.resize(windows_.size());
        steps_ = BufferOf<std::int16_t>(group * pairs_ * 2);
        if (features <= widest) return;
        places_ = BufferOf<std::uint8_t>(features);
        factors_ = Buffer(features);
        sums_ = Buffer(width_);
        const nb::object drawn = nb::module_::import_("nolana.reference.maps.neighbour_map").attr("sketch")(features, seed);
        const Vector places = nb::cast<Vector>(drawn[0]), factors = nb::cast<Vector>(drawn[1]);
        for (std::size_t j = 0; j < features; ++j) {
            places_[j] = static_cast<std::uint8_t>(places.data()[j]);
            factors_[j] = factors.data()[j];
        }
    }

    std::size_t window_count() const override { return windows_.size(); }
    std::size_t window(std::size_t i) const override { return windows_[i]; }

    void evaluate(const double* x, std::size_t rows) override {
        for (std::size_t r = 0; r < rows; ++r) {
            const double* row = sketched(x + r * features());
            for (std::size_t j = 0; j < width_; ++j) {
                const double v = std::nearbyint(row[j] * steps_in_unit);
                steps_[r * 2 * pairs_ + j] = static_cast<std::int16_t>(std::min(largest, std::max(-largest, v)));
            }
        }
        searched_ = none;
    }
    void after(std::size_t r, double) override {
        store(next_, steps_.data() + r * 2 * pairs_);
        next_ = next_ + 1 == capacity_ ? 0 : next_ + 1;
        stored_ = std::min(stored_ + 1, capacity_);
        searched_ = none;
    }

    const Neighbour* nearest(std::size_t r, std::size_t i, std::size_t& count) override {
        if (searched_ != r) search(r);
        count = counts_[i];
        return found_.data() + i * neighbours_;
    }

    void describe(Description& d) override {
        const std::size_t n = stored_, width = width_;
        Field recent{"recent", {Side("recent", n, capacity_), width}, {}, {}, -largest, largest, {}, true};
        recent.get_single = [this, n, width](float* to) {
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t j = 0; j < width; ++j) *to++ = static_cast<float>(element(slot_of(n - 1 - i), j));
        };
        recent.set_single = [this, n, width](const float* from) {
            for (std::size_t i = 0; i < n; ++i, from += width) {
                for (std::size_t j = 0; j < width; ++j) steps_[j] = static_cast<std::int16_t>(from[j]);
                store(i, steps_.data());
            }
        };
        d.add(std::move(recent));
        d.scratch(rows_, found_, steps_, places_, factors_, sums_);
        d.bytes += sizeof(*this) + (windows_.size() + counts_.size()) * sizeof(std::size_t);
    }
    void resize(const Sizes& sizes, const std::string& prefix) override {
        const auto size = sizes.find(prefix + "recent");
        stored_ = size == sizes.end() ? 0 : size->second;
        next_ = stored_ % capacity_;
        searched_ = none;
    }

  private:
    static constexpr double steps_in_unit = 40, largest = 127;
    static constexpr std::size_t panel = 32, none = group, widest = 64;
    static constexpr std::size_t stretch = 6;  // pairs between two looks at the limit
    static constexpr std::int32_t most_distance = std::numeric_limits<std::int32_t>::max();

    const double* sketched(const double* x) {
        if (features() <= widest) return x;
        sums_.clear();
        for (std::size_t j = 0; j < features(); ++j) sums_[places_[j]] += x[j] * factors_[j];
        return sums_.data();
    }

    std::int8_t& element(std::size_t slot, std::size_t j) {
        return rows_[(slot / panel * pairs_ + j / 2) * 2 * panel + slot % panel * 2 + j % 2];
    }
    void store(std::size_t slot, const std::int16_t* row) {
        for (std::size_t j = 0; j < width_; ++j) element(slot, j) = static_cast<std::int8_t>(row[j]);
    }
    // Where the row of this age is.
    std::size_t slot_of(std::size_t age) const { return (next_ + capacity_ - 1 - age) % capacity_; }

    // From the newest row to the oldest, a panel at a time. A panel of which no row can be among the nearest of a window
    // is left as soon as that shows: distances only grow with the features.
    void search(std::size_t r) {
        searched_ = r;
        std::fill(counts_.begin(), counts_.end(), 0);
        const std::int16_t* q = steps_.data() + r * 2 * pairs_;
        Neighbour* best = found_.data();
        std::size_t window = 0, count = 0;
        std::size_t top = next_ > 0 ? next_ - 1 : capacity_ - 1;  // the slot of the newest row that is left
        for (std::size_t age = 0, run = 0; age < stored_; age += run, top = top >= run ? top - run : capacity_ - 1) {
            run = std::min(stored_ - age, top % panel + 1);
            const std::int32_t limit = count == neighbours_ ? best[count - 1].distance : most_distance;
            if (measure(rows_.data() + top / panel * pairs_ * 2 * panel, q, limit)) {
                for (std::size_t i = 0; i < run; ++i) {
                    if (age + i == windows_[window]) next_window(window, best, count);
                    insert(distances_[top % panel - i], age + i, best, count);
                }
            } else {
                while (age + run > windows_[window]) next_window(window, best, count);
            }
        }
        while (window + 1 < windows_.size()) next_window(window, best, count);
        counts_[window] = count;
    }
    // What was found in a window is also found in the next one.
    void next_window(std::size_t& window, Neighbour*& best, std::size_t count) {
        counts_[window++] = count;
        std::copy_n(best, count, best + neighbours_);
        best += neighbours_;
    }
    void insert(std::int32_t distance, std::size_t age, Neighbour* best, std::size_t& count) const {
        if (count == neighbours_ && distance >= best[count - 1].distance) return;
        std::size_t at = count < neighbours_ ? count++ : count - 1;
        for (; at > 0 && best[at - 1].distance > distance; --at) best[at] = best[at - 1];
        best[at] = {static_cast<std::uint32_t>(age), distance};
    }

    // Squared distances of a panel's rows; false where none of them is below the limit.
    bool measure(const std::int8_t* rows, const std::int16_t* q, std::int32_t limit) {
        std::size_t j = 0;
#ifdef NOLANA_AVX2
        const __m256i most = _mm256_set1_epi32(limit);
        __m256i sum[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()};
        while (j < pairs_) {
            for (const std::size_t end = std::min(pairs_, j + stretch); j < end; ++j, rows += 2 * panel) {
                std::int32_t both;
                std::memcpy(&both, q + 2 * j, sizeof(both));
                const __m256i own = _mm256_set1_epi32(both);
                for (std::size_t k = 0; k < 4; ++k) {
                    const auto* from = reinterpret_cast<const __m128i*>(rows) + k;
                    const __m256i away = _mm256_sub_epi16(_mm256_cvtepi8_epi16(_mm_load_si128(from)), own);
                    sum[k] = _mm256_add_epi32(sum[k], _mm256_madd_epi16(away, away));
                }
            }
            const __m256i least = _mm256_min_epi32(_mm256_min_epi32(sum[0], sum[1]), _mm256_min_epi32(sum[2], sum[3]));
            if (_mm256_movemask_epi8(_mm256_cmpgt_epi32(most, least)) == 0) return false;
        }
        for (std::size_t k = 0; k < 4; ++k) _mm256_store_si256(reinterpret_cast<__m256i*>(distances_) + k, sum[k]);
        return true;
#else
        std::fill_n(distances_, panel, 0);
        while (j < pairs_) {
            for (const std::size_t end = std::min(pairs_, j + stretch); j < end; ++j, rows += 2 * panel)
                for (std::size_t i = 0; i < panel; ++i) {
                    const std::int32_t a = rows[2 * i] - q[2 * j], b = rows[2 * i + 1] - q[2 * j + 1];
                    distances_[i] += a * a + b * b;
                }
            if (*std::min_element(distances_, distances_ + panel) >= limit) return false;
        }
        return true;
#endif
    }

    std::size_t width_, pairs_, neighbours_, capacity_ = 0, stored_ = 0, next_ = 0, searched_ = none;
    std::vector<std::size_t> windows_, counts_;
    BufferOf<std::int8_t> rows_{0};
    alignas(32) std::int32_t distances_[panel] = {};
    BufferOf<Neighbour> found_{0};       // (windows, neighbours)
    BufferOf<std::int16_t> steps_{0};    // the rows of the group
    BufferOf<std::uint8_t> places_{0};   // of features in a sketch, with their factors
    Buffer factors_{0}, sums_{0};
};

NOLANA_BINDING(neighbour_map) {
    nb::class_<NeighbourMap, Map>(m, "NeighbourMap")
        .def(nb::init<std::size_t, const Vector&, std::size_t, std::uint64_t>(), "features"_a, "windows"_a, "neighbours"_a,
             "seed"_a = 0);
}

}  // namespace nolana
