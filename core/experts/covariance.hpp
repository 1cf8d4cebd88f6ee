// R, the covariance of the weights: a matrix and a few outer products not yet added to it, so that several rows share
// one sweep. What waits is part of the state; when it is added changes no later bit.
#pragma once

#include "base/products.hpp"

namespace nolana {

class Covariance {
  public:
    static constexpr std::size_t room = Symmetric::most_outers;

    explicit Covariance(std::size_t stride)
        : stride_(stride), matrix_(stride), waiting_(2 * room * stride), products_(stride) {
        for (std::size_t o = 0; o < room; ++o) outers_[o] = {left(o), right(o)};
    }
    Covariance(const Covariance&) = delete;
    Covariance& operator=(const Covariance&) = delete;

    Symmetric& matrix() { return matrix_; }
    Products& products() { return products_; }
    std::size_t waiting() const { return count_; }
    void clear() {
        matrix_.clear();
        waiting_.clear();
        count_ = 0;
        products_.invalidate();
    }

    // Makes room for `outers` more, whose sum is symmetric: they wait, and are added, together.
    void reserve(std::size_t outers, std::size_t n) {
        if (count_ + outers > room) settle(n);
    }
    // R += l (scale r)', when its turn comes.
    void add(const double* l, double scale, const double* r, std::size_t n) {
        const std::size_t width = padded(n, panel_lanes);
        std::copy_n(l, width, left(count_));
        std::fill_n(right(count_), width, 0.0);
        add_scaled(scale, r, right(count_), width);
        ++count_;
    }
    void settle(std::size_t n) {
        matrix_.update(outers_, count_, n);
        count_ = 0;
    }
    // R <- keep R + share P of the map.
    void blend(double keep, double share, const DenseMap& map, std::size_t n) {
        settle(n);
        matrix_.scale(keep);
        map.add_prior(share, matrix_);
        products_.drop();
    }
    void scale(double factor, std::size_t n) {
        settle(n);
        matrix_.scale(factor);
        products_.invalidate();
    }

    // h = R phi of the row.
    double* respond(const Features& at) {
        if (count_ == room || !products_.has(at.row)) {
            const std::size_t due = count_ == room ? room : 0;
            products_.take(matrix_, outers_, due, at);
            count_ -= due;
        }
        double* h = products_.get(at.row);
        for (std::size_t o = 0; o < count_; ++o) add_scaled(dot(right(o), at.values(), at.width()), left(o), h, at.width());
        return h;
    }

    // R[i,q], what waits included.
    double element(std::size_t i, std::size_t q) const { return matrix_.updated(outers_, count_, i, q); }

    template <class Place> void describe(Description& d, const Side& side, Place place) {
        d.symmetric("covariance", matrix_, side, place);
        d.scratch(waiting_, products_);
        const Side waiting("waiting", count_, room);
        const std::size_t n = side.value, count = count_;
        for (const bool first : {true, false}) {
            const auto row = [this, first](std::size_t o) { return first ? left(o) : right(o); };
            d.add({first ? "waiting_left" : "waiting_right", {waiting, side},
                   [=](double* to) {
                       for (std::size_t o = 0; o < count; ++o)
                           for (std::size_t i = 0; i < n; ++i) *to++ = row(o)[place(i)];
                   },
                   [=](const double* from) {
                       for (std::size_t o = 0; o < count; ++o)
                           for (std::size_t i = 0; i < n; ++i) row(o)[place(i)] = *from++;
                   }});
        }
    }
    void resize(std::size_t waiting) {
        clear();
        count_ = waiting;
    }

  private:
    double* left(std::size_t o) { return waiting_.data() + 2 * o * stride_; }
    double* right(std::size_t o) { return waiting_.data() + (2 * o + 1) * stride_; }

    std::size_t stride_, count_ = 0;
    Symmetric matrix_;
    Buffer waiting_;
    Products products_;
    Symmetric::Outer outers_[room];
};

}  // namespace nolana
