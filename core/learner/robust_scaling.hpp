// Robust online scaling: z = (x - m0) i0 with a logarithmic tail, from anchors that follow clipped running moments. The
// rules and their reasons stand in nolana/engine/learner/robust_scaling.py.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/state.hpp"
#include "experts/effects/keys.hpp"

namespace nolana {

class RobustScaling final : public Stateful {
  public:
    // fixed: features that stay as they are, with centre 0 and factor 1; keeps_first: so do all before the first anchor.
    RobustScaling(std::size_t features, bool follows_level, const std::vector<std::size_t>& fixed = {}, bool keeps_first = false)
        : d_(features), follows_level_(follows_level), keeps_first_(keeps_first), mean_(features), variance_(features), center_(features), factor_(features), z_mean_(features),
          z_variance_(features), differs_(features), late_(features), counted_(features), far_(features),
          moved_(features), metric_(features), previous_(features), step_(features), usual_step_(features),
          stepped_(features), first_(first_rows * features) {
        std::fill_n(metric_.data(), features, 1.0);
        if (!fixed.empty()) fixed_ = BufferOf<std::uint8_t>(features);
        for (const std::size_t j : fixed) {
            if (j >= features) throw std::invalid_argument("fixed names a feature that does not exist");
            fixed_[j] = 1;
            factor_[j] = 1;
        }
    }

    std::size_t features() const { return d_; }
    double rows = 0;
    // m0 and i0 of a target; before the first anchor m0 is the first target.
    double target_center(std::size_t j) const { return rows > 1 ? center_[j] : mean_[j]; }
    double target_factor(std::size_t j) const { return factor_[j]; }
    const double* factor() const { return factor_.data(); }

    void apply(const double* x, std::size_t count, double* z) const {
        if (keeps_first_ && rows < 2) {
            std::copy_n(x, count * d_, z);
            return;
        }
        for (std::size_t r = 0; r < count; ++r)
            for (std::size_t j = 0; j < d_; ++j) z[r * d_ + j] = metric_[j] * scaled(x[r * d_ + j], j);
    }

    // Scales the rows one by one, observing each row of positive weight (null: all); late anchors are set on the way, or
    // by the caller.
    void advance(const double* x, const double* weight, std::size_t count, double* z, bool set_late) {
        for (std::size_t r = 0; r < count; ++r, x += d_, z += d_) {
            if (weight && !(weight[r] > 0)) {
                apply(x, 1, z);
                continue;
            }
            observe(x, z);
            if (keeps_first_ && rows <= 2)
                std::copy_n(x, d_, z);
            else
                for (std::size_t j = 0; j < d_; ++j) z[j] *= metric_[j];
            if (set_late && rows > last_anchor && static_cast<std::size_t>(rows) % check_every == 0) anchor(nullptr);
        }
    }

    // z becomes the row, scaled without the metric.
    void observe(const double* x, double* z) {
        if (has_nan(x, d_))
            observe_missing(x, z);
        else
            observe_complete(x, z);
    }
    void observe_complete(const double* x, double* z) {
        rows += 1;
        for (std::size_t start = 0; start < d_; start += stretch)
            observe_some(x + start, z + start, start, std::min(stretch, d_ - start));
        if (rows > first_rows) return;
        if (first_.size() == 0) first_ = Buffer(first_rows * d_);
        stored_ = static_cast<std::size_t>(rows);
        std::copy_n(x, d_, first_.data() + (stored_ - 1) * d_);
        if (rows < first_rows) return;
        for (std::size_t j = 0; j < d_; ++j) drop_outlier(j);
        stored_ = 0;
        first_ = Buffer(0);
    }

