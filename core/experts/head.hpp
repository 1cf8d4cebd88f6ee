// What is learned on the features of a map: f_o(x) = w_o . phi(x) for c outputs.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>

#include "learner/loss.hpp"
#include "learner/residual_variance.hpp"
#include "experts/map.hpp"

namespace nolana {

// Scores of row r of a group that another head may build on.
class Offsets {
  public:
    virtual ~Offsets() = default;
    virtual const double* offset(std::size_t r) const = 0;
};

class Head : public Listener {
  public:
    // Called once, before anything else; throws if the map is not one that this head can learn on.
    virtual void attach(Map& map) = 0;
    // All heads of the learner, in the order of the experts; for a head that reads another one.
    virtual void connect(const std::vector<Head*>& heads) { (void)heads; }
    // What such a head reads: scores (c) that are an offset to its own; null if this head has none.
    virtual const Offsets* offsets() const { return nullptr; }
    // Forget what was learned; this many outputs from now on.
    virtual void clear(std::size_t outputs) = 0;
    // From the next `clear` on arrays have room for this many outputs, if there are two or more.
    void reserve(std::size_t outputs) { room_ = outputs; }
    std::size_t room_for(std::size_t outputs) const { return outputs > 1 ? std::max(outputs, room_) : outputs; }
    // One output more, within the room: a class that is new after this many rows.
    virtual void append_output(double rows) = 0;

    // Whether this head says what other maps see in place of the categories of a row.
    virtual bool encodes() const { return false; }
    // Row r of the group, which the map has seen, with numbers in place of its categories.
    virtual void encode(std::size_t r, const double* raw, double* out) const { (void)r, (void)raw, (void)out; }
    // Whether row r has a category that nobody has learned.
    virtual bool has_unknown(std::size_t r) const { return (void)r, false; }
    // Whether rows say something new about what was learned; not in a second pass.
    virtual void set_judging(bool judging) { (void)judging; }

    // A new group of rows was evaluated by the map.
    virtual void start_group() {}
    // Rows until the next sweep over a matrix that cannot be put off: groups that end there waste no work.
    virtual std::size_t rows_to_sweep() const { return group; }
    // f (c) of row r of the group.
    virtual void scores(std::size_t r, double* f) const = 0;
    // y and f have one entry for each output; step counts the rows from 1.
    // noise is that of a scalar target.
    virtual void learn(std::size_t r, const double* y, const double* f, double weight, double step, const Noise& noise) = 0;
    // A row without a label, which the map has observed.
    virtual void observe() {}

    virtual void describe(Description& d) = 0;
    // Sizes of a state that is restored next; `clear` was called with its outputs.
    virtual void resize(const Sizes& sizes, const std::string& prefix) { (void)sizes, (void)prefix; }

  protected:
    // The log-odds of a class that none of the rows had.
    static double unseen(double rows) { return -std::log(rows + 1); }

  private:
    std::size_t room_ = 0;
};

// A head on maps of one kind: these two are made for each other. `M::mismatch` tells what another map lacks.
template <class M>
class HeadOn : public Head {
  public:
    void attach(Map& map) final {
        if (map_) throw std::invalid_argument("a head can belong to one expert only");
        map_ = dynamic_cast<M*>(&map);
        if (!map_) throw std::invalid_argument(M::mismatch);
        attached();
    }
    void grown(const Growth&) override {}
    void moved(const Move&) override {}

  protected:
    // The map is known: sizes that follow from it.
    virtual void attached() {}

    M* map_ = nullptr;
};

// A head on a dense map; weights are one row for each output.
class DenseHead : public HeadOn<DenseMap> {
  public:
    explicit DenseHead(std::shared_ptr<const Loss> loss) : loss_(std::move(loss)), w_(0) {}

    void clear(std::size_t outputs) override {
        outputs_ = outputs;
        w_ = Buffer(std::max<std::size_t>(1, room_for(outputs)) * map_->stride());
    }
    // An output that has been -1 so far: w = -P 1.
    void append_output(double) override {
        Buffer ones(map_->stride());
        for (std::size_t i = 0; i < map_->side().value; ++i) ones[map_->place(i)] = -1;
        map_->prior_times(ones.data(), weights(outputs_++));
    }
    void scores(std::size_t r, double* f) const override {
        const Features at = map_->row(r);
        for (std::size_t o = 0; o < outputs_; ++o) f[o] = dot(w_.data() + o * map_->stride(), at.values(), at.width());
    }
    void moved(const Move& move) override {
        const std::size_t width = padded(move.size, panel_lanes);
        for (std::size_t o = 0; o < outputs_; ++o) add_scaled(weights(o)[move.q], move.carry, weights(o), width);
    }
    void describe(Description& d) override {
        d.scratch(w_);
        const Side side = map_->side();
        const std::size_t n = side.value, c = outputs_;
        d.add({"weights", {Side::outputs(c), side},
               [this, n, c](double* to) {
                   for (std::size_t o = 0; o < c; ++o)
                       for (std::size_t i = 0; i < n; ++i) *to++ = weights(o)[map_->place(i)];
               },
               [this, n, c](const double* from) {
                   for (std::size_t o = 0; o < c; ++o)
                       for (std::size_t i = 0; i < n; ++i) weights(o)[map_->place(i)] = *from++;
               }});
    }

  protected:
    void attached() override {
        map_->attach(this);
        clear(0);
    }
    double* weights(std::size_t output) { return w_.data() + output * map_->stride(); }

    std::shared_ptr<const Loss> loss_;
    std::size_t outputs_ = 0;

  private:
    Buffer w_;
};

}  // namespace nolana
