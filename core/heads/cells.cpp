// Heads on cells: DiagonalCells converges (second order, diagonal), ConstantCells tracks (constant gain).
//
// DiagonalCells: a slot has a variance s and c weights; a linear part on (z, 1) with variances is learned jointly.
//     f = sum of weights + linear,   v = sum of s + sum_j s_j z_j^2,   delta and h of an implicit step
//     weights += s delta,   s <- max(floor, s - s^2 h/(1 + h v)),   in single precision
// Probes (probes.hpp) measure the relevance of features.
// ConstantCells: weights of slot/4 += gain delta, v = G gain; the linear part of a DiagonalCells is its offset.
#include <type_traits>

#include "bind/bind.hpp"
#include "head.hpp"
#include "implicit.hpp"
#include "maps/cell_map.hpp"
#include "probes.hpp"

namespace nolana {

constexpr std::size_t overhang = 8;  // numbers that are read and written beyond a cell, at most

// cell += factor step over `stride` numbers; steps beyond the cell are 0.
inline void add_steps(float factor, const float* steps, float* cell, std::size_t stride) {
    for (std::size_t k = 0; k < stride; k += overhang) add_scaled_eight(factor, steps + k, cell + k);
}

// Adds up the cells of a row, slots / fold: in single precision (a + c) + (b + d) of four cells, these in double precision.
template <std::size_t fold>
void add_up(const float* cells, std::size_t stride, const std::uint32_t* slots, std::size_t grids, double* sums) {
    for (std::size_t k = 0; k < stride; k += overhang) {
        const auto cell = [&](std::size_t g) { return cells + slots[g] / fold * stride + k; };
        Vec low = Vec::zero(), high = Vec::zero();
        std::size_t g = 0;
        for (; g + 4 <= grids; g += 4) add_four(cell(g), cell(g + 1), cell(g + 2), cell(g + 3), low, high);
        for (; g < grids; ++g) {
            low = low + Vec::load(cell(g));
            high = high + Vec::load(cell(g) + lanes);
        }
        low.store(sums + k);
        high.store(sums + k + lanes);
    }
}

class CellHead : public Head {
  public:
    explicit CellHead(std::shared_ptr<const Loss> loss) : loss_(std::move(loss)), step_(loss_->linear()) {}

    void attach(Map& map) override {
        if (map_) throw std::invalid_argument("a head can belong to one expert only");
        map_ = dynamic_cast<SparseMap*>(&map);
        if (!map_) throw std::invalid_argument("this head learns on sparse features, and the map has dense ones");
    }
    void clear(std::size_t outputs) override {
        outputs_ = outputs;
        step_.clear(outputs);
        sums_ = Buffer(padded(1 + outputs, overhang));
        steps_ = BufferOf<float>(padded(1 + outputs, overhang));
    }
    void grown(const Growth&) override {}
    void moved(const Move&) override {}
    void resize(const Sizes& sizes, const std::string&) override { clear(sizes.at("outputs")); }

  protected:
    std::shared_ptr<const Loss> loss_;
    ImplicitStep step_;
    SparseMap* map_ = nullptr;
    std::size_t outputs_ = 0;
    mutable Buffer sums_{0};     // of a row's cells
    BufferOf<float> steps_{0};  // of the numbers of a cell
};

class DiagonalCells final : public CellHead {
  public:
    DiagonalCells(std::shared_ptr<const Loss> loss, double variance, double linear, double floor, bool probes)
        : CellHead(std::move(loss)), start_(static_cast<float>(variance)), floor_(static_cast<float>(floor)),
          linear_start_(linear), probes_(probes) {}

    void clear(std::size_t outputs) override {
        CellHead::clear(outputs);
        const std::size_t n = map_->table(), d = map_->features() + 1, width = map_->width();
        stride_ = 1 + outputs;
        cells_ = BufferOf<float>(n * stride_ + overhang);
        for (std::size_t i = 0; i < n; ++i) cells_[i * stride_] = start_;
        linear_ = Buffer(std::max<std::size_t>(1, outputs) * width);
        linear_variances_ = Buffer(width);
        pulls_ = Buffer(width);
        std::fill_n(linear_variances_.data(), d, linear_start_);
        offsets_ = Buffer(group * std::max<std::size_t>(1, outputs));
        if (probes_) probes_.clear(d - 1, map_->grids(), outputs);
    }
    // The linear part of the scores of row r, (outputs).
    const double* offset(std::size_t r) const { return offsets_.data() + r * outputs_; }

