// Heads on the leaves of trees: DiagonalLeaves converges (second order, diagonal), ConstantLeaves tracks drift.
//     DiagonalLeaves  f = sum of weights, v = sum of s; weights += s delta, s <- max(floor, s - s^2 h/(1 + h v))
//     ConstantLeaves  weights += gain delta, v = gain times the trees that are grown
// Backfitting: tree q is grown again on what the others leave of the stored rows, whose scores F from before they were
// learned are stored beside them; formulas are in nolana/engine/experts/trees/leaves.py.
#include "base/draw.hpp"
#include "bind/bind.hpp"
#include "experts/bins/bin_table.hpp"
#include "experts/head.hpp"
#include "experts/implicit.hpp"
#include "experts/trees/tree_map.hpp"

namespace nolana {

template <bool varies> class LeafHead : public HeadOn<TreeMap>, public TreeListener {
  protected:
    using Table = BinTable<1, varies>;

  public:
    explicit LeafHead(std::shared_ptr<const Loss> loss) : loss_(std::move(loss)), step_(loss_->linear()) {}

    void attached() override { map_->listen(this, dynamic_cast<ScoredRows*>(this)); }
    void clear(std::size_t outputs) override {
        set_outputs(outputs);
        table_.clear(map_->slots(), map_->trees(), outputs, room_for(outputs));
    }
    // A new class: the trees share its low log-odds.
    void append_output(double rows) override {
        set_outputs(outputs_ + 1);
        table_.append_output();
        if (map_->grown() == 0) return;
        const double share = unseen(rows) / static_cast<double>(map_->grown());
        for (std::size_t i = 0; i < map_->kept_trees() * map_->leaves(); ++i) table_.set_weight(i, outputs_ - 1, share);
    }
    void restart() override { table_.start_again(0, map_->slots()); }
    void start_tree(std::size_t q) override { table_.start_again(q * map_->leaves(), map_->leaves()); }
    void copy_tree(std::size_t q, std::size_t to) override { table_.copy(q * map_->leaves(), to * map_->leaves(), map_->leaves()); }

    void scores(std::size_t r, double* f) const override {
        table_.read(map_->leaves_of_row(r), map_->leaf_count(r));
        for (std::size_t o = 0; o < outputs_; ++o) f[o] = table_.weights(o);
    }
    void describe(Description& d) override {
        Field leaves{"leaves", {table_.slots(), Side::outputs(outputs_)}, {}, {}};
        leaves.get_single = [this](float* to) { table_.get_weights(to); };
        leaves.set_single = [this](const float* from) { table_.set_weights(from); };
        d.add(std::move(leaves));
        d.scratch(table_, changes_, step_);
    }

  protected:
    void set_outputs(std::size_t outputs) {
        outputs_ = outputs;
        step_.clear(outputs);
        changes_ = BufferOf<float>(padded(1 + outputs, 8));
    }

    std::shared_ptr<const Loss> loss_;
    ImplicitStep step_;
    std::size_t outputs_ = 0;
    Table table_;
    BufferOf<float> changes_{0};  // of each value of a leaf
};

class DiagonalLeaves final : public LeafHead<true>, public ScoredRows {
  public:
    DiagonalLeaves(std::shared_ptr<const Loss> loss, double variance, double floor)
        : LeafHead(std::move(loss)), variance_(variance), steps_(Table::most / variance),
          floor_(static_cast<float>(std::min(Table::most, std::max(1.0, std::nearbyint(floor * steps_))))) {}

