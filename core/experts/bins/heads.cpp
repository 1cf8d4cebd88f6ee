// Heads on bins: DiagonalBins converges (second order, diagonal), ConstantBins tracks (constant gain).
//
// DiagonalBins: a slot has a variance s and c weights; a linear part on (z, 1) with variances is learned jointly.
//     f = sum of weights + linear,   v = sum of s + sum_j s_j z_j^2,   delta and h of an implicit step
//     weights += s delta,   s <- max(floor, s - s^2 h/(1 + h v)),   in int16 with stochastic rounding (bin_table.hpp)
// Probes (probes.hpp) measure the relevance of features.
// ConstantBins: weights of slot/4 += gain delta, v = G gain; the linear part of a DiagonalBins is its offset.
#include "bind/bind.hpp"
#include "experts/head.hpp"
#include "experts/bins/bin_table.hpp"
#include "experts/implicit.hpp"
#include "experts/bins/bin_map.hpp"
#include "experts/bins/probes.hpp"

namespace nolana {

class BinHead : public HeadOn<SparseMap> {
  public:
    explicit BinHead(std::shared_ptr<const Loss> loss) : loss_(std::move(loss)), step_(loss_->linear()) {}

    void clear(std::size_t outputs) override { set_outputs(outputs); }
    void append_output(double) override { set_outputs(outputs_ + 1); }

  protected:
    void set_outputs(std::size_t outputs) {
        outputs_ = outputs;
        step_.clear(outputs);
        changes_ = BufferOf<float>(padded(1 + outputs, 8));
    }

    std::shared_ptr<const Loss> loss_;
    ImplicitStep step_;
    std::size_t outputs_ = 0;
    BufferOf<float> changes_{0};  // of each value of a bucket
};

class DiagonalBins final : public BinHead, private Offsets {
    using Cells = BinTable<1, true>;

  public:
    DiagonalBins(std::shared_ptr<const Loss> loss, double variance, double linear, double floor, bool probes)
        : BinHead(std::move(loss)), steps_(Cells::most / variance), linear_start_(linear),
          floor_(static_cast<float>(std::min(Cells::most, std::max(1.0, std::nearbyint(floor * steps_))))), probes_(probes) {}

    void clear(std::size_t outputs) override {
        BinHead::clear(outputs);
        const std::size_t d = map_->features() + 1, width = map_->width();
        cells_.clear(map_->table(), map_->grids(), outputs, room_for(outputs));
        linear_ = Buffer(std::max<std::size_t>(1, room_for(outputs)) * width);
        linear_variances_ = Buffer(width);
        pulls_ = Buffer(width);
        std::fill_n(linear_variances_.data(), d, linear_start_);
        offsets_ = Buffer(group * std::max<std::size_t>(1, outputs));
        if (probes_) probes_.clear(d - 1, map_->grids(), outputs);
    }
    void append_output(double rows) override {
        BinHead::append_output(rows);
        cells_.append_output();
        linear_[(outputs_ - 1) * map_->width() + map_->features()] = unseen(rows);
        offsets_ = Buffer(group * outputs_);
        if (probes_) probes_.set_outputs(outputs_);
    }
    // The linear part of the scores of row r, (outputs).
    const Offsets* offsets() const override { return this; }
    const double* offset(std::size_t r) const override { return offsets_.data() + r * outputs_; }

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
        cells_.read(map_->slots(r), map_->grids());
        v += cells_.variances() / steps_;
        for (std::size_t o = 0; o < outputs_; ++o) f[o] += cells_.weights(o);
        variance_[r] = v;
    }
    void learn(std::size_t r, const double* y, const double* f, double weight, double rows, const Noise& noise) override {
        const std::size_t width = map_->width();
        if (probes_) probe(r, y, f, rows, noise);
        const double v = variance_[r], h = step_.take(f, v, y, weight, noise), e = h / (1 + h * v);
        const double *delta = step_.delta(), *z = map_->dense(r);
        const double share = Cells::weight_steps / steps_;  // steps of a weight for a step of the variance
        for (std::size_t o = 0; o < outputs_; ++o) changes_[1 + o] = static_cast<float>(delta[o] * share);
        cells_.learn(map_->slots(r), map_->grids(), {changes_.data(), static_cast<float>(e / steps_), floor_, rows});
        for (std::size_t j = 0; j < width; ++j) {
            pulls_[j] = linear_variances_[j] * z[j];
            linear_variances_[j] -= pulls_[j] * pulls_[j] * e;
        }
        for (std::size_t o = 0; o < outputs_; ++o) add_scaled(delta[o], pulls_.data(), linear_.data() + o * width, width);
    }
    void describe(Description& d) override {
        const std::size_t n = map_->table(), width = map_->features() + 1, c = outputs_;
        d.scratch(cells_, offsets_, pulls_, changes_, step_);
        Field cells{"cells", {n, Side::outputs(c)}, {}, {}};
        cells.get_single = [this](float* to) { cells_.get_weights(to); };
        cells.set_single = [this](const float* from) { cells_.set_weights(from); };
        cells.table = true;
        d.add(std::move(cells));
        Field variances{"variances", {n}, {}, {}, 0.0};
        variances.get_single = [this](float* to) { cells_.get_variances(to, steps_); };
        variances.set_single = [this](const float* from) { cells_.set_variances(from, steps_); };
        variances.table = true;
        d.add(std::move(variances));
        d.matrix("linear", linear_, Side::outputs(c), width, map_->width());
        d.vector("linear_variances", linear_variances_, width);
        d.fields.back().low = 0;
        if (probes_) probes_.describe(d);
    }
    void resize(const Sizes& sizes, const std::string& prefix) override {
        if (probes_) probes_.resize(sizes.at(prefix + "sample"));
    }

