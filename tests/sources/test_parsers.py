"""The compiled parsers against Python's csv and json modules, str.split and float, on valid text and on any text."""

import csv
import io
import json
import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, example, given
from hypothesis import strategies as st

from conftest import core_builds
from nolana.sources.cells import ABSENT, NESTED, NUMBER, TEXT, TRUTH, UNBOUNDED, UNKNOWN, decode_csv, decode_json
from tables import same

BUILDS = core_builds()
builds = pytest.mark.parametrize("core", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
WORDS = {"": ABSENT, "na": UNKNOWN, "n/a": UNKNOWN, "null": UNKNOWN, "true": TRUTH, "false": TRUTH}
PIECES = ["0", "1", "2.5", "-3", ".", "+", "e", "1e5", "nan", "Inf", ",", ",", ";", "\t", " ", '"', '""', "\n", "\n"]
PIECES += ["\r", "\r\n", "1:2", "2:1", "3:", ":", "#", "qid:1", "x", "1e999", "1e-999", "9" * 20, "é", "TRUE", "n/A"]
ANY = st.lists(st.sampled_from(PIECES), max_size=25).map(lambda p: "".join(p).encode()) | st.binary(max_size=30)


def number(field):
    """A field as a double; None if it is not one. Python also reads underscores, blanks and digits of other scripts."""
    try:
        return float(field) if re.fullmatch(rb"[0-9A-Za-z.+-]+", field) else None
    except ValueError:
        return None


def classify(field):
    """The code and the value of a field without its quotes and the blanks around it."""
    value = number(field)
    if value is None:
        word = field.decode("latin-1").lower()
        return WORDS.get(word, TEXT), float(word == "true")
    return (NUMBER, value) if np.isfinite(value) else (UNKNOWN if np.isnan(value) else UNBOUNDED, 0.0)


def bare(field):
    """What the quotes of a field enclose, without blanks."""
    return (field[1:-1] if len(field) > 1 and field[:1] == field[-1:] == b'"' else field).strip(b" \t")


def lines_of(text, final):
    """The complete lines; the last one needs no line end if nothing follows."""
    lines = text.split(b"\n")
    return lines if final and lines[-1] else lines[:-1]


# Numbers


DECIMAL = st.from_regex(r"[+-]?[0-9]{0,25}\.?[0-9]{0,25}([eE][+-]?[0-9]{1,4})?", fullmatch=True)


@builds
@given(field=DECIMAL.map(str.encode) | ANY)
@example(field=b"2.2250738585072011e-308")
@example(field=b"4.9406564584124654e-324")
@example(field=b"2.4703282292062327e-324")
@example(field=b"-1e-400")
@example(field=b"9007199254740993")
@example(field=b"1" + b"0" * 400 + b"e-400")
@example(field=b"0." + b"0" * 400 + b"1e400")
@example(field=b"0e99999999999999999999")
@example(field=b"1e-99999999999999999999")
@example(field=b"+-1")
@example(field=b"-9223372036854775808")
@example(field=b"9223372036854775808")
def test_numbers_are_right_to_the_last_bit(core, field):
    spans, inner = np.array([[0, len(field), 0]]), bare(field)
    values, unfit = core.number_fields(field, spans)
    expected = number(inner)
    assert (unfit < 0) == (expected is not None)
    if expected is not None and not np.isnan(expected):
        assert same(values, np.array([expected]))
    integers, unfit = core.integer_fields(field, spans)
    whole = int(inner) if re.fullmatch(rb"[+-]?[0-9]{1,4000}", inner) else None
    fits = whole is not None and -(2**63) <= whole < 2**63
    assert (unfit < 0) == fits
    assert not fits or integers.tolist() == [whole]


@builds
def test_short_numbers_are_right_to_the_last_bit(core):
    """Around 15 digits, where the core changes its way; with and without a point, at every place."""
    rng = np.random.default_rng(0)
    digits = ["".join(map(str, rng.integers(0, 10, n))) for n in range(1, 20) for _ in range(200)]
    fields = [f"{text[:i]}.{text[i:]}" for text in digits for i in rng.integers(0, len(text) + 1, 3)] + digits
    fields += [f"-{field}" for field in fields]
    ends = np.cumsum([len(field) for field in fields])
    spans = np.column_stack([ends - [len(field) for field in fields], ends, np.zeros_like(ends)])
    values, unfit = core.number_fields("".join(fields).encode(), spans)
    assert unfit < 0
    assert same(values, np.array([float(field) for field in fields]))


# CSV


def check_cells(found, data, columns, fields):
    """The numbers and the strings of rows as the fields (begin, end) of each say."""
    values, codes, spans, span_codes = found[:4]
    numbers, texts = columns
    for row, cells in enumerate(fields):
        for column, (begin, end) in enumerate(cells):
            code, value = classify(bare(data[begin:end]))
            if numbers[column] >= 0:
                assert codes[row, numbers[column]] == code
                assert same(values[row, numbers[column]], np.float64(value))
            if texts[column] >= 0:
                assert span_codes[row, texts[column]] == code
                assert spans[row, texts[column]].tolist() == [begin, end]


CELLS = st.text(alphabet=' a1.,;"\t\n\r+-eé', max_size=6)


@builds
@given(
    rows=st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=6),
    mark=st.sampled_from([",", ";", "\t", " "]),
    end=st.sampled_from(["\n", "\r\n", "\n\n", "\r\n\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    final=st.booleans(),
)
def test_csv_is_what_python_reads(core, rows, mark, end, quoting, final):
    if quoting == csv.QUOTE_MINIMAL:  # a return alone is not quoted, and ends a line for Python only
        rows = [[cell.replace("\r", "") for cell in row] for row in rows]
    file = io.StringIO()
    csv.writer(file, delimiter=mark, lineterminator=end, quoting=quoting).writerows(rows)
    data, places = file.getvalue().encode(), np.arange(3)
    expected = [row for row in csv.reader(io.StringIO(file.getvalue(), newline=""), delimiter=mark) if row]
    values, codes, spans, span_codes, places_of, stop, lines, problem = core.csv_cells(
        data, 0, final, 100, mark, places, places, 3, 3
    )
    assert problem is None
    assert stop == len(data)
    assert lines == data.count(b"\n")
    assert len(places_of) == len(expected) == len(rows)
    for row, cells in enumerate(expected):
        for column, cell in enumerate(cells):
            begin, finish = spans[row, column].tolist()
            raw = data[begin:finish]
            assert decode_csv(raw) == (cell if raw.startswith(b'"') else cell.strip(" \t"))
            code, value = classify(bare(raw))
            assert (codes[row, column], span_codes[row, column]) == (code, code)
            assert same(values[row, column], np.float64(value))


def csv_row(data, at, final, mark):
    """The fields (begin, end, line) of the row at a place, its first flaw, its end and its line ends; None: it is cut.

    One character after the other, as RFC 4180 describes it, with blanks around fields.
    """
    size, blanks, fields, flaw, line = len(data), b" \t".replace(mark, b""), [], None, 0

    def ends_line(p):
        """The end of the line end at a place, the place itself if there is none."""
        if data[p : p + 1] == b"\n":
            return p + 1
        return p + 2 if data[p : p + 2] == b"\r\n" else p + 1 if final and data[p:] == b"\r" else p

    while True:
        while data[at : at + 1] and data[at] in blanks:
            at += 1
        begin, here, broken = at, line, None
        if data[at : at + 1] == b'"':
            at += 1
            while at < size and not (data[at : at + 1] == b'"' and data[at + 1 : at + 2] != b'"'):
                step = 2 if data[at : at + 1] == b'"' else 1
                line += data[at : at + step].count(b"\n")
                at += step
            if at >= size:
                if not final:
                    return None
                fields.append((begin, size, here))
                return fields, flaw or ("open", here, len(fields), begin, size), size, line
            stop = at = at + 1
            while data[at : at + 1] and data[at] in blanks:
                at += 1
            if not (data[at : at + 1] == mark or ends_line(at) > at or (final and at == size)):
                broken = "quote"
        if begin == at or data[begin : begin + 1] != b'"' or broken:
            while at < size and data[at : at + 1] not in (mark, b"\n"):
                at += 1
            stop = at
            if data[stop - 1 : stop] == b"\r" and data[at : at + 1] != mark and stop > begin:
                stop -= 1
            while stop > begin and data[stop - 1] in blanks:
                stop -= 1
        if data[at : at + 1] == b"\r":
            at = max(at, ends_line(at) - (data[at : at + 2] == b"\r\n"))
        fields.append((begin, stop, here))
        if broken and flaw is None:
            flaw = (broken, here, len(fields), begin, stop)
        if at >= size:
            return (fields, flaw, size, line) if final else None
        if data[at : at + 1] != mark:
            return fields, flaw, at + 1, line + 1
        at += 1


def skip_blank_lines(data, at, final, mark):
    blank = re.compile(b"[" + b" \t".replace(mark, b"") + b"]*" + (b"(\r?\n|\r?$)" if final else b"\r?\n"))
    lines = 0
    while at < len(data) and (found := blank.match(data, at)):
        lines, at = lines + found[0].count(b"\n"), found.end()
    return at, lines


@builds
@given(text=ANY, final=st.booleans(), limit=st.integers(0, 4), mark=st.sampled_from([",", ";", "\t", " "]))
@example(text=b'1,"a""b', final=True, limit=3, mark=",")
@example(text=b'"1" x,2\n', final=False, limit=3, mark=",")
@example(text=b'1,"2"\r', final=True, limit=3, mark=",")
@example(text=b'1,2,3\n"4"x,5\n', final=True, limit=3, mark=",")
@example(text=b"1,2,3\n4,5\n6,7,8\n", final=True, limit=3, mark=",")
def test_csv_of_any_bytes(core, text, final, limit, mark):
    letter = mark.encode()
    at, lines = skip_blank_lines(text, 0, final, letter)
    first = csv_row(text, at, final, letter) if at < len(text) else None
    fields, stop, passed, problem = core.csv_fields(text, 0, final, mark)
    if first is None:
        assert (len(fields), stop, passed, problem) == (0, at, lines, None)
    else:
        assert fields.tolist() == [[begin, end, lines + line] for begin, end, line in first[0]]
        assert (stop, passed) == (first[2], lines + first[3])
        assert problem == (None if first[1] is None else (first[1][0], lines + first[1][1], *first[1][2:]))
    for columns in (([0, -1, 1], [-1, 0, 1]), ([0, 1, -1], [-1, -1, -1])):
        found = core.csv_cells(text, 0, final, limit, mark, *map(np.array, columns), 2, 2)
        at, lines, rows, places, expected = 0, 0, [], [], None
        while len(rows) < limit and expected is None:
            at, skipped = skip_blank_lines(text, at, final, letter)
            lines += skipped
            row = csv_row(text, at, final, letter) if at < len(text) else None
            if row is None:
                break
            fields, flaw, end, passed = row
            if flaw is not None:
                expected = (flaw[0], lines + flaw[1], *flaw[2:])
            elif len(fields) != 3:
                expected = ("width", lines, len(fields), at, fields[-1][1])
            else:
                rows.append([field[:2] for field in fields])
                places.append([at, fields[-1][1], lines])
                at, lines = end, lines + passed
        assert found[4].tolist() == places
        assert found[5:] == (at, lines, expected)
        check_cells(found, text, columns, rows)


# JSON lines


PARTS = ["{", "}", "[", "]", ",", ":", '"', '"a"', '"b"', '"é"', '"\\u00e9"', '"\\ud83d\\ude00"', '"\\x"', "\\"]
PARTS += ["\\u12", "1", "-2.5e3", "01", "-", "+1", "1e999", "true", "false", "null", "NaN", "-Infinity", "nan", " "]
PARTS += ["\t", "\r", "\n", "\n", "x", '{"a": 1, "b": 2}\n', '{"b": "x\\"y", "a": {"c": [1, "]"]}}\n', '{"a":1,"a":2}']
PARTS += ["[" * 70, "]" * 70]
JSON = st.lists(st.sampled_from(PARTS), max_size=25).map(lambda p: "".join(p).encode()) | st.binary(max_size=30)
DEEPEST = 64
# What the parser accepts beyond RFC 8259: it passes over values that are not wanted and reads numbers as CSV has them.
LENIENT = re.compile(r"\\|\[.*\]|\{.*\{|(?<![\d.eE])-?0\d|\d\.(?!\d)|[\x00-\x1f\ufffd]", re.DOTALL)


class Pairs(list):
    """An object as pairs, of which equal keys may be several."""


def depth(value):
    inner = [item for _, item in value] if isinstance(value, Pairs) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


def flat(row, keys, found, new, prefix=""):
    """The last value of each wanted key, and the keys that are not known, one for each time."""
    beginnings = {key[:i] for key in keys for i in range(len(key)) if key[i] == "."}
    for key, value in row:
        key = prefix + key
        if key in beginnings and isinstance(value, Pairs):
            flat(value, keys, found, new, key + ".")
        elif key in keys:
            found[key] = value
        elif key not in beginnings:
            new.append(key)


def json_code(value, as_number):
    """The code of a value, and its number."""
    if value is None:
        return ABSENT, 0.0
    if isinstance(value, bool):
        return TRUTH, float(value)
    if isinstance(value, list):
        return NESTED, 0.0
    if isinstance(value, str):
        return classify(value.encode("utf-8", "surrogatepass").strip(b" \t")) if as_number else (TEXT, 0.0)
    try:
        value = float(value)
    except OverflowError:
        return UNBOUNDED, 0.0
    return (NUMBER, value) if np.isfinite(value) else (UNKNOWN if np.isnan(value) else UNBOUNDED, 0.0)


def json_line(line):
    """What Python reads of a line: pairs; None if it is not an object that both read."""
    try:
        row = json.loads(line.decode(), strict=False, object_pairs_hook=Pairs)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, Pairs) and depth(row) <= DEEPEST else None


def check_json(core, text, final, limit, keys, numbers, texts):
    d, t = max(numbers) + 1, max(texts) + 1
    wanted = [key.encode("utf-8", "surrogatepass") for key in keys]
    values, codes, spans, span_codes, rows, end, lines, problem, unknown = core.json_cells(
        text, 0, final, limit, wanted, np.array(numbers), np.array(texts), d, t
    )
    complete = lines_of(text, final)
    at, row, counts = 0, 0, {}
    for number_of_line, line in enumerate(complete):
        if row == limit and (row == len(rows)):
            break
        begin, inner = at, line.strip(b" \t\r")
        at += len(line) + 1
        if not inner:
            continue
        offset = begin + len(line) - len(line.lstrip(b" \t\r"))
        expected = json_line(line)
        if row == len(rows):  # the line that ended it
            assert problem is not None
            kind, where, column, first, last = problem
            assert expected is None
            assert kind == ("json" if inner.startswith(b"{") else "object")
            assert (where, column, end, lines) == (number_of_line, 0, begin, number_of_line)
            assert offset <= first <= last <= begin + len(line)
            assert last == max(first, offset + len(inner))
            break
        assert rows[row].tolist() == [offset, offset + len(inner), number_of_line]
        if expected is None:
            assert inner.startswith(b"{")
            assert inner.endswith(b"}")
            assert LENIENT.search(inner.decode("utf-8", "replace")), inner
            row += 1
            assume(False)  # its keys and values are not known
        found, new = {}, []
        flat(expected, keys, found, new)
        for key in new:
            count, first_line = counts.get(key, (0, number_of_line))
            counts[key] = count + 1, first_line
        for column, key in enumerate(keys):
            value = found.get(key)
            if numbers[column] >= 0:
                code, as_number = json_code(value, True)
                assert codes[row, numbers[column]] == code
                assert same(values[row, numbers[column]], np.float64(as_number))
            if texts[column] >= 0:
                begin, stop = spans[row, texts[column]].tolist()
                assert span_codes[row, texts[column]] == json_code(value, numbers[column] >= 0)[0]
                assert (begin == stop) == (key not in found)
                if isinstance(value, str):
                    assert json.loads(text[begin:stop], strict=False) == value
                elif key in found:
                    shown = json.loads(text[begin:stop], strict=False, object_pairs_hook=Pairs)
                    assert repr(shown) == repr(value)
        row += 1
    else:
        assert problem is None
        assert (end, lines) == (min(len(text), sum(len(line) + 1 for line in complete)), len(complete))
    assert row == len(rows) <= limit
    names = sorted(key.encode("utf-8", "surrogatepass") for key in counts)
    assert unknown == [(name, *counts[name.decode("utf-8", "surrogatepass")]) for name in names]


@builds
@given(text=JSON, final=st.booleans(), limit=st.integers(0, 4))
@example(text=b'{"\\ud800\\udc00": 1, "\\udc00": 2}', final=True, limit=2)
@example(text=b'{"a": ' + b"[" * 63 + b"]" * 63 + b"}", final=True, limit=2)
@example(text=b'{"a" 1}\n', final=True, limit=2)
@example(text=b'{"a": 1} x  \n', final=True, limit=2)
@example(text=b'{"a": "x', final=True, limit=2)
@example(text=b'{"a": [1, "x}\n', final=True, limit=2)
def test_jsonl_of_any_bytes(core, text, final, limit):
    keys = ["a", "b", "é", "\U00010000", "\udc00"]
    for numbers, texts in (([0, -1, 1, 2, -1], [-1, 0, 1, -1, 2]), ([-1] * 5, [0, 1, -1, -1, 2])):
        check_json(core, text, final, limit, keys, numbers, texts)


NESTED_PARTS = ['{"a": ', '{"b": ', '{"c": {"d": ', '"1.5"', '"x"', "null", "2", "[1]", "}", "}}", ", ", '"n": 1']
NESTED_PARTS += ['"d": ', "\n"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(alphabet='a"\\é\n\t1.', max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b", "c", "d", "n"]), inner),
    max_leaves=6,
)
OBJECTS = st.lists(st.dictionaries(st.sampled_from(["a", "b", "c", "d", "n.x", ""]), VALUES), max_size=4)


@builds
@given(
    text=st.lists(st.sampled_from(NESTED_PARTS), max_size=16).map(lambda p: "".join(p).encode())
    | OBJECTS.map(lambda rows: "".join(json.dumps(row) + "\n" for row in rows).encode())
    | OBJECTS.map(lambda rows: "\r\n\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode())
)
@example(text=b'{"a": {"b": 1, "c": {"d": "2.5", "new": 1}}, "n": 3, "d": " 4 "}\n{"a": 5}\n{"a": {"c": null}}\n')
@example(text=b'{"a": {"b": 1}\n')
@example(text=b'{"a": {"b" 1}}\n')
def test_nested_keys_strings_and_new_keys(core, text):
    for final, limit in ((True, 9), (False, 2)):
        check_json(core, text, final, limit, ["a.b", "a.c.d", "a", "d"], [0, -1, -1, 1], [-1, 0, 1, -1])


@builds
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b'{"a" 1}\n', ("json", 0, 0, 5, 7)),
        (b'{"a": 1} x  \n', ("json", 0, 0, 9, 10)),
        (b'{"a": "x', ("json", 0, 0, 6, 8)),
        (b'{"a": [1, "x}\n', ("json", 0, 0, 10, 13)),
        (b'{"a": [1, 2\n', ("json", 0, 0, 6, 11)),
        (b'{"a": 1}\n\n {"b": oops, "a": 1}\n', ("json", 2, 0, 17, 30)),
        (b'{"b": 1}\n[1]\n', ("object", 1, 0, 9, 12)),
        (b'{"\\x": 1}\n', ("json", 0, 0, 1, 9)),
        (b'{"a": ' + b"[" * 64 + b"]" * 64 + b"}", None),
        (b'{"a": ' + b"[" * 65 + b"]" * 65 + b"}", ("json", 0, 0, 70, 137)),
        (b'{"a": 1, "b": 01, "c": 1., "d": "\\x"}', None),
    ],
)
def test_a_problem_of_a_json_line_has_its_place(core, text, problem):
    only = np.zeros(1, dtype=np.int64)
    assert core.json_cells(text, 0, True, 9, [b"a"], only, only, 1, 1)[7] == problem


