// Heads on cells: DiagonalCells converges (second order, diagonal), ConstantCells tracks (constant gain).
//
// DiagonalCells: a slot has a variance s and c weights; a linear part on (z, 1) with variances is learned jointly.
//     f = sum of weights + linear,   v = sum of s + sum_j s_j z_j^2,   delta and h of an implicit step
//     weights += s delta,   s <- max(floor, s - s^2 h/(1 + h v))
// Probes (probes.hpp) measure the relevance of features.
// ConstantCells: weights of slot/4 += gain delta, v = G gain; the linear part of a DiagonalCells is its offset.
#include <type_traits>

#include "bind/bind.hpp"
#include "head.hpp"
#include "implicit.hpp"
#include "maps/cell_map.hpp"
#include "probes.hpp"

namespace nolana {

constexpr std::size_t overhang = 2 * lanes;  // numbers read beyond a cell

// Calls work with the number of vectors of a cell as a constant, 1 to 4; false where there are more.
template <class Work> bool with_vectors(std::size_t numbers, Work work) {
    switch ((numbers + lanes - 1) / lanes) {
        case 1: return work(std::integral_constant<std::size_t, 1>()), true;
        case 2: return work(std::integral_constant<std::size_t, 2>()), true;
        case 3: return work(std::integral_constant<std::size_t, 3>()), true;
        case 4: return work(std::integral_constant<std::size_t, 4>()), true;
        default: return false;
    }
}

// Adds up the cells of a row, slots / fold; cells are `stride` numbers long, and `overhang` more follow the last one.
template <std::size_t fold, std::size_t vectors>
void add_up(const float* cells, std::size_t stride, const std::uint32_t* slots, std::size_t grids, double* sums) {
    Vec total[2][vectors];  // of even and of odd grids: an addition need not wait for the one before
    std::fill_n(&total[0][0], 2 * vectors, Vec::zero());
    const auto add = [&](std::size_t g, Vec* to) {
        const float* cell = cells + slots[g] / fold * stride;
        for (std::size_t k = 0; k < vectors; ++k) to[k] = to[k] + Vec::load(cell + k * lanes);
    };
    std::size_t g = 0;
    for (; g + 2 <= grids; g += 2) {
        add(g, total[0]);
        add(g + 1, total[1]);
    }
    if (g < grids) add(g, total[0]);
    for (std::size_t k = 0; k < vectors; ++k) (total[0][k] + total[1][k]).store(sums + k * lanes);
}
template <std::size_t fold>
void add_up(const float* cells, std::size_t stride, const std::uint32_t* slots, std::size_t grids, double* sums) {
    const auto add = [&](auto vectors) { add_up<fold, vectors>(cells, stride, slots, grids, sums); };
    if (with_vectors(stride, add)) return;
    for (std::size_t k = 0; k < stride; k += 2 * lanes) add_up<fold, 2>(cells + k, stride, slots, grids, sums + k);
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
    }
    void grown(const Growth&) override {}
    void moved(const Move&) override {}
    void resize(const Sizes& sizes, const std::string&) override { clear(sizes.at("outputs")); }

  protected:
    std::shared_ptr<const Loss> loss_;
    ImplicitStep step_;
    SparseMap* map_ = nullptr;
    std::size_t outputs_ = 0;
    mutable Buffer sums_{0};  // of a row's cells; the step of each number of a cell
};