    void scores(std::size_t r, double* f) const override {
        const std::size_t width = map_->width();
        const double* z = map_->dense(r);
        Vec squares = Vec::zero();
        for (std::size_t j = 0; j < width; j += lanes) {
            const Vec own = Vec::load(z + j);
            squares = fma(Vec::load(linear_variances_.data() + j) * own, own, squares);
        }
        double v = sum(squares);
        for (std::size_t o = 0; o < outputs_; ++o)
            f[o] = offsets_[r * outputs_ + o] = dot(linear_.data() + o * width, z, width);
        const std::uint32_t* slots = map_->slots(r);
        const std::size_t grids = map_->grids();
        const float* cells = cells_.data();
        if (outputs_ == 1) {  // variances and weights in turn, of eight cells
            Vec sums = Vec::zero();
            const auto cell = [&](std::size_t g) { return cells + 2 * static_cast<std::size_t>(slots[g]); };
            const auto pairs = [&](std::size_t g) {  // a + c, b + d
                return Singles::load_pairs(cell(g), cell(g + 1)) + Singles::load_pairs(cell(g + 2), cell(g + 3));
            };
            std::size_t g = 0;
            for (; g + 8 <= grids; g += 8) {
                const Singles one = pairs(g), other = pairs(g + 4);
                sums = sums + (first_halves(one, other) + second_halves(one, other)).doubles();
            }
            double own[lanes];
            sums.store(own);
            if (g + 4 <= grids) {
                float rest[lanes];
                pairs(g).store_pairs(rest, rest + 2);
                own[0] += static_cast<double>(rest[0] + rest[2]);
                own[1] += static_cast<double>(rest[1] + rest[3]);
                g += 4;
            }
            for (; g < grids; ++g) {
                own[0] += static_cast<double>(cell(g)[0]);
                own[1] += static_cast<double>(cell(g)[1]);
            }
            f[0] += own[1] + own[3];
            v += own[0] + own[2];
        } else {
            add_up<1>(cells, stride_, slots, grids, sums_.data());
            v += sums_[0];
            for (std::size_t o = 0; o < outputs_; ++o) f[o] += sums_[1 + o];
        }
        variance_[r] = v;
    }
    void learn(std::size_t r, const double* y, const double* f, double weight, double rows, double noise) override {
        const std::size_t width = map_->width();
        if (probes_) probe(r, y, f, rows, noise);
        const double v = variance_[r], h = step_.take(f, v, y, weight, noise), e = h / (1 + h * v);
        const double *delta = step_.delta(), *z = map_->dense(r);
        const std::uint32_t* slots = map_->slots(r);
        const std::size_t grids = map_->grids();
        if (outputs_ == 1)
            learn_pairs(slots, grids, static_cast<float>(delta[0]), static_cast<float>(e));
        else
            learn_cells(slots, grids, delta, e);
        for (std::size_t j = 0; j < width; ++j) {
            pulls_[j] = linear_variances_[j] * z[j];
            linear_variances_[j] -= pulls_[j] * pulls_[j] * e;
        }
        for (std::size_t o = 0; o < outputs_; ++o) add_scaled(delta[o], pulls_.data(), linear_.data() + o * width, width);
    }
    void describe(Description& d) override {
        const std::size_t n = map_->table(), width = map_->features() + 1, c = outputs_;
        d.scratch(cells_, offsets_, pulls_, sums_, steps_, step_);
        Field cells{"cells", {n, Side::outputs(c)}, {}, {}};
        cells.get_single = [this, n, c](float* to) {
            for (std::size_t i = 0; i < n; ++i) std::copy_n(cells_.data() + i * stride_ + 1, c, to + i * c);
        };
        cells.set_single = [this, n, c](const float* from) {
            for (std::size_t i = 0; i < n; ++i) std::copy_n(from + i * c, c, cells_.data() + i * stride_ + 1);
        };
        d.add(std::move(cells));
        Field variances{"variances", {n}, {}, {}, 0.0};
        variances.get_single = [this, n](float* to) {
            for (std::size_t i = 0; i < n; ++i) to[i] = cells_[i * stride_];
        };
        variances.set_single = [this, n](const float* from) {
            for (std::size_t i = 0; i < n; ++i) cells_[i * stride_] = from[i];
        };
        d.add(std::move(variances));
        d.matrix("linear", linear_, Side::outputs(c), width, map_->width());
        d.vector("linear_variances", linear_variances_, width);
        d.fields.back().low = 0;
        if (probes_) probes_.describe(d);
    }
    void resize(const Sizes& sizes, const std::string& prefix) override {
        CellHead::resize(sizes, prefix);
        if (probes_) probes_.resize(sizes.at(prefix + "sample"));
    }