    void clear(std::size_t outputs) override {
        LeafHead::clear(outputs);
        const std::size_t rows = map_->capacity();
        targets_ = BufferOf<float>(rows);
        row_weights_ = BufferOf<std::uint16_t>(rows);
        stride_ = std::max<std::size_t>(1, room_for(outputs));
        fitted_ = BufferOf<std::int16_t>(rows * stride_);
        set_scratch();
    }
    void append_output(double rows) override {
        LeafHead::append_output(rows);
        const std::int16_t score = rounded(map_->grown() ? unseen(rows) * score_steps : 0);
        for (std::size_t i = 0; i < map_->capacity(); ++i) fitted_[i * stride_ + outputs_ - 1] = score;
        set_scratch();
    }
    void scores(std::size_t r, double* f) const override {
        LeafHead::scores(r, f);
        total_[r] = table_.variances() / steps_;
    }
    void learn(std::size_t r, const double* y, const double* f, double weight, double rows, const Noise& noise) override {
        const double v = total_[r], h = step_.take(f, v, y, weight, noise), e = h / (1 + h * v);
        const double *delta = step_.delta(), share = Table::weight_steps / steps_;
        for (std::size_t o = 0; o < outputs_; ++o) changes_[1 + o] = static_cast<float>(delta[o] * share);
        table_.learn(map_->leaves_of_row(r), map_->leaf_count(r), {changes_.data(), static_cast<float>(e / steps_), floor_, rows});
        noise_ = noise;
        const double kept = kept_share(y, f);
        const bool keeps = static_cast<double>(draw(map_->seed(), static_cast<std::uint64_t>(rows)) >> 11) * 0x1p-53 < kept;
        map_->keep(keeps);
        if (keeps) store(y, f, weight / kept);
    }

    void restart() override {
        LeafHead::restart();
        fitted_.clear();
    }
    void add(std::size_t q, int sign) override {
        for (std::size_t i = 0; i < map_->stored(); ++i) {
            const std::size_t slot = q * map_->leaves() + map_->leaf_of(i);
            for (std::size_t o = 0; o < outputs_; ++o) {
                std::int16_t& score = *(fitted_.data() + i * stride_ + o);
                score = rounded(score + sign * ((table_.weight_in_steps(slot, o) + 4) >> 3));  // a weight has eight times as many steps
            }
        }
    }
    double gradients(std::uint64_t word, Gradient* gradients) override {
        draw_signs(word);
        for (std::size_t i = 0; i < map_->stored(); ++i) gradients[i] = gradient(i);
        return loss_->linear() ? noise_.variance : 1;
    }
    bool was_better(std::size_t old, std::size_t now, std::size_t rows) override {
        double sum = 0, squares = 0;
        for (std::size_t k = map_->stored() - rows; k < map_->stored(); ++k) {
            const std::size_t row = map_->place(k);
            const std::size_t before = old * map_->leaves() + map_->leaf_in(old, row), after = now * map_->leaves() + map_->leaf_in(now, row);
            for (std::size_t o = 0; o < outputs_; ++o)
                sums_[o] = (table_.weight_in_steps(before, o) - table_.weight_in_steps(after, o)) / Table::weight_steps;
            const double e = row_weights_[row] / score_steps * (loss_with(row, nullptr) - loss_with(row, sums_.data()));
            sum += e;
            squares += e * e;
        }
        return sum > clearly * std::sqrt(squares);
    }
    void start_tree(std::size_t q) override {
        const std::size_t n = map_->leaves();
        sums_.clear();
        for (std::size_t k = 0; k < map_->stored(); ++k) add_to_leaf(map_->leaf_of(map_->place(k)), map_->place(k));
        const double root = loss_->linear() ? std::sqrt(noise_.variance) : 1, nu = loss_->linear() ? noise_.variance : 1;
        const std::size_t first = q * n, width = outputs_ + 1;
        for (std::size_t leaf = 0; leaf < n; ++leaf) {
            const double* sums = sums_.data() + leaf * width;
            const double precision = sums[outputs_] / nu + 1 / variance_;
            for (std::size_t o = 0; o < outputs_; ++o)
                table_.set_weight(first + leaf, o, shrinkage * (sums[o] / root) / precision);
            table_.set_variance(first + leaf, steps_ / precision);
        }
        add(q, 1);
    }