    // Sets the anchors that are due after this row; new_anchors[j] is 1 for a feature with a new one.
    void anchor(double* new_anchors) {
        const auto t = static_cast<std::size_t>(rows);
        if (new_anchors) std::fill_n(new_anchors, d_, 0.0);
        if (t < 2) return;
        const bool regular = t <= last_anchor && (t & (t - 1)) == 0, late = t > last_anchor && t % check_every == 0;
        for (std::size_t j = 0; j < d_; ++j) {
            if (is_fixed(j)) {
                if (regular && new_anchors) new_anchors[j] = 1;
                continue;
            }
            const bool constant = factor_[j] == 0;
            bool due = regular || (late && has_other_unit(j) && counted_[j] >= fewest && varies(j));
            double way = 0;
            if (late && late_[j] < late_anchors) {
                const bool shrunk = !constant && varies(j) && has_small_spread(j);
                if (shrunk || (constant && differs_[j] > 0.5)) {
                    late_[j] += 1;
                    due = true;
                }
            }
            if (late && follows_level_ && far_[j] > moved && counted_[j] >= fewest && varies(j)) {
                if (moved_[j] > 0) way = std::fabs(mean_[j] - center_[j]);
                moved_[j] += 1;
                due = true;
            }
            if (!due) continue;
            if (new_anchors) new_anchors[j] = 1;
            if (regular || !constant) center_[j] = mean_[j];  // a feature that wakes up keeps its old value as centre
            factor_[j] = varies(j) ? 1 / std::sqrt(variance_[j]) : 0;
            if (way * factor_[j] > 1) factor_[j] = 1 / way;
            usual_step_[j] = step_[j];
            differs_[j] = far_[j] = z_mean_[j] = 0;
            z_variance_[j] = 1;
        }
    }

    void describe(Description& d) override {
        d.count("rows", rows);
        d.vector("mean", mean_, d_);
        d.vector("variance", variance_, d_);
        d.vector("center", center_, d_);
        d.vector("factor", factor_, d_);
        d.vector("z_mean", z_mean_, d_);
        d.vector("z_variance", z_variance_, d_);
        d.vector("differs", differs_, d_);
        d.vector("late", late_, d_);
        d.vector("counted", counted_, d_);
        d.vector("far", far_, d_);
        d.vector("moved", moved_, d_);
        d.vector("metric", metric_, d_);
        d.fields.back().low = Description::positive;
        d.vector("previous", previous_, d_);
        d.vector("step", step_, d_);
        d.vector("usual_step", usual_step_, d_);
        d.vector("stepped", stepped_, d_);
        d.matrix("first", first_, Side("first", stored_, first_rows), d_, d_);
    }
    void resize(const Sizes& sizes) override {
        stored_ = sizes.at("first");
        first_ = Buffer((stored_ > 0 ? first_rows : 0) * d_);
    }

  private:
    static constexpr double memory = 256, clip = 6, outlier = 1e4, late_anchors = 2, smallest_spread = 0.05, largest = 13, resolution = 1e-13;
    static constexpr double far = 8, far_memory = 32, begins_again = 0.5, moved = 0.75, fewest = 32;
    static constexpr double other_step = 5, again_step = 4, largest_step = 12, step_memory = 32, usual_memory = 1024;
    static constexpr std::size_t first_rows = 16, last_anchor = 512, check_every = 64, stretch = 64;