def test_a_string_of_json_is_decoded_as_python_does():
    for text in ("", "a b", 'x"y', "é\n", "\U0001f600", "\\"):
        for ascii in (True, False):
            assert decode_json(json.dumps(text, ensure_ascii=ascii).encode()) == text
    with pytest.raises(ValueError, match="surrogates"):
        decode_json(b'"\\ud800"')


# LIBSVM


def libsvm_line(line, width, base, labelled):
    """Label (begin, end) and values by index of a line, or its problem (kind, column, begin, end); None if blank."""
    tokens = [(found.start(), found[0]) for found in re.finditer(rb"[^ \t\r]+", line.partition(b"#")[0])]
    if not tokens:
        return None
    begin, first = tokens[0]
    has_label = b":" not in first
    if labelled and not has_label:
        return "label", 1, begin, begin + len(first)
    skipped = int(has_label) + (tokens[has_label : has_label + 1] != [] and tokens[has_label][1].startswith(b"qid:"))
    values, last = {}, -1
    for column, (place, token) in enumerate(tokens[skipped:], start=skipped + 1):
        index, colon, value = token.partition(b":")
        kind = None
        if not colon or not re.fullmatch(rb"[0-9]+", index):
            kind = "pair"
        elif int(index) < base:
            kind = "base"
        elif int(index) - base >= width:
            kind = "beyond"
        elif int(index) <= last:
            kind = "order"
        elif number(value) is None:
            kind = "number" if value else "empty"
        elif not np.isfinite(number(value)):
            kind = "finite"
        if kind is not None:
            return kind, column, place, place + len(token)
        last = int(index)
        values[last - base] = number(value)
    return (begin, begin + len(first)), values


