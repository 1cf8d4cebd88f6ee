// JSON lines: one flat object a line (RFC 8259, T. Bray 2017; NaN and Infinity as JavaScript and Python write them).
// A value is detected by its first letter; arrays and objects inside are passed over, and only their brackets are checked.
#pragma once

#include <string>
#include <unordered_map>

#include "text/cells.hpp"
#include "text/libsvm.hpp"

namespace nolana {

inline void append_utf8(std::string& out, std::uint32_t c) {
    const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (c < 0x80) return put(c);
    if (c < 0x800) {
        put(0xC0 | (c >> 6));
    } else {
        if (c < 0x10000) {
            put(0xE0 | (c >> 12));
        } else {
            put(0xF0 | (c >> 18));
            put(0x80 | ((c >> 12) & 0x3F));
        }
        put(0x80 | ((c >> 6) & 0x3F));
    }
    put(0x80 | (c & 0x3F));
}

// Reads uXXXX at p; false where it is not there.
inline bool read_unit(std::string_view s, std::size_t p, std::uint32_t& unit) {
    if (p + 5 > s.size() || s[p] != 'u') return false;
    const auto [stop, error] = std::from_chars(s.data() + p + 1, s.data() + p + 5, unit, 16);
    return error == std::errc() && stop == s.data() + p + 5;
}

// What stands between the quotes of a string, escapes resolved; false where one is invalid.
inline bool unescape(std::string_view s, std::string& out) {
    out.clear();
    for (std::size_t p = 0; p < s.size(); ++p) {
        if (s[p] != '\\') {
            out.push_back(s[p]);
            continue;
        }
        if (++p == s.size()) return false;
        static constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
        if (const std::size_t which = letters.find(s[p]); which != std::string_view::npos) {
            out.push_back(meanings[which]);
            continue;
        }
        std::uint32_t unit = 0, low = 0;
        if (!read_unit(s, p, unit)) return false;
        p += 4;
        if (unit >= 0xD800 && unit < 0xDC00 && p + 1 < s.size() && s[p + 1] == '\\' && read_unit(s, p + 2, low) &&
            low >= 0xDC00 && low < 0xE000) {
            unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
            p += 6;
        }
        append_utf8(out, unit);
    }
    return true;
}

// One line, from its brace to its end. What is wrong stops it at the place.
class JsonLine {
  public:
    JsonLine(const char* text, std::size_t begin, std::size_t end) : text_(text), at_(begin), end_(end) { skip(); }

    std::size_t at() const { return at_; }
    bool done() const { return at_ == end_; }
    bool take(char c) {
        if (at_ == end_ || text_[at_] != c) return false;
        ++at_;
        skip();
        return true;
    }
    // A string with its quotes; escaped says whether it has a backslash.
    bool string(std::string_view& out, bool& escaped) {
        const std::size_t begin = at_;
        if (!pass_string(escaped)) return false;
        out = {text_ + begin, at_ - begin};
        skip();
        return true;
    }
    bool value(Code& code, double& number, std::size_t& begin, std::size_t& end) {
        begin = at_;
        if (at_ == end_) return false;
        bool escaped = false;
        if (text_[at_] == '"') {
            code = Code::text;
            if (!pass_string(escaped)) return false;
        } else if (text_[at_] == '{' || text_[at_] == '[') {
            code = Code::nested;
            if (!pass_nested()) return false;
        } else {
            while (at_ < end_ && !ends_word(text_[at_])) ++at_;
            if (!word({text_ + begin, at_ - begin}, code, number)) {
                at_ = begin;
                return false;
            }
        }
        end = at_;
        skip();
        return true;
    }

  private:
    static constexpr std::size_t deepest = 64;

