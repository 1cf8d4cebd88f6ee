// The Python face of the text readers.
#include "bind/bind.hpp"
#include "text/csv.hpp"
#include "text/json.hpp"
#include "text/keys.hpp"
#include "text/libsvm.hpp"

namespace nolana {

using Places = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Fields = nb::ndarray<const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using Spans = nb::ndarray<const std::int64_t, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::object hand_over(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
    values.reserve(1);  // an address even where there is nothing
    auto* held = new std::vector<T>(std::move(values));
    nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(held->data(), shape.size(), shape.begin(), owner));
}

inline Stretch stretch(const nb::bytes& text, std::size_t start, bool final) {
    if (start > text.size()) throw nb::value_error("start is behind the end of the text");
    return {text.c_str(), text.size(), final};
}

inline void check_places(const Places& places, std::size_t d) {
    for (std::size_t i = 0; i < places.shape(0); ++i)
        if (places.data()[i] >= static_cast<std::int64_t>(d)) throw nb::value_error("a place is beyond the features");
}

inline Wanted check_wanted(const Places& numbers, const Places& texts, std::size_t d, std::size_t t) {
    if (numbers.shape(0) != texts.shape(0)) throw nb::value_error("numbers and texts must have a place for each column");
    check_places(numbers, d);
    check_places(texts, t);
    return {numbers.data(), texts.data(), numbers.shape(0), d, t};
}

inline nb::object hand_over(const Problem& p) {
    if (!p.kind) return nb::none();
    return nb::make_tuple(p.kind, p.line, p.column, p.begin, p.end);
}

inline nb::tuple hand_over(TextRows&& r, std::size_t d, bool sparse) {
    const std::size_t entries = r.values.size();
    nb::object x = sparse ? nb::make_tuple(hand_over(std::move(r.starts), {r.rows + 1}),
                                           hand_over(std::move(r.places), {entries}),
                                           hand_over(std::move(r.values), {entries}))
                          : hand_over(std::move(r.x), {r.rows, d});
    return nb::make_tuple(x, hand_over(std::move(r.labels), {r.rows, 3}), r.end,
                          r.lines, hand_over(r.problem));
}

inline nb::tuple hand_over(Cells&& c, std::size_t d, std::size_t t) {
    const std::size_t n = c.n;
    return nb::make_tuple(hand_over(std::move(c.values), {n, d}), hand_over(std::move(c.codes), {n, d}),
                          hand_over(std::move(c.spans), {n, t, 2}), hand_over(std::move(c.span_codes), {n, t}),
                          hand_over(std::move(c.rows), {n, 3}), c.end, c.lines, hand_over(c.problem));
}

// Every label through one parser: the values, and the first row it does not fit (-1: it fits all).
template <class T, class Parse>
nb::tuple each_field(const nb::bytes& text, const Spans& spans, Parse parse) {
    const std::size_t n = spans.shape(0), size = text.size();
    std::vector<T> values(n);
    std::ptrdiff_t unfit = -1;
    for (std::size_t i = 0; i < n && unfit < 0; ++i) {
        const std::int64_t begin = spans.data()[3 * i], end = spans.data()[3 * i + 1];
        if (begin < 0 || end < begin || static_cast<std::size_t>(end) > size)
            throw nb::value_error("a span is not in the text");
        const std::string_view raw(text.c_str() + begin, static_cast<std::size_t>(end - begin));
        if (!parse(bare(raw), values[i])) unfit = static_cast<std::ptrdiff_t>(i);
    }
    return nb::make_tuple(hand_over(std::move(values), {n}), unfit);
}

constexpr double no_key = std::numeric_limits<double>::quiet_NaN();

// Keys of fields as they stand in CSV (quoted, "" inside is one quote) or JSON; NaN where a span begins before 0, and for
// a JSON string with a backslash, which must be decoded first.
std::vector<double> field_keys(std::string_view text, const std::int64_t* spans, std::size_t n, bool json) {
    std::vector<double> keys(n);
    std::string unquoted;
    for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t begin = spans[2 * i], end = spans[2 * i + 1];
        keys[i] = no_key;
        if (begin < 0) continue;
        std::string_view field = text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
        if (field.size() >= 2 && field.front() == '"' && field.back() == '"') {
            field = field.substr(1, field.size() - 2);
            if (json && field.find('\\') != field.npos) continue;
            if (!json && field.find('"') != field.npos) {
                unquoted.clear();
                for (std::size_t j = 0; j < field.size(); ++j) {
                    unquoted += field[j];
                    if (field[j] == '"' && j + 1 < field.size() && field[j + 1] == '"') ++j;
                }
                field = unquoted;
            }
        }
        keys[i] = key_of(field);
    }
    return keys;
}

// The key of a str, as UTF-8, or of bytes; NaN for None.
double object_key(nb::handle value) {
    if (value.is_none()) return no_key;
    if (PyBytes_Check(value.ptr())) {
        const auto bytes = nb::borrow<nb::bytes>(value);
        return key_of({bytes.c_str(), bytes.size()});
    }
    if (!PyUnicode_Check(value.ptr())) throw nb::type_error("a key is that of a str, of bytes or of None");
    Py_ssize_t size = 0;
    if (const char* letters = PyUnicode_AsUTF8AndSize(value.ptr(), &size))
        return key_of({letters, static_cast<std::size_t>(size)});
    PyErr_Clear();  // half of a surrogate pair
    const nb::object encoded = nb::steal(PyUnicode_AsEncodedString(value.ptr(), "utf-8", "surrogatepass"));
    if (!encoded.is_valid()) throw nb::python_error();
    return object_key(encoded);
}

