// What every rival shares: rows in, scores out, a state of named arrays.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "buffer.hpp"
#include "kernels.hpp"
#include "landmarks.hpp"
#include "losses.hpp"

namespace nolana {

// A named array of the state; `weights` has one row for each output.
struct Field {
    std::string name;
    std::vector<std::size_t> shape;
    std::function<void(double*)> get;        // writes the whole array
    std::function<void(const double*)> set;  // reads it

    // n contiguous numbers.
    static Field of(std::string name, double* data, std::size_t n) {
        return {std::move(name), {n}, [=](double* to) { std::copy_n(data, n, to); },
                [=](const double* from) { std::copy_n(from, n, data); }};
    }
    // (rows, columns), rows `stride` apart.
    static Field of(std::string name, double* data, std::size_t rows, std::size_t columns, std::size_t stride) {
        return {std::move(name), {rows, columns},
                [=](double* to) {
                    for (std::size_t r = 0; r < rows; ++r) std::copy_n(data + r * stride, columns, to + r * columns);
                },
                [=](const double* from) {
                    for (std::size_t r = 0; r < rows; ++r) std::copy_n(from + r * columns, columns, data + r * stride);
                }};
    }
};

// The class of a row from its targets, one for each of several outputs.
inline std::size_t own_class(const double* y, std::size_t outputs) {
    return static_cast<std::size_t>(std::max_element(y, y + outputs) - y);
}
// The best-scored output other than `own`.
inline std::size_t runner_up(const double* f, std::size_t own, std::size_t outputs) {
    std::size_t best = own == 0 ? 1 : 0;
    for (std::size_t o = 0; o < outputs; ++o)
        if (o != own && f[o] > f[best]) best = o;
    return best;
}

class Rival {
  public:
    explicit Rival(std::size_t features) : features_(features) {}
    virtual ~Rival() = default;

    std::size_t features() const { return features_; }
    std::size_t outputs() const { return outputs_; }
    double rows = 0;   // learned
    double gamma = 1;  // kernel width

    // Back to before the first row, with this many outputs.
    void clear(std::size_t outputs) {
        outputs_ = outputs;
        rows = 0;
        reset();
    }

    // x (rows, features), y and scores (rows, outputs), weight (rows) or null.
    void learn(const double* x, const double* y, const double* weight, std::size_t count, double* scores) {
        for (std::size_t r = 0; r < count; ++r) {
            const double* xr = x + r * features_;
            double* f = scores + r * outputs_;
            score(xr, f);
            const double w = weight ? weight[r] : 1.0;
            if (w == 0) continue;
            rows += 1;
            update(xr, y + r * outputs_, w, f);
        }
    }
    void scores(const double* x, std::size_t count, double* out) {
        for (std::size_t r = 0; r < count; ++r) score(x + r * features_, out + r * outputs_);
    }

    // The state: what outlives a call. Fields of a state being restored are asked for after resize.
    virtual std::vector<Field> fields() = 0;
    // Room for the state with this many support vectors (0 where the method has none).
    virtual void resize(std::size_t supports) { (void)supports; }
    // How many support vectors a state may have.
    virtual std::size_t most_supports() const { return static_cast<std::size_t>(-1); }
    virtual std::size_t bytes() const = 0;

  protected:
    // Forget all that was learned; outputs_ is the new number of outputs.
    virtual void reset() = 0;
    // f of one row; whatever is computed on the way may be kept for the update that follows.
    virtual void score(const double* x, double* f) = 0;
    // Learn the row that was just scored.
    virtual void update(const double* x, const double* y, double weight, const double* f) = 0;

    std::size_t features_, outputs_ = 1;
};

}  // namespace nolana
