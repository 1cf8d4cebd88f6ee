// Cells: random grids whose bins are hashed into one table (random binning, Rahimi and Recht 2007; Wu et al. 2016). For
// grid g over its features:
//     key = sum_j floor(z_j/pitch_gj + offset_gj) r_j + salt_g  mod 2^32,  mixed;   slot = key N >> 32
// No sum can round: floors of single-precision numbers, and whole numbers modulo 2^32.
#include "maps/cell_map.hpp"

#include <bit>
#include <cmath>

#include "bind/bind.hpp"

namespace nolana {

class CellMap final : public SparseMap {
  public:
    // Grids are drawn in one place, nolana/reference/maps/grids.py.
    static std::shared_ptr<CellMap> drawn(std::size_t features, std::size_t table, std::size_t grids, std::uint64_t seed,
                                          const nb::object& relevance) {
        if (!relevance.is_none()) {
            const Vector shares = nb::cast<Vector>(relevance);
            expect(shares.shape(0) == features && std::all_of(shares.data(), shares.data() + features, [](double v) { return v > 0; }),
                   "relevance has one positive number for each feature");
        }
        expect(features > 0 && grids > 0 && features <= most_rows && grids <= most_rows, "a cell map needs features and grids");
        const nb::object a = nb::module_::import_("nolana.reference.maps.grids").attr("draw")(features, grids, seed, relevance);
        const auto vector = [&](const char* name) { return nb::cast<Vector>(a.attr(name)); };
        const auto matrix = [&](const char* name) { return nb::cast<Matrix>(a.attr(name)); };
        return std::make_shared<CellMap>(features, table, vector("order"), vector("multipliers"), vector("start"),
                                         vector("size"), vector("salt"), matrix("index"), matrix("inverse_pitch"),
                                         matrix("offset"));
    }

    CellMap(std::size_t features, std::size_t table, const Vector& order, const Vector& multipliers, const Vector& start,
            const Vector& size, const Vector& salt, const Matrix& index, const Matrix& inverse_pitch, const Matrix& offset)
        : SparseMap(features, start.shape(0), table), order_(features), place_(features), keys_(group * grids_),
          multipliers_(2 * features + wide), start_(grids_), size_(grids_), begin_(grids_), salt_(grids_),
          row_(2 * features + wide) {
        const std::size_t width = index.shape(1);
        const auto same = [&](const Matrix& m) { return m.shape(0) == grids_ && m.shape(1) == width; };
        expect(table > 0 && table <= 0x80000000u, "the table needs 1 to 2^31 slots");
        expect(order.shape(0) == features && multipliers.shape(0) == features && size.shape(0) == grids_ &&
                   salt.shape(0) == grids_ && same(index) && same(inverse_pitch) && same(offset),
               "the arrays of the grids do not fit each other");
        std::vector<bool> seen(features);
        for (std::size_t j = 0; j < features; ++j) {
            const double place = order.data()[j];
            expect(place >= 0 && place < static_cast<double>(features) && !seen[static_cast<std::size_t>(place)],
                   "the grids name features that do not exist");
            order_[j] = static_cast<std::uint32_t>(place);
            seen[order_[j]] = true;
            place_[order_[j]] = static_cast<std::uint32_t>(j);
            multipliers_[j] = multipliers_[j + features] = word(multipliers.data()[j]);
        }
        for (std::size_t g = 0; g < grids_; ++g) {
            const double first = start.data()[g], n = size.data()[g];
            expect(first >= -1 && first < static_cast<double>(features), "the grids name features that do not exist");
            expect(n >= 1 && n <= static_cast<double>(std::min(features, width)), "a grid has more features than there are");
            start_[g] = static_cast<std::int32_t>(first);
            size_[g] = static_cast<std::uint32_t>(n);
            salt_[g] = word(salt.data()[g]);
        }
        // Subset grids first: they alone name their features. The others are padded with zeros.
        std::size_t places = 0;
        for (std::size_t g = 0; g < grids_; ++g)
            if (start_[g] < 0) begin_[g] = static_cast<std::uint32_t>(places), places += size_[g];
        index_ = BufferOf<std::uint32_t>(places);
        for (std::size_t g = 0; g < grids_; ++g)
            if (start_[g] >= 0) begin_[g] = static_cast<std::uint32_t>(places), places += padded(size_[g], wide);
        inverse_pitch_ = BufferOf<std::uint16_t>(places);
        offset_ = BufferOf<std::uint8_t>(places);
        for (std::size_t g = 0; g < grids_; ++g)
            for (std::size_t j = 0; j < size_[g]; ++j) {
                const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(inverse_pitch.data()[g * width + j]));
                inverse_pitch_[begin_[g] + j] = static_cast<std::uint16_t>(bits >> 16);
                offset_[begin_[g] + j] = static_cast<std::uint8_t>(offset.data()[g * width + j] * 256);
                if (start_[g] >= 0) continue;
                const double place = index.data()[g * width + j];
                expect(place >= 0 && place < static_cast<double>(features), "the grids name features that do not exist");
                index_[begin_[g] + j] = static_cast<std::uint32_t>(place);
            }
    }