    void describe(Description& d) override {
        LeafHead::describe(d);
        const std::size_t n = map_->stored(), c = outputs_;
        const auto single = [&](const char* name, std::vector<Side> shape, double low, double high, std::function<void(float*)> get,
                                std::function<void(const float*)> set) {
            Field field{name, std::move(shape), {}, {}, low, high};
            field.get_single = std::move(get);
            field.set_single = std::move(set);
            d.add(std::move(field));
        };
        constexpr double any = std::numeric_limits<double>::infinity();
        constexpr auto steps = static_cast<float>(score_steps);
        single("variances", {table_.slots()}, 0, any, [this](float* to) { table_.get_variances(to, steps_); },
               [this](const float* from) { table_.set_variances(from, steps_); });
        single("targets", {map_->side()}, -largest_target, largest_target,
               [this, n](float* to) {
                   for (std::size_t i = 0; i < n; ++i) to[i] = targets_[map_->place(i)];
               },
               [this, n](const float* from) { std::copy_n(from, n, targets_.data()); });
        single("row_weights", {map_->side()}, 0, any,
               [this, n](float* to) {
                   for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<float>(row_weights_[map_->place(i)]) / steps;
               },
               [this, n](const float* from) {
                   for (std::size_t i = 0; i < n; ++i) row_weights_[i] = weight_in_steps(static_cast<double>(from[i]));
               });
        single("fitted", {map_->side(), Side::outputs(c)}, -any, any,
               [this, n, c](float* to) {
                   for (std::size_t i = 0; i < n; ++i)
                       for (std::size_t o = 0; o < c; ++o) *to++ = static_cast<float>(fitted_[map_->place(i) * stride_ + o]) / steps;
               },
               [this, n, c](const float* from) {
                   for (std::size_t i = 0; i < n; ++i)
                       for (std::size_t o = 0; o < c; ++o)
                           fitted_[i * stride_ + o] = rounded(static_cast<double>(*from++) * score_steps);
               });
        d.scratch(targets_, row_weights_, fitted_, signs_, p_, sums_);
    }

  private:
    static constexpr double score_steps = 1024, gradient_steps = 1024, shrinkage = 0.3, least_share = 0.1, clip = 4, clearly = 2, least_curvature = 1e-3;
    static constexpr double largest_target = 0x1p24, largest = 32767;
    static constexpr std::uint64_t first_sign = std::uint64_t{1} << 32;

