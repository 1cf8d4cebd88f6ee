"""CSV: which columns there are and which of them are features; the rows themselves are parsed by the engine.

RFC 4180 (Y. Shafranovich, 2005), with blanks around fields and blank lines passed over.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from nolana._backend import engine
from nolana.streams.labels import Part
from nolana.streams.sources import Text, fail

__all__ = ["Column", "CsvRows", "Target"]

Column = str | int
Target = Column | Literal[False] | None

DELIMITERS = (",", ";", "\t")
MEANING = {
    "number": "{value} is not a number",
    "finite": "{value} is not a finite number",
    "empty": "the field is empty",
    "quote": "text behind the closing quote: {value}",
    "open": "the quote that begins here is not closed before the end of the file",
}


class CsvRows:
    """The rows of a CSV text."""

    def __init__(
        self,
        text: Text,
        *,
        target: Target,
        features: Sequence[Column] | None,
        header: bool | None,
        delimiter: str | None,
    ) -> None:
        self._text = text
        self._delimiter = self._check_delimiter(delimiter)
        first, self._first_line, end, lines = self._first_row()
        self.width = len(first)
        named = [which for which in (target, *(features or ())) if isinstance(which, str)]
        if named and header is False:
            raise ValueError(f"column {named[0]!r} is a name, but header=False says that columns have none")
        self.names = [self._decode(field) for field in first] if named or header is not False else None
        chosen = self._choose(target, features)
        if header is None and not named and any(_is_number(first[j]) for j in chosen):
            self.names = None
        self._guessed = header is None and self.names is None
        if self.names is not None:
            text.take(end, lines)
        self.has_target = self._target >= 0
        self.n_features = len(chosen)
        self.feature_names = None if self.names is None else [self.names[j] for j in chosen]
        self._places = np.full(self.width, -1, dtype=np.int64)
        self._places[chosen] = np.arange(len(chosen))

    @property
    def label_place(self) -> tuple[int, str | None]:
        """Number (from 1) and name of the label's column."""
        return self._target + 1, self._name(self._target)

    def parse(self, limit: int) -> Part:
        """At most so many rows of the window."""
        text = self._text
        data, line = text.data, text.line
        x, spans, end, lines, problem = engine().csv_rows(
            data, text.start, text.final, limit, self._delimiter, self._places, self._target, self.n_features
        )
        if problem is not None:
            self._complain(problem)
        text.take(end, lines)
        return Part(x, spans, data, line)

    def _complain(self, problem: tuple[str, int, int, int, int]) -> None:
        kind, lines, column, begin, end = problem
        line, value = self._text.line + lines, self._text.show(begin, end)
        if kind == "width":
            found, column = column, min(column, self.width) + 1
            what = f"the row has {found} field{'s' * (found != 1)}, line {self._first_line} has {self.width}"
            what = ("missing: " if found < self.width else "too many: ") + what
        else:
            what = MEANING[kind]
            if kind == "number" and self._guessed and line == self._first_line:
                what += "; header=True if this line has the names of the columns"
        fail(self._text, what, line=line, column=column, name=self._name(column - 1), value=value)

    def _name(self, column: int) -> str | None:
        return f'"{self.names[column]}"' if self.names is not None and column < self.width else None

    def _check_delimiter(self, delimiter: str | None) -> str:
        if delimiter is None:
            return max(DELIMITERS, key=lambda d: len(self._fields(d)[0]))
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter.isalnum() or delimiter in '"\r\n+-.':
            raise ValueError(f"delimiter={delimiter!r} cannot separate fields; give one character such as ',' or '\\t'")
        return delimiter

    def _fields(self, delimiter: str) -> tuple[Any, int, int, Any]:
        """Spans of the first row, its end, its line ends and its problem."""
        text = self._text
        while True:
            spans, end, lines, problem = engine().csv_fields(text.data, text.start, text.final, delimiter)
            if len(spans) or text.final:
                return spans, end, lines, problem
            text.more()

    def _first_row(self) -> tuple[list[bytes], int, int, int]:
        """Fields of the first row, the number of its line, its end and its line ends."""
        spans, end, lines, problem = self._fields(self._delimiter)
        text = self._text
        if problem is not None:
            kind, line, column, begin, stop = problem
            fail(text, MEANING[kind], line=text.line + line, column=column, value=text.show(begin, stop))
        if not len(spans):
            fail(text, "there is nothing in it, not even a header")
        fields = [text.data[begin:stop] for begin, stop, _ in spans.tolist()]
        return fields, text.line + int(spans[0, 2]), end, lines

    def _decode(self, field: bytes) -> str:
        if field.startswith(b'"'):
            field = field[1:-1].replace(b'""', b'"')
        return field.decode("utf-8", "replace")

    def _choose(self, target: Target, features: Sequence[Column] | None) -> list[int]:
        """Sets the column of the label and returns those of the features."""
        self._target = -1 if target is False else self._index(-1 if target is None else target, "target")
        if features is None:
            chosen = [j for j in range(self.width) if j != self._target]
        else:
            chosen = [self._index(which, "features") for which in features]
        if self._target in chosen:
            raise ValueError(f"column {target!r} is the target and cannot be among the features")
        if len(set(chosen)) < len(chosen):
            raise ValueError(f"features names a column twice: {list(features or ())!r}")
        if not chosen:
            fail(
                self._text,
                f"no column is left for the features: line {self._first_line} has {self.width}, and the target takes "
                f"one; is the delimiter {self._delimiter!r}?",
            )
        return chosen

    def _index(self, which: Column, parameter: str) -> int:
        """The column that a name or an index means."""
        if isinstance(which, str):
            names = self.names or []
            if names.count(which) == 1:
                return names.index(which)
            what = f"{parameter}: " + ("no column is" if which not in names else "several columns are")
            fail(self._text, f"{what} named {which!r}; there are: {', '.join(map(repr, names))}", line=self._first_line)
        if isinstance(which, bool) or not isinstance(which, int | np.integer):
            raise TypeError(f"{parameter}: a column is a name or an index, got {which!r}")
        if not -self.width <= which < self.width:
            fail(self._text, f"{parameter}: there is no column {which}; line {self._first_line} has {self.width}")
        return int(which) % self.width


def _is_number(field: bytes) -> bool:
    whole = np.array([[0, len(field), 0]], dtype=np.int64)
    return bool(engine().number_fields(field, whole)[1] < 0)
