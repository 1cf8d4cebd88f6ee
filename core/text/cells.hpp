// What a field of a table says, detected from its letters alone, and the rows of a table as such cells: numbers for the
// columns that are read as numbers, places in the text for those that are read as text.
#pragma once

#include "text/text.hpp"

namespace nolana {

// The same numbers stand in sources/cells.py.
enum Code : std::uint8_t {
    number = 0,     // a finite number
    absent = 1,     // nothing is there: an empty field, null, a key that is missing
    unknown = 2,    // said to be missing: NA, N/A, NaN, null
    unbounded = 3,  // infinite, or beyond the largest double
    text = 4,
    truth = 5,   // true or false, as 1 or 0
    nested = 6,  // a JSON array or object
};

inline Code classify(std::string_view field, double& value) {
    switch (parse_number(field, value)) {
        case Number::good: return Code::number;
        case Number::unbounded: return std::isnan(value) ? Code::unknown : Code::unbounded;
        default: break;
    }
    value = 0;
    if (field.empty()) return Code::absent;
    if (same_letters(field, "na") || same_letters(field, "null")) return Code::unknown;
    if (field.size() == 3 && field[1] == '/' && (field[0] | 0x20) == 'n' && (field[2] | 0x20) == 'a')
        return Code::unknown;
    if (same_letters(field, "true")) {
        value = 1;
        return Code::truth;
    }
    return same_letters(field, "false") ? Code::truth : Code::text;
}

// Where a column goes: its place among the numbers, its place among the texts; -1 where it is not wanted as such.
struct Wanted {
    const std::int64_t* number;
    const std::int64_t* text;
    std::size_t width;  // columns
    std::size_t d, t;   // numbers and texts in a row
};

// n rows of d numbers and t texts.
struct Cells {
    std::vector<double> values;             // (n, d)
    std::vector<std::uint8_t> codes;        // (n, d)
    std::vector<std::int64_t> spans;        // (n, t, 2): begin, end
    std::vector<std::uint8_t> span_codes;   // (n, t)
    std::vector<std::int64_t> rows;         // (n, 3): begin, end, line
    std::size_t n = 0, end = 0, lines = 0;  // behind the last row or blank line taken
    Problem problem;

    void reserve(std::size_t bound, const Wanted& wanted) {
        values.reserve(bound * wanted.d + 1);
        codes.reserve(bound * wanted.d + 1);
        spans.reserve(bound * wanted.t * 2 + 1);
        span_codes.reserve(bound * wanted.t + 1);
        rows.reserve(bound * 3 + 1);
    }
    // A row in which nothing is there yet; it counts once n is raised.
    void begin_row(const Wanted& wanted) {
        values.resize((n + 1) * wanted.d);
        codes.resize((n + 1) * wanted.d, Code::absent);
        spans.resize((n + 1) * wanted.t * 2);
        span_codes.resize((n + 1) * wanted.t, Code::absent);
    }
    void put(const Wanted& wanted, std::size_t column, Code code, double value, std::size_t from, std::size_t to) {
        if (const std::int64_t place = wanted.number[column]; place >= 0) {
            const std::size_t at = n * wanted.d + static_cast<std::size_t>(place);
            values[at] = code == Code::number || code == Code::truth ? value : 0.0;
            codes[at] = code;
        }
        if (const std::int64_t place = wanted.text[column]; place >= 0) {
            const std::size_t at = n * wanted.t + static_cast<std::size_t>(place);
            spans[2 * at] = static_cast<std::int64_t>(from);
            spans[2 * at + 1] = static_cast<std::int64_t>(to);
            span_codes[at] = code;
        }
    }
    void end_row(std::size_t from, std::size_t to, std::size_t line) {
        for (const std::size_t v : {from, to, line}) rows.push_back(static_cast<std::int64_t>(v));
        ++n;
    }
    void drop_row(const Wanted& wanted) {
        values.resize(n * wanted.d);
        codes.resize(n * wanted.d);
        spans.resize(n * wanted.t * 2);
        span_codes.resize(n * wanted.t);
    }
};

}  // namespace nolana