class DiagonalCells final : public CellHead {
  public:
    DiagonalCells(std::shared_ptr<const Loss> loss, double variance, double linear, double floor, bool probes)
        : CellHead(std::move(loss)), start_(static_cast<float>(variance)), linear_start_(linear), floor_(floor),
          probes_(probes) {}

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
        if (outputs_ == 1) {  // variances and weights in turn, of four cells
            Vec low = Vec::zero(), high = Vec::zero();
            const auto cell = [&](std::size_t g) { return cells + 2 * static_cast<std::size_t>(slots[g]); };
            std::size_t g = 0;
            for (; g + 4 <= grids; g += 4) {
                low = low + Vec::load_pairs(cell(g), cell(g + 1));
                high = high + Vec::load_pairs(cell(g + 2), cell(g + 3));
            }
            double own[8];
            low.store(own);
            high.store(own + lanes);
            for (; g < grids; ++g) {
                own[0] += static_cast<double>(cell(g)[0]);
                own[1] += static_cast<double>(cell(g)[1]);
            }
            f[0] += (own[1] + own[3]) + (own[5] + own[7]);
            v += (own[0] + own[2]) + (own[4] + own[6]);
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
            learn_pairs(slots, grids, delta[0], e);
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
        d.scratch(cells_, offsets_, pulls_, sums_, step_);
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
    void learn_pairs(const std::uint32_t* slots, std::size_t grids, double delta, double e) {
        float* cells = cells_.data();
        const double floor = floor_;
        const auto cell_of = [&](std::size_t g) { return cells + 2 * static_cast<std::size_t>(slots[g]); };
        const auto learn_one = [&](float* cell) {
            const double s = static_cast<double>(cell[0]);
            cell[1] = static_cast<float>(static_cast<double>(cell[1]) + s * delta);
            cell[0] = static_cast<float>(std::max(floor, s - s * s * e));
        };
        const Vec deltas = Vec::all(delta), factors = even_odd(Vec::all(e), Vec::all(1)), floors = Vec::all(floor);
        std::size_t g = 0;
        for (; g + 2 <= grids; g += 2) {
            float *a = cell_of(g), *b = cell_of(g + 1);
            if (a == b) {
                learn_one(a);
                learn_one(b);
                continue;
            }
            const Vec both = Vec::load_pairs(a, b);
            const Vec after = subtract_add(both, even_twice(both) * even_odd(both, deltas) * factors);
            even_odd(max(after, floors), after).store_pairs(a, b);
        }
        if (g < grids) learn_one(cell_of(g));
    }
    void learn_cells(const std::uint32_t* slots, std::size_t grids, const double* delta, double e) {
        const std::size_t stride = stride_;
        float* cells = cells_.data();
        double* steps = sums_.data();
        sums_.clear();
        std::copy_n(delta, outputs_, steps + 1);
        const Vec es = Vec::all(e), floors = Vec::all(floor_);
        const auto learn = [&](auto vectors) {
            Vec step[vectors];
            for (std::size_t k = 0; k < vectors; ++k) step[k] = Vec::load(steps + k * lanes);
            for (std::size_t g = 0; g < grids; ++g) {
                float* cell = cells + slots[g] * stride;
                const Vec s = Vec::all(static_cast<double>(cell[0]));
                Vec after[vectors];
                for (std::size_t k = 0; k < vectors; ++k) after[k] = fma(s, step[k], Vec::load(cell + k * lanes));
                after[0] = first<1>(max(s - s * s * es, floors), after[0]);
                for (std::size_t k = 0; k < vectors; ++k) after[k].store(cell + k * lanes);  // beyond the cell by steps of 0
            }
        };
        if (with_vectors(stride, learn)) return;
        for (std::size_t g = 0; g < grids; ++g) {
            float* cell = cells + slots[g] * stride;
            const double s = static_cast<double>(cell[0]);
            for (std::size_t k = 0; k < stride; k += lanes)
                fma(Vec::all(s), Vec::load(steps + k), Vec::load(cell + k)).store(cell + k);
            cell[0] = static_cast<float>(std::max(floor_, s - s * s * e));
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

    float start_;
    double linear_start_, floor_;
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
            double own[4] = {};
            std::size_t g = 0;
            for (; g + 4 <= grids; g += 4)
                for (std::size_t k = 0; k < 4; ++k) own[k] += static_cast<double>(cells[at[g + k] / fold]);
            for (; g < grids; ++g) own[0] += static_cast<double>(cells[at[g] / fold]);
            f[0] = (own[0] + own[1]) + (own[2] + own[3]);
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
            const double pull = gain_ * delta[0];
            float* cells = cells_.data();
            for (std::size_t g = 0; g < grids; ++g)
                cells[at[g] / fold] = static_cast<float>(static_cast<double>(cells[at[g] / fold]) + pull);
        } else {
            learn_cells(at, grids, delta);
        }
    }
    void describe(Description& d) override {
        d.scratch(sums_, step_);
        d.single("cells", cells_, slots(), Side::outputs(outputs_), -std::numeric_limits<double>::infinity());
    }

  private:
    static constexpr std::size_t fold = 4;  // slots of the map that share one here
    std::size_t slots() const { return (map_->table() + fold - 1) / fold; }
    void learn_cells(const std::uint32_t* slots, std::size_t grids, const double* delta) {
        const std::size_t stride = outputs_;
        float* cells = cells_.data();
        double* steps = sums_.data();
        sums_.clear();
        for (std::size_t o = 0; o < stride; ++o) steps[o] = gain_ * delta[o];
        const auto learn = [&](auto vectors) {
            Vec step[vectors];
            for (std::size_t k = 0; k < vectors; ++k) step[k] = Vec::load(steps + k * lanes);
            for (std::size_t g = 0; g < grids; ++g) {
                float* cell = cells + slots[g] / fold * stride;
                Vec after[vectors];
                for (std::size_t k = 0; k < vectors; ++k) after[k] = Vec::load(cell + k * lanes) + step[k];
                for (std::size_t k = 0; k < vectors; ++k) after[k].store(cell + k * lanes);  // beyond the cell by steps of 0
            }
        };
        if (with_vectors(stride, learn)) return;
        for (std::size_t g = 0; g < grids; ++g) {
            float* cell = cells + slots[g] / fold * stride;
            for (std::size_t k = 0; k < stride; k += lanes) (Vec::load(cell + k) + Vec::load(steps + k)).store(cell + k);
        }
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