    static std::int16_t rounded(double steps) {
        return static_cast<std::int16_t>(std::nearbyint(std::min(largest, std::max(-largest, steps))));
    }
    static std::uint16_t weight_in_steps(double weight) {
        return static_cast<std::uint16_t>(std::min(largest, std::max(1.0, std::nearbyint(weight * score_steps))));
    }
    void set_scratch() {
        const bool any = map_->trees() > 0;
        signs_ = Buffer(any && outputs_ > 1 ? outputs_ : 0);
        p_ = Buffer(outputs_ > 1 ? 2 * padded(outputs_, lanes) : 0);
        sums_ = Buffer(any ? map_->leaves() * (outputs_ + 1) : 0);
    }
    // The probability that the row of the last step is stored: those that are predicted well teach little.
    double kept_share(const double* y, const double* f) {
        double gradient = 0;
        if (loss_->linear())
            gradient = std::fabs(y[0] - f[0]) / (2 * std::sqrt(noise_.variance));
        else if (outputs_ == 1)
            gradient = logistic(y[0] > 0 ? -f[0] : f[0]);
        else
            gradient = 1 - step_.probability();
        return std::min(1.0, std::max(least_share, 2 * gradient));
    }
    void store(const double* y, const double* f, double weight) {
        const std::size_t at = map_->next();
        const double number = std::min(largest_target, std::max(-largest_target, y[0]));
        targets_[at] = static_cast<float>(outputs_ == 1 ? number : static_cast<double>(largest_of(y, outputs_)));
        row_weights_[at] = weight_in_steps(weight);
        for (std::size_t o = 0; o < outputs_; ++o) fitted_[at * stride_ + o] = rounded(f[o] * score_steps);
    }
    double score(std::size_t row) const { return fitted_[row * stride_] / score_steps; }
    void draw_signs(std::uint64_t word) {
        for (std::size_t k = 0; k < signs_.size(); ++k) signs_[k] = draw(word, first_sign + k) & 1 ? 1 : -1;
    }
    // Of a stored row, by its score F with a change; of several classes.
    const double* probabilities(std::size_t row, const double* change = nullptr) {
        const std::size_t width = padded(outputs_, lanes);
        double *g = p_.data(), *p = g + width;
        std::fill_n(g, width, absent);
        for (std::size_t o = 0; o < outputs_; ++o) g[o] = fitted_[row * stride_ + o] / score_steps + (change ? change[o] : 0);
        const Vec total = Vec::all(exponentials(g, *std::max_element(g, g + outputs_), width, p));
        for (std::size_t o = 0; o < width; o += lanes) (Vec::load(p + o) / total).store(p + o);
        return p;
    }
    double loss_with(std::size_t row, const double* change) {
        if (outputs_ > 1) return -std::log(probabilities(row, change)[own_class(row)]);
        const double f = score(row) + (change ? *change : 0), y = static_cast<double>(targets_[row]);
        if (!loss_->linear()) return y > 0 ? softplus(-f) : softplus(f);
        const double residual = clipped(y - f);
        return residual * residual / 2;
    }
    static double softplus(double z) { return z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z)); }
    double clipped(double residual) const { return noise_.clip(residual / std::sqrt(noise_.variance), clip); }
    Gradient gradient(std::size_t row) {
        const double u = row_weights_[row] / score_steps, y = static_cast<double>(targets_[row]);
        double g = 0, h = 1;
        if (loss_->linear()) {
            g = clipped(y - score(row));
        } else if (outputs_ == 1) {
            const double p = 1 / (1 + std::exp(-score(row)));
            g = (y > 0 ? 1 : 0) - p;
            h = std::max(least_curvature, p * (1 - p));
        } else {
            const double* p = probabilities(row);
            double mean = 0;
            for (std::size_t o = 0; o < outputs_; ++o) mean += p[o] * signs_[o];
            g = signs_[own_class(row)] - mean;
            h = std::max(least_curvature, 1 - mean * mean);
        }
        const std::int16_t curvature = rounded(h * u * gradient_steps);
        return {rounded(g * u * gradient_steps), std::max<std::int16_t>(1, curvature)};
    }
    std::size_t own_class(std::size_t row) const {
        return std::min(static_cast<std::size_t>(std::max(0.0f, targets_[row])), outputs_ - 1);
    }
    // sums_ (leaves, c + 1): G of each output, and H.
    void add_to_leaf(std::size_t leaf, std::size_t row) {
        double* sums = sums_.data() + leaf * (outputs_ + 1);
        if (outputs_ == 1) {
            const Gradient own = map_->gradient(row);
            sums[0] += own.g / gradient_steps;
            sums[1] += own.h / gradient_steps;
            return;
        }
        const double u = row_weights_[row] / score_steps, *p = probabilities(row);
        double spread = 0;
        for (std::size_t o = 0; o < outputs_; ++o) {
            sums[o] += u * -p[o];
            spread += p[o] * (1 - p[o]);
        }
        sums[own_class(row)] += u;
        sums[outputs_] += u * spread / 2;
    }

    double variance_, steps_;  // of a leaf at the start; steps of the variance 1
    float floor_;              // of the variances, in steps
    Noise noise_;              // of the last row
    std::size_t stride_ = 1;   // of the scores of stored rows
    BufferOf<float> targets_{0};
    BufferOf<std::uint16_t> row_weights_{0};
    BufferOf<std::int16_t> fitted_{0};
    Buffer signs_{0}, p_{0}, sums_{0};
    mutable double total_[group] = {};
};

class ConstantLeaves final : public LeafHead<false> {
  public:
    ConstantLeaves(std::shared_ptr<const Loss> loss, double gain) : LeafHead(std::move(loss)), gain_(gain) {}

    void learn(std::size_t r, const double* y, const double* f, double weight, double rows, const Noise& noise) override {
        step_.take(f, gain_ * static_cast<double>(map_->leaf_count(r)), y, weight, noise);
        const double* delta = step_.delta();
        for (std::size_t o = 0; o < outputs_; ++o) changes_[o] = static_cast<float>(delta[o] * (gain_ * Table::weight_steps));
        table_.learn(map_->leaves_of_row(r), map_->leaf_count(r), {changes_.data(), 0, 0, rows});
    }

  private:
    double gain_;
};

NOLANA_BINDING(leaves) {
    using LossArgument = std::shared_ptr<const Loss>;
    nb::class_<DiagonalLeaves, Head>(m, "DiagonalLeaves")
        .def(nb::init<LossArgument, double, double>(), "loss"_a, "variance"_a, "floor"_a);
    nb::class_<ConstantLeaves, Head>(m, "ConstantLeaves").def(nb::init<LossArgument, double>(), "loss"_a, "gain"_a);
}

}  // namespace nolana