    bool is_fixed(std::size_t j) const { return fixed_.size() > 0 && fixed_[j]; }
    // A missing value is 0, and changes nothing of its feature.
    void observe_missing(const double* x, double* z) {
        Buffer* const own[] = {&mean_, &variance_, &z_mean_, &z_variance_, &differs_, &counted_, &far_, &previous_, &step_,
                               &usual_step_, &stepped_};
        std::vector<double> filled(x, x + d_), before;
        for (std::size_t j = 0; j < d_; ++j) {
            if (!std::isnan(x[j])) continue;
            filled[j] = mean_[j];
            for (const Buffer* each : own) before.push_back((*each)[j]);
        }
        observe_complete(filled.data(), z);
        const double* from = before.data();
        for (std::size_t j = 0; j < d_; ++j) {
            if (!std::isnan(x[j])) continue;
            z[j] = 0;
            for (Buffer* each : own) (*each)[j] = *from++;
        }
    }
    double scaled(double x, std::size_t j) const {
        const double q = (x - center_[j]) * factor_[j];
        if (std::isnan(x)) return 0;
        return std::fabs(q) > 1 ? tail(q) : q;
    }
    static double tail(double q) { return std::copysign(std::min(1 + std::log(std::fabs(q)), largest), q); }
    void clip_far(double& e, std::size_t j) const {
        const double reach = (counted_[j] <= first_rows ? 3 : 1) * clip;
        if (counted_[j] <= 4 || !(e * e > reach * reach * variance_[j])) return;
        const double limit = reach * std::max(std::sqrt(variance_[j]), factor_[j] > 0 ? 1 / factor_[j] : 0.0);
        if (limit > 0) e = std::min(limit, std::max(-limit, e));
    }
    // Features from `start` of a row: loops without branches, and what is rare for the features that need it.
    void observe_some(const double* x, double* z, std::size_t start, std::size_t count) {
        double q[stretch], e[stretch], rate[stretch], flag[stretch];
        std::size_t some[stretch];
        double *mean = mean_.data() + start, *variance = variance_.data() + start, *far_share = far_.data() + start,
               *counted = counted_.data() + start;
        const double *center = center_.data() + start, *factor = factor_.data() + start;
        for (std::size_t j = 0; j < count; ++j) {
            z[j] = q[j] = (x[j] - center[j]) * factor[j];
            flag[j] = std::fabs(q[j]) > 1 ? 1.0 : 0.0;
        }
        for (std::size_t i = 0, n = flagged(flag, count, some); i < n; ++i) z[some[i]] = tail(q[some[i]]);
        // The moments of a feature begin again when most of its recent rows are far.
        for (std::size_t j = 0; j < count; ++j) {
            const double before = far_share[j], distant = std::fabs(q[j]) > far ? 1.0 : 0.0;
            far_share[j] = before + (distant - before) * (1 / far_memory);
            flag[j] = (before <= begins_again ? 1.0 : 0.0) * (far_share[j] > begins_again ? 1.0 : 0.0);
        }
        if (rows > last_anchor && any(flag, count))
            for (std::size_t i = 0, n = flagged(flag, count, some); i < n; ++i)
                mean[some[i]] = variance[some[i]] = counted[some[i]] = 0;
        count_steps(x, start, count);
        for (std::size_t j = 0; j < count; ++j) {
            const double more = counted[j] + 1;
            counted[j] = more < memory ? more : memory;
        }
        for (std::size_t j = 0; j < count; ++j) {
            const double off = x[j] - mean[j];
            rate[j] = 1 / counted[j];
            e[j] = off;
            flag[j] = off * off > clip * clip * variance[j] ? 1.0 : 0.0;
        }
        if (any(flag, count))
            for (std::size_t i = 0, n = flagged(flag, count, some); i < n; ++i) clip_far(e[some[i]], start + some[i]);
        for (std::size_t j = 0; j < count; ++j) {
            mean[j] += rate[j] * e[j];
            variance[j] += rate[j] * ((1 - rate[j]) * e[j] * e[j] - variance[j]);
        }
        double *z_mean = z_mean_.data() + start, *z_variance = z_variance_.data() + start, *differs = differs_.data() + start;
        for (std::size_t j = 0; j < count; ++j) {
            const double off = z[j] - z_mean[j];
            z_mean[j] += off * (1 / memory);  // exact: a power of two
            z_variance[j] += ((1 - 1 / memory) * off * off - z_variance[j]) * (1 / memory);
        }
        for (std::size_t j = 0; j < count; ++j)
            differs[j] += ((x[j] != center[j] ? 1.0 : 0.0) - differs[j]) * (1 / memory);
    }
    // The size of the steps from row to row, in powers of two.
    void count_steps(const double* x, std::size_t start, std::size_t count) {
        double again[stretch];
        double *previous = previous_.data() + start, *step = step_.data() + start, *usual = usual_step_.data() + start,
               *stepped = stepped_.data() + start;
        const double first = rows > 1 ? 1 : 0;
        for (std::size_t j = 0; j < count; ++j) {
            const std::uint64_t bits = std::bit_cast<std::uint64_t>(x[j] - previous[j]) >> 52 & 0x7ff;
            previous[j] = x[j];
            const double counts = bits > 0 ? first : 0.0, n = stepped[j] + counts;
            const double reach = stepped[j] > 0 ? largest_step : 4096.0;
            const double size = static_cast<double>(static_cast<std::int32_t>(bits)) - 1023;
            const double off = std::min(reach, std::max(-reach, size - usual[j])), before = step[j] - usual[j];
            const double rows = n > 1 ? n : 1;
            step[j] += counts * (usual[j] + off - step[j]) / (rows < step_memory ? rows : step_memory);
            usual[j] += counts * off / (rows < usual_memory ? rows : usual_memory);
            stepped[j] = n < usual_memory ? n : usual_memory;
            again[j] = (std::fabs(before) <= again_step ? 1.0 : 0.0) * (std::fabs(step[j] - usual[j]) > again_step ? 1.0 : 0.0);
        }
        if (rows > last_anchor && any(again, count))
            for (std::size_t j = 0; j < count; ++j)
                if (again[j] > 0) mean_[start + j] = variance_[start + j] = counted_[start + j] = 0;
    }
    bool has_small_spread(std::size_t j) const {
        if (follows_level_) return z_variance_[j] < smallest_spread * smallest_spread;
        return counted_[j] >= fewest && std::max(std::sqrt(variance_[j]), std::exp2(step_[j])) * factor_[j] < smallest_spread;
    }
    bool has_other_unit(std::size_t j) const { return std::fabs(step_[j] - usual_step_[j]) > other_step; }

