// Lags: what is known of earlier targets when a row is scored. Formulas and reasons are in nolana/engine/learner/lags.py.
#pragma once

#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/state.hpp"
#include "experts/effects/keys.hpp"
#include "experts/map.hpp"

namespace nolana {

class Lags final : public Stateful {
  public:
    static constexpr std::size_t most_columns = 4, ways = 8, most_lag = 2048;

    Lags(std::size_t lag, std::size_t rows, bool classes, std::size_t slots, std::size_t group_column)
        : lag_(lag), rows_(rows), classes_(classes), slots_(slots), group_(group_column), targets_(slots ? 0 : rows),
          errors_(slots ? 0 : lag), differences_(seasonal() ? rows : 0), correlations_(seasonal() ? rows / 2 + 2 : 0),
          fingerprints_(slots), series_(slots * record()) {
        if (lag < 1 || lag > most_lag) throw std::invalid_argument("a lag is between 1 and 2048 rows");
        if (rows < 2 * lag || rows > most_rows) throw std::invalid_argument("the ring of targets is shorter than twice the lag");
        if (slots % ways || slots > most_rows) throw std::invalid_argument("the table needs a multiple of eight slots");
    }

    std::size_t columns() const { return classes_ ? 0 : most_columns; }
    bool classes() const { return classes_; }
    // The column that names the series; -1 if there is one series.
    std::ptrdiff_t group_column() const { return slots_ ? static_cast<std::ptrdiff_t>(group_) : -1; }
    // Rows that may enter before the first of them is learned.
    std::size_t most_ahead() const { return slots_ ? 1 : group; }

    // Row r of a group enters: writes its columns; its target, if it is learned, is known to the rows after it. `moment` (null:
    // none) is what was known when it was scored: columns, target and error, unless the error is infinite.
    void enter(std::size_t r, const double* x, const double* target, const double* moment, double* to) {
        Entry& own = entries_[r];
        own = {known_, target != nullptr, false, nothing, nothing};
        look(own, x, target, to);
        if (!moment || std::isinf(moment[columns() + 1])) return;
        std::copy_n(moment, columns(), to);
        own.remembered = true;
        own.target = moment[columns()];
        own.error = moment[columns() + 1];
    }
    // Whether row r has a moment.
    bool remembers(std::size_t r) const { return entries_[r].remembered; }
    // The last target that row r knows.
    double target(std::size_t r) const { return entries_[r].target; }
    // What is known of its error; the rows before r have been learned.
    double error(std::size_t r) const {
        const Entry& own = entries_[r];
        const double ahead = own.learned ? static_cast<double>(lag_) : 1;
        if (slots_ || own.remembered || own.known < ahead) return own.error;
        return errors_[index(own.known - ahead, lag_)];
    }
    // Row r was learned.
    void observe(std::size_t r, double error) {
        if (!slots_) {
            errors_[index(entries_[r].known, lag_)] = error;
            return;
        }
        float* errors = series_.data() + slot_ * record() + lag_ + 3;
        std::copy_backward(errors, errors + lag_ - 1, errors + lag_);
        errors[0] = static_cast<float>(error - origin_);
    }

    void describe(Description& d) override {
        d.bytes += sizeof(*this);
        d.count("known", known_);
        d.scratch(targets_, errors_, differences_, correlations_, fingerprints_, series_);
        d.number("origin", origin_, -std::numeric_limits<double>::infinity());
        if (slots_) {
            Field fingerprints = single("fingerprints", {slots_}, fingerprints_);
            fingerprints.low = 0;
            fingerprints.high = most_fingerprint;
            fingerprints.whole = true;
            d.add(std::move(fingerprints));
            d.add(single("series", {slots_, record()}, series_));
            return;
        }
        d.number("mean", mean_, -std::numeric_limits<double>::infinity());
        d.count("season", season_);
        d.fields.back().high = static_cast<double>(rows_ / 2);
        d.count("persists", persists_);
        d.fields.back().high = 1;
        // The last one first; `known` is restored before.
        const auto ring = [&d, this](const char* name, Buffer& values, std::size_t n) {
            d.add({name, {n},
                   [this, &values, n](double* to) {
                       for (std::size_t k = 1; k <= n; ++k) to[k - 1] = values[before(k, n)];
                   },
                   [this, &values, n](const double* from) {
                       for (std::size_t k = 1; k <= n; ++k) values[before(k, n)] = from[k - 1];
                   }});
        };
        ring("targets", targets_, rows_);
        ring("errors", errors_, lag_);
    }
    void resize(const Sizes&) override {}

