// A budgeted support set: vectors, their coefficients for each output, and the kernel row of the last one scored.
#pragma once

#include "rivals/rival.hpp"

namespace nolana {

class Supports {
  public:
    Supports(std::size_t capacity, std::size_t features, std::shared_ptr<const Kernel> kernel)
        : kernel_(std::move(kernel)), x_(capacity, features), stride_(padded(capacity, panel_lanes)),
          alpha_(stride_), values_(2 * stride_), ages_(capacity), row_(features) {}

    std::size_t size() const { return x_.size(); }
    std::size_t capacity() const { return x_.capacity(); }
    bool full() const { return x_.full(); }
    const double* values() const { return values_.data(); }                        // k(x, x_i) of the last evaluate
    const double* distances() const { return values_.data() + stride_; }           // |x - x_i|^2
    double* alpha(std::size_t output) { return alpha_.data() + output * stride_; }  // zero beyond size
    double age(std::size_t i) const { return ages_[i]; }  // the order of arrival
    void get(std::size_t i, double* x) const { x_.get(i, x); }
    double self(const double* x, double gamma) const { return kernel_->self(x, x_.features(), gamma); }

    void clear(std::size_t outputs) {
        x_.clear();
        outputs_ = outputs;
        alpha_ = Buffer(outputs * stride_);
        arrivals_[0] = 0;
    }

    // k(x, x_i) for all i, into values().
    void evaluate(const double* x, double gamma) {
        kernel_->evaluate(x_, x, 1, 0, x_.panel_count(), gamma, {values_.data(), values_.data() + stride_, stride_});
    }
    void score(double* f) const {
        for (std::size_t o = 0; o < outputs_; ++o)
            f[o] = dot(alpha_.data() + o * stride_, values_.data(), padded(size(), panel_lanes));
    }
    // The caller sets the new vector's coefficients; values() gets k(x, x) at its place.
    std::size_t add(const double* x, double gamma) {
        const std::size_t n = size();
        x_.append(x, 1);
        ages_[n] = arrivals_[0]++;
        if (n % panel_lanes == 0) std::fill_n(values_.data() + n, panel_lanes, 0.0);
        values_[n] = self(x, gamma);
        for (std::size_t o = 0; o < outputs_; ++o) alpha(o)[n] = 0;
        return n;
    }
    // The last vector takes the place of vector i.
    void remove(std::size_t i) {
        const std::size_t last = size() - 1;
        x_.get(last, row_.data());
        x_.set(i, row_.data());
        ages_[i] = ages_[last];
        values_[i] = values_[last];
        values_[last] = 0;
        for (std::size_t o = 0; o < outputs_; ++o) {
            alpha(o)[i] = alpha(o)[last];
            alpha(o)[last] = 0;
        }
        x_.shrink();
    }
    void replace(std::size_t i, const double* x) {
        x_.set(i, x);
        ages_[i] = arrivals_[0]++;
    }
    void scale(double factor) {
        for (std::size_t i = 0; i < outputs_ * stride_; ++i) alpha_[i] *= factor;
    }
    std::size_t oldest() const {
        return static_cast<std::size_t>(std::min_element(ages_.data(), ages_.data() + size()) - ages_.data());
    }
    // sum over outputs of |alpha_oi|
    double weight(std::size_t i) const {
        double total = 0;
        for (std::size_t o = 0; o < outputs_; ++o) total += std::fabs(alpha_[o * stride_ + i]);
        return total;
    }

    // State: supports (n, d), weights (c, n), ages (n), arrivals (1); at most `most` vectors.
    void describe(Description& d, std::size_t most) {
        const Side n("supports", size(), most);
        x_.describe_places(d, "supports", n);
        d.matrix("weights", alpha_, Side::outputs(outputs_), n, stride_);
        d.vector("ages", ages_, n);
        d.vector("arrivals", arrivals_, 1);
        d.scratch(values_, row_, x_.counts());
    }
    void resize(std::size_t n) { x_.resize(n); }

  private:
    std::shared_ptr<const Kernel> kernel_;
    Landmarks x_;
    std::size_t stride_, outputs_ = 1;
    Buffer alpha_, values_, ages_, row_, arrivals_{1};
};

}  // namespace nolana
