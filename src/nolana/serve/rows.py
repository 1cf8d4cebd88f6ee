"""Rows of requests as numbers, by the plan of the model: the columns, kinds and labels that ``nolana learn`` uses.

Rows are JSON lines, also in the log: what is learned now and what is replayed after a crash is read from the same
bytes. A row that was predicted by a model with a lag and waits for its label has its moment in its line: what the
prediction knew of earlier targets (`nolana.learner.rows.MomentRows`).
n rows, d columns of X.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from nolana.backend import backend, text_parsers
from nolana.errors import Place, joined_problems
from nolana.learner.rows import WIDE, Matrix
from nolana.metrics.label_index import Labels
from nolana.serve.refusal import Refusal
from nolana.sources.bad_rows import NewColumn
from nolana.sources.cells import ABSENT, NUMBER, Flaw, TextCells, decode_json
from nolana.sources.jsonl import value_of_key
from nolana.sources.labels import Labels as LabelReader
from nolana.sources.numbers import NumberEncoder
from nolana.sources.options import Encoding
from nolana.sources.plan import Plan
from nolana.sources.rows import check_rows, encoder_of

__all__ = ["TARGET", "Label", "RowReader", "Rows", "as_object", "split_moments", "with_label", "with_moments"]

Label = bool | int | float | str

TARGET = "label"  # the key of the label if the model has no name for it
MOMENT = "nolana:moment"  # the key of the moment of a row
LARGEST_BLOCK = 1 << 22  # numbers of X in one request
MOST_UNKNOWN = 100  # keys that an answer names
NO_FEATURES = NumberEncoder((), Encoding(), frozen=True)  # of labels alone


@dataclass(frozen=True)
class Rows:
    """Valid rows of one request: their text, cells, labels (n,) or None, and the keys that are not columns.

    `moments` (n, k) are those of rows that were predicted before, infinite for the others; None: there are none.
    """

    text: bytes
    cells: TextCells
    y: Labels | None
    new: list[NewColumn]
    moments: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.cells.lines)

    @functools.cached_property
    def labels(self) -> list[Label]:
        """The labels as Python has them."""
        return [] if self.y is None else list(self.y.tolist())

    @property
    def unknown_columns(self) -> list[str]:
        """The first keys that are not columns."""
        return [column.name for column in self.new[:MOST_UNKNOWN]]

    @property
    def lines(self) -> list[bytes]:
        """The text of each row."""
        return [self.text[begin:end] for begin, end in self.cells.rows.tolist()]


class _Parser:
    """Parses JSON lines: the values of some of these keys as strings, of others as numbers."""

    def __init__(self, keys: Sequence[str], strings: Sequence[int], numbers: Sequence[int] = ()) -> None:
        self._keys = [_encoded(key) for key in keys]
        self._counts = len(numbers), len(strings)
        self._places = _places(len(keys), numbers), _places(len(keys), strings)

    def cells(self, text: bytes, limit: int) -> tuple[TextCells, str | None, list[NewColumn]]:
        """The cells of at most so many rows; the beginning of what is no row, if it comes; the other keys."""
        values, codes, spans, span_codes, rows, _, _, problem, new = text_parsers().json_cells(
            text, 0, True, limit, self._keys, *self._places, *self._counts
        )
        lines = np.arange(1, len(rows) + 1)
        cells = TextCells(values, codes, spans, span_codes, rows[:, :2], lines, text, decode_json)
        columns = [NewColumn(_text(key), count, line + 1) for key, count, line in new]
        return cells, None if problem is None else _text(text[problem[3] : problem[4]]), columns


class RowReader:
    """Reads rows by a plan; it has no state, so that any thread may use it.

    Parameters
    ----------
    plan : of the model.
    task : "classification" or "regression".
    largest : features beyond this are refused.
    new_columns : "error" refuses rows with keys that are not columns; otherwise these keys are left out.
    lagged : whether the model has a lag, so that rows may have a moment.
    """

    def __init__(
        self, plan: Plan, task: str, largest: float, new_columns: str = "warn", *, lagged: bool = False
    ) -> None:
        self.plan, self.task, self._largest, self._new_columns = plan, task, largest, new_columns
        self._lagged = lagged
        self.indexed = plan.columns is None
        self.planned = plan.features
        first = 0 if self.indexed and plan.zero_based else 1  # a column without a name has its number
        self.names = [name if isinstance(name, str) else str(name + first) for name in (c.column for c in self.planned)]
        self.target = _target(plan, self.names)
        known = [name for name in plan.known or () if name not in (*self.names, self.target)]
        self._keys = [*self.names, self.target, *known, *[MOMENT] * lagged]
        self._encoder = encoder_of(plan, frozen=True)
        texts, numbers = self._encoder.texts, self._encoder.numbers
        self._labelled = _Parser(self._keys, [*texts, len(self.names)], numbers)
        self._unlabelled = _Parser(self._keys, texts, numbers)
        self.width = self._encoder.width
        sparse = plan.schema is not None and plan.schema.sparse  # rows of words are as long as their text
        self.most_rows = max(1, LARGEST_BLOCK // max(1, len(self.planned) if sparse else self.width))

    def read(self, text: bytes, *, labelled: bool) -> Rows:
        """The rows of a request, JSON lines; Refusal if one is invalid or has none of the columns."""
        return self._read(text, labelled, new=True)

    def read_logged(self, text: bytes) -> Rows:
        """The rows of a record of the log: they were checked when they came, by the version that wrote them."""
        return self._read(text, True, new=False)

    def _read(self, text: bytes, labelled: bool, *, new: bool) -> Rows:
        if text.count(b"\n") >= self.most_rows:
            raise Refusal(
                413, f"a request may have at most {self.most_rows:,} rows of this model; send several requests"
            )
        cells, invalid, columns = (self._labelled if labelled else self._unlabelled).cells(text, self.most_rows)
        if invalid is not None:
            what = f'row {len(cells.lines) + 1} is not a JSON object such as {{"a": 1, "b": 2.5}} from {{value}} on'
            raise Refusal(400, what, value=invalid)
        if not len(cells.lines):
            raise Refusal(400, "there are no rows")
        if new:
            self._check_columns(cells)
        if self.indexed:  # an index that a row of LIBSVM text does not have is 0
            cells = replace(cells, codes=np.where(cells.codes == ABSENT, NUMBER, cells.codes).astype(np.uint8))
        y, flaws = check_rows(cells, self._encoder, self._label_reader() if labelled else None)
        self._refuse(cells, flaws)
        self._check_values(cells)
        if columns and self._new_columns == "error":
            place = Place(line=columns[0].line, unit="row")
            raise Refusal(400, "key {value} is not a column of the model", place=place, value=columns[0].name)
        moments = self._moments(text, len(cells.lines)) if labelled else None
        return Rows(text, cells, self._as_targets(y), columns, moments)

    def _moments(self, text: bytes, count: int) -> NDArray[np.float64] | None:
        """The moments of rows that have one."""
        if not self._lagged or _encoded(MOMENT) not in text:
            return None
        spans = _Parser([MOMENT], [0]).cells(text, count)[0].spans[:, 0].tolist()
        try:
            found = [msgspec.json.decode(text[a:b], type=list[float | None]) if a < b else None for a, b in spans]
            size = max(len(values) for values in found if values is not None)
            without = [np.inf] * size
            return np.array([without if values is None else values for values in found], dtype=np.float64)
        except (msgspec.MsgspecError, ValueError) as error:
            raise Refusal(400, f"{MOMENT!r} of a row is not what a prediction stored: {error}") from error

    def _check_columns(self, cells: TextCells) -> None:
        """Refusal if a row has none of the columns; {} of a LIBSVM model is a row of zeros."""
        texts = cells.text_codes[:, : len(self._encoder.texts)]
        for row in np.flatnonzero((cells.codes == ABSENT).all(axis=1) & (texts == ABSENT).all(axis=1)).tolist():
            begin, end = cells.rows[row].tolist()
            found, _, new = _Parser(self._keys, range(len(self._keys))).cells(cells.data[begin:end], 1)
            spans, others = found.spans[0, : len(self.names)], [column.name for column in new]
            if (spans[:, 0] == spans[:, 1]).all() and (others or not self.indexed):  # a null has a span
                has = f"; it has {_listed(others)}" if others else ""
                raise Refusal(400, f"row {row + 1} has none of the columns of the model ({_listed(self.names)}){has}")

    def _check_values(self, cells: TextCells) -> None:
        beyond = backend().first_beyond(cells.values, self._largest)
        if beyond >= 0:
            row, place = divmod(beyond, cells.values.shape[1])
            where = _place(row, self.names[self._encoder.numbers[place]])
            value, largest = f"{cells.values[row, place]:g}", f"{self._largest:g}"
            what = f"{value} is beyond {{expected}}; scale this column"
            raise Refusal(400, what, place=where, value=value, expected=largest)

    def labels(self, values: Sequence[bytes]) -> list[Label]:
        """Labels alone, pieces of JSON, as the rows have them; Refusal if one is invalid."""
        text = b"\n".join(with_label(b"{}", self.target, value) for value in values)
        cells, _, _ = _Parser([self.target], [0]).cells(text, len(values))
        if len(cells.lines) != len(values):
            raise Refusal(400, f"label {len(cells.lines) + 1} is not JSON")
        y, flaws = check_rows(cells, NO_FEATURES, self._label_reader())
        self._refuse(cells, flaws)
        found = self._as_targets(y)
        return [] if found is None else list(found.tolist())

    def _label_reader(self) -> LabelReader:
        classes = self.task == "classification"
        return LabelReader(self.plan.labels, explicit=False, quoted=True, classes=classes)

    def _as_targets(self, y: Labels | None) -> Labels | None:
        return y if y is None or self.task == "classification" else y.astype(np.float64, copy=False)

    def _refuse(self, cells: TextCells, flaws: dict[int, Flaw]) -> None:
        """Refusal with all flaws of the rows."""
        if flaws:
            refusals = [flaw.each(functools.partial(self._refusal, cells, row)) for row, flaw in sorted(flaws.items())]
            raise joined_problems(refusals)

    def _refusal(self, cells: TextCells, row: int, flaw: Flaw) -> Refusal:
        if flaw.feature is None and flaw.absent:
            what = f'row {row + 1} has no label; send "labels", or the label in the row as {self.target!r}'
            return Refusal(400, what)
        name = self.target if flaw.feature is None else self.names[flaw.feature]
        value = value_of_key(cells, row, _encoded(name))
        return Refusal.of(flaw.error(_place(row, name), value.strip('"')))

    def matrix(self, x: NDArray[np.float64]) -> Matrix:
        """X as the learner takes it: many columns of a LIBSVM model are sparse."""
        if not self.indexed or self.width <= WIDE:
            return x
        from scipy.sparse import csr_matrix

        sparse: Matrix = csr_matrix(x)
        return sparse


def as_object(raw: bytes, names: list[str] | None = None) -> bytes:
    """A JSON object on one line; an array is one with these names, or, without a model, with the names 1, 2, 3, ...

    Examples
    --------
    >>> as_object(b'[1.5, "red"]', ["a", "b"])
    b'{"a":1.5,"b":"red"}'
    """
    raw = raw.strip().replace(b"\n", b" ")
    if raw.startswith(b"{"):
        return raw
    if not raw.startswith(b"["):
        what = 'a row is an object such as {"a": 1, "b": 2.5} or an array such as [1, 2.5], not {value}'
        raise Refusal(400, what, value=_text(raw))
    try:
        values = [bytes(value) for value in msgspec.json.decode(raw, type=list[msgspec.Raw])]
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Refusal(400, f"a row is not JSON: {error}") from error
    names = [str(i + 1) for i in range(len(values))] if names is None else names
    if len(values) != len(names):
        raise Refusal(400, f"a row has {len(values)} values, the model {len(names)} columns: {_listed(names)}")
    keys = [msgspec.json.encode(name) for name in names]
    return b"{" + b",".join(key + b":" + value for key, value in zip(keys, values, strict=True)) + b"}"


def with_label(line: bytes, target: str, label: bytes) -> bytes:
    """The line with its label; of equal keys the last one counts.

    Examples
    --------
    >>> with_label(b'{"a":1}', "kind", b'"x"')
    b'{"a":1,"kind":"x"}'
    """
    body = line.rstrip()[:-1].rstrip()
    comma = b"" if body == b"{" else b","
    return body + comma + msgspec.json.encode(target) + b":" + label.strip().replace(b"\n", b" ") + b"}"


def with_moments(text: bytes, moments: Sequence[bytes | None]) -> bytes:
    """The lines of rows with their moments, pieces of JSON.

    Examples
    --------
    >>> split_moments(with_moments(b'{"a":1}', [b"[2.5,null]"]))
    (b'{"a":1}', [b'[2.5,null]'])
    """
    lines = zip(text.split(b"\n"), moments, strict=True)
    return b"\n".join(line if moment is None else with_label(line, MOMENT, moment) for line, moment in lines)


def split_moments(text: bytes) -> tuple[bytes, list[bytes | None]]:
    """The lines without their moments, and those."""
    key = msgspec.json.encode(MOMENT) + b":"
    parts = [line.rpartition(key) for line in text.split(b"\n")]
    lines = [begin.removesuffix(b",") + b"}" if found else end for begin, found, end in parts]
    return b"\n".join(lines), [end[:-1] if found else None for _, found, end in parts]


def _places(keys: int, chosen: Sequence[int]) -> NDArray[np.int64]:
    """For each key its place among the chosen ones, -1 if it is none of them."""
    places = np.full(keys, -1, dtype=np.int64)
    places[list(chosen)] = np.arange(len(chosen))
    return places


def _place(row: int, name: str) -> Place:
    return Place(line=row + 1, name=name, unit="row", keyed=True)


def _target(plan: Plan, names: list[str]) -> str:
    if isinstance(plan.target, str):
        return plan.target
    name = TARGET
    while name in names:
        name += "_"
    return name


def _encoded(key: str) -> bytes:
    return key.encode("utf-8", "surrogatepass")


def _text(key: bytes) -> str:
    return key.decode("utf-8", "replace")


def _listed(names: list[str], most: int = 20) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
