// The stack: second-order regression on the experts' scores, with forgetting. Formulas and reasons are in
// nolana/engine/learner/stack.py.
#include <algorithm>
#include <cmath>
#include <memory>

#include "bind/bind.hpp"
#include "learner/combiner.hpp"
#include "learner/drift_alarm.hpp"
#include "base/exponentials.hpp"
#include "learner/loss.hpp"
#include "learner/residual_variance.hpp"
#include "learner/target_level.hpp"

namespace nolana {

class Stack final : public Combiner {
  public:
    Stack(std::shared_ptr<const Loss> loss, const Vector& factors, const Vector& limits, const Vector& start,
          double forgetting, double prior, bool follows, double certain, bool knows, double slow,
          double binary_prior, double binary_certain, bool cautious)
        : number_(loss->linear()), follows_(number_ && follows), knows_(knows), cautious_(cautious && !number_), experts_(factors.shape(0)),
          size_(experts_ + (number_ ? 1 : 0) + (follows_ ? 1 : 0) + (!number_ && knows ? 2 : 0)), factors_(experts_),
          limits_(experts_), start_(size_), forgetting_(forgetting), prior_(prior), certain_(certain), weights_(size_),
          information_(size_ * size_), errors_(experts_), factor_(size_ * padded(size_, lanes)), gradient_(size_),
          slow_(number_ ? slow : 0), binary_prior_(number_ ? 0 : binary_prior),
          binary_certain_(number_ ? 0 : binary_certain), calibration_(all_knots()), calibration_information_(all_knots()) {
        expect(limits.shape(0) == experts_ && start.shape(0) == experts_,
               "factors, limits and start have one entry for each expert");
        std::copy_n(factors.data(), experts_, factors_.data());
        std::copy_n(limits.data(), experts_, limits_.data());
        std::copy_n(start.data(), experts_, start_.data());
        if (number_) track_ = std::make_unique<Track>();
        if (slow_ > 0) slow_weights_ = Buffer(size_), slow_information_ = Buffer(size_ * size_);
    }

    void clear(std::size_t experts, std::size_t outputs) override {
        if (experts != experts_)
            throw std::invalid_argument("the stack is made for " + std::to_string(experts_) + " experts, not " +
                                        std::to_string(experts));
        set_outputs(outputs);
        start_from(prior_, weights_, information_);
        if (slow_ > 0) start_from(slow_prior, slow_weights_, slow_information_);
        errors_.clear();
        alarm_.clear();
        alarm_count_ = 0;
        stacked_ = lowest_ = highest_ = 0;
        rate_ = 0.5;
        variance_.clear();
        if (number_) *track_ = Track();
        for (std::size_t k = 0; k < all_knots(); ++k) {
            calibration_[k] = first_correction(k);
            calibration_information_[k] = knot_prior;
        }
        unknown_ = false;
        unknown_share_ = 1;
    }
    void set_outputs(std::size_t outputs) override {
        outputs_ = outputs;
        columns_ = number_ ? 1 : std::max<std::size_t>(2, outputs);
        seen_ = Buffer(size_ * columns_);
        p_ = Buffer(number_ ? 0 : 2 * padded(columns_, lanes));  // and room for their exponentials
        if (!number_) std::fill_n(p_.data(), padded(columns_, lanes), absent);
    }
    Noise noise() const override { return number_ ? variance_.noise() : Noise{}; }
    const double* target(const double* y) const override { return number_ ? &track_->own : y; }

    std::vector<std::string> judgement() const override {
        if (number_)
            return {"stack_weights", "information", "errors", "residual_variance", "skew", "lowest", "highest", "slow_weights",
                    "slow_information"};
        return {"stack_weights", "information", "errors", "calibration", "calibration_information", "rate", "unknown_share"};
    }
    bool alarmed() const override { return alarm_count_ > 0 && alarms_[alarm_count_ - 1] == stacked_; }
    std::vector<double> alarms() const override { return {alarms_, alarms_ + alarm_count_}; }

    void know(double target, double error) override {
        if (!knows_) return;
        if (number_) {
            const double reach = highest_ - lowest_;
            track_->known = std::isnan(error) ? 0 : std::min(reach, std::max(-reach, error - track_->level.value()));
        } else {
            label_ = target;
            missed_ = error;
        }
    }
    void set_unknown(bool unknown) override { unknown_ = unknown; }
    double unexplained() const override { return number_ ? track_->last + track_->level.value() : 0; }

