// Effects of categories: a weight for each value of a column, and of a pair of columns, learned jointly with a linear part.
// The formulas and their reasons are in nolana/engine/experts/effects/effects.py.
#include "bind/bind.hpp"
#include "experts/effects/effect_map.hpp"
#include "experts/head.hpp"
#include "experts/implicit.hpp"

namespace nolana {

class Effects final : public HeadOn<EffectMap> {
  public:
    Effects(std::shared_ptr<const Loss> loss, double variance, double linear, double floor, bool frozen)
        : number_(loss->linear()), step_(number_), alone_(number_), start_(variance), linear_start_(linear),
          floor_(static_cast<float>(std::max(1.0, std::nearbyint(floor * 65535)))), frozen_(frozen) {}

    void clear(std::size_t outputs) override {
        stride_ = std::max<std::size_t>(1, room_for(outputs));
        set_outputs(outputs);
        const std::size_t d = map_->features() + 1, columns = d - 1 + EffectMap::most_pairs;
        weights_ = BufferOf<std::int16_t>(map_->slots() * stride_);
        linear_ = Buffer(stride_ * d);
        linear_variances_ = Buffer(d);
        std::fill_n(linear_variances_.data(), d, linear_start_);
        for (Buffer* each : {&prior_, &explained_, &squares_, &observed_}) *each = Buffer(columns);
        std::fill_n(prior_.data(), columns, start_);
    }
    void append_output(double rows) override {
        set_outputs(outputs_ + 1);
        linear_[(outputs_ - 1) * width() + width() - 1] = unseen(rows);
    }

    bool encodes() const override { return true; }
    void set_judging(bool judging) override { judging_ = judging; }
    // What other maps see of row r in place of its categories.
    void encode(std::size_t r, const double* raw, double* out) const override {
        std::copy_n(raw, map_->features(), out);
        for (std::size_t i = 0; i < map_->count(r); ++i) {
            const EffectMap::Active& each = map_->active(r, i);
            if (each.column >= map_->features() || !map_->is_category(each.column)) continue;
            if (outputs_ > 1)
                out[each.column] = (static_cast<double>(each.hash >> 11) * 0x1p-53 - 0.5) * code_width;
            else
                out[each.column] = each.slot == EffectMap::none ? 0 : weight(each.slot, 0) / std::sqrt(prior_[each.column]);
        }
    }

    bool has_unknown(std::size_t r) const override {
        for (std::size_t i = 0; i < map_->count(r); ++i)
            if (map_->active(r, i).slot == EffectMap::none && map_->active(r, i).column < map_->features()) return true;
        return false;
    }

    void scores(std::size_t r, double* f) const override {
        const double* z = map_->row(r);
        const std::size_t d = width() - 1;
        for (std::size_t o = 0; o < outputs_; ++o) {
            const double* linear = linear_.data() + o * width();
            double sum = linear[d];
            for (std::size_t j = 0; j < d; ++j)
                if (!map_->is_category(j)) sum += linear[j] * z[j];
            f[o] = sum;
        }
        for (std::size_t i = 0; i < map_->count(r); ++i) {
            const EffectMap::Active& each = map_->active(r, i);
            if (each.slot == EffectMap::none || !map_->is_open(each.column)) continue;
            for (std::size_t o = 0; o < outputs_; ++o) f[o] += weight(each.slot, o);
        }
    }
    void learn(std::size_t r, const double* y, const double* f, double weight, double rows, const Noise& noise) override {
        if (!frozen_) follow_pairs(rows);
        map_->claim(r, [this](std::int32_t slot) {
            std::fill_n(weights_.data() + static_cast<std::size_t>(slot) * stride_, outputs_, std::int16_t{0});
        });
        const std::size_t d = width() - 1, n = map_->count(r);
        const double* z = map_->row(r);
        double v = linear_variances_[d];
        for (std::size_t j = 0; j < d; ++j)
            if (!map_->is_category(j)) v += linear_variances_[j] * z[j] * z[j];
        for (std::size_t i = 0; i < n; ++i) {
            const EffectMap::Active& each = map_->active(r, i);
            if (each.slot != EffectMap::none && map_->is_open(each.column)) v += share(each.slot) * prior_[each.column];
        }
        const double h = step_.take(f, v, y, weight, noise), e = h / (1 + h * v);
        if (judging_ && !frozen_) working_residuals(y, f);
        for (std::size_t i = 0; i < n; ++i) {
            const EffectMap::Active each = map_->active(r, i);
            if (each.slot == EffectMap::none) continue;
            const bool open = map_->is_open(each.column);
            const double prior = prior_[each.column];
            if (judging_ && !frozen_) judge(each, open);
            if (open) {
                change(each.slot, prior, step_.delta(), e, rows, i);
                continue;
            }
            const double own = share(each.slot) * prior;
            for (std::size_t o = 0; o < outputs_; ++o) with_[o] = f[o] + this->weight(each.slot, o);
            const double curvature = alone_.take(with_.data(), own, y, weight, noise);
            change(each.slot, prior, alone_.delta(), curvature / (1 + curvature * own), rows, i);
        }
        const double* delta = step_.delta();
        for (std::size_t j = 0; j <= d; ++j) {
            if (j < d && map_->is_category(j)) continue;
            const double pull = linear_variances_[j] * (j < d ? z[j] : 1.0);
            linear_variances_[j] -= pull * pull * e;
            for (std::size_t o = 0; o < outputs_; ++o) linear_[o * width() + j] += delta[o] * pull;
        }
    }

