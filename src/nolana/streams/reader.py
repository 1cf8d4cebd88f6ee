"""What every format offers: rows as cells, a place to go on from, and messages that name a place."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from nolana.errors import StreamError
from nolana.streams.bad_rows import BadRow
from nolana.streams.blocks import Position
from nolana.streams.cells import Cells, TextCells
from nolana.streams.columns import Columns
from nolana.streams.sources import trouble
from nolana.streams.text import Text

__all__ = ["Reader", "TextReader"]

Problem = tuple[str, int, int, int, int]


class Reader(Protocol):
    """The rows of a source in one format."""

    format: str
    path: str
    live: bool  # rows must come out as soon as they are there
    typed: bool  # the source itself tells truth values and numbers from text
    columns: Columns

    @property
    def final(self) -> bool:
        """Whether nothing comes behind what has been read."""

    @property
    def place(self) -> tuple[int, int]:
        """Offset and line of the row that comes next."""

    @property
    def share(self) -> float | None:
        """How much was read, from 0 to 1; None where nobody knows."""

    def look(self, limit: int, columns: list[int]) -> Cells:
        """The first rows with these columns as texts, without taking them."""

    def arrange(self, numbers: list[int], texts: list[int]) -> None:
        """Which columns are read as numbers and which as texts from now on."""

    def parse(self, limit: int) -> tuple[Cells, BadRow | None]:
        """At most so many rows of what has been read, and the row behind them where it cannot be read as one."""

    def more(self) -> None:
        """Reads on."""

    def wrong(self, cells: Cells, row: int, column: int, what: str) -> StreamError:
        """The error of a cell."""

    def marks(self) -> dict[str, int]:
        """By what the source and the position are known again."""

    def jump(self, position: Position, marks: dict[str, Any]) -> None:
        """Goes on from there; StreamError where it is not the same source."""

    def close(self) -> None:
        """Closes what was opened."""


class TextReader:
    """What the formats of text share; ``_cells`` parses from a place, ``_broken`` says what a problem is."""

    format: str
    typed = False
    columns: Columns
    decode: Callable[[bytes], str]

    def __init__(self, text: Text) -> None:
        self.text = text
        self.path, self.live = text.path, text.live
        self._numbers: list[int] = []
        self._texts: list[int] = []
        self._places = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    @property
    def final(self) -> bool:
        """Whether nothing comes behind what has been read."""
        return self.text.final

    @property
    def place(self) -> tuple[int, int]:
        """Offset and line of the row that comes next."""
        return self.text.offset, self.text.line

    @property
    def share(self) -> float | None:
        """How much was read, from 0 to 1; None where nobody knows."""
        return self.text.share

    def more(self) -> None:
        """Reads on."""
        self.text.more()

    def marks(self) -> dict[str, int]:
        """By what the source and the position are known again."""
        return self.text.marks()

    def jump(self, position: Position, marks: dict[str, Any]) -> None:
        """Goes on from there; StreamError where it is not the same text."""
        self.text.jump(position, marks)

    def close(self) -> None:
        """Closes what was opened."""
        self.text.close()

    def arrange(self, numbers: list[int], texts: list[int]) -> None:
        """Which columns are read as numbers and which as texts from now on."""
        self._numbers, self._texts = numbers, texts
        self._places = tuple(np.full(self.columns.width, -1, dtype=np.int64) for _ in range(2))  # type: ignore[assignment]
        self._places[0][numbers] = np.arange(len(numbers))
        self._places[1][texts] = np.arange(len(texts))

    def look(self, limit: int, columns: list[int]) -> Cells:
        """The first rows with these columns as texts, without taking them; what is broken is passed over."""
        self.arrange([], columns)
        text, ends = self.text, 1 if self.live else limit
        while True:
            text.hold(ends)
            at, parts, count = text.start, list[TextCells](), 0
            while count < limit:
                cells, end, _, problem = self._cells(at, limit - count)
                parts.append(cells)
                count += len(cells.lines)
                at = end if problem is None else self._behind_line(end)
                if problem is None:
                    break
            if count == limit or text.final or (text.live and count) or len(text.data) - at > text.longest:
                return _join(parts)
            ends = text.line_ends() * (1 if text.live else 2) + 1  # there are blank lines, or rows of several lines

    def parse(self, limit: int) -> tuple[TextCells, BadRow | None]:
        """At most so many rows of the window, and the line behind them where it is no row."""
        text = self.text
        cells, end, lines, problem = self._cells(text.start, limit)
        if problem is None:
            text.take(end, lines)
            return cells, None
        behind = self._behind_line(end)
        raw = text.data[end:behind].rstrip(b"\r\n").decode("utf-8", "replace")
        row = BadRow(self._broken(problem), "format", raw)
        text.take(behind, lines + 1)
        return cells, row

    def _behind_line(self, at: int) -> int:
        """Where the next line begins: of a row that makes no sense only its first line is lost."""
        end = self.text.data.find(b"\n", at)
        return len(self.text.data) if end < 0 else end + 1

    def _gather(self, found: Any) -> tuple[TextCells, int, int, Problem | None]:
        """The engine's answer as cells."""
        values, codes, spans, span_codes, rows, end, lines, problem = found
        cells = TextCells(
            values,
            codes,
            spans,
            span_codes,
            rows[:, :2],
            rows[:, 2] + self.text.line,
            self.text.data,
            type(self).decode,
        )
        return cells, end, lines, problem

    def _cells(self, start: int, limit: int) -> tuple[TextCells, int, int, Problem | None]:
        """Rows of the window from a place: cells, their end, line ends passed, the problem that ended them."""
        raise NotImplementedError

    def _broken(self, problem: Problem) -> StreamError:
        """The error of a row that is none."""
        raise NotImplementedError

    def _trouble(self, what: str, line: int, column: int, value: str) -> StreamError:
        return trouble(self.path, what, line=line, column=column + 1, name=self.columns.name(column), value=value)


def _join(parts: list[TextCells]) -> TextCells:
    """Rows of one window as one; their spans point into the same data."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("values", "codes", "spans", "text_codes", "rows", "lines")
    }
    return TextCells(**arrays, data=first.data, decode=first.decode)
