"""LIBSVM text: how wide its rows are; the rows themselves are parsed by the engine.

``label [qid:n] index:value ... [# comment]``, indices ascending (C.-C. Chang, C.-J. Lin: LIBSVM, ACM TIST 2, 2011).
"""

import sys
from collections.abc import Sequence

import numpy as np

from nolana._backend import engine
from nolana.errors import StreamError
from nolana.streams.cells import NUMBER, Cells, TextCells, decode_csv
from nolana.streams.columns import Column, Columns, Target
from nolana.streams.reader import Problem, TextReader
from nolana.streams.sources import fail, trouble
from nolana.streams.text import Text

__all__ = ["LibsvmReader"]

LARGEST_BLOCK = 1 << 31  # bytes; a width that was only guessed may not ask for more


class LibsvmCells(TextCells):
    """Rows of LIBSVM text: each begins at its label and ends with its line."""

    def raw(self, row: int) -> str:
        """A row as it stands in the text."""
        begin = int(self.rows[row, 0])
        end = self.data.find(b"\n", begin)
        return self.data[begin : end if end >= 0 else None].rstrip(b"\r").decode("utf-8", "replace")


class LibsvmReader(TextReader):
    """The rows of a LIBSVM text, dense; columns are the features chosen, the label is no column."""

    format = "libsvm"
    decode = staticmethod(decode_csv)

    def __init__(
        self,
        text: Text,
        *,
        target: Target,
        features: Sequence[Column] | None,
        ignore: Sequence[Column] | None,
        block_rows: int,
        n_features: int | None,
        zero_based: bool,
    ) -> None:
        super().__init__(text)
        if target is not None and target is not False:
            raise ValueError(f"target={target!r}: in LIBSVM text the label stands first; leave target out, or False")
        if n_features is not None and (isinstance(n_features, bool) or n_features < 1):
            raise ValueError(f"n_features={n_features!r} is not a number of features")
        self._base = 0 if zero_based else 1
        self.has_target = target is None
        self._labelled = self.has_target or self._begins_with_label()
        self._given = n_features is not None
        self.width = self._measure(block_rows, features) if n_features is None else int(n_features)
        left_out = {self._index(j, "ignore") for j in ignore or ()}
        named = range(self.width) if features is None else [self._index(j, "features") for j in features]
        chosen = [j for j in named if j not in left_out]
        if len(set(chosen)) < len(chosen) or not chosen:
            raise ValueError(f"features={list(features or ())!r} must name at least one index, and each only once")
        self.chosen = None if len(chosen) == self.width and features is None else [j + self._base for j in chosen]
        self.columns = Columns(self.path, None, len(chosen), "the text")
        self._index_places = np.full(self.width, -1, dtype=np.int64)
        self._index_places[chosen] = np.arange(len(chosen))

    def arrange(self, numbers: list[int], texts: list[int]) -> None:
        """All features are numbers and the label is the only text."""

    def _cells(self, start: int, limit: int) -> tuple[TextCells, int, int, Problem | None]:
        text, d = self.text, self.columns.width
        x, labels, end, lines, problem = engine().libsvm_rows(
            text.data, start, text.final, limit, self._index_places, d, self._base, self._labelled
        )
        n, t = len(x), int(self.has_target)
        spans = np.ascontiguousarray(labels[:, None, :2][:, :t])
        codes = np.broadcast_to(np.uint8(NUMBER), (n, d))
        text_codes = np.full((n, t), NUMBER, dtype=np.uint8)  # what a label is, its letters tell
        lines_of = labels[:, 2] + text.line
        cells = LibsvmCells(x, codes, spans, text_codes, labels[:, :2], lines_of, text.data, type(self).decode)
        return cells, end, lines, problem

    def _begins_with_label(self) -> bool:
        """Whether the first row has a label though none is asked for: then all have, and it is passed over."""
        text = self.text
        while True:
            for place, line in enumerate(lines := text.data[text.start :].split(b"\n")):
                if row := line.partition(b"#")[0].split():
                    if len(row) > 1 or place < len(lines) - 1 or text.final:
                        return b":" not in row[0]
                    break
            if text.final or len(text.data) > text.longest:
                return False
            text.more()

    def _measure(self, block_rows: int, features: Sequence[Column] | None) -> int:
        """The width from the largest index: of the whole text where it can be read twice, else of the first block.

        A first pass costs the decompression and little else (covtype: 1.7 s of 3.6 s); n_features saves it.
        """
        other = self.text.again()
        bound = self._extent_of_block(block_rows) if other is None else self._extent_of_all(other)
        width = bound - self._base
        if width < 1:
            fail(self.path, "there is no index:value from which to tell the number of features; give n_features")
        size = 8 * max(width, block_rows * (width if features is None else len(features)))
        if size > LARGEST_BLOCK:
            fail(
                self.path,
                f"the largest index is {bound - 1}, and a block of {block_rows} dense rows would take {size:.1e} "
                "bytes; give features=, a smaller block_rows=, or n_features= to insist",
            )
        return width

    @staticmethod
    def _extent_of_all(text: Text) -> int:
        bound = 0
        try:
            while True:
                here, _, end = engine().libsvm_extent(text.data, text.start, text.final, sys.maxsize)
                bound = max(bound, int(here))
                text.take(end, 0)
                if text.final:
                    return bound
                text.more()
        finally:
            text.close()

    def _extent_of_block(self, block_rows: int) -> int:
        text, ends = self.text, 1 if self.live else block_rows
        while True:
            text.hold(ends)
            bound, rows, end = engine().libsvm_extent(text.data, text.start, text.final, block_rows)
            if rows == block_rows or text.final or (text.live and rows) or len(text.data) - end > text.longest:
                return int(bound)
            ends = text.line_ends() * (1 if text.live else 2) + 1  # there are blank lines or comments

    def _index(self, which: Column, parameter: str) -> int:
        if isinstance(which, bool) or not isinstance(which, int | np.integer):
            raise TypeError(f"{parameter}: LIBSVM text knows columns by index only, got {which!r}")
        if not 0 <= which - self._base < self.width:
            raise ValueError(f"{parameter}: index {which} is not in {self._base}..{self.width - 1 + self._base}")
        return int(which) - self._base

    def wrong(self, cells: Cells, row: int, column: int, what: str) -> StreamError:
        """The error of a label: features are right, or the row is broken."""
        assert isinstance(cells, TextCells)
        begin, end = cells.spans[row, 0].tolist()
        value = cells.data[begin:end].decode("utf-8", "replace")
        return trouble(self.path, what, line=int(cells.lines[row]), column=1, value=value)

    def _broken(self, problem: Problem) -> StreamError:
        kind, lines, column, begin, end = problem
        line, token = self.text.line + lines, self.text.show(begin, end)
        index, _, value = token.partition(":")
        width = self.width
        name = None
        if kind in ("number", "finite", "empty"):
            name = f"index {index}"
            what = {"empty": "the value is empty"}.get(
                kind, f"{{value}} is not a {'finite ' * (kind == 'finite')}number"
            )
        else:
            value = token
            what = {
                "label": "{value} is not a label; a line begins with its label (target=False where there is none)",
                "pair": "{value} is not index:value",
                "base": "{value}: indices count from 1; zero_based=True if they count from 0",
                "order": "{value}: indices must ascend",
                "beyond": "{value}: the index is beyond "
                + (
                    f"n_features={width}"
                    if self._given
                    else f"the {width} features of the first block; give n_features"
                ),
            }[kind]
        return trouble(self.path, what, line=line, column=column, name=name, value=value)