    static bool any(const double* flag, std::size_t count) {
        int found = 0;
        for (std::size_t j = 0; j < count; ++j) found |= flag[j] > 0;
        return found != 0;
    }
    // The places of the flags that are set.
    static std::size_t flagged(const double* flag, std::size_t count, std::size_t* places) {
        std::size_t n = 0;
        for (std::size_t j = 0; j < count; ++j) {
            places[n] = j;
            n += flag[j] > 0;
        }
        return n;
    }
    bool varies(std::size_t j) const { return std::sqrt(variance_[j]) > resolution * std::fabs(mean_[j]); }

    // One wild value among the first rows must not set the scale.
    void drop_outlier(std::size_t j) {
        double middle = 0, others = 0, variance = 0;
        for (std::size_t i = 0; i < first_rows; ++i) middle += first_[i * d_ + j] / first_rows;
        std::size_t worst = 0;
        for (std::size_t i = 1; i < first_rows; ++i)
            if (std::fabs(first_[i * d_ + j] - middle) > std::fabs(first_[worst * d_ + j] - middle)) worst = i;
        for (std::size_t i = 0; i < first_rows; ++i)
            if (i != worst) others += first_[i * d_ + j] / (first_rows - 1);
        for (std::size_t i = 0; i < first_rows; ++i)
            if (i != worst) variance += (first_[i * d_ + j] - others) * (first_[i * d_ + j] - others) / (first_rows - 1);
        if (!(variance > 0 && variance_[j] > outlier * variance)) return;
        mean_[j] = others;
        variance_[j] = variance;
    }

    std::size_t d_, stored_ = 0;
    bool follows_level_, keeps_first_;
    Buffer mean_, variance_, center_, factor_, z_mean_, z_variance_, differs_, late_, counted_, far_, moved_, metric_, previous_, step_,
        usual_step_, stepped_, first_;
    BufferOf<std::uint8_t> fixed_{0};
};

}  // namespace nolana
