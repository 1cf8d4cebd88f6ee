"""LIBSVM text: the number of its features; the engine parses the rows.

``label [qid:n] index:value ... [# comment]``, indices ascending (C.-C. Chang, C.-J. Lin: LIBSVM, ACM TIST 2, 2011).
"""

import functools
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nolana.backend import text_parsers
from nolana.errors import OptionError, Remedy, Setting, StreamError
from nolana.learner.rows import WIDE
from nolana.sources.bytes import Bytes
from nolana.sources.cells import NUMBER, Cells, Flaw, TextCells, decode_csv
from nolana.sources.columns import Columns
from nolana.sources.declaration import declared
from nolana.sources.options import Column, ColumnNumber, Encoding, SourceOptions, Target
from nolana.sources.plan import Plan
from nolana.sources.reader import TextReader
from nolana.sources.text import Text

if TYPE_CHECKING:
    from nolana.engine.protocol import CellRows, Problem  # loads the engine

__all__ = ["LibsvmReader"]

LARGEST_BLOCK = 1 << 31  # bytes; an inferred number of features must not need more
MEANING: dict[str, tuple[str, tuple[Remedy, ...]]] = {
    "number": ("index {index}: {value} is not a number", ()),
    "finite": ("index {index}: {value} is not a finite number", ()),
    "empty": ("index {index}: the value is empty", ()),
    "label": (
        "{value} is not a label; a line begins with its label",
        (Remedy("target", False, "reads lines that have none"),),
    ),
    "pair": ("{value} is not index:value", ()),
    "base": ("{value}: indices count from 1", (Remedy("zero_based", True, "if they count from 0"),)),
    "order": ("{value}: indices must ascend", ()),
    "beyond": ("{value}: the index is beyond {width}", (Remedy("n_features", ..., "sets their number"),)),
}
OF_VALUES = ("number", "finite", "empty")
LINE = re.compile(rb"\s*(\S+\s+)?(qid:\S+\s+)?[0-9]+:[^\s:,;]+([ \t]+[0-9]+:[^\s:,;]+)*\s*(#.*)?")


class LibsvmCells(TextCells):
    """Rows of LIBSVM text: each begins at its label and ends with its line."""

    def raw(self, row: int) -> str:
        begin = int(self.rows[row, 0])
        end = self.data.find(b"\n", begin)
        return self.data[begin : end if end >= 0 else None].rstrip(b"\r").decode("utf-8", "replace")