    void evaluate(const double* x, std::size_t rows) override {
        const std::size_t d = features();
        for (std::size_t r = 0; r < rows; ++r) {
            const double* z = x + r * d;
            double* dense = dense_.data() + r * (d + 1);
            for (std::size_t j = 0; j < d; ++j) {
                dense[j] = static_cast<double>(static_cast<float>(z[j]));
                row_[j] = row_[j + d] = static_cast<float>(z[order_[j]]);
            }
            dense[d] = 1;
            for (std::size_t g = 0; g < grids_; ++g) {
                const std::uint32_t key = keys_[r * grids_ + g] = sum(g);
                slots_[r * grids_ + g] = slot(g, key);
            }
        }
    }
    void slots_with(std::size_t r, std::size_t feature, float value, std::uint32_t* slots) const override {
        const std::size_t at = place_[feature], d = features();
        const float before = static_cast<float>(dense_[r * (d + 1) + feature]);
        for (std::size_t g = 0; g < grids_; ++g) {
            std::uint32_t change = 0;
            const auto replace = [&](std::size_t j) {
                change += (bin(value, begin_[g] + j) - bin(before, begin_[g] + j)) * multipliers_[at];
            };
            if (start_[g] < 0) {
                for (std::size_t j = 0; j < size_[g]; ++j)
                    if (index_[begin_[g] + j] == at) replace(j);
            } else {
                const std::size_t j = (at + d - static_cast<std::size_t>(start_[g])) % d;
                if (j < size_[g]) replace(j);
            }
            slots[g] = change == 0 ? slots_[r * grids_ + g] : slot(g, keys_[r * grids_ + g] + change);
        }
    }
    void describe(Description& d) override {
        d.scratch(slots_, dense_, order_, place_, keys_, multipliers_, start_, size_, begin_, salt_, index_, inverse_pitch_, offset_, row_);
        d.bytes += sizeof(*this);
    }
    void resize(const Sizes&, const std::string&) override {}

  private:
    static constexpr std::size_t wide = 8;  // floats at a time

    static std::uint32_t word(double value) { return static_cast<std::uint32_t>(static_cast<std::uint64_t>(value)); }

    // The key of grid g for the row at hand, before it is mixed.
    std::uint32_t sum(std::size_t g) const {
        const std::size_t begin = begin_[g];
        std::uint32_t key = 0;
        if (start_[g] < 0) {
            const std::uint32_t* f = index_.data() + begin;
            for (std::size_t j = 0; j < size_[g]; ++j) key += bin(row_[f[j]], begin + j) * multipliers_[f[j]];
        } else {
            const float* z = row_.data() + start_[g];
            const std::uint32_t* m = multipliers_.data() + start_[g];
#ifdef NOLANA_AVX2
            __m256i sum = _mm256_setzero_si256();
            for (std::size_t j = 0; j < size_[g]; j += wide) {  // beyond size pitch and offset are 0: bin 0
                const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(inverse_pitch_.data() + begin + j));
                const __m256 a = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
                const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(offset_.data() + begin + j));
                const __m256 b = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)), _mm256_set1_ps(1 / 256.0f));
                const __m256 at = _mm256_add_ps(_mm256_mul_ps(_mm256_loadu_ps(z + j), a), b);
                const __m256i whole = _mm256_cvttps_epi32(_mm256_floor_ps(at));
                const __m256i times = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(m + j));
                sum = _mm256_add_epi32(sum, _mm256_mullo_epi32(whole, times));
            }
            alignas(32) std::uint32_t parts[wide];
            _mm256_store_si256(reinterpret_cast<__m256i*>(parts), sum);
            for (const std::uint32_t part : parts) key += part;
#else
            for (std::size_t j = 0; j < size_[g]; ++j) key += bin(z[j], begin + j) * m[j];
#endif
        }
        return key;
    }
    std::uint32_t slot(std::size_t g, std::uint32_t key) const {
        key = (key + salt_[g]) * 0x85EBCA6Bu;
        key = (key ^ (key >> 15)) * 0xC2B2AE35u;
        key ^= key >> 13;
        return static_cast<std::uint32_t>((static_cast<std::uint64_t>(key) * table_) >> 32);
    }
    // floor(z/pitch + offset) with the pitch and offset at this place.
    std::uint32_t bin(float z, std::size_t place) const {
        const float a = std::bit_cast<float>(static_cast<std::uint32_t>(inverse_pitch_[place]) << 16);
        const float b = static_cast<float>(offset_[place]) * (1 / 256.0f);
        return static_cast<std::uint32_t>(static_cast<std::int32_t>(std::floor(z * a + b)));
    }

    BufferOf<std::uint32_t> order_, place_, keys_, multipliers_;
    BufferOf<std::int32_t> start_;
    BufferOf<std::uint32_t> size_, begin_, salt_, index_{0};
    BufferOf<std::uint16_t> inverse_pitch_{0};  // the first half of a float
    BufferOf<std::uint8_t> offset_{0};          // in steps of 1/256
    BufferOf<float> row_;
};

NOLANA_BINDING(cell_map) {
    nb::class_<CellMap, Map>(m, "CellMap")
        .def(nb::new_(&CellMap::drawn), "features"_a, "table"_a, "grids"_a, "seed"_a, "relevance"_a.none() = nb::none());
}

}  // namespace nolana