    static bool is_space(char c) { return is_blank(c) || c == '\r'; }
    static bool ends_word(char c) {
        return is_space(c) || c == ',' || c == ':' || c == '"' || c == '{' || c == '}' || c == '[' || c == ']';
    }
    void skip() {
        while (at_ < end_ && is_space(text_[at_])) ++at_;
    }
    bool pass_string(bool& escaped) {
        escaped = false;
        if (at_ == end_ || text_[at_] != '"') return false;
        std::size_t p = at_ + 1;
        for (; p < end_ && text_[p] != '"'; ++p)
            if (text_[p] == '\\') {
                escaped = true;
                ++p;
            }
        if (p >= end_) return false;
        at_ = p + 1;
        return true;
    }
    bool pass_nested() {
        char closers[deepest];
        std::size_t depth = 0, p = at_;
        bool escaped = false;
        do {
            if (at_ == end_) {
                at_ = p;
                return false;
            }
            const char c = text_[at_];
            if (c == '"') {
                if (!pass_string(escaped)) return false;
                continue;
            }
            if (c == '{' || c == '[') {
                if (depth == deepest) return false;
                closers[depth++] = c == '{' ? '}' : ']';
            } else if (c == '}' || c == ']') {
                if (closers[--depth] != c) return false;
            }
            ++at_;
        } while (depth);
        return true;
    }
    static bool word(std::string_view w, Code& code, double& number) {
        if (w.empty()) return false;
        if (is_digit(w[0]) || (w[0] == '-' && w.size() > 1 && is_digit(w[1]))) {
            const Number kind = parse_number(w, number);
            code = kind == Number::good ? Code::number : Code::unbounded;
            return kind != Number::bad;
        }
        number = w == "true";
        if (w == "true" || w == "false") code = Code::truth;
        else if (w == "null") code = Code::absent;
        else if (w == "NaN") code = Code::unknown;
        else if (w == "Infinity" || w == "-Infinity") code = Code::unbounded;
        else return false;
        return true;
    }

    const char* text_;
    std::size_t at_, end_;
};

// Rows of JSON lines; keys names the columns. The first line that is not an object ends it.
inline Cells json_cells(const Stretch& s, std::size_t start, std::size_t limit, const std::vector<std::string>& keys,
                        const Wanted& wanted) {
    std::unordered_map<std::string_view, std::size_t> columns;
    for (std::size_t i = 0; i < keys.size(); ++i) columns.emplace(keys[i], i);
    Cells out;
    out.end = start;
    out.reserve(s.row_bound(start, limit), wanted);
    std::string plain;
    for (Line line; out.n < limit && Line::at(s, out.end, line); out.end = line.next, ++out.lines) {
        JsonLine row(s.text, out.end, line.end);
        if (row.done()) continue;
        const std::size_t begin = row.at();
        out.begin_row(wanted);
        const auto fail = [&](const char* kind) {
            std::size_t end = line.end;
            while (end > row.at() && (is_blank(s.text[end - 1]) || s.text[end - 1] == '\r')) --end;
            out.problem = {kind, out.lines, 0, row.at(), end};
            out.drop_row(wanted);
        };
        if (!row.take('{')) {
            fail("object");
            return out;
        }
        std::size_t expected = 0;  // rows mostly have their keys in one order
        bool more = !row.take('}');
        while (more) {
            std::string_view key;
            Code code = Code::absent;
            double number = 0;
            bool escaped = false;
            std::size_t from = 0, to = 0;
            const std::size_t here = row.at();
            bool good = row.string(key, escaped);
            if (good) {
                key = key.substr(1, key.size() - 2);
                if (escaped) {
                    good = unescape(key, plain);
                    key = plain;
                    if (!good) row = JsonLine(s.text, here, line.end);
                }
            }
            if (!good || !row.take(':') || !row.value(code, number, from, to)) {
                fail("json");
                return out;
            }
            std::size_t column = expected;
            if (column >= keys.size() || keys[column] != key) {
                const auto found = columns.find(key);
                column = found == columns.end() ? keys.size() : found->second;
            }
            if (column < keys.size()) {
                out.put(wanted, column, code, number, from, to);
                expected = column + 1;
            }
            more = row.take(',');
            if (!more && !row.take('}')) {
                fail("json");
                return out;
            }
        }
        if (!row.done()) {
            fail("json");
            return out;
        }
        std::size_t end = line.end;
        while (end > begin && (is_blank(s.text[end - 1]) || s.text[end - 1] == '\r')) --end;
        out.end_row(begin, end, out.lines);
    }
    return out;
}

}  // namespace nolana