  private:
    static constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
    static constexpr double mean_rows = 8, significant = 5, persistent = 3, alike = 3;
    static constexpr std::size_t first_choice = 16, shortest = 4;
    static constexpr std::uint64_t most_fingerprint = (1 << 24) - 1;

    // What a row of a group knows.
    struct Entry {
        double known;
        bool learned, remembered;
        double target, error;
    };

    bool seasonal() const { return !classes_ && !slots_; }
    std::size_t record() const { return 2 * lag_ + 3; }
    static std::size_t index(double row, std::size_t n) { return static_cast<std::size_t>(row) % n; }
    // The place of what was known k rows ago, from 1, in a ring of n.
    std::size_t before(std::size_t k, std::size_t n) const { return (index(known_, n) + n - k) % n; }

    // The four columns; ago(k) is the target of k rows ago, of `known` ones.
    template <class Ago> void write(double known, double mean, std::size_t season, const Ago& ago, Entry& own, double* to) const {
        const std::size_t ahead = own.learned ? lag_ : 1;
        if (known < static_cast<double>(ahead)) {
            std::fill_n(to, columns(), nothing);
            return;
        }
        const double last = own.target = ago(ahead);
        if (classes_) return;
        for (std::size_t k = lag_ - 1; k >= ahead; --k) mean = averaged(known, mean, k, ago);
        const std::size_t cycle = season ? (lag_ + season - 1) / season * season - (lag_ - ahead) : 0;
        to[0] = last;
        to[1] = known > static_cast<double>(ahead) ? last - ago(ahead + 1) : 0;
        to[2] = last - mean;
        to[3] = cycle > 0 && static_cast<double>(cycle) <= known ? ago(cycle) - last : 0;
    }
    // The mean with the target of k rows ago.
    template <class Ago> static double averaged(double known, double mean, std::size_t k, const Ago& ago) {
        const double index = known - static_cast<double>(k);
        return index < 0 ? mean : mean + (ago(k) - mean) / std::min(index + 1, mean_rows);
    }

    void look(Entry& own, const double* x, const double* target, double* to) {
        if (slots_)
            enter_series(own, x, target, to);
        else
            enter_single(own, target, to);
    }
    void enter_single(Entry& own, const double* target, double* to) {
        const auto ago = [this](std::size_t k) { return targets_[before(k, rows_)]; };
        write(known_, mean_, static_cast<std::size_t>(season_), ago, own, to);
        if (!(persists_ > 0) && known_ > 0 && columns() > 0) {
            std::fill_n(to, columns(), 0.0);
            to[0] = origin_;
        }
        if (!target) return;
        if (!(known_ > 0)) origin_ = *target;
        targets_[index(known_, rows_)] = *target;
        known_ += 1;
        mean_ = averaged(known_, mean_, lag_, ago);
        const auto n = static_cast<std::uint64_t>(known_);
        const bool regular = n >= first_choice && n < rows_ && (n & (n - 1)) == 0;
        if (seasonal() && (regular || n % rows_ == 0)) {
            season_ = static_cast<double>(choose_season());
            persists_ = season_ > 0 || is_autocorrelated() ? 1 : 0;
        }
    }