  private:
    // What the loss of the row would be with a feature of another row.
    void probe(std::size_t r, const double* y, const double* f, double rows, const Noise& noise) {
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
    // Adds to f what it changes when the bins at `after` replace those at `before`.
    void replace_cells(const std::uint32_t* before, const std::uint32_t* after, double* f) const {
        constexpr std::size_t stretch = 64;
        for (std::size_t start = 0; start < map_->grids(); start += stretch) {
            const std::size_t end = std::min(map_->grids(), start + stretch);
            std::size_t changed[stretch], count = 0;  // grids, found without a branch for each
            for (std::size_t g = start; g < end; ++g) {
                changed[count] = g;
                count += before[g] != after[g];
            }
            for (std::size_t i = 0; i < count; ++i)
                for (std::size_t o = 0; o < outputs_; ++o)
                    f[o] += cells_.weight(after[changed[i]], o) - cells_.weight(before[changed[i]], o);
        }
    }
    double row_loss(const double* f, const double* y, const Noise& noise) const {
        if (loss_->linear()) return std::min(10.0, 0.5 * (y[0] - f[0]) * (y[0] - f[0]) / noise.variance);
        if (outputs_ == 1) {
            const double margin = y[0] * f[0];
            return std::min(6.0, margin > 0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin);
        }
        const double top = *std::max_element(f, f + outputs_);
        double sum = 0;
        for (std::size_t o = 0; o < outputs_; ++o) sum += std::exp(f[o] - top);
        return std::min(6.0, std::log(sum) + top - f[std::max_element(y, y + outputs_) - y]);
    }

    double steps_, linear_start_;  // steps of the variance 1
    float floor_;                  // of the variances, in steps
    Probes probes_;
    Cells cells_;
    Buffer linear_{0}, linear_variances_{0}, pulls_{0};
    mutable Buffer offsets_{0};
    mutable double variance_[group] = {};
};

class ConstantBins final : public BinHead {
    static constexpr std::size_t fold = 4;  // slots of the map that share one here
    using Cells = BinTable<fold, false>;

  public:
    ConstantBins(std::shared_ptr<const Loss> loss, double gain, std::size_t offset)
        : BinHead(std::move(loss)), gain_(gain), offset_(offset) {}

    void connect(const std::vector<Head*>& heads) override {
        slow_ = offset_ < heads.size() ? heads[offset_]->offsets() : nullptr;
        if (!slow_) throw std::invalid_argument("the offset of constant cells is the index of an expert with diagonal cells");
    }
    void clear(std::size_t outputs) override {
        BinHead::clear(outputs);
        cells_.clear((map_->table() + fold - 1) / fold, map_->grids(), outputs, room_for(outputs));
    }
    void append_output(double rows) override {
        BinHead::append_output(rows);
        cells_.append_output();
    }
    void scores(std::size_t r, double* f) const override {
        cells_.read(map_->slots(r), map_->grids());
        const double* offset = slow_->offset(r);
        for (std::size_t o = 0; o < outputs_; ++o) f[o] = cells_.weights(o) + offset[o];
    }
    void learn(std::size_t r, const double* y, const double* f, double weight, double rows, const Noise& noise) override {
        step_.take(f, gain_ * static_cast<double>(map_->grids()), y, weight, noise);
        const double* delta = step_.delta();
        for (std::size_t o = 0; o < outputs_; ++o) changes_[o] = static_cast<float>(delta[o] * (gain_ * Cells::weight_steps));
        cells_.learn(map_->slots(r), map_->grids(), {changes_.data(), 0, 0, rows});
    }
    void describe(Description& d) override {
        d.scratch(cells_, changes_, step_);
        Field cells{"cells", {cells_.slots(), Side::outputs(outputs_)}, {}, {}};
        cells.get_single = [this](float* to) { cells_.get_weights(to); };
        cells.set_single = [this](const float* from) { cells_.set_weights(from); };
        cells.table = true;
        d.add(std::move(cells));
    }

  private:
    double gain_;
    std::size_t offset_;
    const Offsets* slow_ = nullptr;
    Cells cells_;
};

NOLANA_BINDING(cells) {
    using LossArgument = std::shared_ptr<const Loss>;
    nb::class_<DiagonalBins, Head>(m, "DiagonalBins")
        .def(nb::init<LossArgument, double, double, double, bool>(), "loss"_a, "variance"_a, "linear"_a, "floor"_a,
             "probes"_a = false);
    nb::class_<ConstantBins, Head>(m, "ConstantBins")
        .def(nb::init<LossArgument, double, std::size_t>(), "loss"_a, "gain"_a, "offset"_a);
}

}  // namespace nolana
