r"""Numbers out of text, and rows out of LIBSVM text.

Every reader takes a stretch of bytes from ``start``, parses complete rows only (the last one needs no line end
where ``final``), at most ``limit`` of them, and returns what it found, the end of it, the line ends passed, and
the first problem: ``(kind, line, column, begin, end)`` or None. A problem ends it before the row it is in.

A LIBSVM line is ``label [qid:n] index:value ... [# comment]`` with ascending indices; what is not named is zero.
"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Problem = tuple[str, int, int, int, int]
Rows = tuple[Any, Integers, int, int, Problem | None]

NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
UNBOUNDED = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)
INTEGER = re.compile(rb"[+-]?[0-9]+")
PAIR = re.compile(rb"([0-9]+):(.*)", re.DOTALL)
LARGEST_INDEX = 2**64 - 1


def number(field: bytes) -> float | None:
    """A field as a double, nan and inf included, or None."""
    return float(field) if NUMBER.fullmatch(field) or UNBOUNDED.fullmatch(field) else None


def _integer(field: bytes) -> int | None:
    # more than 19 digits do not fit into 64 bits, and Python refuses to convert thousands of them
    if not INTEGER.fullmatch(field) or len(field.lstrip(b"+-").lstrip(b"0")) > 19:
        return None
    value = int(field.lstrip(b"+-").lstrip(b"0") or b"0") * (-1 if field[:1] == b"-" else 1)
    return value if -(2**63) <= value < 2**63 else None


def _feature(field: bytes) -> tuple[float, str | None]:
    """The value of a feature and the kind of problem it has."""
    value = number(field)
    if value is None:
        return 0.0, "number" if field else "empty"
    return value, None if np.isfinite(value) else "finite"


def bare(field: bytes) -> bytes:
    """A field without its quotes and the blanks around."""
    if len(field) >= 2 and field[:1] == b'"' and field[-1:] == b'"':
        field = field[1:-1]
    return field.strip(b" \t")


def integer_fields(text: bytes, spans: Integers) -> tuple[Integers, int]:
    """Fields as 64-bit integers, and the first that is none (-1: all are)."""
    values = np.zeros(len(spans), dtype=np.int64)
    for i, (begin, end, _) in enumerate(spans.tolist()):
        value = _integer(bare(text[begin:end]))
        if value is None:
            return values, i
        values[i] = value
    return values, -1


def number_fields(text: bytes, spans: Integers) -> tuple[Array, int]:
    """Fields as doubles, nan and inf included, and the first that is none (-1: all are)."""
    values = np.zeros(len(spans))
    for i, (begin, end, _) in enumerate(spans.tolist()):
        value = number(bare(text[begin:end]))
        if value is None:
            return values, i
        values[i] = value
    return values, -1


Entries = dict[int, float]  # values of a row by their places
CSR = tuple[Integers, NDArray[np.int32], Array]


def _gather(rows: list[Entries], features: int, sparse: bool) -> Array | CSR:
    """X (n, features), or starts (n + 1,), places and values of the entries."""
    if sparse:
        starts = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64)
        places = np.array([place for row in rows for place in row], dtype=np.int32)
        return starts, places, np.array([value for row in rows for value in row.values()], dtype=np.float64)
    x = np.zeros((len(rows), features))
    for r, row in enumerate(rows):
        x[r, list(row)] = list(row.values())
    return x


def spans(labels: list[tuple[int, int, int]]) -> Integers:
    """Begin, end and line of some fields, (n, 3)."""
    return np.array(labels, dtype=np.int64).reshape(len(labels), 3)


def _line(text: bytes, at: int, final: bool) -> tuple[list[tuple[int, bytes]], int] | None:
    """Tokens of the line at a place with where they begin, comment left out, and the next line; or None."""
    stop = text.find(b"\n", at)
    if at >= len(text) or (stop < 0 and not final):
        return None
    line = text[at:] if stop < 0 else text[at:stop]
    tokens = [(at + t.start(), t[0]) for t in re.finditer(rb"[^ \t\r]+", line.split(b"#", 1)[0])]
    return tokens, len(text) if stop < 0 else stop + 1


def _pair(token: bytes) -> tuple[int, bytes] | None:
    """``index:value`` in its two parts; an index beyond 64 bits is the largest there is."""
    found = PAIR.fullmatch(token)
    if found is None:
        return None
    digits = found[1].lstrip(b"0") or b"0"
    return min(int(digits[:21]), LARGEST_INDEX), found[2]


def libsvm_rows(
    text: bytes,
    start: int,
    final: bool,
    limit: int,
    places: Integers,
    features: int,
    base: int,
    labelled: bool,
    sparse: bool = False,
) -> Rows:
    """Rows of LIBSVM text: X (n, features), labels (n, 3): begin, end, line.

    X of `sparse` rows is CSR: starts (n + 1,), places and values.

    places has for each index (counted from base, 0 or 1) its place among the features, or -1.
    """
    rows: list[Entries] = []
    labels: list[tuple[int, int, int]] = []
    at, lines = start, 0
    while len(rows) < limit and (line := _line(text, at, final)):
        tokens, following = line
        if tokens:
            begin, first = tokens[0]
            has_label = b":" not in first
            if labelled and not has_label:
                problem = ("label", lines, 1, begin, begin + len(first))
                return _gather(rows, features, sparse), spans(labels), at, lines, problem
            x: Entries = {}
            past = int(has_label)
            past += past < len(tokens) and tokens[past][1].startswith(b"qid:")
            smallest = 0
            for column, (place, token) in enumerate(tokens[past:], start=past + 1):
                kind, index, value = _check_pair(token, base, len(places), smallest)
                if kind:
                    problem = (kind, lines, column, place, place + len(token))
                    return _gather(rows, features, sparse), spans(labels), at, lines, problem
                smallest = index + 1
                if places[index - base] >= 0:
                    x[int(places[index - base])] = value
            rows.append(x)
            labels.append((begin, begin + len(first), lines))
        at, lines = following, lines + 1
    return _gather(rows, features, sparse), spans(labels), at, lines, None


def _check_pair(token: bytes, base: int, width: int, smallest: int) -> tuple[str | None, int, float]:
    pair = _pair(token)
    if pair is None:
        return "pair", 0, 0.0
    index = pair[0]
    if index < base:
        return "base", index, 0.0
    if index - base >= width:
        return "beyond", index, 0.0
    if index < smallest:
        return "order", index, 0.0
    value, kind = _feature(pair[1])
    return kind, index, value


def libsvm_extent(text: bytes, start: int, final: bool, limit: int) -> tuple[int, int, int]:
    """How far the indices of some rows reach: the largest plus one (0: there is none), the rows, their end."""
    bound, rows, at = 0, 0, start
    while rows < limit and (line := _line(text, at, final)):
        tokens, at = line
        rows += bool(tokens)
        pair = _pair(tokens[-1][1]) if tokens else None
        if pair:
            bound = max(bound, min(pair[0] + 1, LARGEST_INDEX))
    return bound, rows, at