    bool is_autocorrelated() {
        const std::size_t n = std::min(rows_, static_cast<std::size_t>(known_));
        double *const d = differences_.data(), mean = 0, squares = 0, products = 0;
        if (n <= lag_ + 1) return false;
        for (std::size_t i = 0; i < n; ++i) mean += d[i] = targets_[before(n - i, rows_)];
        mean /= static_cast<double>(n);
        for (std::size_t i = 0; i < n; ++i) {
            d[i] -= mean;
            squares += d[i] * d[i];
        }
        if (!(squares > 0)) return false;
        for (std::size_t i = lag_; i < n; ++i) products += d[i] * d[i - lag_];
        const auto all = static_cast<double>(n), pairs = static_cast<double>(n - lag_);
        return std::fabs(all / pairs * products / squares) > std::min(persistent, std::floor(std::log2(all)) / 2) / std::sqrt(pairs);
    }
    std::size_t choose_season() {
        const std::size_t m = std::min(rows_, static_cast<std::size_t>(known_)), n = m - 1, longest = n / 2;
        double *const d = differences_.data(), *const r = correlations_.data();
        double mean = 0, squares = 0;
        for (std::size_t i = 0; i < n; ++i) {
            d[i] = targets_[before(n - i, rows_)] - targets_[before(m - i, rows_)];
            mean += d[i];
        }
        mean /= static_cast<double>(n);
        for (std::size_t i = 0; i < n; ++i) {
            d[i] -= mean;
            squares += d[i] * d[i];
        }
        if (!(squares > 0)) return 0;
        const auto error = [n](std::size_t p) { return 1 / std::sqrt(static_cast<double>(n - p)); };
        for (std::size_t p = shortest - 1; p < longest + 2; ++p) {
            double sum = 0;
            for (std::size_t i = p; i < n; ++i) sum += d[i] * d[i - p];
            r[p] = static_cast<double>(n) / static_cast<double>(n - p) * sum / squares;
        }
        const auto found = [&](std::size_t p) { return r[p] > significant * error(p) && r[p] >= r[p - 1] && r[p] >= r[p + 1]; };
        double best = 0;
        for (std::size_t p = shortest; p <= longest; ++p)
            if (found(p)) best = std::max(best, r[p] - alike * error(p));
        for (std::size_t p = shortest; p <= longest; ++p)
            if (found(p) && r[p] >= best) return p;
        return 0;
    }

    // The table: a slot has the number of known targets, the mean, L + 1 targets and L errors, the last ones first.
    void enter_series(Entry& own, const double* x, const double* target, double* to) {
        const std::uint64_t hash = column_hash(group_, x[group_]);
        const auto fingerprint = static_cast<float>(1 + hash % most_fingerprint);
        const std::size_t first = below(hash, slots_ / ways) * ways;
        std::size_t slot = first;
        while (slot < first + ways && fingerprints_[slot] != fingerprint) ++slot;
        const bool found = slot < first + ways;
        if (found) {
            const float* from = series_.data() + slot * record();
            const auto ago = [from](std::size_t k) { return static_cast<double>(from[1 + k]); };
            const double known = from[0] >= 0 ? std::floor(from[0]) : 0;
            write(known, from[1], 0, ago, own, to);
            const std::size_t ahead = own.learned ? lag_ : 1;
            if (known >= static_cast<double>(ahead)) {
                own.error = static_cast<double>(from[lag_ + 2 + ahead]) + origin_;
                own.target += origin_;
                if (!classes_) to[0] += origin_;
            }
        } else {
            std::fill_n(to, columns(), nothing);
        }
        if (!target) return;
        if (!(known_ > 0) && !classes_) origin_ = *target;
        known_ += 1;
        // The series that was learned last is the first of its bucket.
        const std::size_t last = found ? slot : first + ways - 1;
        float* const records = series_.data();
        if (!found) std::fill_n(records + last * record(), record(), 0.0f);
        std::rotate(records + first * record(), records + last * record(), records + (last + 1) * record());
        std::rotate(fingerprints_.data() + first, fingerprints_.data() + last, fingerprints_.data() + last + 1);
        fingerprints_[first] = fingerprint;
        slot_ = first;
        float* const values = records + first * record();
        std::copy_backward(values + 2, values + 2 + lag_, values + 3 + lag_);
        values[2] = static_cast<float>(*target - origin_);
        values[0] = static_cast<float>(std::min((values[0] >= 0 ? static_cast<double>(values[0]) : 0) + 1, static_cast<double>(lag_) + mean_rows));
        const auto ago = [values](std::size_t k) { return static_cast<double>(values[1 + k]); };
        values[1] = static_cast<float>(averaged(values[0], values[1], lag_, ago));
    }

    static Field single(const std::string& name, std::vector<Side> shape, BufferOf<float>& values) {
        Field field{name, std::move(shape), {}, {}};
        field.get_single = [&values](float* to) { std::copy_n(values.data(), values.size(), to); };
        field.set_single = [&values](const float* from) { std::copy_n(from, values.size(), values.data()); };
        return field;
    }

    std::size_t lag_, rows_;
    bool classes_;
    std::size_t slots_, group_;
    double known_ = 0, mean_ = 0, season_ = 0, persists_ = 1, origin_ = 0;
    Buffer targets_, errors_, differences_, correlations_;
    BufferOf<float> fingerprints_, series_;
    std::size_t slot_ = 0;  // of the row that entered last
    Entry entries_[group] = {};
};

}  // namespace nolana