class LibsvmReader(TextReader):
    """The rows of a LIBSVM text; the columns are the chosen features, the label is not a column.

    Rows of more than 256 features are sparse: X is a CSR matrix.
    """

    format = "libsvm"
    title = "LIBSVM"
    endings = ("libsvm", "svm", "svmlight")
    own_options = ("n_features", "zero_based")
    indexed = True
    cells = LibsvmCells
    decode = staticmethod(decode_csv)

    def __init__(self, source: Bytes, options: SourceOptions, plan: Plan | None) -> None:
        super().__init__(source, options, plan)
        target, features, ignore = options.target, options.features, options.ignore
        self._explicit_width, self.zero_based = options.n_features, options.zero_based
        if plan is not None:
            target, features, ignore = False if plan.target is None else target, plan.chosen, None
            self._explicit_width, self.zero_based = plan.width, plan.zero_based
        if target is not None and target is not False:
            raise OptionError("target", target, "does not fit LIBSVM text, whose label comes first; leave it out")
        self._base = 0 if self.zero_based else 1
        self.has_target = target is None
        self._labelled = self.has_target or self._begins_with_label()
        self.width = self._explicit_width or self._infer_width(options.block_rows, features)
        ignored = {self._index(j, "ignore") for j in ignore or ()}
        named = range(self.width) if features is None else [self._index(j, "features") for j in features]
        chosen = [j for j in named if j not in ignored]
        if len(set(chosen)) < len(chosen) or not chosen:
            raise OptionError("features", list(features or ()), "must name at least one index, and each only once")
        self.chosen = None if len(chosen) == self.width and features is None else [j + self._base for j in chosen]
        self.columns = Columns(self.path, None, len(chosen), "the text")
        self._index_places = np.full(self.width, -1, dtype=np.int64)
        self._index_places[chosen] = np.arange(len(chosen))

    @classmethod
    def recognises(cls, line: bytes) -> bool:
        """Whether the line has nothing but a label and index:value pairs."""
        return LINE.fullmatch(line) is not None

    def match(self, plan: Plan, target: Target) -> tuple[list[int], int | None]:
        """All columns: the reader has taken them from the plan."""
        return list(range(self.columns.width)), 0 if self.has_target else None

    def infer_plan(self, options: SourceOptions) -> Plan:
        """The plan, for which no row is needed: all features are numbers."""
        name = next((name for name in options.specified if name in declared(Encoding)), None)
        if name is not None:
            raise OptionError(
                name, options.specified[name], "is for formats with columns; LIBSVM text has numbers only"
            )
        return Plan(
            self.format,
            None,
            target=0 if self.has_target else None,
            width=self.width,
            chosen=None if self.chosen is None else tuple(self.chosen),
            zero_based=self.zero_based,
        )

    def select(self, numbers: list[int], texts: list[int]) -> None:
        """Does nothing: all features are numbers and the label is the only text."""

    def _parse(self, start: int, limit: int) -> "CellRows":
        text, d = self.cursor, self.columns.width
        sparse = d > WIDE
        x, labels, end, lines, problem = text_parsers().libsvm_rows(
            text.data, start, text.final, limit, self._index_places, d, self._base, self._labelled, sparse
        )
        n, t = len(labels), int(self.has_target)
        spans = np.ascontiguousarray(labels[:, None, :2][:, :t])
        if sparse:
            from scipy.sparse import csr_matrix

            starts, places, values = x
            x = csr_matrix((values, places, starts), (n, d))
        codes = np.broadcast_to(np.uint8(NUMBER), (n, 0 if sparse else d))  # whatever is not a number is malformed
        text_codes = np.full((n, t), NUMBER, dtype=np.uint8)  # the type of a label is inferred from its letters
        return x, codes, spans, text_codes, labels, end, lines, problem

    def _begins_with_label(self) -> bool:
        """Whether the first row has a label though target is False: then all rows have one, and it is ignored."""
        text = self.cursor
        while True:
            for place, line in enumerate(lines := text.data[text.start :].split(b"\n")):
                if row := line.partition(b"#")[0].split():
                    if len(row) > 1 or place < len(lines) - 1 or text.final:
                        return b":" not in row[0]
                    break
            if text.final or len(text.data) > text.longest:
                return False
            text.read_more()

    def _infer_width(self, block_rows: int, features: Sequence[Column] | None) -> int:
        """The largest index: of the whole text if it can be read twice, else of the first block.

        A first pass costs the decompression and little else (covtype: 1.7 s of 3.6 s); n_features saves it.
        """
        other = self.cursor.reopen()
        extent = functools.partial(_extent, self.cursor)
        bound = self._scan_block(block_rows, extent) if other is None else _extent_of_all(other)
        width = bound - self._base
        if width < 1:
            what = "there is no index:value to infer the number of features from"
            raise StreamError(what, path=self.path, remedies=[Remedy("n_features", ..., "sets it")])
        size = 8 * max(width, block_rows * (width if features is None else len(features)))
        if size > LARGEST_BLOCK:
            remedies = [Remedy("features", ..., "selects some"), Remedy("n_features", ..., "if that is right")]
            if 8 * width > LARGEST_BLOCK:
                both = Setting("on_bad_row", "skip")
                remedies = [Remedy("n_features", ..., f"with {both} leaves out rows with larger indices")]
            what = (
                f"the largest index is {bound - 1}, and a block of {block_rows} dense rows would take {size:.1e} bytes"
            )
            raise StreamError(what, path=self.path, remedies=remedies)
        return width

    def _index(self, which: Column, parameter: str) -> int:
        if isinstance(which, bool) or not isinstance(which, int | np.integer):
            raise TypeError(f"{parameter}: LIBSVM text has columns by index only, got {which!r}")
        index = which.number if isinstance(which, ColumnNumber) else int(which)
        if not 0 <= index - self._base < self.width:
            raise OptionError(parameter, which, f"is not an index in {self._base}..{self.width - 1 + self._base}")
        return index - self._base

    def cell_error(self, cells: Cells, row: int, column: int, flaw: Flaw) -> StreamError:
        """The error about a label: invalid features make the row malformed."""
        assert isinstance(cells, TextCells)
        begin, end = cells.spans[row, 0].tolist()
        value = cells.data[begin:end].decode("utf-8", "replace")
        return flaw.error(replace(self.cursor.place(int(cells.lines[row])), column=1), value)

    def _row_error(self, problem: "Problem") -> StreamError:
        kind, lines, column, begin, end = problem
        line, token = self.cursor.line + lines, self.cursor.show(begin, end)
        index, _, value = token.partition(":")
        what, remedies = MEANING[kind]
        width: Setting | str = f"the {self.width} features of the first block"
        if self._explicit_width:
            width, remedies = Setting("n_features", self.width), () if kind == "beyond" else remedies
        return StreamError(
            what,
            place=replace(self.cursor.place(line), column=column),
            value=value if kind in OF_VALUES else token,
            remedies=remedies,
            facts={"index": index, "width": width},
        )


def _extent(text: Text, rows: int) -> tuple[int, int, int]:
    """One more than the largest index of so many rows of the window, how many they are, and their end."""
    return text_parsers().libsvm_extent(text.data, text.start, text.final, rows)


def _extent_of_all(text: Text) -> int:
    bound = 0
    try:
        while True:
            here, _, end = _extent(text, sys.maxsize)
            bound = max(bound, here)
            text.consume(end, 0)
            if text.final:
                return bound
            text.read_more()
    finally:
        text.close()
