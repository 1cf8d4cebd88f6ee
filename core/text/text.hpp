// Numbers and rows out of CSV and LIBSVM text. Every reader takes a stretch of bytes, parses complete rows only,
// and says how far it came; the first thing that is wrong ends it, with its place, before the row it is in.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <system_error>
#include <vector>
#if !defined(__cpp_lib_to_chars)
#include <locale>
#include <sstream>
#include <string>
#endif

namespace nolana {

struct Problem {
    const char* kind = nullptr;  // null: nothing is wrong
    std::size_t line = 0;        // line ends between the start and the field
    std::size_t column = 0;      // the field's number in its row, from 1
    std::size_t begin = 0, end = 0;
};

// n rows of d features.
struct TextRows {
    std::vector<double> x;             // (n, d); empty where rows are sparse
    std::vector<std::int64_t> starts;  // (n + 1): where the entries of each row begin in places and values
    std::vector<std::int32_t> places;
    std::vector<double> values;
    std::vector<std::int64_t> labels;  // (n, 3): begin, end, line of each label
    std::size_t rows = 0;
    std::size_t end = 0, lines = 0;  // behind the last row or blank line taken
    Problem problem;
};

struct Stretch {
    const char* text;
    std::size_t size;
    bool final;  // nothing comes after it

    const char* find(char c, std::size_t from, std::size_t to) const {
        return from < to ? static_cast<const char*>(std::memchr(text + from, c, to - from)) : nullptr;
    }
    // Rows there can be from a place on, as far as it matters.
    std::size_t row_bound(std::size_t from, std::size_t limit) const {
        std::size_t rows = 0;
        while (rows < limit && from < size) {
            ++rows;
            const char* line_end = find('\n', from, size);
            if (!line_end) break;
            from = static_cast<std::size_t>(line_end - text) + 1;
        }
        return rows;
    }
};

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

inline bool same_letters(std::string_view a, std::string_view lower) {
    if (a.size() != lower.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if ((a[i] | 0x20) != lower[i]) return false;
    return true;
}

// Whether digits with a point and an exponent are above 1: tells overflow from underflow.
inline bool is_large(std::string_view number) {
    const std::size_t e = number.find_first_of("eE");
    const std::string_view mantissa = number.substr(0, e);
    const std::size_t point = std::min(mantissa.find('.'), mantissa.size()), first = mantissa.find_first_not_of("0.");
    if (first == std::string_view::npos) return false;
    long long exponent = 0;
    if (e != std::string_view::npos) {
        const bool negative = number[e + 1] == '-';
        for (const char c : number.substr(e + 1))
            if (is_digit(c) && exponent < 1'000'000'000'000LL) exponent = 10 * exponent + (c - '0');
        if (negative) exponent = -exponent;
    }
    return exponent + static_cast<long long>(point) - static_cast<long long>(first) > 0;
}

// At most 15 digits with at most one point: an exact integer over an exact power of ten, so that the division rounds
// once, to the nearest double (W. D. Clinger, How to Read Floating Point Numbers Accurately, PLDI 1990).
inline bool parse_short(std::string_view field, double& value) {
    static constexpr double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                        1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    if (field.size() > 16) return false;
    std::uint64_t digits = 0;
    std::size_t point = field.size();
    for (std::size_t i = 0; i < field.size(); ++i) {
        if (is_digit(field[i])) digits = 10 * digits + static_cast<std::uint64_t>(field[i] - '0');
        else if (field[i] == '.' && point == field.size()) point = i;
        else return false;
    }
    const std::size_t decimals = point < field.size() ? field.size() - point - 1 : 0;
    const std::size_t count = field.size() - (point < field.size());
    if (count == 0 || count > 15) return false;
    value = static_cast<double>(digits);
    if (decimals) value /= powers[decimals];
    return true;
}

enum class Number { good, bad, unbounded };

// [+-] digits [. digits] [e [+-] digits], nearest double; nan, inf and what overflows are unbounded.
inline Number parse_number(std::string_view field, double& value) {
    const bool has_sign = !field.empty() && (field[0] == '+' || field[0] == '-');
    const bool negative = has_sign && field[0] == '-';
    field.remove_prefix(has_sign);
    if (field.empty()) return Number::bad;
    if (parse_short(field, value)) {
        if (negative) value = -value;
        return Number::good;
    }
    if (is_digit(field[0]) || field[0] == '.') {
        const char* end = field.data() + field.size();
#if defined(__cpp_lib_to_chars)
        const auto [stop, error] = std::from_chars(field.data(), end, value);
        if (stop != end) return Number::bad;
        if (error == std::errc::result_out_of_range)
            value = is_large(field) ? std::numeric_limits<double>::infinity() : 0.0;
#else
        if (field.find_first_not_of("0123456789.eE+-") != std::string_view::npos) return Number::bad;
        std::istringstream in{std::string(field)};
        in.imbue(std::locale::classic());
        in >> value;
        if (in.fail() && std::fabs(value) != std::numeric_limits<double>::max()) return Number::bad;
        if (in.fail()) value = std::numeric_limits<double>::infinity();
        if (in.peek() != std::istringstream::traits_type::eof()) return Number::bad;
        static_cast<void>(end);
#endif
    } else if (same_letters(field, "nan")) {
        value = std::numeric_limits<double>::quiet_NaN();
    } else if (same_letters(field, "inf") || same_letters(field, "infinity")) {
        value = std::numeric_limits<double>::infinity();
    } else {
        return Number::bad;
    }
    if (negative) value = -value;
    return std::isfinite(value) ? Number::good : Number::unbounded;
}

// What a field says, without its quotes and the blanks around.
inline std::string_view bare(std::string_view field) {
    if (field.size() >= 2 && field.front() == '"' && field.back() == '"') field = field.substr(1, field.size() - 2);
    while (!field.empty() && is_blank(field.front())) field.remove_prefix(1);
    while (!field.empty() && is_blank(field.back())) field.remove_suffix(1);
    return field;
}

// The kind of problem a feature has, or null.
inline const char* parse_feature(std::string_view field, double& value) {
    switch (parse_number(field, value)) {
        case Number::good: return nullptr;
        case Number::unbounded: return "finite";
        default: return field.empty() ? "empty" : "number";
    }
}

inline bool parse_integer(std::string_view field, std::int64_t& value) {
    if (!field.empty() && field[0] == '+') {
        field.remove_prefix(1);
        if (!field.empty() && field[0] == '-') return false;
    }
    const char* end = field.data() + field.size();
    const auto [stop, error] = std::from_chars(field.data(), end, value);
    return error == std::errc() && stop == end;
}

}  // namespace nolana