NOLANA_BINDING(text) {
    m.def(
        "hash_fields",
        [](const nb::bytes& text, const Fields& spans, bool json) {
            const std::size_t n = spans.shape(0);
            for (std::size_t i = 0; i < n; ++i) {
                const std::int64_t begin = spans.data()[2 * i], end = spans.data()[2 * i + 1];
                if (begin >= 0 && (end < begin || static_cast<std::size_t>(end) > text.size()))
                    throw nb::value_error("a span is not in the text");
            }
            return hand_over(field_keys({text.c_str(), text.size()}, spans.data(), n, json), {n});
        },
        "text"_a, "spans"_a, "json"_a = false);
    m.def(
        "hash_strings",
        [](const nb::list& values) {
            std::vector<double> keys;
            keys.reserve(values.size() + 1);
            for (const nb::handle value : values) keys.push_back(object_key(value));
            const std::size_t n = keys.size();
            return hand_over(std::move(keys), {n});
        },
        "values"_a);
    m.def(
        "csv_fields",
        [](const nb::bytes& text, std::size_t start, bool final, char delimiter) {
            TextRows out = csv_fields(stretch(text, start, final), start, delimiter);
            const std::size_t n = out.labels.size() / 3;
            return nb::make_tuple(hand_over(std::move(out.labels), {n, 3}), out.end, out.lines, hand_over(out.problem));
        },
        "text"_a, "start"_a, "final"_a, "delimiter"_a);
    m.def(
        "csv_cells",
        [](const nb::bytes& text, std::size_t start, bool final, std::size_t limit, char delimiter,
           const Places& numbers, const Places& texts, std::size_t d, std::size_t t) {
            const Stretch s = stretch(text, start, final);
            const Wanted wanted = check_wanted(numbers, texts, d, t);
            Cells out;
            {
                nb::gil_scoped_release unlocked;
                out = csv_cells(s, start, limit, delimiter, wanted);
            }
            return hand_over(std::move(out), d, t);
        },
        "text"_a, "start"_a, "final"_a, "limit"_a, "delimiter"_a, "numbers"_a, "texts"_a, "d"_a, "t"_a);
    m.def(
        "json_cells",
        [](const nb::bytes& text, std::size_t start, bool final, std::size_t limit, const nb::list& keys,
           const Places& numbers, const Places& texts, std::size_t d, std::size_t t) {
            const Stretch s = stretch(text, start, final);
            const Wanted wanted = check_wanted(numbers, texts, d, t);
            std::vector<std::string> names;
            for (const nb::handle key : keys) {
                const auto name = nb::cast<nb::bytes>(key);
                names.emplace_back(name.c_str(), name.size());
            }
            if (names.size() != wanted.width) throw nb::value_error("there must be as many keys as places");
            Cells out;
            std::map<std::string, NewKey> unknown;
            {
                nb::gil_scoped_release unlocked;
                out = json_cells(s, start, limit, names, wanted, unknown);
            }
            nb::list new_keys;
            for (const auto& [key, entry] : unknown)
                new_keys.append(nb::make_tuple(nb::bytes(key.data(), key.size()), entry.count, entry.line));
            return hand_over(std::move(out), d, t) + nb::make_tuple(new_keys);
        },
        "text"_a, "start"_a, "final"_a, "limit"_a, "keys"_a, "numbers"_a, "texts"_a, "d"_a, "t"_a);
    m.def(
        "libsvm_rows",
        [](const nb::bytes& text, std::size_t start, bool final, std::size_t limit, const Places& places,
           std::size_t features, std::uint64_t base, bool labelled, bool sparse) {
            const Stretch s = stretch(text, start, final);
            check_places(places, features);
            TextRows out;
            {
                nb::gil_scoped_release unlocked;
                out = libsvm_rows(s, start, limit, places.data(), places.shape(0), features, base, labelled, sparse);
            }
            return hand_over(std::move(out), features, sparse);
        },
        "text"_a, "start"_a, "final"_a, "limit"_a, "places"_a, "features"_a, "base"_a, "labelled"_a,
        "sparse"_a = false);
    m.def(
        "libsvm_extent",
        [](const nb::bytes& text, std::size_t start, bool final, std::size_t limit) {
            const Stretch s = stretch(text, start, final);
            Extent out;
            {
                nb::gil_scoped_release unlocked;
                out = libsvm_extent(s, start, limit);
            }
            return nb::make_tuple(out.bound, out.rows, out.end);
        },
        "text"_a, "start"_a, "final"_a, "limit"_a);
    m.def(
        "integer_fields",
        [](const nb::bytes& text, const Spans& spans) { return each_field<std::int64_t>(text, spans, parse_integer); },
        "text"_a, "spans"_a);
    m.def(
        "number_fields",
        [](const nb::bytes& text, const Spans& spans) {
            return each_field<double>(text, spans, [](std::string_view field, double& value) {
                return parse_number(field, value) != Number::bad;
            });
        },
        "text"_a, "spans"_a);
}

}  // namespace nolana
