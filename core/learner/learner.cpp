// A learner: maps, experts on them (a map and a head each), and a combiner where there is more than one expert.
//
// For each row: every map gives its features, every expert its scores, the combiner the score of the row. Then the maps
// may grow, the experts learn, and the maps may move. Experts on one map share its features. Where targets are numbers,
// experts learn with the variance of the residuals: of the combiner, or `noise` where there is none. Rows, targets and
// scores are in the units of the input where the learner has them (units.hpp).
#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/sparse.hpp"
#include "experts/effects/keys.hpp"
#include "experts/head.hpp"
#include "experts/neighbours/neighbour_map.hpp"
#include "learner/combiner.hpp"
#include "learner/online.hpp"
#include "learner/residual_variance.hpp"
#include "learner/units.hpp"

namespace nolana {

struct Expert {
    std::size_t map;  // its place among the learner's maps
    std::shared_ptr<Head> head;
};

// The judgement of a combiner, put back where it was at the end of a second pass.
class Judgement {
  public:
    Judgement(Combiner* combiner, bool repeats) {
        if (!combiner || !repeats) return;
        const std::vector<std::string> names = combiner->judgement();
        Description description;
        combiner->describe(description);
        for (Field& field : description.fields) {
            if (std::find(names.begin(), names.end(), field.name) == names.end()) continue;
            values_.emplace_back(field.count());
            field.get(values_.back().data());
            fields_.push_back(std::move(field));
        }
    }
    ~Judgement() {
        for (std::size_t i = 0; i < fields_.size(); ++i) fields_[i].set(values_[i].data());
    }
    Judgement(const Judgement&) = delete;
    Judgement& operator=(const Judgement&) = delete;

  private:
    std::vector<Field> fields_;
    std::vector<std::vector<double>> values_;
};

class Learner final : public Online {
  public:
    Learner(std::vector<std::shared_ptr<Map>> maps, std::vector<Expert> experts, std::shared_ptr<Combiner> combiner,
            std::shared_ptr<NoiseLevel> noise, Units units)
        : Online(width(maps, false)), places_(width(maps, true)), maps_(std::move(maps)),
          experts_(std::move(experts)), combiner_(std::move(combiner)), noise_(std::move(noise)),
          units_(std::make_unique<Units>(std::move(units))) {
        if (maps_.empty() || experts_.empty()) throw std::invalid_argument("a learner needs a map and an expert");
        if (experts_.size() > 1 && !combiner_) throw std::invalid_argument("several experts need a combiner");
        if (combiner_ && noise_) throw std::invalid_argument("a combiner estimates the noise itself");
        for (const auto& map : maps_)
            if (!map || map->features() != (map->takes_sparse_rows() ? places_ : features_))
                throw std::invalid_argument("the maps differ in their number of features");
        for (const Expert& expert : experts_)
            if (expert.map >= maps_.size()) throw std::invalid_argument("an expert names a map that does not exist");
        width_ = units_->check(features_, places_);
        sparse_features_ = units_->feature_table ? units_->feature_table->features() : places_;
        for (const auto& map : maps_) map->claim();
        for (const Expert& expert : experts_) expert.head->attach(*maps_[expert.map]);
        std::vector<Head*> heads;
        for (const Expert& expert : experts_) heads.push_back(expert.head.get());
        for (Head* head : heads) head->connect(heads);
        clear(units_->outputs() > 0 ? units_->outputs() : 1);
    }

    const std::vector<std::shared_ptr<Map>>& maps() const { return maps_; }

    std::vector<double> alarms() const { return combiner_ ? combiner_->alarms() : std::vector<double>(); }

    const Units& units() const { return *units_; }
    // Features of the dense part of a row.
    std::size_t width() const { return width_; }
    // Of a dense row as it comes, without what lags add.
    std::size_t row_features() const { return features_ - (units_->lags ? units_->lags->columns() : 0); }

