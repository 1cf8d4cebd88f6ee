// LIBSVM text: one row a line, `label [qid:n] index:value ...` with ascending indices; what is not named is zero;
// # begins a comment. (C.-C. Chang, C.-J. Lin: LIBSVM, ACM TIST 2, 2011; the qid and comments are SVMlight's.)
#pragma once

#include <algorithm>

#include "text/text.hpp"

namespace nolana {

// The tokens of one line, up to its comment.
class Tokens {
  public:
    Tokens(const Stretch& s, std::size_t begin, std::size_t end) : text_(s.text), at_(begin), end_(end) {
        if (const char* comment = s.find('#', begin, end)) end_ = static_cast<std::size_t>(comment - text_);
        while (end_ > at_ && separates(text_[end_ - 1])) --end_;
        skip();
    }
    bool empty() const { return at_ == end_; }
    std::size_t at() const { return at_; }
    std::string_view next() {
        const std::size_t begin = at_;
        while (at_ < end_ && !separates(text_[at_])) ++at_;
        const std::string_view token(text_ + begin, at_ - begin);
        skip();
        return token;
    }
    std::string_view last() const {
        std::size_t begin = end_;
        while (begin > at_ && !separates(text_[begin - 1])) --begin;
        return {text_ + begin, end_ - begin};
    }

  private:
    static bool separates(char c) { return is_blank(c) || c == '\r'; }
    void skip() {
        while (at_ < end_ && separates(text_[at_])) ++at_;
    }
    const char* text_;
    std::size_t at_, end_;
};

// Reads `index:`; where the token continues behind it, or null. An index beyond 64 bits is the largest there is.
inline const char* parse_index(std::string_view token, std::uint64_t& index) {
    const char* end = token.data() + token.size();
    const auto [stop, error] = std::from_chars(token.data(), end, index);
    if (stop == token.data() || stop == end || *stop != ':') return nullptr;
    if (error == std::errc::result_out_of_range) index = std::numeric_limits<std::uint64_t>::max();
    return stop + 1;
}

// One complete line of a stretch; false where there is none.
struct Line {
    std::size_t end, next;
    static bool at(const Stretch& s, std::size_t from, Line& line) {
        const char* line_end = s.find('\n', from, s.size);
        line.end = line_end ? static_cast<std::size_t>(line_end - s.text) : s.size;
        line.next = line_end ? line.end + 1 : s.size;
        return from < s.size && (line_end || s.final);
    }
};

// places: for each index (from its base, 0 or 1) its place among the d features, -1 where it is none. Dense rows, or
// sparse ones.
inline TextRows libsvm_rows(const Stretch& s, std::size_t start, std::size_t limit, const std::int64_t* places,
                            std::size_t width, std::size_t d, std::uint64_t base, bool labelled, bool sparse) {
    TextRows out;
    out.end = start;
    const std::size_t bound = s.row_bound(start, limit);
    if (!sparse) out.x.reserve(bound * d + 1);
    out.starts.push_back(0);
    out.labels.reserve(bound * 3 + 1);
    for (Line line; out.rows < limit && Line::at(s, out.end, line); out.end = line.next, ++out.lines) {
        Tokens tokens(s, out.end, line.end);
        if (tokens.empty()) continue;
        if (!sparse) out.x.resize((out.rows + 1) * d);
        double* x = sparse ? nullptr : out.x.data() + out.rows * d;
        std::size_t column = 1, begin = tokens.at();
        std::string_view token = tokens.next();
        const auto problem = [&](const char* kind) {
            out.problem = {kind, out.lines, column, begin, begin + token.size()};
            if (!sparse) out.x.resize(out.rows * d);
            out.places.resize(static_cast<std::size_t>(out.starts.back()));
            out.values.resize(static_cast<std::size_t>(out.starts.back()));
        };
        const auto advance = [&] {
            begin = tokens.at();
            token = tokens.next();
            ++column;
        };
        const bool has_label = token.find(':') == std::string_view::npos;
        if (labelled && !has_label) {
            problem("label");
            return out;
        }
        const std::int64_t label[3] = {static_cast<std::int64_t>(begin),
                                       static_cast<std::int64_t>(begin + token.size()),
                                       static_cast<std::int64_t>(out.lines)};
        if (has_label) advance();
        if (token.starts_with("qid:")) advance();
        for (std::uint64_t next = 0; !token.empty(); advance()) {
            std::uint64_t index = 0;
            const char* value = parse_index(token, index);
            const char* kind = nullptr;
            if (!value) kind = "pair";
            else if (index < base) kind = "base";
            else if (index - base >= width) kind = "beyond";
            else if (index < next) kind = "order";
            else {
                double number = 0;
                const std::string_view rest(value, static_cast<std::size_t>(token.data() + token.size() - value));
                kind = parse_feature(rest, number);
                if (const std::int64_t place = places[index - base]; place >= 0 && sparse) {
                    out.places.push_back(static_cast<std::int32_t>(place));
                    out.values.push_back(number);
                } else if (place >= 0) {
                    x[place] = number;
                }
                next = index + 1;
            }
            if (kind) {
                problem(kind);
                return out;
            }
        }
        out.labels.insert(out.labels.end(), label, label + 3);
        out.starts.push_back(static_cast<std::int64_t>(out.values.size()));
        ++out.rows;
    }
    return out;
}

struct Extent {
    std::uint64_t bound = 0;  // the largest index plus one, 0 where there is none
    std::size_t rows = 0, end = 0;
};

// How far the indices reach: the last of each line is its largest.
inline Extent libsvm_extent(const Stretch& s, std::size_t start, std::size_t limit) {
    Extent out;
    out.end = start;
    for (Line line; out.rows < limit && Line::at(s, out.end, line); out.end = line.next) {
        const Tokens tokens(s, out.end, line.end);
        if (tokens.empty()) continue;
        ++out.rows;
        std::uint64_t index = 0;
        if (!parse_index(tokens.last(), index)) continue;
        if (index < std::numeric_limits<std::uint64_t>::max()) ++index;
        out.bound = std::max(out.bound, index);
    }
    return out;
}

}  // namespace nolana
