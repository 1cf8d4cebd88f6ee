// JSON lines: one object a line (RFC 8259, T. Bray 2017; NaN and Infinity as JavaScript and Python write them).
// A value is detected by its first letter. The key a.b is key b of the object at key a; arrays, and objects in which no
// key is wanted, are passed over, and only their brackets are checked. A string in a column of numbers is the number that
// it contains.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

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
    bool is(char c) const { return at_ < end_ && text_[at_] == c; }
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

// The known keys: the column of each, and the beginnings of those with a point, a of a.b.
struct JsonKeys {
    const std::vector<std::string>& names;
    std::unordered_map<std::string_view, std::size_t> columns;
    std::unordered_set<std::string_view> prefixes;

    explicit JsonKeys(const std::vector<std::string>& keys) : names(keys) {
        for (std::size_t i = 0; i < keys.size(); ++i) {
            columns.emplace(keys[i], i);
            for (std::size_t p = keys[i].find('.'); p != std::string::npos; p = keys[i].find('.', p + 1))
                prefixes.insert(std::string_view(keys[i]).substr(0, p));
        }
    }
};

struct NewKey {
    std::size_t count = 0, line = 0;  // how often it came, and line ends between the start and the first one
};

// The cells of one line.
class JsonRow {
  public:
    JsonRow(const char* text, const JsonKeys& keys, const Wanted& wanted, Cells& out)
        : text_(text), keys_(keys), wanted_(wanted), out_(out) {}

    std::vector<std::string> unknown;  // keys that are not known

    // The members of an object after its opening brace; false where the line is not JSON from line.at() on.
    bool members(JsonLine& line, std::size_t line_end, const std::string& prefix) {
        bool more = !line.take('}');
        while (more) {
            const std::size_t here = line.at();
            std::string_view key;
            bool escaped = false;
            if (!line.string(key, escaped)) return false;
            key = key.substr(1, key.size() - 2);
            if (escaped) {
                if (!unescape(key, plain_)) {
                    line = JsonLine(text_, here, line_end);
                    return false;
                }
                key = plain_;
            }
            std::string whole;
            if (!prefix.empty()) key = whole = prefix + std::string(key);
            if (!line.take(':')) return false;
            if (line.is('{') && keys_.prefixes.count(key)) {
                const std::string inner = std::string(key) + '.';
                line.take('{');
                if (!members(line, line_end, inner)) return false;
            } else if (!value(line, key)) {
                return false;
            }
            more = line.take(',');
            if (!more && !line.take('}')) return false;
        }
        return true;
    }

  private:
    bool value(JsonLine& line, std::string_view key) {
        Code code = Code::absent;
        double number = 0;
        std::size_t from = 0, to = 0;
        // Rows mostly have their keys in one order.
        std::size_t column = expected_;
        if (column >= keys_.names.size() || keys_.names[column] != key) {
            const auto found = keys_.columns.find(key);
            column = found == keys_.columns.end() ? keys_.names.size() : found->second;
        }
        const bool is_known = column < keys_.names.size();
        if (!is_known && !keys_.prefixes.count(key)) unknown.emplace_back(key);
        if (!line.value(code, number, from, to)) return false;
        if (!is_known) return true;
        if (code == Code::text && wanted_.number[column] >= 0) code = classify(bare({text_ + from, to - from}), number);
        out_.put(wanted_, column, code, number, from, to);
        expected_ = column + 1;
        return true;
    }

    const char* text_;
    const JsonKeys& keys_;
    const Wanted& wanted_;
    Cells& out_;
    std::size_t expected_ = 0;
    std::string plain_;
};

// Rows of JSON lines; keys names the columns, unknown counts the others. The first line that is not an object ends it.
inline Cells json_cells(const Stretch& s, std::size_t start, std::size_t limit, const std::vector<std::string>& keys,
                        const Wanted& wanted, std::map<std::string, NewKey>& unknown) {
    const JsonKeys known(keys);
    Cells out;
    out.end = start;
    out.reserve(s.row_bound(start, limit), wanted);
    for (Line line; out.n < limit && Line::at(s, out.end, line); out.end = line.next, ++out.lines) {
        JsonLine text(s.text, out.end, line.end);
        if (text.done()) continue;
        const std::size_t begin = text.at();
        std::size_t end = line.end;
        while (end > begin && (is_blank(s.text[end - 1]) || s.text[end - 1] == '\r')) --end;
        out.begin_row(wanted);
        JsonRow row(s.text, known, wanted, out);
        const bool is_object = text.take('{');
        if (!is_object || !row.members(text, line.end, {}) || !text.done()) {
            out.problem = {is_object ? "json" : "object", out.lines, 0, text.at(), std::max(text.at(), end)};
            out.drop_row(wanted);
            return out;
        }
        for (const std::string& key : row.unknown) {
            NewKey& entry = unknown[key];
            if (entry.count++ == 0) entry.line = out.lines;
        }
        out.end_row(begin, end, out.lines);
    }
    return out;
}

}  // namespace nolana
