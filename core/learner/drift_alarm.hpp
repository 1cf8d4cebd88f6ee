// A drift alarm: CUSUM on the 0/1 error against the error rate of the past. The rules and their reasons are in
// nolana/engine/learner/drift_alarm.py.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/state.hpp"

namespace nolana {

class DriftAlarm final : public Stateful {
  public:
    double rows = 0;

    // Whether this row raised an alarm.
    bool observe(double error) {
        rows += 1;
        if (seen_ > first_rows) {
            const double rate = std::min(1.0, errors_ / seen_);  // a restored state may have any values
            const double expected = std::max(smallest_rate, rate + deviations * std::sqrt(rate * (1 - rate) / seen_));
            excess_ = std::max(0.0, excess_ + error * std::log(odds) - std::log(1 + (odds - 1) * expected));
            if (excess_ > threshold) {
                errors_ = 1;
                seen_ = 4;
                excess_ = 0;
                return true;
            }
        }
        errors_ += error;
        seen_ += 1;
        if (seen_ > memory) {
            errors_ *= memory / seen_;
            seen_ = memory;
        }
        return false;
    }

    void describe(Description& d) override { describe(d, ""); }
    void describe(Description& d, const std::string& prefix) {
        d.count(prefix + "rows", rows);
        d.number(prefix + "errors", errors_, 0);
        d.number(prefix + "seen", seen_, 0);
        d.number(prefix + "excess", excess_, 0);
    }
    void clear() { *this = DriftAlarm(); }
    void resize(const Sizes&) override {}

  private:
    static constexpr double odds = 3, threshold = 14, first_rows = 200, memory = 3000, smallest_rate = 0.05, deviations = 2;

    double errors_ = 1, seen_ = 4, excess_ = 0;  // s, c, S
};

}  // namespace nolana