  private:
    // Of one output: two cells at a time.
    void learn_pairs(const std::uint32_t* slots, std::size_t grids, float delta, float e) {
        float* cells = cells_.data();
        const float floor = floor_;
        const auto cell_of = [&](std::size_t g) { return cells + 2 * static_cast<std::size_t>(slots[g]); };
        const auto learn_one = [&](float* cell) {
            const float s = cell[0];
            cell[1] += s * delta;
            cell[0] = std::max(floor, s - s * s * e);
        };
        const Singles deltas = Singles::all(delta), floors = Singles::all(floor);
        const Singles factors = even_odd(Singles::all(e), Singles::all(1));
        std::size_t g = 0;
        for (; g + 2 <= grids; g += 2) {
            float *a = cell_of(g), *b = cell_of(g + 1);
            if (a == b) {
                learn_one(a);
                learn_one(b);
                continue;
            }
            const Singles both = Singles::load_pairs(a, b);
            const Singles after = subtract_add(both, even_twice(both) * even_odd(both, deltas) * factors);
            even_odd(max(after, floors), after).store_pairs(a, b);
        }
        if (g < grids) learn_one(cell_of(g));
    }
    void learn_cells(const std::uint32_t* slots, std::size_t grids, const double* delta, double e) {
        const std::size_t stride = stride_;
        float *cells = cells_.data(), *steps = steps_.data();
        std::transform(delta, delta + outputs_, steps + 1, [](double d) { return static_cast<float>(d); });
        const float share = static_cast<float>(e), floor = floor_;
        for (std::size_t g = 0; g < grids; ++g) {
            float* cell = cells + slots[g] * stride;
            const float s = cell[0];
            add_steps(s, steps, cell, stride);
            cell[0] = std::max(floor, s - s * s * share);
        }
    }
    // What the loss of the row would be with a feature of another row.
    void probe(std::size_t r, const double* y, const double* f, double rows, double noise) {
        const auto step = static_cast<std::uint64_t>(rows);
        const double* z = map_->dense(r);
        double before = 0;
        for (std::size_t i = 0; i < probes_.due(step); ++i) {
            if (i == 0) before = row_loss(f, y, noise);
            const std::size_t j = probes_.feature(step, i);
            const float value = probes_.value(step, j);
            map_->slots_with(r, j, value, probes_.slots());
            double* other = probes_.scores();
            std::copy_n(f, outputs_, other);
            replace_cells(map_->slots(r), probes_.slots(), other);
            for (std::size_t o = 0; o < outputs_; ++o) other[o] += linear_[o * map_->width() + j] * (static_cast<double>(value) - z[j]);
            probes_.count(j, row_loss(other, y, noise) - before);
        }
        probes_.store(step, z);
    }
    // Adds to f what it changes when the cells at `after` replace those at `before`.
    void replace_cells(const std::uint32_t* before, const std::uint32_t* after, double* f) const {
        constexpr std::size_t stretch = 64;
        for (std::size_t start = 0; start < map_->grids(); start += stretch) {
            const std::size_t end = std::min(map_->grids(), start + stretch);
            std::size_t changed[stretch], count = 0;  // grids, found without a branch for each
            for (std::size_t g = start; g < end; ++g) {
                changed[count] = g;
                count += before[g] != after[g];
            }
            for (std::size_t i = 0; i < count; ++i) {
                const float *to = cells_.data() + after[changed[i]] * stride_ + 1,
                            *from = cells_.data() + before[changed[i]] * stride_ + 1;
                for (std::size_t o = 0; o < outputs_; ++o) f[o] += static_cast<double>(to[o]) - static_cast<double>(from[o]);
            }
        }
    }
    double row_loss(const double* f, const double* y, double noise) const {
        if (loss_->linear()) return std::min(10.0, 0.5 * (y[0] - f[0]) * (y[0] - f[0]) / noise);
        if (outputs_ == 1) {
            const double margin = y[0] * f[0];
            return std::min(6.0, margin > 0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin);
        }
        const double top = *std::max_element(f, f + outputs_);
        double sum = 0;
        for (std::size_t o = 0; o < outputs_; ++o) sum += std::exp(f[o] - top);
        return std::min(6.0, std::log(sum) + top - f[std::max_element(y, y + outputs_) - y]);
    }

