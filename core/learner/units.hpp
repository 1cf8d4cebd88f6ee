// The units of a learner: rows and targets come in those of the input, and scores leave in them. Each part may be missing.
//
//     scaling         z = scaling(x), which every learned row advances
//     growth          watches which features grow in every learned row, by the scaling
//     target_scaling  y' = (y - m0) i0 is learned, and f/i0 + m0 is the score; before the first anchor i0 is 0 and m0
//                     the first target
//     interval        follows the residuals y' - f of learned rows
//     label_sets      follow the scores of learned rows of classes
//     feature_table   slots and values of the non-zeros of wide sparse rows; their sketch takes the place of x
//     lags            columns behind those of x: what is known of earlier targets
//
// A group of rows is scaled at a time, into scratch that a call has: memory does not depend on the length of a block.
#pragma once

#include <memory>
#include <vector>

#include "experts/sparse_linear/feature_table.hpp"
#include "experts/sparse_linear/sketch.hpp"
#include "learner/growth.hpp"
#include "learner/interval_width.hpp"
#include "learner/label_sets.hpp"
#include "learner/lags.hpp"
#include "learner/robust_scaling.hpp"

namespace nolana {

// What rows are there for.
struct Pass {
    bool learned = false;       // if not, they are scored alone
    bool frozen = false;        // by a part of a merge, whose maps do not change: features keep slots and late anchors
    bool repeats = false;       // rows that were learned before say nothing about the experts and the interval
    bool late_anchors = false;  // those after row 512 are set on the way, or by the caller, who has to carry weights over
};

// Rows as the maps take them: a dense part, non-zeros or both. Behind their features dense rows may have their moment, so many
// values: what was known when they were scored, and the scores of the experts.
struct Rows {
    const double* dense;
    SparseRows sparse = {};
    std::size_t moment = 0;
};

class Units {
  public:
    std::shared_ptr<RobustScaling> scaling, target_scaling;
    std::shared_ptr<IntervalWidth> interval;
    std::shared_ptr<FeatureTable> feature_table;
    std::shared_ptr<Lags> lags;
    std::shared_ptr<LabelSets> label_sets;
    std::shared_ptr<GrowthWatch> growth;

    // Of a call: a group of scaled rows and of rows with lags, the sketch of a row, a target and what its scaling writes, and the non-zeros of a
    // group. Allocated before anything changes.
    struct Scratch {
        std::vector<double> dense, known, encoded, sums, target, values;
        std::vector<std::int32_t> slots;
    };

    // Throws where the parts do not fit maps of dense rows of so many features (0: there are none) and of non-zeros at so
    // many places. Returns the features of the dense part of a row.
    std::size_t check(std::size_t features, std::size_t places) const {
        if (scaling && scaling->features() != features && features > 0)
            throw std::invalid_argument("the scaling has another number of features than the maps");
        if (growth && (!scaling || growth->features() != scaling->features()))
            throw std::invalid_argument("what grows is watched by a scaling of as many features");
        if (feature_table && feature_table->slots() > places)
            throw std::invalid_argument("the feature table has more slots than the map of sparse rows has places");
        if (interval && !target_scaling) throw std::invalid_argument("an interval needs the scaling of targets");
        if (interval && outputs() != 1) throw std::invalid_argument("an interval needs a single target");
        if (label_sets && target_scaling) throw std::invalid_argument("label sets need classes");
        const std::size_t width = scaling ? scaling->features() : features;
        if (lags && (places > 0 || feature_table)) throw std::invalid_argument("lags need dense rows");
        if (lags && width <= lags->columns()) throw std::invalid_argument("lags have more columns than the rows");
        if (lags && lags->group_column() >= static_cast<std::ptrdiff_t>(width - lags->columns()))
            throw std::invalid_argument("the group names a column that does not exist");
        if (lags && !lags->classes() && outputs() != 1) throw std::invalid_argument("lags need a single target");
        if (feature_table && width > 0) (void)Sketch(width, feature_table->seed());
        return width;
    }
    // Targets that the scaling is made for; 0: any number of them.
    std::size_t outputs() const { return target_scaling ? target_scaling->features() : 0; }
    // For so many of these rows, whose dense part has `width` features; `encoded`: they are encoded first.
    Scratch scratch(const Rows& rows, std::size_t count, std::size_t width, bool encoded) const {
        Scratch out;
        out.target.resize(2 * outputs());
        if (lags) out.known.resize(std::min(group, count) * width);
        if (encoded) out.encoded.resize(std::min(group, count) * width);
        if (scaling || feature_table) out.dense.resize(std::min(group, count) * width);
        if (!feature_table) return out;
        out.sums.resize(width);
        std::int64_t most = 0;
        for (std::size_t r = 0; r < count; ++r)
            most = std::max(most, rows.sparse.starts[std::min(count, r + group)] - rows.sparse.starts[r]);
        out.values.resize(static_cast<std::size_t>(most));
        out.slots.resize(static_cast<std::size_t>(most));
        return out;
    }