    void combine(const double* scores, double* f) const override {
        see(scores);
        if (number_) {
            double sum = 0;
            for (std::size_t e = 0; e < size_; ++e) sum += weights_[e] * seen_[e];
            f[0] = track_->level.bounded(track_->level.value() + std::min(highest_, std::max(lowest_, sum)));
            return;
        }
        add_up(weights_.data(), p_.data());
        now_ = standing();
        const double change = now_.gap > 0 ? correction() : 0;
        p_[now_.best] += std::max(change, (least_gap - 1) * now_.gap);
        if (outputs_ == 1)
            f[0] = (p_[1] - p_[0]) / 2;
        else
            std::copy_n(p_.data(), columns_, f);
    }

    double spread(const double*, std::size_t, double f) const override {
        return Combiner::spread(seen_.data(), experts_, f - track_->level.value());
    }

    // The row's inputs and scores are those that `combine` left.
    void learn(const double*, const double* y, const double* f, double weight) override {
        stacked_ += 1;
        if (number_) return learn_number(y[0], f[0], weight);
        const double share = undecided(), forgotten = (1 - forgetting_) * share;
        forget(share == 1 ? forgetting_ : 1 - forgotten, information_);  // to the bit
        learn_class(y, weight);
        step(forgotten, prior_, more(), start_, weights_, information_);
    }

    void describe(Description& d) override {
        d.vector("stack_weights", weights_, size_);
        d.matrix("information", information_, size_, size_, size_);
        d.vector("errors", errors_, experts_);
        d.fields.back().low = 0;
        d.count("stacked", stacked_);
        alarm_.describe(d, "alarm_");
        Field alarms{"alarms", {Side("alarms", alarm_count_, most_alarms)},
                     [this, n = alarm_count_](double* to) { std::copy_n(alarms_, n, to); },
                     [this, n = alarm_count_](const double* from) { std::copy_n(from, n, alarms_); }};
        alarms.low = 0;
        alarms.high = 0x1p53;
        alarms.whole = true;
        d.add(std::move(alarms));
        if (number_) {
            variance_.describe(d);
            d.number("lowest", lowest_, -std::numeric_limits<double>::infinity());
            d.number("highest", highest_, -std::numeric_limits<double>::infinity());
            track_->level.describe(d);
            d.bytes += sizeof(Track) - (knows_ ? 0 : sizeof(track_->known));
            if (follows_) d.number("last_residual", track_->last, -std::numeric_limits<double>::infinity());
            if (slow_ > 0) {
                d.vector("slow_weights", slow_weights_, size_);
                d.matrix("slow_information", slow_information_, size_, size_, size_);
            }
            d.number("agreement", track_->agreement, -1);
            d.number("relative_step", track_->relative_step, 0);
            d.number("last_score", track_->last_score, -std::numeric_limits<double>::infinity());
            d.number("last_target", track_->last_target, -std::numeric_limits<double>::infinity());
        }
        if (!number_) {
            d.vector("calibration", calibration_, all_knots());
            d.vector("calibration_information", calibration_information_, all_knots());
            d.fields.back().low = 0;
            if (binary_certain_ > 0) {
                d.number("rate", rate_, 0);
                d.fields.back().high = 1;
            }
            if (cautious_) {
                d.number("unknown_share", unknown_share_, 0);
                d.fields.back().high = 1;
            }
        }
        d.scratch(factors_, limits_, start_, factor_, gradient_, seen_, p_);
        // Without what came later, so that tables have the sizes that they had.
        d.bytes += sizeof(*this) - sizeof(certain_) - (knows_ ? 0 : sizeof(label_) + sizeof(missed_)) -
                   (number_ ? 0 : sizeof(SkewedVariance) - sizeof(ResidualVariance)) -
                   (slow_ > 0 ? 0 : sizeof(slow_) + sizeof(slow_weights_) + sizeof(slow_information_)) -
                   (binary_prior_ > 0 ? 0 : sizeof(binary_prior_) + sizeof(binary_certain_) + sizeof(rate_)) -
                   (cautious_ ? 0 : sizeof(unknown_share_));
    }

