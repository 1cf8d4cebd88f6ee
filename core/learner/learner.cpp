// A learner: maps, experts on them (a map and a head each), and a combiner where there is more than one expert.
//
// For each row: every map gives its features, every expert its scores, the combiner the score of the row. Then the maps
// may grow, the experts learn, and the maps may move. Experts on one map share its features. Where targets are numbers,
// experts learn with the variance of the residuals: of the combiner, or `noise` where there is none.
#include "bind/sparse.hpp"
#include "learner/combiner.hpp"
#include "experts/head.hpp"
#include "learner/online.hpp"
#include "learner/residual_variance.hpp"

namespace nolana {

struct Expert {
    std::size_t map;  // its place among the learner's maps
    std::shared_ptr<Head> head;
};

class Learner final : public Online {
  public:
    Learner(std::vector<std::shared_ptr<Map>> maps, std::vector<Expert> experts, std::shared_ptr<Combiner> combiner,
            std::shared_ptr<NoiseLevel> noise)
        : Online(width(maps, false)), sparse_features_(width(maps, true)), maps_(std::move(maps)),
          experts_(std::move(experts)), combiner_(std::move(combiner)), noise_(std::move(noise)) {
        if (maps_.empty() || experts_.empty()) throw std::invalid_argument("a learner needs a map and an expert");
        if (experts_.size() > 1 && !combiner_) throw std::invalid_argument("several experts need a combiner");
        if (combiner_ && noise_) throw std::invalid_argument("a combiner estimates the noise itself");
        for (const auto& map : maps_)
            if (!map || map->features() != (map->takes_sparse_rows() ? sparse_features_ : features_))
                throw std::invalid_argument("the maps differ in their number of features");
        for (const Expert& expert : experts_)
            if (expert.map >= maps_.size()) throw std::invalid_argument("an expert names a map that does not exist");
        for (const auto& map : maps_) map->claim();
        for (const Expert& expert : experts_) expert.head->attach(*maps_[expert.map]);
        std::vector<Head*> heads;
        for (const Expert& expert : experts_) heads.push_back(expert.head.get());
        for (Head* head : heads) head->connect(heads);
        clear(1);
    }

    const std::vector<std::shared_ptr<Map>>& maps() const { return maps_; }

    std::vector<double> alarms() const { return combiner_ ? combiner_->alarms() : std::vector<double>(); }

    // Back to before the first row; from now on arrays have room for this many outputs, if there are two or more.
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
        ++outputs_;
        for (const Expert& expert : experts_) expert.head->append_output(rows);
        if (!combiner_) return;
        combiner_->set_outputs(outputs_);
        scores_ = Buffer(experts_.size() * outputs_);
    }

    // The places that the non-zeros of a sparse row may have; 0 where rows are dense.
    std::size_t sparse_features() const { return sparse_features_; }
    // The next rows have these non-zeros beside their dense part.
    void set_sparse_rows(const SparseRows& rows) { sparse_ = rows; }

    void learn(const double* x, const double* y, const double* weight, std::size_t count, double* scores) override {
        const std::size_t c = outputs_;
        for (std::size_t start = 0, size = 0; start < count; start += size) {
            size = std::min(group, count - start);
            for (const Expert& expert : experts_) size = std::min(size, expert.head->rows_to_sweep());
            evaluate(x, start, size);
            for (std::size_t r = 0; r < size; ++r) {
                const std::size_t at = start + r;
                score(r, scores + at * c);
                const double w = weight ? weight[at] : 1.0;
                if (w == 0) continue;
                rows += 1;
                for (const auto& map : maps_) map->before(r, rows);
                const double noise = combiner_ ? combiner_->noise() : noise_ ? noise_->noise() : 1;
                if (combiner_) combiner_->learn(scores_.data(), y + at * c, scores + at * c, w);
                const double* f = combiner_ ? scores_.data() : scores + at * c;
                const double* target = combiner_ ? combiner_->target(y + at * c) : y + at * c;
                for (const Expert& expert : experts_) {
                    expert.head->learn(r, target, f, w, rows, noise);
                    f += c;
                }
                if (noise_) noise_->observe(mean_square(y + at * c, scores + at * c), rows);
                for (const auto& map : maps_) map->after(r, rows);
            }
        }
    }

