// Memory of a fixed size, aligned to a cache line, zero at the start.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace nolana {

// Rows, columns, landmarks or support vectors: the product of two such numbers fits into a size_t.
constexpr std::size_t most_rows = std::size_t{1} << 31;

template <class T> class BufferOf {
  public:
    explicit BufferOf(std::size_t n = 0)
        : size_(checked(n)), data_(static_cast<T*>(::operator new[](n * sizeof(T), alignment))) {
        std::fill_n(data_.get(), n, T{});
    }
    T* data() { return data_.get(); }
    const T* data() const { return data_.get(); }
    T& operator[](std::size_t i) { return data_[i]; }
    T operator[](std::size_t i) const { return data_[i]; }
    std::size_t size() const { return size_; }
    std::size_t bytes() const { return size_ * sizeof(T); }
    void clear() { std::fill_n(data_.get(), size_, T{}); }

  private:
    static constexpr std::align_val_t alignment{64};
    static std::size_t checked(std::size_t n) {
        if (n > static_cast<std::size_t>(-1) / 16) throw std::bad_array_new_length();
        return n;
    }
    struct Free {
        void operator()(T* p) const { ::operator delete[](p, alignment); }
    };
    std::size_t size_;
    std::unique_ptr<T[], Free> data_;
};

using Buffer = BufferOf<double>;

// A copy with room for n numbers.
inline Buffer extended(const Buffer& from, std::size_t n) {
    Buffer to(n);
    std::copy_n(from.data(), std::min(from.size(), n), to.data());
    return to;
}

}  // namespace nolana
