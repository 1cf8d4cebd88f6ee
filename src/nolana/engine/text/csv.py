r"""Rows out of CSV text: RFC 4180 with blanks allowed around fields, ``a,"b ""c"", d" , 3``."""

import re

import numpy as np

from nolana.engine.text.cells import CellRows, Row, Wanted, classify
from nolana.engine.text.text import Integers, Problem, bare, spans


class _CsvGrammar:
    """The expressions of one delimiter: a blank line, a quoted and a bare field with what ends it."""

    def __init__(self, delimiter: str, final: bool) -> None:
        mark = re.escape(delimiter.encode())
        blank = b"[" + b" \t".replace(delimiter.encode(), b"") + b"]*"
        stop = b"(" + mark + rb"|\r?\n" + (rb"|\r?\Z" if final else b"") + b")"
        self.blank_line = re.compile(blank + (rb"(\r?\n|\r?\Z)" if final else rb"\r?\n"))
        self.quoted = re.compile(blank + rb'("(?:[^"]|"")*+")' + blank + stop)
        self.open = re.compile(blank + rb'("(?:[^"]|"")*+)\Z')
        self.bare = re.compile(blank + rb"([^\n" + mark + rb"]*?)" + blank + stop)
        # text behind a closing quote, up to where a bare field would end
        self.spoilt = re.compile(blank + rb'("(?:[^"]|"")*+"[^\n' + mark + rb"]*?)" + blank + stop)
        self.starts_quoted = re.compile(blank + b'"')
        self.delimiter = delimiter.encode()

    def row(self, text: bytes, at: int) -> tuple[list[tuple[int, int, int]], list[str | None], int, int] | None:
        """Fields (begin, end, line) of the row at a place, their flaws, the row's end and its line ends; or None."""
        fields: list[tuple[int, int, int]] = []
        flaws: list[str | None] = []
        line = 0
        while True:
            flaw = None
            if self.starts_quoted.match(text, at):
                found = self.quoted.match(text, at)
                if found is None:
                    found, flaw = self.spoilt.match(text, at), "quote"
                if found is None:
                    found, flaw = self.open.match(text, at), "open"
            else:
                found = self.bare.match(text, at)
            if found is None:
                return None
            begin, end = found.span(1)
            fields.append((begin, end, line))
            flaws.append(flaw)
            line += text.count(b"\n", begin, end)
            at = found.end()
            if flaw == "open" or found[2] != self.delimiter:
                ended = flaw != "open" and found[2].endswith(b"\n")
                return fields, flaws, at, line + ended


def _skip_blank_lines(grammar: _CsvGrammar, text: bytes, at: int) -> tuple[int, int]:
    lines = 0
    while at < len(text) and (found := grammar.blank_line.match(text, at)):
        lines += found[0].endswith(b"\n")
        at = found.end()
    return at, lines


def csv_fields(text: bytes, start: int, final: bool, delimiter: str) -> tuple[Integers, int, int, Problem | None]:
    """The fields of the next row, (fields, 3): begin, end, line; none where the text ends first."""
    grammar = _CsvGrammar(delimiter, final)
    at, lines = _skip_blank_lines(grammar, text, start)
    row = grammar.row(text, at) if at < len(text) else None
    if row is None or (not final and "open" in row[1]):
        return np.zeros((0, 3), dtype=np.int64), at, lines, None
    fields, flaws, end, passed = row
    problem = _flaw(fields, flaws, lines)
    return spans([(begin, stop, lines + line) for begin, stop, line in fields]), end, lines + passed, problem


def _flaw(fields: list[tuple[int, int, int]], flaws: list[str | None], lines: int) -> Problem | None:
    for column, ((begin, end, line), flaw) in enumerate(zip(fields, flaws, strict=True), start=1):
        if flaw:
            return flaw, lines + line, column, begin, end
    return None


def csv_cells(
    text: bytes,
    start: int,
    final: bool,
    limit: int,
    delimiter: str,
    numbers: Integers,
    texts: Integers,
    d: int,
    t: int,
) -> CellRows:
    """Rows of CSV as cells; numbers and texts: each column's place among the d numbers and among the t texts, or -1.

    The first row of another width, or with a broken quote, ends it.
    """
    grammar = _CsvGrammar(delimiter, final)
    wanted = Wanted(numbers.tolist(), texts.tolist(), d, t)
    rows: list[Row] = []
    at, lines, problem = start, 0, None
    while len(rows) < limit:
        at, skipped = _skip_blank_lines(grammar, text, at)
        lines += skipped
        row = grammar.row(text, at) if at < len(text) else None
        if row is None or (not final and "open" in row[1]):
            break
        fields, flaws, end, passed = row
        problem = _flaw(fields, flaws, lines)
        if problem is None and len(fields) != len(numbers):
            problem = ("width", lines, len(fields), at, fields[-1][1])
        if problem:
            break
        cells = wanted.row(at, fields[-1][1], lines)
        for column, (begin, stop, _) in enumerate(fields):
            if wanted.wants(column):
                wanted.put(cells, column, *classify(bare(text[begin:stop])), begin, stop)
        rows.append(cells)
        at, lines = end, lines + passed
    return wanted.gather(rows, at, lines, problem)