    void describe(Description& d) override {
        const std::size_t n = map_->slots(), c = outputs_, columns = width() - 1 + EffectMap::most_pairs;
        d.scratch(weights_, residuals_, with_, step_, alone_);
        Field weights{"effects", {n, Side::outputs(c)}, {}, {}, -32767.0, 32767.0};
        weights.whole = true;
        weights.get_single = [this, n, c](float* to) {
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t o = 0; o < c; ++o) *to++ = weights_[i * stride_ + o];
        };
        weights.set_single = [this, n, c](const float* from) {
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t o = 0; o < c; ++o) weights_[i * stride_ + o] = static_cast<std::int16_t>(*from++);
        };
        d.add(std::move(weights));
        d.matrix("linear", linear_, Side::outputs(c), width(), width());
        d.vector("linear_variances", linear_variances_, width());
        d.fields.back().low = 0;
        d.vector("prior", prior_, columns);
        d.fields.back().low = 0;
        d.vector("explained", explained_, columns);
        d.vector("squares", squares_, columns);
        d.fields.back().low = 0;
        d.vector("observed", observed_, columns);
        d.fields.back().low = 0;
        d.bytes += sizeof(*this) - 2 * sizeof(double);  // without what came later, so that tables have the sizes that they had
    }

  private:
    static constexpr double weight_steps = 8192, most_rows_judged = 3000, fewest_judged = 200, code_width = 3.4641016151377544;
    static constexpr double least_prior = 0.003, largest_prior = 2, fewest_of_a_pair = 100, gain_of_a_pair = 0.01;
    static constexpr double gates[] = {2048, 8192, 32768}, pairs_chosen = 512;

    std::size_t width() const { return map_->features() + 1; }
    void set_outputs(std::size_t outputs) {
        outputs_ = outputs;
        step_.clear(outputs);
        alone_.clear(outputs);
        residuals_ = Buffer(std::max<std::size_t>(1, outputs));
        with_ = Buffer(std::max<std::size_t>(1, outputs));
    }
    double weight(std::int32_t slot, std::size_t o) const { return weights_[static_cast<std::size_t>(slot) * stride_ + o] / weight_steps; }
    double share(std::int32_t slot) const { return static_cast<double>(map_->share(slot)) / 65535; }

    // weights += s v delta, s <- max(floor, s - s^2 v e), in steps with stochastic rounding.
    void change(std::int32_t slot, double prior, const double* delta, double e, double rows, std::size_t i) {
        const auto row = static_cast<std::uint32_t>(static_cast<std::uint64_t>(rows)) * 0x9E3779B1u;
        const std::uint32_t at = row + static_cast<std::uint32_t>(i) * 0x85EBCA77u, mixed = (at ^ (at >> 15)) * 0xC2B2AE3Du;
        const float u = static_cast<float>(static_cast<std::int32_t>(mixed >> 16)) * 0x1p-16f, s = map_->share(slot);
        std::int16_t* own = weights_.data() + static_cast<std::size_t>(slot) * stride_;
        for (std::size_t o = 0; o < outputs_; ++o) {
            const auto by = static_cast<float>(prior * delta[o] * (weight_steps / 65535));
            const float after = static_cast<float>(own[o]) + std::floor(s * by + u);
            own[o] = static_cast<std::int16_t>(std::min(32767.0f, std::max(-32767.0f, after)));
        }
        const auto curvature = static_cast<float>(prior * e / 65535);
        map_->set_share(slot, std::max(floor_, s + std::floor(s * -(s * curvature) + u)));
    }
    // What a value alone would have to add to the scores: residuals in units of the scores.
    void working_residuals(const double* y, const double* f) {
        if (number_) {
            residuals_[0] = std::min(3.0, std::max(-3.0, y[0] - f[0]));
            return;
        }
        if (outputs_ == 1) {
            const double p = logistic(f[0]);
            residuals_[0] = ((y[0] > 0 ? 1 : 0) - p) / std::max(p * (1 - p), 0.005);
            return;
        }
        double top = f[0], sum = 0;
        for (std::size_t o = 1; o < outputs_; ++o) top = std::max(top, f[o]);
        for (std::size_t o = 0; o < outputs_; ++o) sum += residuals_[o] = std::exp(f[o] - top);
        for (std::size_t o = 0; o < outputs_; ++o) {
            const double p = residuals_[o] / sum;
            residuals_[o] = ((y[o] > 0 ? 1 : 0) - p) / std::max(p * (1 - p), 0.005);
        }
    }
    // How much of the residuals the effects of a column explain.
    void judge(const EffectMap::Active& each, bool open) {
        const double s = share(each.slot), known = 1 - s;
        if (!(s < 0.999)) return;
        double mean = 0;
        for (std::size_t o = 0; o < outputs_; ++o) {
            const double w = weight(each.slot, o), wanted = residuals_[o] + (open ? w : 0), found = w / std::max(known, 0.05);
            mean += std::min(6.0, std::max(-6.0, wanted)) * std::min(4.0, std::max(-4.0, found));
        }
        mean /= static_cast<double>(outputs_);
        double& n = observed_[each.column];
        n = std::min(most_rows_judged, n + known);
        explained_[each.column] += (mean - explained_[each.column]) * known / n;
        squares_[each.column] += (mean * mean - squares_[each.column]) * known / n;
        if (n > fewest_judged) prior_[each.column] = std::min(largest_prior, std::max(least_prior, explained_[each.column]));
    }
    // Pairs of the columns that explain most are chosen once, and open if they explain something.
    void follow_pairs(double rows) {
        if (rows == pairs_chosen) return choose_pairs();
        bool gate = false;
        for (const double each : gates) gate |= rows == each;
        if (!gate) return;
        const bool last = rows == gates[2];
        for (std::size_t p = 0; p < EffectMap::most_pairs; ++p) {
            const std::size_t at = map_->features() + p;
            if (!map_->has_pair(p) || map_->is_open(static_cast<std::uint32_t>(at))) continue;
            const double n = observed_[at], q = explained_[at], spread = std::sqrt(std::max(0.0, squares_[at] - q * q) / std::max(n, 1.0));
            if (n > fewest_of_a_pair && q - 3 * spread > gain_of_a_pair)
                map_->open(p);
            else if (last)
                map_->set_pair(p, -1, -1);
        }
    }
    void choose_pairs() {
        std::vector<std::size_t> columns;
        for (std::size_t j = 0; j < map_->features(); ++j)
            if (map_->is_category(j)) columns.push_back(j);
        std::stable_sort(columns.begin(), columns.end(), [this](std::size_t a, std::size_t b) { return explained_[a] > explained_[b]; });
        columns.resize(std::min<std::size_t>(4, columns.size()));
        std::size_t p = 0;
        for (std::size_t a = 0; a < columns.size(); ++a)
            for (std::size_t b = a + 1; b < columns.size(); ++b, ++p)
                map_->set_pair(p, static_cast<double>(columns[a]), static_cast<double>(columns[b]));
    }

    bool number_;
    ImplicitStep step_, alone_;  // of the sum, and of a pair that is not open
    double start_, linear_start_;
    float floor_;  // of the shares, in steps
    bool frozen_, judging_ = true;
    std::size_t outputs_ = 0, stride_ = 1;
    BufferOf<std::int16_t> weights_{0};
    Buffer linear_{0}, linear_variances_{0};
    Buffer prior_{0}, explained_{0}, squares_{0}, observed_{0};  // of each column and pair
    Buffer residuals_{0}, with_{0};
};

NOLANA_BINDING(effects) {
    nb::class_<EffectMap, Map>(m, "EffectMap")
        .def(
            "__init__",
            [](EffectMap* self, std::size_t features, const Vector& categories, std::size_t slots, std::size_t pair_slots, bool wears) {
                new (self) EffectMap(features, category_columns(categories, features), slots, pair_slots, wears);
            },
            "features"_a, "categories"_a, "slots"_a, "pair_slots"_a, "wears"_a = true);
    nb::class_<Effects, Head>(m, "Effects")
        .def(nb::init<std::shared_ptr<const Loss>, double, double, double, bool>(), "loss"_a, "variance"_a, "linear"_a, "floor"_a,
             "frozen"_a = false);
}

}  // namespace nolana
