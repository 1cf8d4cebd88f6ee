// CSV after RFC 4180: fields between delimiters, quoted where they hold delimiters, quotes or line ends; blanks
// around fields and blank lines are passed over; a line ends in \n or \r\n.
#pragma once

#include <algorithm>

#include "text/cells.hpp"

namespace nolana {

struct CsvField {
    std::size_t begin = 0, end = 0;  // with its quotes
    std::size_t line = 0;
    const char* flaw = nullptr;  // "open" or "quote"
};

enum class After { field, row, cut };  // what follows a field; cut: the stretch ends inside it

class CsvText {
  public:
    CsvText(Stretch stretch, std::size_t start, char delimiter) : s_(stretch), at_(start), delimiter_(delimiter) {}

    std::size_t at() const { return at_; }
    std::size_t line() const { return line_; }

    void skip_blank_lines() {
        for (;;) {
            const std::size_t p = skip_return(skip_blanks(at_));
            if (p < s_.size && s_.text[p] == '\n') {
                at_ = p + 1;
                ++line_;
            } else {
                if (p == s_.size && s_.final) at_ = p;
                return;
            }
        }
    }

    After next(CsvField& field) {
        const std::size_t begin = skip_blanks(at_);
        field = {begin, begin, line_, nullptr};
        if (begin < s_.size && s_.text[begin] == '"') {
            std::size_t p = begin + 1;
            for (;; p += 2) {  // past a doubled quote
                const char* quote = s_.find('"', p, s_.size);
                const std::size_t to = quote ? static_cast<std::size_t>(quote - s_.text) : s_.size;
                line_ += static_cast<std::size_t>(std::count(s_.text + p, s_.text + to, '\n'));
                p = to;
                if (p == s_.size) {
                    field.end = at_ = p;
                    field.flaw = "open";
                    return s_.final ? After::row : After::cut;
                }
                if (p + 1 >= s_.size || s_.text[p + 1] != '"') break;
            }
            at_ = field.end = p + 1;
            p = skip_blanks(at_);
            const std::size_t q = skip_return(p);
            if (q < s_.size ? s_.text[q] != '\n' && s_.text[p] != delimiter_ : !s_.final) field.flaw = "quote";
            if (!field.flaw) at_ = p < s_.size && s_.text[p] == delimiter_ ? p : q;
        }
        if (field.end == begin || field.flaw) {
            while (at_ < s_.size && s_.text[at_] != delimiter_ && s_.text[at_] != '\n') ++at_;
            field.end = at_;
            if (at_ == s_.size || s_.text[at_] == '\n')
                if (field.end > begin && s_.text[field.end - 1] == '\r') --field.end;
            while (field.end > begin && is_space(s_.text[field.end - 1])) --field.end;
        }
        if (at_ == s_.size) return s_.final ? After::row : After::cut;
        if (s_.text[at_++] == delimiter_) return After::field;
        ++line_;
        return After::row;
    }

  private:
    bool is_space(char c) const { return is_blank(c) && c != delimiter_; }
    std::size_t skip_blanks(std::size_t p) const {
        while (p < s_.size && is_space(s_.text[p])) ++p;
        return p;
    }
    // Past the \r of a line end.
    std::size_t skip_return(std::size_t p) const {
        if (p < s_.size && s_.text[p] == '\r' && (p + 1 < s_.size ? s_.text[p + 1] == '\n' : s_.final)) ++p;
        return p;
    }

    Stretch s_;
    std::size_t at_, line_ = 0;
    char delimiter_;
};

// The fields of the next row, (fields, 3): begin, end, line; no fields where the stretch ends first.
inline TextRows csv_fields(Stretch s, std::size_t start, char delimiter) {
    CsvText text(s, start, delimiter);
    TextRows out;
    text.skip_blank_lines();
    out.end = text.at();
    out.lines = text.line();
    if (out.end == s.size) return out;
    CsvField field;
    After after;
    do {
        after = text.next(field);
        for (const std::size_t v : {field.begin, field.end, field.line})
            out.labels.push_back(static_cast<std::int64_t>(v));
        if (field.flaw && !out.problem.kind)
            out.problem = {field.flaw, field.line, out.labels.size() / 3, field.begin, field.end};
    } while (after == After::field);
    if (after == After::cut) {
        out.labels.clear();
        out.problem = {};
        return out;
    }
    out.end = text.at();
    out.lines = text.line();
    return out;
}

// Complete rows of as many fields as there are columns; the first row of another width, or with a broken quote, ends it.
inline Cells csv_cells(Stretch s, std::size_t start, std::size_t limit, char delimiter, const Wanted& wanted) {
    CsvText text(s, start, delimiter);
    Cells out;
    out.reserve(s.row_bound(start, limit), wanted);
    for (;;) {
        if (out.n < limit) text.skip_blank_lines();
        out.end = text.at();
        out.lines = text.line();
        if (out.n == limit || out.end == s.size) return out;

        out.begin_row(wanted);
        Problem flaw;
        std::size_t columns = 0, row_end = out.end;
        CsvField field;
        After after;
        do {
            after = text.next(field);
            row_end = field.end;
            ++columns;
            if (field.flaw && !flaw.kind) flaw = {field.flaw, field.line, columns, field.begin, field.end};
            if (columns > wanted.width || (wanted.number[columns - 1] < 0 && wanted.text[columns - 1] < 0)) continue;
            double value = 0;
            const Code code = classify(bare({s.text + field.begin, field.end - field.begin}), value);
            out.put(wanted, columns - 1, code, value, field.begin, field.end);
        } while (after == After::field);

        if (after == After::row) {  // a broken quote explains a wrong width
            if (flaw.kind) out.problem = flaw;
            else if (columns != wanted.width) out.problem = {"width", out.lines, columns, out.end, row_end};
        }
        if (after == After::cut || out.problem.kind) {
            out.drop_row(wanted);
            return out;
        }
        out.end_row(out.end, row_end, out.lines);
    }
}

}  // namespace nolana
