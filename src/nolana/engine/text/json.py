r"""Rows out of JSON lines: one object a line; the key ``a.b`` is key b of the object at key a.

Arrays, and objects in which no key is wanted, are passed over; only their brackets are checked. A string in a column of
numbers is the number that it contains.

RFC 8259, with ``NaN`` and ``Infinity`` as JavaScript and Python write them.
"""

import re

from nolana.engine.text.cells import (
    ABSENT,
    NESTED,
    NUMBER,
    TEXT,
    TRUTH,
    UNBOUNDED,
    UNKNOWN,
    CellRows,
    Row,
    Wanted,
    classify,
)  # fmt: skip
from nolana.engine.text.text import Integers, Problem, bare, number

SPACE = re.compile(rb"[ \t\r]*")
STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
WORD = re.compile(rb'[^ \t\r,:"{}\[\]]*')
ESCAPE = re.compile(
    rb"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.?))", re.DOTALL
)
LETTERS = dict(zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t', strict=True))
WORDS = {
    b"true": (TRUTH, 1.0),
    b"false": (TRUTH, 0.0),
    b"null": (ABSENT, 0.0),
    b"NaN": (UNKNOWN, 0.0),
    b"Infinity": (UNBOUNDED, 0.0),
    b"-Infinity": (UNBOUNDED, 0.0),
}
CLOSERS = {b"{": b"}", b"[": b"]"}
DEEPEST = 64


class _WrongError(Exception):
    """The line stops making sense at ``place``."""

    def __init__(self, kind: str, place: int) -> None:
        super().__init__(kind)
        self.kind, self.place = kind, place


def _unescape(found: re.Match[bytes]) -> bytes:
    high, low, unit, letter = found.groups()
    if letter is not None:
        if letter == b"" or letter[0] not in LETTERS:
            raise ValueError
        return bytes([LETTERS[letter[0]]])
    code = int(unit, 16) if unit else 0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00
    return chr(code).encode("utf-8", "surrogatepass")


def _word(word: bytes) -> tuple[int, float] | None:
    if word[:1].isdigit() or (word[:1] == b"-" and word[1:2].isdigit()):
        value = number(word)
        if value is None:
            return None
        return (UNBOUNDED, 0.0) if abs(value) == float("inf") else (NUMBER, value)
    return WORDS.get(word)


class _Line:
    """One line of the text, read from its brace to its end."""

    def __init__(self, text: bytes, begin: int, end: int) -> None:
        self.text, self.at, self.end = text, begin, end
        self.skip()

    def skip(self) -> None:
        self.at = min(self.end, SPACE.match(self.text, self.at, self.end).end())  # type: ignore[union-attr]

    def take(self, mark: bytes) -> bool:
        if self.text[self.at : self.end][:1] != mark:
            return False
        self.at += 1
        self.skip()
        return True

    def pass_string(self) -> bytes:
        found = STRING.match(self.text, self.at, self.end)
        if found is None:
            raise _WrongError("json", self.at)
        self.at = found.end()
        return found[0]

    def key(self) -> bytes:
        begin = self.at
        raw = self.pass_string()
        try:
            key = ESCAPE.sub(_unescape, raw[1:-1])
        except ValueError:
            raise _WrongError("json", begin) from None
        self.skip()
        if not self.take(b":"):
            raise _WrongError("json", self.at)
        return key

    def value(self) -> tuple[int, float, int, int]:
        begin, code, value = self.at, TEXT, 0.0
        first = self.text[begin : self.end][:1]
        if first == b'"':
            self.pass_string()
        elif first in CLOSERS:
            code = NESTED
            self.pass_nested()
        else:
            word = WORD.match(self.text, begin, self.end)[0]  # type: ignore[index]
            cell = _word(word)
            if cell is None:
                raise _WrongError("json", begin)
            code, value = cell
            self.at += len(word)
        end = self.at
        self.skip()
        return code, value, begin, end

    def pass_nested(self) -> None:
        begin, closers = self.at, list[bytes]()
        while True:
            if self.at == self.end:
                raise _WrongError("json", begin)
            mark = self.text[self.at : self.at + 1]
            if mark == b'"':
                self.pass_string()
                continue
            if mark in CLOSERS:
                if len(closers) == DEEPEST:
                    raise _WrongError("json", self.at)
                closers.append(CLOSERS[mark])
            elif mark in (b"}", b"]") and closers.pop() != mark:
                raise _WrongError("json", self.at)
            self.at += 1
            if not closers:
                return

    def row(self, cells: Row, wanted: Wanted, keys: "_Keys") -> list[bytes]:
        """Puts the values of the line into cells; returns the keys that are not known."""
        if not self.take(b"{"):
            raise _WrongError("object", self.at)
        new: list[bytes] = []
        self.members(cells, wanted, keys, b"", new)
        if self.at != self.end:
            raise _WrongError("json", self.at)
        return new

    def members(self, cells: Row, wanted: Wanted, keys: "_Keys", prefix: bytes, new: list[bytes]) -> None:
        """The members of an object, after its opening brace."""
        more = not self.take(b"}")
        while more:
            key = prefix + self.key()
            if key in keys.prefixes and self.take(b"{"):
                self.members(cells, wanted, keys, key + b".", new)
            else:
                code, value, begin, end = self.value()
                if key in keys.columns:
                    column = keys.columns[key]
                    if code == TEXT and wanted.numbers[column] >= 0:
                        code, value = classify(bare(self.text[begin:end]))
                    wanted.put(cells, column, code, value, begin, end)
                elif key not in keys.prefixes:
                    new.append(key)
            more = self.take(b",")
            if not more and not self.take(b"}"):
                raise _WrongError("json", self.at)


class _Keys:
    """The known keys: the column of each, and the beginnings of those with a point, ``a`` of ``a.b``."""

    def __init__(self, keys: list[bytes]) -> None:
        self.columns = {key: column for column, key in reversed(list(enumerate(keys)))}
        self.prefixes = {key[:i] for key in keys for i in range(len(key)) if key[i : i + 1] == b"."}


def json_cells(
    text: bytes,
    start: int,
    final: bool,
    limit: int,
    keys: list[bytes],
    numbers: Integers,
    texts: Integers,
    d: int,
    t: int,
) -> tuple[*CellRows, list[tuple[bytes, int, int]]]:
    """Rows of JSON lines as cells: keys names the columns; of equal keys in a row the last one counts.

    The first line that is not an object ends it. After the cells: the keys that are not in keys, sorted, each with its
    count and the line of the first one.
    """
    wanted = Wanted(numbers.tolist(), texts.tolist(), d, t)
    known = _Keys(keys)
    unknown: dict[bytes, tuple[int, int]] = {}
    rows: list[Row] = []
    at, lines = start, 0
    problem: Problem | None = None
    while len(rows) < limit and at < len(text):
        stop = text.find(b"\n", at)
        if stop < 0 and not final:
            break
        end = len(text) if stop < 0 else stop
        line = _Line(text, at, end)
        if line.at < end:
            bound = at + len(text[at:end].rstrip(b" \t\r"))
            cells = wanted.row(line.at, bound, lines)
            try:
                new = line.row(cells, wanted, known)
            except _WrongError as wrong:
                problem = (wrong.kind, lines, 0, wrong.place, max(wrong.place, bound))
                break
            rows.append(cells)
            for key in new:
                count, first = unknown.get(key, (0, lines))
                unknown[key] = count + 1, first
        at, lines = end + (stop >= 0), lines + 1
    return *wanted.gather(rows, at, lines, problem), [(key, *unknown[key]) for key in sorted(unknown)]