    void resize(const Sizes& sizes) override { alarm_count_ = sizes.at("alarms"); }

  private:
    static constexpr std::size_t most_alarms = 100;
    static constexpr double rare = 1e-4, start_noise = 1, usual = 8.1, growth = 1.05, margin = 0.1;
    static constexpr double agreement_rows = 32, relative_rows = 8, slow_prior = 20;
    static constexpr double recent = 1000, clip = 3, unusual = 2, largest = 1e100;
    static constexpr std::size_t knots = 8;
    static constexpr double knot[knots] = {0, 0.5, 1, 1.5, 2, 3, 4, 6}, knot_prior = 5, least_gap = 0.01,
                            least_share = 0.02, rare_unknown = 0.05;

    // What tracks the targets of a regression.
    struct Track {
        TargetLevel level;
        double own = 0, last = 0;  // the target of the experts; the last residual of their first weights
        double known = 0;          // that residual at the last target that is known, if the learner has lags
        double agreement = 0, relative_step = 0, last_score = 0, last_target = 0;  // of the signs and sizes of steps
    };

    // The best class, its score, its distance to the second best, and its log-odds.
    struct Standing {
        std::size_t best;
        double score, gap, odds;
    };
    Standing standing() const {  // of the scores in p_
        const std::size_t best = largest_of(p_.data(), columns_);
        const double score = p_[best];
        p_[best] = absent;
        const double second = p_[largest_of(p_.data(), columns_)];
        const double others = columns_ == 2 ? 0 : std::log(exponentials_of(second));
        p_[best] = score;
        return {best, score, score - second, score - second - others};
    }
    bool tracks_rate() const { return binary_certain_ > 0 && columns_ == 2; }
    // How much of the forgetting the row that was combined last causes: what it may say, 4 q (1 - q).
    double undecided() const {
        const double q = 1 / (1 + std::exp(-now_.odds));
        const double least = tracks_rate() ? std::max(least_share, binary_certain_ * 4 * rate_ * (1 - rate_)) : certain_;
        return std::max(least, std::min(1.0, 4 * q * (1 - q)));
    }
    // The knot below, and the share of the next one.
    struct Place {
        std::size_t below;
        double share;
    };
    static Place place(double odds) {
        std::size_t k = 0;
        while (k + 2 < knots && knot[k + 1] <= odds) ++k;
        return {k, std::min(1.0, std::max(0.0, (odds - knot[k]) / (knot[k + 1] - knot[k])))};
    }
    // Rows with a category that nobody has learned have knots of their own, behind the others, while they are rare.
    std::size_t all_knots() const { return cautious_ ? 2 * knots : knots; }
    std::size_t own_knots() const { return cautious_ && unknown_ && unknown_share_ < rare_unknown ? knots : 0; }
    static double first_correction(std::size_t k) { return k < knots ? 0 : -knot[k - knots] / 2; }
    double correction() const {
        const Place at = place(now_.odds);
        const double* own = calibration_.data() + own_knots() + at.below;
        const double beyond = own_knots() > 0 ? std::max(0.0, now_.odds - knot[knots - 1]) : 0;
        return (1 - at.share) * own[0] + at.share * own[1] - beyond;
    }
    // One step of the calibration at the two knots beside the log-odds.
    void calibrate(std::size_t own, double weight) {
        if (!(now_.gap > 0)) return;
        const Place at = place(now_.odds);
        const double q = 1 / (1 + std::exp(-(now_.odds + correction())));
        const double back = own_knots() > 0 ? 0 : (1 - forgetting_) * knot_prior;
        for (std::size_t i = 0; i < 2; ++i) {
            const double share = i == 0 ? 1 - at.share : at.share;
            const std::size_t k = own_knots() + at.below + i;
            double &information = calibration_information_[k], &value = calibration_[k];
            information = forgetting_ * information + back + weight * share * q * (1 - q);
            value += (weight * share * ((now_.best == own ? 1 : 0) - q) - back * value) / information;
        }
    }

