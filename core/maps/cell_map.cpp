// Cells: random grids whose bins are hashed into one table (random binning, Rahimi and Recht 2007; Wu et al. 2016). For
// grid g over its features:
//     key = sum_j floor(z_j ip_gj + u_gj) r_j + salt_g  mod 2^32,  mixed;   slot = key N >> 32
// A grid with start >= 0 has `size` consecutive features of `order` (cyclic), one with start = -1 the features in
// `index`, both counted in the order of `order`. No sum can round: floors of single-precision numbers, and whole numbers
// modulo 2^32.
#include "maps/cell_map.hpp"

#include <cmath>

#include "bind/bind.hpp"

namespace nolana {

class CellMap final : public SparseMap {
  public:
    CellMap(std::size_t features, std::size_t table, const Vector& order, const Vector& multipliers, const Vector& start,
            const Vector& size, const Vector& salt, const Matrix& index, const Matrix& inverse_pitch, const Matrix& offset)
        : SparseMap(features, start.shape(0), table), width_(index.shape(1)), stride_(padded(width_, wide)),
          order_(features), multipliers_(2 * features + wide), start_(grids_), size_(grids_), salt_(grids_),
          index_(grids_ * stride_), inverse_pitch_(grids_ * stride_), offset_(grids_ * stride_),
          row_(2 * features + wide) {
        const auto same = [&](const Matrix& m) { return m.shape(0) == grids_ && m.shape(1) == width_; };
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
            multipliers_[j] = multipliers_[j + features] = word(multipliers.data()[j]);
        }
        for (std::size_t g = 0; g < grids_; ++g) {
            const double first = start.data()[g], n = size.data()[g];
            expect(first >= -1 && first < static_cast<double>(features), "the grids name features that do not exist");
            expect(n >= 1 && n <= static_cast<double>(std::min(features, width_)), "a grid has more features than there are");
            start_[g] = static_cast<std::int32_t>(first);
            size_[g] = static_cast<std::uint32_t>(n);
            salt_[g] = word(salt.data()[g]);
            for (std::size_t j = 0; j < width_; ++j) {
                const double place = index.data()[g * width_ + j];
                expect(place >= 0 && place < static_cast<double>(features), "the grids name features that do not exist");
                index_[g * stride_ + j] = static_cast<std::uint32_t>(place);
                if (j >= size_[g]) continue;  // zero: adds nothing to the key
                inverse_pitch_[g * stride_ + j] = static_cast<float>(inverse_pitch.data()[g * width_ + j]);
                offset_[g * stride_ + j] = static_cast<float>(offset.data()[g * width_ + j]);
            }
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
            for (std::size_t g = 0; g < grids_; ++g) slots_[r * grids_ + g] = slot(g);
        }
    }
    void describe(Description& d) override {
        d.scratch(slots_, dense_, order_, multipliers_, start_, size_, salt_, index_, inverse_pitch_, offset_, row_);
        d.bytes += sizeof(*this);
    }
    void resize(const Sizes&, const std::string&) override {}

  private:
    static constexpr std::size_t wide = 8;  // floats at a time

    static std::uint32_t word(double value) { return static_cast<std::uint32_t>(static_cast<std::uint64_t>(value)); }

    std::uint32_t slot(std::size_t g) const {
        const float *a = inverse_pitch_.data() + g * stride_, *b = offset_.data() + g * stride_;
        std::uint32_t key = 0;
        if (start_[g] < 0) {
            const std::uint32_t* f = index_.data() + g * stride_;
            for (std::size_t j = 0; j < size_[g]; ++j) key += bin(row_[f[j]] * a[j] + b[j]) * multipliers_[f[j]];
        } else {
            const float* z = row_.data() + start_[g];
            const std::uint32_t* m = multipliers_.data() + start_[g];
#ifdef NOLANA_AVX2
            __m256i sum = _mm256_setzero_si256();
            for (std::size_t j = 0; j < size_[g]; j += wide) {  // beyond size pitch and offset are 0: bin 0
                const __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps(z + j), _mm256_loadu_ps(a + j));
                const __m256 at = _mm256_add_ps(scaled, _mm256_loadu_ps(b + j));
                const __m256i whole = _mm256_cvttps_epi32(_mm256_floor_ps(at));
                const __m256i times = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(m + j));
                sum = _mm256_add_epi32(sum, _mm256_mullo_epi32(whole, times));
            }
            alignas(32) std::uint32_t parts[wide];
            _mm256_store_si256(reinterpret_cast<__m256i*>(parts), sum);
            for (const std::uint32_t part : parts) key += part;
#else
            for (std::size_t j = 0; j < size_[g]; ++j) key += bin(z[j] * a[j] + b[j]) * m[j];
#endif
        }
        key = (key + salt_[g]) * 0x85EBCA6Bu;
        key = (key ^ (key >> 15)) * 0xC2B2AE35u;
        key ^= key >> 13;
        return static_cast<std::uint32_t>((static_cast<std::uint64_t>(key) * table_) >> 32);
    }
    static std::uint32_t bin(float value) { return static_cast<std::uint32_t>(static_cast<std::int32_t>(std::floor(value))); }

    std::size_t width_, stride_;
    BufferOf<std::uint32_t> order_, multipliers_;
    BufferOf<std::int32_t> start_;
    BufferOf<std::uint32_t> size_, salt_, index_;
    BufferOf<float> inverse_pitch_, offset_, row_;
};

NOLANA_BINDING(cell_map) {
    nb::class_<CellMap, Map>(m, "CellMap")
        .def(nb::init<std::size_t, std::size_t, const Vector&, const Vector&, const Vector&, const Vector&, const Vector&,
                      const Matrix&, const Matrix&, const Matrix&>(),
             "features"_a, "table"_a, "order"_a, "multipliers"_a, "start"_a, "size"_a, "salt"_a, "index"_a,
             "inverse_pitch"_a, "offset"_a);
}

}  // namespace nolana