    void scores(const double* x, std::size_t count, double* out) override {
        for (std::size_t start = 0; start < count; start += group) {
            const std::size_t size = std::min(group, count - start);
            evaluate(x, start, size);
            for (std::size_t r = 0; r < size; ++r) score(r, out + (start + r) * outputs_);
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
        if (combiner_) combiner_->describe(d);
        if (noise_) noise_->describe(d);
        d.scratch(scores_);
        d.bytes += sizeof(*this);
    }
    void resize(const Sizes& sizes) override {
        Online::resize(sizes);
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

    void reset() override {
        for (std::size_t i = 0; i < maps_.size(); ++i) maps_[i]->resize({}, prefix(i));
        for (const Expert& expert : experts_) expert.head->clear(outputs_);
        if (noise_) noise_->clear();
        if (!combiner_) return;
        combiner_->clear(experts_.size(), outputs_);
        scores_ = Buffer(experts_.size() * outputs_);
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
    void evaluate(const double* x, std::size_t start, std::size_t size) {
        if (sparse_features_ > 0 && !sparse_.starts) throw std::invalid_argument("this learner takes sparse rows");
        for (const auto& map : maps_) {
            if (map->takes_sparse_rows())
                map->evaluate(sparse_, start, size);
            else
                map->evaluate(x + start * features_, size);
        }
        for (const Expert& expert : experts_) expert.head->start_group();
    }
    void score(std::size_t r, double* f) {
        if (!combiner_) return experts_[0].head->scores(r, f);
        for (std::size_t e = 0; e < experts_.size(); ++e) experts_[e].head->scores(r, scores_.data() + e * outputs_);
        combiner_->combine(scores_.data(), f);
    }

    std::size_t sparse_features_;
    SparseRows sparse_ = {};
    std::vector<std::shared_ptr<Map>> maps_;
    std::vector<Expert> experts_;
    std::shared_ptr<Combiner> combiner_;
    std::shared_ptr<NoiseLevel> noise_;
    Buffer scores_{0};  // of the experts, for the row at hand
};

namespace {

// The dense part of rows of which some maps read the non-zeros; learned where there are targets.
NumPyArray take_sparse(Learner& self, const Matrix& x, const Starts& starts, const Places& places, const Vector& values,
                       const Matrix* y, const nb::object& weight) {
    const std::size_t rows = x.shape(0), c = self.outputs();
    expect(self.sparse_features() > 0, "this learner takes dense rows");
    expect(x.shape(1) == self.features() || self.features() == 0, "x has another number of features than the learner");
    expect(starts.shape(0) == rows + 1, "starts has one entry more than there are rows");
    expect(!y || (y->shape(0) == rows && y->shape(1) == c), "y is not (rows, outputs)");
    Vector weights;
    if (!weight.is_none()) {
        weights = nb::cast<Vector>(weight);
        expect(weights.shape(0) == rows, "weight is not (rows,)");
    }
    self.set_sparse_rows(sparse_rows(starts, places, values, self.sparse_features(), true));
    Fresh out = fresh({rows, c});
    const double* w = weight.is_none() ? nullptr : weights.data();
    {
        nb::gil_scoped_release unlocked;
        if (y)
            self.learn(x.data(), y->data(), w, rows, out.data);
        else
            self.scores(x.data(), rows, out.data);
    }
    self.set_sparse_rows({});
    return out.array;
}

}  // namespace

NOLANA_BINDING(learner) {
    nb::class_<Expert>(m, "Expert")
        .def(nb::init<std::size_t, std::shared_ptr<Head>>(), "map"_a, "head"_a);
    nb::class_<NoiseLevel>(m, "NoiseLevel").def(nb::init<>());
    nb::class_<Learner, Online>(m, "Learner")
        .def(nb::init<std::vector<std::shared_ptr<Map>>, std::vector<Expert>, std::shared_ptr<Combiner>,
                      std::shared_ptr<NoiseLevel>>(),
             "maps"_a, "experts"_a, "combiner"_a.none() = nb::none(), "noise"_a.none() = nb::none())
        .def(
            "learn_sparse",
            [](Learner& self, const Matrix& x, const Starts& starts, const Places& places, const Vector& values,
               const Matrix& y, const nb::object& weight) { return take_sparse(self, x, starts, places, values, &y, weight); },
            "x"_a, "starts"_a, "places"_a, "values"_a, "y"_a, "weight"_a = nb::none())
        .def(
            "scores_sparse",
            [](Learner& self, const Matrix& x, const Starts& starts, const Places& places, const Vector& values) {
                return take_sparse(self, x, starts, places, values, nullptr, nb::none());
            },
            "x"_a, "starts"_a, "places"_a, "values"_a)
        .def("reserve", &Learner::reserve, "outputs"_a)
        .def("append_output", &Learner::append_output)
        .def_prop_ro("room", &Learner::room)
        .def_prop_ro("maps", &Learner::maps)
        .def_prop_ro("alarms", &Learner::alarms);
}

}  // namespace nolana