    // Back to before the first row, in the same units; from now on arrays have room for this many outputs, if there are two or more.
    void reserve(std::size_t outputs) {
        if (outputs > Side::most_outputs) throw std::invalid_argument("too many outputs");
        for (const Expert& expert : experts_) expert.head->reserve(outputs);
        clear(outputs_);
    }
    // Outputs that there is room for.
    std::size_t room() const { return experts_[0].head->room_for(outputs_); }
    // One output more: a class that no row had so far.
    void append_output() {
        if (outputs_ >= room()) throw std::invalid_argument("there is no room for another output");
        check_outputs(outputs_ + 1);
        ++outputs_;
        for (const Expert& expert : experts_) expert.head->append_output(rows);
        if (!combiner_) return;
        combiner_->set_outputs(outputs_);
        scores_ = Buffer(experts_.size() * outputs_);
    }

    // The indices that the non-zeros of a sparse row may have; 0 where rows are dense.
    std::size_t sparse_features() const { return sparse_features_; }

    // y is null for rows without labels: units and what needs no labels learn them.
    void learn(const Rows& x, const double* y, const double* weight, std::size_t count, double* scores, const Pass& pass) {
        if (!y && units_->lags) throw std::invalid_argument("lags need labels");
        const std::size_t c = outputs_;
        Units& units = *units_;
        Head* const encoder = this->encoder();
        Units::Scratch scratch = units.scratch(x, count, width_, encoder);
        Lags* const lags = units.lags.get();
        if (encoder) encoder->set_judging(!pass.repeats);
        const Judgement judgement(combiner_.get(), pass.repeats);
        for (std::size_t start = 0, size = 0; start < count; start += size) {
            size = std::min(group, count - start);
            for (const Expert& expert : experts_) size = std::min(size, expert.head->rows_to_sweep());
            if (encoder) size = 1;  // what a row teaches the encoder is seen by the next one
            if (lags) size = std::min(size, lags->most_ahead());
            double labels[group];
            for (std::size_t r = 0; lags && r < size; ++r) labels[r] = label(y + (start + r) * c);
            const double* raw = dense(x, start, size, lags ? labels : nullptr, weight, scratch);
            evaluate(units.enter(x, see(raw, size, encoder, scratch), start, size, width_, weight, pass, scratch), size);
            for (std::size_t r = 0; r < size; ++r) {
                const std::size_t at = start + r;
                double* const score_of_row = scores + at * c;
                score(r, score_of_row, encoder, scratch);
                const double w = weight ? weight[at] : 1.0, spread = this->spread(score_of_row);
                if (w == 0 || !y) {
                    if (!y) observe(r);
                    units.leave(score_of_row);
                    continue;
                }
                const double* const seen = combiner_ ? stacked(r, scratch) : nullptr;
                const double* const target = units.target(y + at * c, scratch);
                rows += 1;
                for (const auto& map : maps_) map->before(r, rows);
                const Noise noise = combiner_ ? combiner_->noise() : noise_ ? noise_->noise() : Noise{};
                if (combiner_) combiner_->learn(seen, target, score_of_row, w);
                if (combiner_ && combiner_->alarmed())
                    for (const auto& map : maps_) map->drifted();
                const double* f = combiner_ ? scores_.data() : score_of_row;
                const double* learned = combiner_ ? combiner_->target(target) : target;
                for (const Expert& expert : experts_) {
                    expert.head->learn(r, learned, f, w, rows, noise);
                    f += c;
                }
                if (noise_) noise_->observe(mean_square(target, score_of_row), rows);
                for (const auto& map : maps_) map->after(r, rows);
                if (!pass.repeats) units.observe_scores(target, score_of_row, c, spread);
                if (lags) observe_lag(r, labels[r], score_of_row);
                units.leave(score_of_row);
                units.observe_target(y + at * c, scratch);
            }
        }
    }
    void learn(const double* x, const double* y, const double* weight, std::size_t count, double* scores) override {
        learn({x}, y, weight, count, scores, {.learned = true, .late_anchors = true});
    }

