// The landmarks u_1..u_m, in panels of 8 lanes, feature by feature: one pass over a panel takes a row
// against eight landmarks, and every sum runs over the features in order, whatever the block.
#pragma once

#include <algorithm>

#include "base/state.hpp"

namespace nolana {

class Landmarks {
  public:
    // single: places are stored in single precision, in half the memory.
    Landmarks(std::size_t capacity, std::size_t features, bool single = false)
        : capacity_(capacity), features_(features), single_(single),
          panels_(single ? 0 : padded(capacity, panel_lanes) * features),
          singles_(single ? padded(capacity, panel_lanes) * features : 0), norms_(padded(capacity, panel_lanes)),
          counts_(capacity) {}

    std::size_t size() const { return size_; }
    std::size_t capacity() const { return capacity_; }
    std::size_t features() const { return features_; }
    bool full() const { return size_ == capacity_; }
    std::size_t width() const { return padded(size_, panel_lanes); }  // lanes in use, padding included
    std::size_t panel_count() const { return width() / panel_lanes; }
    bool single() const { return single_; }
    template <class T = double> const T* panel(std::size_t p) const {
        if constexpr (std::is_same_v<T, float>) return singles_.data() + p * panel_lanes * features_;
        else return panels_.data() + p * panel_lanes * features_;
    }
    const double* norms() const { return norms_.data(); }  // |u_i|^2
    double& count(std::size_t i) { return counts_[i]; }
    const Buffer& counts() const { return counts_; }
    double count(std::size_t i) const { return counts_[i]; }
    std::size_t bytes() const { return panels_.bytes() + singles_.bytes() + norms_.bytes() + counts_.bytes(); }
    // (size, features) under this name.
    void describe_places(Description& d, const std::string& name, const Side& side) {
        const std::size_t n = side.value;
        d.scratch(panels_, singles_, norms_);
        d.add({name, {side, features_},
               [this, n](double* to) { for (std::size_t i = 0; i < n; ++i) get(i, to + i * features_); },
               [this, n](const double* from) { for (std::size_t i = 0; i < n; ++i) set(i, from + i * features_); }});
    }
    void describe(Description& d, const Side& side) {
        describe_places(d, "landmarks", side);
        d.vector("counts", counts_, side);
        d.fields.back().low = 0;
    }

    void get(std::size_t i, double* u) const {
        const std::size_t at = first(i);
        for (std::size_t j = 0; j < features_; ++j)
            u[j] = single_ ? static_cast<double>(singles_[at + j * panel_lanes]) : panels_[at + j * panel_lanes];
    }
    void set(std::size_t i, const double* u) {
        const std::size_t at = first(i);
        double norm = 0;
        for (std::size_t j = 0; j < features_; ++j) {
            if (single_)
                singles_[at + j * panel_lanes] = static_cast<float>(u[j]);
            else
                panels_[at + j * panel_lanes] = u[j];
            norm = fma(u[j], u[j], norm);
        }
        norms_[i] = norm;
    }
    void append(const double* u, double count) {
        set(size_, u);
        counts_[size_++] = count;
    }
    void shrink() { --size_; }
    // n vectors of zeros.
    void resize(std::size_t n) {
        size_ = n;
        panels_.clear();
        singles_.clear();
        norms_.clear();
    }
    void clear() { resize(0); }

  private:
    // Where the first feature of a landmark is; the others are a panel's lanes apart.
    std::size_t first(std::size_t i) const { return i / panel_lanes * panel_lanes * features_ + i % panel_lanes; }

    std::size_t capacity_, features_, size_ = 0;
    bool single_;
    Buffer panels_;
    BufferOf<float> singles_;
    Buffer norms_, counts_;
};

}  // namespace nolana