    double last() const { return knows_ ? track_->known : track_->last; }
    // The inputs (size, columns) of these scores.
    void see(const double* scores) const {
        double* to = seen_.data();
        if (number_) {
            for (std::size_t e = 0; e < experts_; ++e) to[e] = std::min(highest_, std::max(lowest_, scores[e]));
            to[experts_] = 1;
            if (follows_) to[experts_ + 1] = last();
            return;
        }
        for (std::size_t e = 0; e < experts_; ++e) {
            const double limit = limits_[e], factor = factors_[e];
            const auto input = [=](double score) { return std::min(limit, std::max(-limit, score * factor)); };
            if (outputs_ == 1) {
                to[2 * e + 1] = input(scores[e]);
                to[2 * e] = -to[2 * e + 1];
            } else {
                for (std::size_t o = 0; o < outputs_; ++o) to[e * columns_ + o] = input(scores[e * outputs_ + o]);
            }
        }
        if (!knows_) return;
        to += experts_ * columns_;
        for (std::size_t k = 0; k < columns_; ++k) {
            to[k] = std::isnan(label_) ? 0 : static_cast<double>(k) == label_ ? 0.5 : -0.5;
            to[columns_ + k] = missed_ > 0 ? to[k] : 0;
        }
    }
    // The inputs of each column times these weights.
    void add_up(const double* weights, double* sums) const {
        const double* seen = seen_.data();
        std::fill_n(sums, columns_, 0.0);
        for (std::size_t e = 0; e < size_; ++e, seen += columns_) {
            const double own = weights[e];
            for (std::size_t k = 0; k < columns_; ++k) sums[k] += own * seen[k];
        }
    }
    // exp(p_k - top) into the second half of p_; returns the sum.
    double exponentials_of(double top) const {
        const std::size_t n = padded(columns_, lanes);
        return exponentials(p_.data(), top, n, p_.data() + n);
    }