    // Scores (c) of each row; with a level the half-width of its interval behind its score.
    void scores(const Rows& x, std::size_t count, double* out, const double* level = nullptr) {
        const std::size_t columns = outputs_ + (level ? 1 : 0);
        Head* const encoder = this->encoder();
        Units::Scratch scratch = units_->scratch(x, count, width_, encoder);
        for (std::size_t start = 0; start < count; start += group) {
            const std::size_t size = std::min(group, count - start);
            const double* raw = dense(x, start, size, nullptr, nullptr, scratch);
            evaluate(units_->enter(x, see(raw, size, encoder, scratch), start, size, width_, nullptr, Pass{}, scratch), size);
            for (std::size_t r = 0; r < size; ++r) {
                double* const own = out + (start + r) * columns;
                score(r, own, encoder, scratch);
                if (level) own[1] = units_->half_width(*level, own[0], spread(own));
                units_->leave(own);
            }
        }
    }
    void scores(const double* x, std::size_t count, double* out) override { scores(Rows{x}, count, out); }

    // Values of the moment of a row: what is known of earlier targets, and the scores of experts of a scalar target.
    std::size_t moment_size() const { return units_->lags->columns() + 2 + (units_->lags->classes() ? 0 : experts_.size()); }
    // The moments of rows that are scored now.
    void moments(const double* x, std::size_t count, double* out) {
        const Lags& lags = *units_->lags;
        std::vector<double> f(outputs_);
        for (std::size_t r = 0; r < count; ++r) {
            scores(x + r * row_features(), 1, f.data());
            double* to = out + r * moment_size();
            units_->lags->enter(0, x + r * row_features(), nullptr, nullptr, to);
            to[lags.columns()] = lags.target(0);
            to[lags.columns() + 1] = lags.error(0);
            if (lags.classes()) continue;
            for (std::size_t e = 0; e < experts_.size(); ++e) {
                double* const own = to + lags.columns() + 2 + e;
                *own = combiner_ ? scores_[e] : f[0];
                if (combiner_) units_->leave(own);
            }
        }
    }

    // How far rows that are not learned are from the nearest of the last `window` rows.
    void distances(const Rows& x, std::size_t window, std::size_t count, double* out) {
        RecentRows* recent = nullptr;
        for (const auto& map : maps_)
            if (!recent) recent = dynamic_cast<RecentRows*>(map.get());
        if (!recent) throw std::invalid_argument("no map of this learner stores rows");
        Head* const encoder = this->encoder();
        Units::Scratch scratch = units_->scratch(x, count, width_, encoder);
        for (std::size_t start = 0; start < count; start += group) {
            const std::size_t size = std::min(group, count - start);
            const double* raw = dense(x, start, size, nullptr, nullptr, scratch);
            const Rows rows = units_->enter(x, see(raw, size, encoder, scratch), start, size, width_, nullptr, Pass{}, scratch);
            recent->evaluate(rows.dense, size);
            for (std::size_t r = 0; r < size; ++r) out[start + r] = recent->distance(r, window);
        }
    }

    // One map and one expert without a combiner: their fields have no prefix.
    void describe(Description& d) override {
        Online::describe(d);
        for (std::size_t i = 0; i < maps_.size(); ++i) {
            d.begin_part(prefix(i));
            maps_[i]->describe(d);
        }
        for (std::size_t i = 0; i < experts_.size(); ++i) {
            d.begin_part(prefix(experts_[i].map), own_prefix(i));
            experts_[i].head->describe(d);
        }
        d.begin_part("");
        if (noise_) noise_->describe(d);
        units_->describe(d);
        if (combiner_) combiner_->describe(d);
        d.scratch(scores_);
        d.bytes += sizeof(*this) - (units_->lags ? 0 : sizeof(remembered_) + sizeof(moments_));
        if (units_->lags) d.scratch(remembered_);
    }
    void resize(const Sizes& sizes) override {
        Online::resize(sizes);
        units_->resize(sizes);
        if (combiner_) combiner_->resize(sizes);
        for (std::size_t i = 0; i < maps_.size(); ++i) maps_[i]->resize(sizes, prefix(i));
        for (std::size_t i = 0; i < experts_.size(); ++i) experts_[i].head->resize(sizes, own_prefix(i));
    }

