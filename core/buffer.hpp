// Memory of a fixed size, aligned to a cache line, zero at the start.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace nolana {

class Buffer {
  public:
    explicit Buffer(std::size_t n = 0)
        : size_(n), data_(static_cast<double*>(::operator new[](n * sizeof(double), alignment))) {
        std::fill_n(data_.get(), n, 0.0);
    }
    double* data() { return data_.get(); }
    const double* data() const { return data_.get(); }
    double& operator[](std::size_t i) { return data_[i]; }
    double operator[](std::size_t i) const { return data_[i]; }
    std::size_t size() const { return size_; }
    std::size_t bytes() const { return size_ * sizeof(double); }
    void clear() { std::fill_n(data_.get(), size_, 0.0); }

  private:
    static constexpr std::align_val_t alignment{64};
    struct Free {
        void operator()(double* p) const { ::operator delete[](p, alignment); }
    };
    std::size_t size_;
    std::unique_ptr<double[], Free> data_;
};

}  // namespace nolana