    // The gradient, and the curvature into H.
    void learn_class(const double* y, double weight) {
        const std::size_t k = columns_;
        const std::size_t own = outputs_ == 1 ? (y[0] > 0 ? 1 : 0) : largest_of(y, k);
        calibrate(own, weight);
        if (cautious_) unknown_share_ += ((unknown_ ? 1 : 0) - unknown_share_) / std::min(stacked_, recent);
        if (tracks_rate()) rate_ += (static_cast<double>(own) - rate_) / std::min(stacked_ + 1, recent);
        p_[now_.best] = now_.score;
        const double sum = exponentials_of(now_.score), *exponential = p_.data() + padded(k, lanes);
        for (std::size_t c = 0; c < k; ++c) p_[c] = exponential[c] / sum;
        // Among the rows that are remembered one may contradict: the second best class has at least that probability in H,
        // or a single row outweighs all rows that were certain.
        const double least = 1 - forgetting_;
        const std::size_t best = largest_of(p_.data(), k);
        const double likeliest = p_[best];
        p_[best] = -1;
        const std::size_t second = largest_of(p_.data(), k);
        p_[best] = likeliest;
        watch(own);
        subtract_means();
        for (std::size_t e = 0; e < size_; ++e) gradient_[e] = weight * seen_[e * k + own];
        double* const column = factor_.data();  // of a class
        for (std::size_t c = 0; c < k; ++c) {
            const double likely = c == second ? std::max(p_[c], least) : p_[c];
            if (!(likely > rare)) continue;
            for (std::size_t a = 0; a < size_; ++a) column[a] = seen_[a * k + c];
            for (std::size_t a = 0; a < size_; ++a) {
                const double scaled = weight * likely * column[a];
                double* const row = information_.data() + a * size_;
                for (std::size_t b = 0; b <= a; ++b) row[b] += scaled * column[b];
            }
        }
        mirror(information_);
    }
    // The alarm watches the experts with the weights they began with: the stack itself may turn around at once.
    void watch(std::size_t own) {
        double* sums = p_.data() + padded(columns_, lanes);
        add_up(start_.data(), sums);
        raise(alarm_.observe(largest_of(sums, columns_) == own ? 0 : 1));
        for (std::size_t e = 0; e < experts_; ++e)
            count_error(e, largest_of(seen_.data() + e * columns_, columns_) == own ? 0 : 1);
    }
    // E_c - Ebar in the place of E_c. The sums of four experts do not wait for each other.
    void subtract_means() {
        const std::size_t k = columns_;
        const double* p = p_.data();
        constexpr std::size_t many = 4;
        for (std::size_t e = 0; e < size_; e += many) {
            const std::size_t count = std::min(many, size_ - e);
            double *seen = seen_.data() + e * k, middle[many] = {};
            if (count == many)
                for (std::size_t c = 0; c < k; ++c)
                    for (std::size_t i = 0; i < many; ++i) middle[i] += p[c] * seen[i * k + c];
            else
                for (std::size_t c = 0; c < k; ++c)
                    for (std::size_t i = 0; i < count; ++i) middle[i] += p[c] * seen[i * k + c];
            for (std::size_t i = 0; i < count; ++i)
                for (std::size_t c = 0; c < k; ++c) seen[i * k + c] -= middle[i];
        }
    }
    void raise(bool alarm) {
        if (!alarm) return;
        if (alarm_count_ == most_alarms) std::copy(alarms_ + 1, alarms_ + most_alarms, alarms_), --alarm_count_;
        alarms_[alarm_count_++] = stacked_;
    }
    void learn_number(double y, double f, double weight) {
        const Noise noise = this->noise();
        const double nu = noise.variance, residual = y - f, limit = clip * std::sqrt(nu), above = y - track_->level.value();
        for (std::size_t e = 0; e < experts_; ++e) {
            const double error = std::min(largest, std::max(-largest, above - seen_[e]));
            count_error(e, error * error);
        }
        const double explained = follows_ ? std::min(1.0, std::max(0.0, weights_[experts_ + 1])) * last() : 0;
        if (slow_ > 0) regress(slow_, slow_prior, start_, slow_weights_, slow_information_, above, weight, noise);
        regress(forgetting_, prior_, slow_ > 0 ? slow_weights_ : start_, weights_, information_, above, weight, noise);
        raise(alarm_.observe(std::fabs(residual) > unusual * std::sqrt(nu) ? 1 : 0));
        const double df = f - track_->last_score, dy = y - track_->last_target, turn = df * dy;
        const double relative = std::fabs(df) < std::fabs(dy) ? std::fabs(df / dy) : 1.0;
        track_->agreement += ((turn > 0 ? 1.0 : turn < 0 ? -1.0 : 0.0) - track_->agreement) / agreement_rows;
        track_->relative_step += (relative - track_->relative_step) / relative_rows;
        track_->last_score = f;
        track_->last_target = y;
        highest_ = std::max(highest_, std::min(above + margin, std::max(usual, growth * highest_)));
        lowest_ = std::min(lowest_, std::max(above - margin, std::min(-usual, growth * lowest_)));
        track_->own = std::min(highest_, std::max(lowest_, above - explained));
        variance_.observe(residual, stacked_, weight);
        const double moved = track_->level.observe(y, residual, residual - noise.clip(residual, limit));
        track_->last = std::min(highest_, std::max(lowest_, above)) - moved;
        for (std::size_t e = 0; e < experts_; ++e) track_->last -= start_[e] * seen_[e];
    }
    // A row of a regression on the inputs, with weights that are pulled back to others.
    void regress(double forgetting, double prior, const Buffer& to, Buffer& weights, Buffer& information, double target, double weight,
                 const Noise& noise) {
        double sum = 0;
        for (std::size_t e = 0; e < size_; ++e) sum += weights[e] * seen_[e];
        const double pull = weight * noise.clip(target - sum, clip * std::sqrt(noise.variance)) / noise.variance;
        forget(forgetting, information);
        for (std::size_t a = 0; a < size_; ++a) {
            gradient_[a] = pull * seen_[a];
            for (std::size_t b = 0; b <= a; ++b) information[a * size_ + b] += weight / noise.variance * seen_[a] * seen_[b];
        }
        mirror(information);
        step(1 - forgetting, prior, 0, to, weights, information);
    }
    void start_from(double prior, Buffer& weights, Buffer& information) const {
        std::copy_n(start_.data(), size_, weights.data());
        information.clear();
        for (std::size_t i = 0; i < size_; ++i) information[i * size_ + i] = prior;
    }
    void forget(double kept, Buffer& information) const {
        for (double* h = information.data(); h < information.data() + size_ * size_; ++h) *h *= kept;
    }
    // What the prior of two classes has more than that of H, which holds for any number of them.
    double more() const { return binary_prior_ > 0 && columns_ == 2 ? binary_prior_ - prior_ : 0; }
    // A Newton step by the gradient, and back towards other weights.
    void step(double forgotten, double prior, double more, const Buffer& to, Buffer& weights, Buffer& information) {
        const double back = forgotten * prior, pull = forgotten * (prior + more);
        for (std::size_t i = 0; i < size_; ++i) {
            information[i * size_ + i] += back;
            gradient_[i] -= pull * (weights[i] - to[i]);
        }
        solve(information, more);
        for (std::size_t i = 0; i < size_; ++i) weights[i] += gradient_[i];
    }
    void mirror(Buffer& information) const {
        for (std::size_t a = 0; a < size_; ++a)
            for (std::size_t b = 0; b < a; ++b) information[b * size_ + a] = information[a * size_ + b];
    }
    void count_error(std::size_t e, double error) { errors_[e] += (error - errors_[e]) / std::min(stacked_, recent); }

