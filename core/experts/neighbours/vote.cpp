// The nearest rows of a window vote with weight 1.5 - (D/D_k)^2, D their distances, D_k the largest.
//     classes    f_c = (log(votes_c + 0.1) - mean over the classes)/2;  one output: f of the second class
//     regression f = mean of their targets, which the stack has bounded
#include <cmath>

#include "bind/bind.hpp"
#include "experts/head.hpp"
#include "experts/neighbours/neighbour_map.hpp"

namespace nolana {

class Vote final : public HeadOn<RecentRows> {
  public:
    Vote(std::shared_ptr<const Loss> loss, std::size_t window) : number_(loss->linear()), window_(window) {}

    void attached() override {
        if (window_ >= map_->window_count()) throw std::invalid_argument("the head names a window that does not exist");
        targets_ = BufferOf<float>(map_->window(window_));
    }
    void clear(std::size_t outputs) override {
        outputs_ = outputs;
        counts_ = Buffer(outputs);
        votes_ = Buffer(std::max<std::size_t>(2, outputs));
        stored_ = next_ = 0;
    }

    void append_output(double) override {
        counts_ = extended(counts_, ++outputs_);
        votes_ = Buffer(outputs_);
    }
    void scores(std::size_t r, double* f) const override {
        std::size_t count = 0;
        const Neighbour* near = map_->nearest(r, window_, count);
        std::fill_n(f, outputs_, 0.0);
        if (count == 0) return;
        if (number_) {
            std::size_t labelled = 0;
            for (std::size_t i = 0; i < count; ++i) {
                const double own = target(near[i].age());
                if (own != unlabelled) f[0] += own, ++labelled;
            }
            if (labelled > 0) f[0] /= static_cast<double>(labelled);
            return;
        }
        double* votes = votes_.data();
        const std::size_t classes = std::max<std::size_t>(2, outputs_);
        std::fill_n(votes, classes, 0.0);
        const double farthest = near[count - 1].distance();
        for (std::size_t i = 0; i < count; ++i) {
            const double own = target(near[i].age());
            if (own == unlabelled) continue;
            const std::size_t at = outputs_ == 1 ? (own > 0 ? 1 : 0) : std::min(static_cast<std::size_t>(std::max(0.0, own)), outputs_ - 1);
            const double ratio = farthest > 0 ? near[i].distance() / farthest : 0.0;
            votes[at] += 1.5 - ratio * ratio;
        }
        double sum = 0;
        for (std::size_t k = 0; k < classes; ++k) sum += votes[k] = votes[k] > 0 ? std::log(votes[k] + no_vote) : none;
        const double middle = sum / static_cast<double>(classes);
        if (outputs_ == 1)
            f[0] = (votes[1] - middle) / 2;
        else
            for (std::size_t k = 0; k < classes; ++k) f[k] = (votes[k] - middle) / 2;
    }
    void learn(std::size_t, const double* y, const double*, double, double, const Noise&) override {
        const std::size_t own = largest_of(y, outputs_);
        counts_[own] += 1;
        const double number = std::min(largest_target, std::max(-largest_target, y[0]));
        store(outputs_ == 1 ? number : static_cast<double>(own));
    }
    void observe() override { store(unlabelled); }

    void describe(Description& d) override {
        const std::size_t n = stored_;
        Field targets{"targets", {Side("targets", n, targets_.size())}, {}, {}, -largest_target, unlabelled};
        targets.get_single = [this, n](float* to) {
            for (std::size_t i = 0; i < n; ++i) to[i] = targets_[slot_of(n - 1 - i)];
        };
        targets.set_single = [this, n](const float* from) {
            std::copy_n(from, n, targets_.data());
            next_ = n % targets_.size();
        };
        d.add(std::move(targets));
        d.vector("counts", counts_, Side::outputs(outputs_));
        d.fields.back().low = 0;
        d.fields.back().high = 0x1p53;
        d.fields.back().whole = true;
        d.scratch(targets_, votes_);
    }
    void resize(const Sizes& sizes, const std::string& prefix) override {
        stored_ = sizes.at(prefix + "targets");
        next_ = stored_ % targets_.size();
    }

  private:
    static constexpr double no_vote = 0.1, largest_target = 0x1p24;
    static constexpr double unlabelled = 0x1p25;  // in place of a target
    inline static const double none = std::log(no_vote);

    void store(double target) {
        targets_[next_] = static_cast<float>(target);
        next_ = next_ + 1 == targets_.size() ? 0 : next_ + 1;
        stored_ = std::min(stored_ + 1, targets_.size());
    }
    std::size_t slot_of(std::size_t age) const { return next_ > age ? next_ - 1 - age : next_ + targets_.size() - 1 - age; }
    double target(std::size_t age) const { return static_cast<double>(targets_[slot_of(age)]); }

    bool number_;
    std::size_t window_, outputs_ = 0, stored_ = 0, next_ = 0;
    BufferOf<float> targets_{0};
    Buffer counts_{0};
    mutable Buffer votes_{0};
};

NOLANA_BINDING(vote) {
    nb::class_<Vote, Head>(m, "Vote").def(nb::init<std::shared_ptr<const Loss>, std::size_t>(), "loss"_a, "window"_a);
}

}  // namespace nolana