    float start_, floor_;
    double linear_start_;
    Probes probes_;
    std::size_t stride_ = 1;
    BufferOf<float> cells_{0};  // for each slot a variance and its weights
    Buffer linear_{0}, linear_variances_{0}, pulls_{0};
    mutable Buffer offsets_{0};
    mutable double variance_[group] = {};
};

class ConstantCells final : public CellHead {
  public:
    ConstantCells(std::shared_ptr<const Loss> loss, double gain, std::size_t offset)
        : CellHead(std::move(loss)), gain_(gain), offset_(offset) {}

    void connect(const std::vector<Head*>& heads) override {
        slow_ = offset_ < heads.size() ? dynamic_cast<DiagonalCells*>(heads[offset_]) : nullptr;
        if (!slow_) throw std::invalid_argument("the offset of constant cells is the index of an expert with diagonal cells");
    }
    void clear(std::size_t outputs) override {
        CellHead::clear(outputs);
        cells_ = BufferOf<float>(slots() * outputs + overhang);
    }
    void scores(std::size_t r, double* f) const override {
        const std::uint32_t* at = map_->slots(r);
        const std::size_t grids = map_->grids();
        const float* cells = cells_.data();
        if (outputs_ == 1) {
            const auto cell = [&](std::size_t g) { return cells[at[g] / fold]; };
            double sum = 0;
            std::size_t g = 0;
            for (; g + 4 <= grids; g += 4)
                sum += static_cast<double>((cell(g) + cell(g + 2)) + (cell(g + 1) + cell(g + 3)));
            for (; g < grids; ++g) sum += static_cast<double>(cell(g));
            f[0] = sum;
        } else {
            add_up<fold>(cells, outputs_, at, grids, sums_.data());
            std::copy_n(sums_.data(), outputs_, f);
        }
        for (std::size_t o = 0; o < outputs_; ++o) f[o] += slow_->offset(r)[o];
    }
    void learn(std::size_t r, const double* y, const double* f, double weight, double, double noise) override {
        step_.take(f, gain_ * static_cast<double>(map_->grids()), y, weight, noise);
        const double* delta = step_.delta();
        const std::uint32_t* at = map_->slots(r);
        const std::size_t grids = map_->grids();
        if (outputs_ == 1) {
            const float pull = static_cast<float>(gain_ * delta[0]);
            float* cells = cells_.data();
            for (std::size_t g = 0; g < grids; ++g) cells[at[g] / fold] += pull;
        } else {
            learn_cells(at, grids, delta);
        }
    }
    void describe(Description& d) override {
        d.scratch(sums_, steps_, step_);
        d.single("cells", cells_, slots(), Side::outputs(outputs_), -std::numeric_limits<double>::infinity());
    }

  private:
    static constexpr std::size_t fold = 4;  // slots of the map that share one here
    std::size_t slots() const { return (map_->table() + fold - 1) / fold; }
    void learn_cells(const std::uint32_t* slots, std::size_t grids, const double* delta) {
        const std::size_t stride = outputs_;
        float *cells = cells_.data(), *steps = steps_.data();
        for (std::size_t o = 0; o < stride; ++o) steps[o] = static_cast<float>(gain_ * delta[o]);
        for (std::size_t g = 0; g < grids; ++g) add_steps(1, steps, cells + slots[g] / fold * stride, stride);
    }

    double gain_;
    std::size_t offset_;
    DiagonalCells* slow_ = nullptr;
    BufferOf<float> cells_{0};
};

NOLANA_BINDING(cells) {
    using LossArgument = std::shared_ptr<const Loss>;
    nb::class_<DiagonalCells, Head>(m, "DiagonalCells")
        .def(nb::init<LossArgument, double, double, double, bool>(), "loss"_a, "variance"_a, "linear"_a, "floor"_a,
             "probes"_a = false);
    nb::class_<ConstantCells, Head>(m, "ConstantCells")
        .def(nb::init<LossArgument, double, std::size_t>(), "loss"_a, "gain"_a, "offset"_a);
}

}  // namespace nolana