    // gradient <- (H + more I)^-1 gradient, by elimination: H is positive definite. Row by row, so that few steps wait for others.
    void solve(const Buffer& information, double more) {
        const std::size_t n = size_, stride = padded(n, lanes);
        double *rows = factor_.data(), *g = gradient_.data();
        for (std::size_t i = 0; i < n; ++i) {
            std::copy_n(information.data() + i * n, n, rows + i * stride);
            rows[i * stride + i] += more;
        }
        for (std::size_t k = 0; k < n; ++k) {
            const double *pivot = rows + k * stride, inverse = 1 / std::max(pivot[k], 1e-12);
            for (std::size_t i = k + 1; i < n; ++i) {
                const double factor = -rows[i * stride + k] * inverse;
                const std::size_t first = (k + 1) / lanes * lanes;
                add_scaled(factor, pivot + first, rows + i * stride + first, stride - first);
                g[i] = fma(factor, g[k], g[i]);
            }
            rows[k * stride + k] = inverse;
        }
        for (std::size_t i = n; i-- > 0;) {
            g[i] *= rows[i * stride + i];
            for (std::size_t k = 0; k < i; ++k) g[k] = fma(-rows[k * stride + i], g[i], g[k]);
        }
    }

    bool number_, follows_, knows_, cautious_, unknown_ = false;
    std::size_t experts_, size_, outputs_ = 1, columns_ = 2;
    Buffer factors_, limits_, start_;
    double forgetting_, prior_, certain_;
    Buffer weights_, information_, errors_;
    double stacked_ = 0, lowest_ = 0, highest_ = 0;
    SkewedVariance variance_{start_noise};
    std::unique_ptr<Track> track_;  // regression only
    DriftAlarm alarm_;
    std::size_t alarm_count_ = 0;
    double alarms_[most_alarms] = {};
    Buffer factor_, gradient_;
    double slow_;  // forgetting of the weights that those in use are pulled back to; 0: those are the first ones
    Buffer slow_weights_{0}, slow_information_{0};
    double binary_prior_, binary_certain_;  // 0: as for more classes
    double rate_ = 0.5;                     // of the second of two classes
    double unknown_share_ = 1;              // of the rows, that have a category that nobody has learned
    Buffer calibration_, calibration_information_;
    mutable Buffer seen_{0}, p_{0};
    double label_ = std::numeric_limits<double>::quiet_NaN(), missed_ = 0;  // known of the last label
    mutable Standing now_ = {};  // of the row that was combined last
};

NOLANA_BINDING(stack) {
    nb::class_<Stack, Combiner>(m, "Stack")
        .def(nb::init<std::shared_ptr<const Loss>, const Vector&, const Vector&, const Vector&, double, double, bool, double, bool, double,
                      double, double, bool>(),
             "loss"_a, "factors"_a, "limits"_a, "start"_a, "forgetting"_a, "prior"_a, "follows"_a = false, "certain"_a = 1.0,
             "knows"_a = false, "slow"_a = 0.0, "binary_prior"_a = 0.0, "binary_certain"_a = 0.0, "cautious"_a = false);
}

}  // namespace nolana
