// The relevance of features: before a row is learned, one feature is replaced by its value in another row out of a
// sample; the mean increase of the loss is the feature's relevance. Feature after feature: four probes for each row up to
// 2,047, then one every four rows until each feature had as many as its mean remembers, then one every sixteen rows.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/state.hpp"

namespace nolana {

class Probes {
  public:
    explicit Probes(bool on) : on_(on) {}
    explicit operator bool() const { return on_; }

    void clear(std::size_t features, std::size_t grids, std::size_t outputs) {
        features_ = features;
        relevance_ = Buffer(features);
        probed_ = Buffer(features);
        sample_ = BufferOf<std::int8_t>(sample_rows * features);
        slots_ = BufferOf<std::uint32_t>(grids);
        set_outputs(outputs);
        stored_ = 0;
    }
    void set_outputs(std::size_t outputs) { scores_ = Buffer(std::max<std::size_t>(1, outputs)); }
    // Probes of this row.
    std::size_t due(std::uint64_t step) const {
        if (stored_ < sample_rows) return 0;
        if (step < dense_until) return 4;
        return step % 4 == 0 && step % rows_each() == 0;
    }
    std::size_t feature(std::uint64_t step, std::size_t i) const {
        return (step < dense_until ? 4 * step + i : step / rows_each()) % features_;
    }
    float value(std::uint64_t step, std::size_t j) const {
        return static_cast<float>(sample_[(31 * step + 17 * j) % sample_rows * features_ + j]) / static_cast<float>(steps);
    }
    std::uint32_t* slots() { return slots_.data(); }
    double* scores() { return scores_.data(); }
    void count(std::size_t j, double increase) {
        probed_[j] = std::min(probed_[j] + 1, most);
        relevance_[j] += (increase - relevance_[j]) / probed_[j];
    }
    // The row may enter the sample.
    void store(std::uint64_t step, const double* z) {
        if (step <= first) return;
        std::size_t place = stored_;
        if (stored_ == sample_rows) {
            const std::uint64_t draw = (step * 0x9E3779B97F4A7C15u) >> 32;
            if (draw % share != 0) return;
            place = draw / share % sample_rows;
        } else {
            ++stored_;
        }
        for (std::size_t j = 0; j < features_; ++j)
            sample_[place * features_ + j] =
                static_cast<std::int8_t>(std::min(largest, std::max(-largest, std::nearbyint(z[j] * steps))));
    }

    void describe(Description& d) {
        d.vector("relevance", relevance_, features_);
        d.vector("probed", probed_, features_);
        d.fields.back().low = 0;
        const std::size_t n = stored_ * features_;
        Field sample{"sample", {Side("sample", stored_, sample_rows), features_}, {}, {}, -largest, largest, {}, true};
        sample.get_single = [this, n](float* to) { std::copy_n(sample_.data(), n, to); };
        sample.set_single = [this, n](const float* from) {
            for (std::size_t i = 0; i < n; ++i) sample_[i] = static_cast<std::int8_t>(from[i]);
        };
        d.add(std::move(sample));
        d.scratch(slots_, scores_, sample_);
    }
    void resize(std::size_t stored) { stored_ = stored; }

  private:
    // Rows for each probe once they are no longer dense.
    std::uint64_t rows_each() const {
        return std::all_of(probed_.data(), probed_.data() + features_, [](double n) { return n >= most; }) ? 16 : 4;
    }

    static constexpr std::size_t sample_rows = 64;
    static constexpr std::uint64_t first = 512, dense_until = 2048, share = 20;
    static constexpr double most = 200, steps = 40, largest = 127;

    bool on_;
    std::size_t features_ = 0, stored_ = 0;
    Buffer relevance_{0}, probed_{0}, scores_{0};
    BufferOf<std::int8_t> sample_{0};  // in steps of 1/40, clipped
    BufferOf<std::uint32_t> slots_{0};
};

}  // namespace nolana