  private:
    bool single() const { return maps_.size() == 1 && experts_.size() == 1 && !combiner_; }
    std::string prefix(std::size_t map) const { return single() ? "" : "map" + std::to_string(map) + "/"; }
    std::string own_prefix(std::size_t expert) const {
        return single() ? "" : "expert" + std::to_string(expert) + "/";
    }

    void check_outputs(std::size_t outputs) const override {
        if (units_->outputs() > 0 && outputs != units_->outputs())
            throw std::invalid_argument("there are more or fewer outputs than targets that are scaled");
    }
    void reset() override {
        for (std::size_t i = 0; i < maps_.size(); ++i) maps_[i]->resize({}, prefix(i));
        for (const Expert& expert : experts_) expert.head->clear(outputs_);
        if (noise_) noise_->clear();
        if (!combiner_) return;
        combiner_->clear(experts_.size(), outputs_);
        scores_ = Buffer(experts_.size() * outputs_);
        if (units_->lags && !units_->lags->classes()) remembered_ = Buffer(experts_.size());
    }
    // Of the residuals of a row.
    double mean_square(const double* y, const double* f) const {
        double sum = 0;
        for (std::size_t o = 0; o < outputs_; ++o) sum += (y[o] - f[o]) * (y[o] - f[o]);
        return sum / static_cast<double>(std::max<std::size_t>(1, outputs_));
    }
    // Features of the first map of a kind; 0 where there is none.
    static std::size_t width(const std::vector<std::shared_ptr<Map>>& maps, bool sparse) {
        for (const auto& map : maps)
            if (map && map->takes_sparse_rows() == sparse) return map->features();
        return 0;
    }
    // What says what categories are to the other experts; null where rows have none.
    Head* encoder() const {
        for (const Expert& expert : experts_)
            if (expert.head->encodes()) return expert.head.get();
        return nullptr;
    }
    // The dense part of rows, with what is known of earlier targets.
    const double* dense(const Rows& x, std::size_t start, std::size_t size, const double* labels, const double* weight,
                        Units::Scratch& scratch) {
        if (!x.dense) return nullptr;
        if (!units_->lags) return x.dense + start * width_;
        const std::size_t own = row_features();
        for (std::size_t r = 0; r < size; ++r)
            moments_[r] = x.moment ? x.dense + (start + r) * (own + x.moment) + own + units_->lags->columns() + 2 : nullptr;
        return units_->with_lags(x, start, size, width_, labels, weight, scratch);
    }
    // Shows the maps rows with categories or missing values; returns them with numbers in place of categories.
    const double* see(const double* raw, std::size_t size, Head* encoder, Units::Scratch& scratch) {
        if (!raw) return nullptr;
        const bool special = encoder || has_nan(raw, size * width_);
        for (const auto& map : maps_) map->see(special ? raw : nullptr, size);
        if (!encoder) return raw;
        for (std::size_t r = 0; r < size; ++r) encoder->encode(r, raw + r * width_, scratch.encoded.data() + r * width_);
        return scratch.encoded.data();
    }
    void evaluate(const Rows& x, std::size_t size) {
        for (const auto& map : maps_) {
            if (map->takes_sparse_rows())
                map->evaluate(x.sparse, 0, size);
            else
                map->evaluate(x.dense, size);
        }
        for (const Expert& expert : experts_) expert.head->start_group();
    }
    void observe(std::size_t r) {
        for (const auto& map : maps_) map->observe(r);
        for (const Expert& expert : experts_) expert.head->observe();
    }
    // What lags know of a row: its target, or the index of its class.
    double label(const double* y) const {
        if (!units_->lags->classes()) return y[0];
        return static_cast<double>(outputs_ == 1 ? (y[0] > 0 ? 1 : 0) : std::max_element(y, y + outputs_) - y);
    }
    // Row r was learned: what the experts did not explain, in the units of the target, or whether f is another class.
    void observe_lag(std::size_t r, double label, const double* f) {
        Lags& lags = *units_->lags;
        if (lags.classes()) return lags.observe(r, this->label(f) == label ? 0 : 1);
        double q = combiner_ ? combiner_->unexplained() : 0;
        units_->leave(&q);
        lags.observe(r, q);
    }
    void score(std::size_t r, double* f, const Head* encoder, Units::Scratch& scratch) {
        if (!combiner_) return experts_[0].head->scores(r, f);
        if (encoder) combiner_->set_unknown(encoder->has_unknown(r));
        if (const Lags* lags = units_->lags.get()) {
            const double error = lags->error(r);
            combiner_->know(lags->target(r), lags->classes() ? error : units_->target(&error, scratch)[0]);
        }
        for (std::size_t e = 0; e < experts_.size(); ++e) experts_[e].head->scores(r, scores_.data() + e * outputs_);
        combiner_->combine(stacked(r, scratch), f);
    }
    // The scores of the experts as the combiner takes them: those of the moment of the row, if it has one.
    const double* stacked(std::size_t r, Units::Scratch& scratch) {
        const Lags* const lags = units_->lags.get();
        if (!lags || lags->classes() || !lags->remembers(r)) return scores_.data();
        for (std::size_t e = 0; e < experts_.size(); ++e)
            remembered_[e] = units_->target(moments_[r] + e, scratch)[0];
        return remembered_.data();
    }