LINES = ["1 1:2 3:4\n", "2\n", "\n", "# 1\n", "1 2:x\n", "3 2:5 1:6\n", "4 9:1\n", "5 3:1e3\n", "6 1:", "1 qid:3 2:1\n"]
ROWS = st.lists(st.sampled_from(LINES), max_size=6).map(lambda rows: "".join(rows).encode())


@builds
@given(text=ANY | ROWS, final=st.booleans(), limit=st.integers(0, 4), base=st.integers(0, 1), labelled=st.booleans())
@example(text=b"1 18446744073709551616:1\n", final=True, limit=1, base=1, labelled=True)
def test_libsvm_of_any_bytes(core, text, final, limit, base, labelled):
    places = [1, -1, 0]
    complete = lines_of(text, final)
    at, passed, rows, labels, problem = 0, 0, [], [], None
    bound = stop = count = 0
    for line in complete:
        if len(rows) == limit:
            break
        row = libsvm_line(line, 3, base, labelled)
        if row is not None and isinstance(row[0], str):
            kind, column, begin, end = row
            problem = (kind, passed, column, at + begin, at + end)
            break
        if row is not None:
            (begin, end), values = row
            labels.append([at + begin, at + end, passed])
            rows.append({places[index]: value for index, value in values.items() if places[index] >= 0})
        at, passed = min(len(text), at + len(line) + 1), passed + 1
    x = np.zeros((len(rows), 2))
    for i, row in enumerate(rows):
        x[i, list(row)] = list(row.values())
    arguments = (text, 0, final, limit, np.array(places), 2, base, labelled)
    dense, sparse = (core.libsvm_rows(*arguments, kind) for kind in (False, True))
    assert same(dense[0], x)
    assert dense[1].tolist() == labels
    assert dense[2:] == (at, passed, problem)
    starts, indices, values = sparse[0]
    assert (starts.dtype, indices.dtype, values.dtype) == (np.int64, np.int32, np.float64)
    assert same(sp.csr_matrix((values, indices, starts), x.shape).toarray(), x)
    assert indices.tolist() == [place for row in rows for place in row]
    assert np.array_equal(dense[1], sparse[1])
    assert dense[2:] == sparse[2:]
    for line in complete:
        if count == limit:
            break
        stop = min(len(text), stop + len(line) + 1)
        tokens = re.findall(rb"[^ \t\r]+", line.partition(b"#")[0])
        count += bool(tokens)
        last = re.fullmatch(rb"([0-9]+):.*", tokens[-1], re.DOTALL) if tokens else None
        if last:
            bound = max(bound, min(int(last[1]) + 1, 2**64 - 1))
    assert core.libsvm_extent(text, 0, final, limit) == (bound, count, stop)


@builds
def test_places_outside_are_refused(core):
    with pytest.raises(ValueError, match="start is behind the end"):
        core.csv_fields(b"1", 2, True, ",")
    with pytest.raises(ValueError, match="a place is beyond the features"):
        core.csv_cells(b"1", 0, True, 1, ",", np.array([1]), np.array([-1]), 1, 0)
    with pytest.raises(ValueError, match="a place is beyond the features"):
        core.json_cells(b"1", 0, True, 1, [b"a"], np.array([-1]), np.array([3]), 1, 3)
    with pytest.raises(ValueError, match="as many keys as places"):
        core.json_cells(b"1", 0, True, 1, [], np.array([-1]), np.array([0]), 0, 1)
    with pytest.raises(ValueError, match="a place for each column"):
        core.csv_cells(b"1", 0, True, 1, ",", np.array([0]), np.array([0, 1]), 1, 2)
    with pytest.raises(ValueError, match="a span is not in the text"):
        core.number_fields(b"1", np.array([[0, 2, 0]]))