    // Rows from `first` on with the columns of the lags behind their own; `labels` (null: scored alone) are what is known of
    // them later, `weight` (null: all 1) that of row 0.
    const double* with_lags(const Rows& x, std::size_t first, std::size_t size, std::size_t width, const double* labels,
                            const double* weight, Scratch& scratch) {
        const std::size_t own = width - lags->columns();
        for (std::size_t r = 0; r < size; ++r) {
            double* to = scratch.known.data() + r * width;
            const double* const from = x.dense + (first + r) * (own + x.moment);
            std::copy_n(from, own, to);
            const bool learned = labels && (!weight || weight[first + r] > 0);
            lags->enter(r, to, learned ? labels + r : nullptr, x.moment ? from + own : nullptr, to + own);
        }
        return scratch.known.data();
    }
    // Rows from `first` on as the maps take them, until the next call; `weight` (null: all 1) is that of row 0, `dense` the
    // dense part of row `first`.
    Rows enter(const Rows& rows, const double* dense, std::size_t first, std::size_t size, std::size_t width, const double* weight,
               const Pass& pass, Scratch& scratch) {
        if (weight) weight += first;
        if (feature_table) return look_up(rows.sparse.from(first), size, width, weight, pass, scratch);
        Rows out{dense};
        if (rows.sparse.starts) out.sparse = rows.sparse.from(first);
        if (scaling) {
            scale(out.dense, weight, size, scratch.dense.data(), pass);
            out.dense = scratch.dense.data();
        }
        return out;
    }
    // y (c) as it is learned, until the next call.
    const double* target(const double* y, Scratch& scratch) const {
        if (!target_scaling) return y;
        double* own = scratch.target.data();
        for (std::size_t o = 0; o < outputs(); ++o)
            own[o] = (y[o] - target_scaling->target_center(o)) * target_scaling->target_factor(o);
        return own;
    }
    // Scores (c) in the units of the targets.
    void leave(double* f) const {
        for (std::size_t o = 0; o < outputs(); ++o) {
            const double center = target_scaling->target_center(o), factor = target_scaling->target_factor(o);
            f[o] = factor > 0 ? f[o] / factor + center : f[o] * 0 + center;
        }
    }
    // Of the interval of a row, in the unit of the target; f before `leave`, and the spread of the experts' scores.
    double half_width(double level, double f, double spread) const {
        const double factor = target_scaling->target_factor(0);
        return factor > 0 ? interval->half_width(level, f, spread) / factor : 0;
    }
    // Of a learned row: its target as it was learned, its scores (c) before `leave`, and the spread of the experts' scores.
    void observe_scores(const double* target, const double* f, std::size_t c, double spread) {
        if (interval) interval->observe(target[0] - f[0], interval->levels() - 1, f[0], spread);
        if (label_sets) label_sets->observe(f, target, c, label_sets->levels() - 1);
    }
    // Its target in its own unit.
    void observe_target(const double* y, Scratch& scratch) {
        if (target_scaling) target_scaling->observe(y, scratch.target.data() + outputs());
    }

    void describe(Description& d) {
        const auto part = [&d](const std::string& prefix, Stateful* each) {
            if (!each) return;
            const std::size_t first = d.fields.size();
            d.begin_part(prefix);
            each->describe(d);
            for (std::size_t i = first; i < d.fields.size(); ++i) d.fields[i].unit = true;
        };
        part("scaling/", scaling.get());
        part("scaling_growth/", growth.get());
        part("target_scaling/", target_scaling.get());
        part("interval/", interval.get());
        part("features/", feature_table.get());
        part("lags/", lags.get());
        part("label_sets/", label_sets.get());
        d.begin_part("");
    }
    // Room for a state of these sizes; one without units leaves them as they are.
    void resize(const Sizes& sizes) {
        const auto part = [&sizes](const std::string& prefix, RobustScaling* each) {
            if (each && sizes.contains(prefix + "first")) each->resize({{"first", sizes.at(prefix + "first")}});
        };
        part("scaling/", scaling.get());
        part("target_scaling/", target_scaling.get());
    }

  private:
    void scale(const double* x, const double* weight, std::size_t count, double* z, const Pass& pass) {
        if (!pass.learned) return scaling->apply(x, count, z);
        scaling->advance(x, weight, count, z, pass.late_anchors && !pass.frozen);
        if (growth) growth->observe(x, weight, count, scaling->factor());
    }
    Rows look_up(const SparseRows& rows, std::size_t size, std::size_t width, const double* weight, const Pass& pass,
                 Scratch& scratch) {
        std::int32_t* slots = scratch.slots.data();
        double *values = scratch.values.data(), *dense = scratch.dense.data(), *sums = scratch.sums.data();
        for (std::size_t r = 0; r < size; ++r) {
            const SparseRow x = rows.row(r);
            feature_table->take(x, pass.learned && !pass.frozen && (!weight || weight[r] > 0), slots, values);
            if (width > 0) Sketch(width, feature_table->seed()).take({x.places, values, x.size}, scaling ? sums : dense);
            if (scaling) scale(sums, weight ? weight + r : nullptr, 1, dense, pass);
            slots += x.size;
            values += x.size;
            dense += width;
        }
        return {scratch.dense.data(), {rows.starts, scratch.slots.data(), scratch.values.data()}};
    }
};

}  // namespace nolana