    // Of the experts' scores of the row at hand, around f; 0 without an interval by row or several experts.
    double spread(const double* f) const {
        const bool needed = units_->interval && units_->interval->by_row() && combiner_;
        return needed ? combiner_->spread(scores_.data(), experts_.size(), f[0]) : 0;
    }

    std::size_t places_;  // of maps of sparse rows
    std::size_t sparse_features_ = 0, width_ = 0;
    std::vector<std::shared_ptr<Map>> maps_;
    std::vector<Expert> experts_;
    std::shared_ptr<Combiner> combiner_;
    std::shared_ptr<NoiseLevel> noise_;
    std::unique_ptr<Units> units_;
    Buffer scores_{0}, remembered_{0};  // of the experts, for the row at hand: now, and at its moment
    const double* moments_[group] = {};
};

namespace {

// What is asked of rows that are not learned: intervals of a level, or how far they are from the last `window` rows; else scores.
struct Question {
    const double* level = nullptr;
    std::size_t window = 0;
};
// Rows from Python: learned, or what is asked of them.
NumPyArray take(Learner& self, const Rows& x, std::size_t rows, const Matrix* y, const nb::object& weight,
                const Pass& pass, const Question& asked = {}) {
    const std::size_t c = self.outputs();
    expect(!y || (y->shape(0) == rows && y->shape(1) == c), "y is not (rows, outputs)");
    Vector held;
    const double* w = weights_of(weight, rows, held);
    if (asked.level) {
        expect(self.units().interval != nullptr, "this learner has no interval");
        expect(*asked.level > 0 && *asked.level < 1, "level is not between 0 and 1");
    }
    expect(!w || y || !pass.learned, "weights need labels");
    Fresh out = asked.window > 0 ? fresh({rows}) : fresh({rows, c + (asked.level ? 1 : 0)});
    {
        nb::gil_scoped_release unlocked;
        if (pass.learned)
            self.learn(x, y ? y->data() : nullptr, w, rows, out.data, pass);
        else if (asked.window > 0)
            self.distances(x, asked.window, rows, out.data);
        else
            self.scores(x, rows, out.data, asked.level);
    }
    return out.array;
}

NumPyArray take_dense(Learner& self, const Matrix& x, const Matrix* y, const nb::object& weight, const Pass& pass,
                      const Question& asked = {}) {
    expect(self.sparse_features() == 0, "this learner takes sparse rows");
    const Lags* lags = self.units().lags.get();
    const std::size_t moment = lags && x.shape(1) == self.row_features() + self.moment_size() ? self.moment_size() : 0;
    expect(x.shape(1) == self.row_features() + moment, "x has another number of features than the learner");
    return take(self, {x.data(), {}, moment}, x.shape(0), y, weight, pass, asked);
}

// Non-zeros and the dense part x of rows; a feature table has the sketch in the place of x.
NumPyArray take_sparse(Learner& self, const std::optional<Matrix>& x, const Starts& starts, const Places& places,
                       const Vector& values, const Matrix* y, const nb::object& weight, const Pass& pass,
                       const Question& asked = {}) {
    const bool looked_up = self.units().feature_table != nullptr;
    expect(self.sparse_features() > 0, "this learner takes dense rows");
    expect(x.has_value() != looked_up, "x is None for a learner with a feature table, and for no other");
    const SparseRows sparse = sparse_rows(starts, places, values, self.sparse_features(), !looked_up);
    const std::size_t rows = starts.shape(0) - 1;
    if (looked_up) return take(self, {nullptr, sparse}, rows, y, weight, pass, asked);
    expect(x->shape(1) == self.width(), "x has another number of features than the learner");
    expect(x->shape(0) == rows, "starts has one entry more than there are rows");
    return take(self, {x->data(), sparse}, rows, y, weight, pass, asked);
}

}  // namespace

NOLANA_BINDING(learner) {
    using Scaling = std::shared_ptr<RobustScaling>;
    nb::class_<Expert>(m, "Expert")
        .def(nb::init<std::size_t, std::shared_ptr<Head>>(), "map"_a, "head"_a);
    nb::class_<NoiseLevel>(m, "NoiseLevel").def(nb::init<>());
    nb::class_<Learner, Online>(m, "Learner")
        .def(
            "__init__",
            [](Learner* self, std::vector<std::shared_ptr<Map>> maps, std::vector<Expert> experts,
               std::shared_ptr<Combiner> combiner, std::shared_ptr<NoiseLevel> noise, Scaling scaling, Scaling target_scaling,
               std::shared_ptr<IntervalWidth> interval, std::shared_ptr<FeatureTable> feature_table, std::shared_ptr<Lags> lags,
               std::shared_ptr<LabelSets> label_sets, std::shared_ptr<GrowthWatch> growth) {
                Units units;
                units.scaling = std::move(scaling);
                units.target_scaling = std::move(target_scaling);
                units.interval = std::move(interval);
                units.feature_table = std::move(feature_table);
                units.lags = std::move(lags);
                units.label_sets = std::move(label_sets);
                units.growth = std::move(growth);
                new (self) Learner(std::move(maps), std::move(experts), std::move(combiner), std::move(noise), std::move(units));
            },
            "maps"_a, "experts"_a, "combiner"_a.none() = nb::none(), "noise"_a.none() = nb::none(),
            "scaling"_a.none() = nb::none(), "target_scaling"_a.none() = nb::none(), "interval"_a.none() = nb::none(),
            "feature_table"_a.none() = nb::none(), "lags"_a.none() = nb::none(), "label_sets"_a.none() = nb::none(),
            "growth"_a.none() = nb::none())
        .def(
            "learn",
            [](Learner& self, const Matrix& x, const std::optional<Matrix>& y, const nb::object& weight, bool frozen, bool repeats,
               bool late_anchors) {
                return take_dense(self, x, y ? &*y : nullptr, weight, {true, frozen, repeats, late_anchors});
            },
            "x"_a, "y"_a.none(), "weight"_a = nb::none(), "frozen"_a = false, "repeats"_a = false, "late_anchors"_a = true)
        .def(
            "scores",
            [](Learner& self, const Matrix& x) {
                return take_dense(self, x, nullptr, nb::none(), {});
            },
            "x"_a)
        .def(
            "moments",
            [](Learner& self, const Matrix& x) {
                expect(self.units().lags != nullptr, "this learner has no lags");
                expect(x.shape(1) == self.row_features(), "x has another number of features than the learner");
                Fresh out = fresh({x.shape(0), self.moment_size()});
                self.moments(x.data(), x.shape(0), out.data);
                return out.array;
            },
            "x"_a)
        .def(
            "learn_sparse",
            [](Learner& self, const std::optional<Matrix>& x, const Starts& starts, const Places& places,
               const Vector& values, const std::optional<Matrix>& y, const nb::object& weight, bool frozen, bool repeats,
               bool late_anchors) {
                return take_sparse(self, x, starts, places, values, y ? &*y : nullptr, weight,
                                   {true, frozen, repeats, late_anchors});
            },
            "x"_a.none(), "starts"_a, "places"_a, "values"_a, "y"_a.none(), "weight"_a = nb::none(), "frozen"_a = false,
            "repeats"_a = false, "late_anchors"_a = true)
        .def(
            "scores_sparse",
            [](Learner& self, const std::optional<Matrix>& x, const Starts& starts, const Places& places,
               const Vector& values) {
                return take_sparse(self, x, starts, places, values, nullptr, nb::none(), {});
            },
            "x"_a.none(), "starts"_a, "places"_a, "values"_a)
        .def(
            "intervals",
            [](Learner& self, const Matrix& x, double level) {
                return take_dense(self, x, nullptr, nb::none(), {}, {&level});
            },
            "x"_a, "level"_a)
        .def(
            "intervals_sparse",
            [](Learner& self, const std::optional<Matrix>& x, const Starts& starts, const Places& places,
               const Vector& values, double level) {
                return take_sparse(self, x, starts, places, values, nullptr, nb::none(), {}, {&level});
            },
            "x"_a.none(), "starts"_a, "places"_a, "values"_a, "level"_a)
        .def(
            "distances",
            [](Learner& self, const Matrix& x, std::size_t window) {
                expect(window > 0, "a window has at least one row");
                return take_dense(self, x, nullptr, nb::none(), {}, {nullptr, window});
            },
            "x"_a, "window"_a)
        .def(
            "distances_sparse",
            [](Learner& self, const std::optional<Matrix>& x, const Starts& starts, const Places& places,
               const Vector& values, std::size_t window) {
                expect(window > 0, "a window has at least one row");
                return take_sparse(self, x, starts, places, values, nullptr, nb::none(), {}, {nullptr, window});
            },
            "x"_a.none(), "starts"_a, "places"_a, "values"_a, "window"_a)
        .def("reserve", &Learner::reserve, "outputs"_a)
        .def("append_output", &Learner::append_output)
        .def_prop_ro("room", &Learner::room)
        .def_prop_ro("maps", &Learner::maps)
        .def_prop_ro("scaling", [](const Learner& self) { return self.units().scaling; })
        .def_prop_ro("target_scaling", [](const Learner& self) { return self.units().target_scaling; })
        .def_prop_ro("interval", [](const Learner& self) { return self.units().interval; })
        .def_prop_ro("feature_table", [](const Learner& self) { return self.units().feature_table; })
        .def_prop_ro("lags", [](const Learner& self) { return self.units().lags; })
        .def_prop_ro("label_sets", [](const Learner& self) { return self.units().label_sets; })
        .def_prop_ro("growth", [](const Learner& self) { return self.units().growth; })
        .def_prop_ro("alarms", &Learner::alarms);
}

}  // namespace nolana
