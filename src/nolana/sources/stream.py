"""A stream of blocks of rows."""

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.errors import StreamError
from nolana.learner.rows import Matrix
from nolana.sources.bad_rows import BadRow, BadRows, BadRowsState
from nolana.sources.blocks import Block, Places, Position, SavedPosition, dense_rows, joined
from nolana.sources.cells import Cells, Flaw
from nolana.sources.reader import Reader
from nolana.sources.rows import PlannedRows, RowsState

__all__ = ["Stream", "StreamState"]

VERSION = 1


class StreamState(RowsState, total=False):
    """All that ``open(source, resume=...)`` needs to continue after a block."""

    version: int
    position: SavedPosition | None  # None: the source is another one, read from its beginning
    bad_rows: BadRowsState | None  # None: not counted so far


class Stream:
    """An iterator over blocks and a context manager that closes the source; made by ``nolana.sources.open``.

    ``plan`` is what is read and how; ``state()`` the position, and means and categories of the columns so far;
    ``bad_rows`` and ``bad_rows_by_reason`` count the rows that were left out. ``block_rows``, the size of the next
    blocks, may be changed between two blocks. ``name`` is that of the source in messages, ``unit`` what a row is called
    in them, ``cursor`` the place in the source. ``live``: it is a pipe or a terminal, whose rows are not waited for;
    ``waits``: rows come from another process, so that reading them may take any time.
    """

    def __init__(
        self,
        reader: Reader,
        rows: PlannedRows,
        bad: BadRows,
        block_rows: int,
        columns: list[int],
        target: int | None,
    ) -> None:
        self._reader, self.cursor, self.rows, self._bad = reader, reader.cursor, rows, bad
        self.name, self.live, self.unit = reader.path, reader.live, reader.unit
        self.waits = self.live or self.unit == "message"
        self.block_rows, self._columns = block_rows, columns
        self._target = target  # index of the label's column, or None
        self._ended = self._closed = False
        self.n_features = rows.encoder.width
        self.feature_names = rows.encoder.names if rows.plan.named else None
        self.position = Position(0, self.cursor.offset, self.cursor.line)

    # Blocks

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> "Stream":
        return self

    def __next__(self) -> Block:
        if self._ended:
            raise StopIteration
        if self._closed:
            raise ValueError(f"the stream of {self.name} is closed; open it again to continue")
        try:
            block = self._next()
        except BaseException:  # rows may be lost: the next call must not skip them silently
            self.close()
            raise
        if block is None:
            self._ended = True
            self.close()
            raise StopIteration
        return block

    def _next(self) -> Block | None:
        parts: list[tuple[Matrix, NDArray[np.generic] | None, NDArray[np.int64]]] = []
        count = 0
        cursor = self.cursor
        while count + self._bad.refused < self.block_rows:
            cells, malformed = self._reader.parse(self.block_rows - count)
            for column in self._reader.new_columns(cells):
                self.rows.counts.add_column(column)
            if len(cells.lines):
                part = self._read(cells)
                if valid := len(part[2]):
                    parts.append(part)
                    count += valid
            if malformed is not None:
                self._bad.add(malformed)
            elif count < self.block_rows and not len(cells.lines):
                if cursor.final or (self.live and (count or self._bad.refused)):
                    break
                cursor.read_more()
        self._bad.end_block()
        self.position = Position(self.position.rows + count, cursor.offset, cursor.line)
        if not count:
            return None
        lines = np.concatenate([part[2] for part in parts])
        y = None if self._target is None else joined([part[1] for part in parts])
        return Block(joined([part[0] for part in parts]), y, self.position, lines, cursor.places(lines.tolist()))

    def _read(self, cells: Cells) -> tuple[Matrix, NDArray[np.generic] | None, NDArray[np.int64]]:
        """X, y and lines of the valid rows; the invalid ones are handled by ``on_bad_row``."""
        y, flaws = self.rows.check(cells)
        if flaws:
            valid = np.ones(len(cells.lines), dtype=bool)
            for row, flaw in sorted(flaws.items()):
                error = flaw.each(functools.partial(self._cell_error, cells, row))
                self._bad.add(BadRow(error, flaw.reason, self._reader.original(cells.raw(row))))
                valid[row] = False
            cells = cells.where(valid)
            y = None if y is None else _narrow(y[valid])
        x, new = self.rows.encode(cells)
        for category in new:
            self.rows.counts.add_category(category)
        return x, y, cells.lines

    def _cell_error(self, cells: Cells, row: int, flaw: Flaw) -> StreamError:
        column = self._target if flaw.feature is None else self._columns[flaw.feature]
        assert column is not None
        return self._reader.cell_error(cells, row, column, flaw)

    def close(self) -> None:
        """Closes the source, unless the caller opened it."""
        self._closed = True
        self.cursor.close()
        self._bad.close()

    def gather(self) -> tuple[NDArray[np.float64], NDArray[Any] | None]:
        """All remaining rows as one X (n, d) and y (n,)."""
        blocks = list(self)
        if not blocks:
            return np.zeros((0, self.n_features)), None if self.rows.labels is None else self.rows.labels.none()
        x = joined([block.X if hasattr(block.X, "schema") else dense_rows(block.X) for block in blocks])
        return x, None if self._target is None else joined([block.y for block in blocks])

    @property
    def no_places(self) -> Places:
        """The fields of ``Block.places``, without rows."""
        return self.cursor.places([]) or {"line": []}

    @property
    def share(self) -> float | None:
        """The part of the source that was read, from 0 to 1; None if it is unknown."""
        return self.cursor.share

    @property
    def unfinished_line(self) -> int | None:
        """The last line, if it has no line end and ``last_line="leave"`` left it."""
        return self.cursor.unfinished_line

    def read_labels_for(self, task: str) -> None:
        """From the next block on labels are floats, also in the plan, or classes, among which a fraction is invalid."""
        if self.rows.labels is not None:
            self.rows.labels = self.rows.labels.of_task(task)

    def read_labels_as(self, classes: NDArray[np.generic]) -> None:
        """From the next block on labels are of the type of these classes, whatever they look like in the source."""
        if self.rows.labels is not None and not self.rows.labels.explicit:
            self.rows.labels = self.rows.labels.of_classes(classes)

    # Plan and state

    @property
    def plan(self) -> dict[str, object]:
        """How the columns are read, in JSON's types; ``open(other, plan=...)`` reads another source in the same way."""
        return self.rows.plan.as_dict()

    @property
    def bad_rows(self) -> int:
        """Number of invalid rows that were left out."""
        return sum(self._bad.reasons.values())

    @property
    def bad_rows_by_reason(self) -> dict[str, int]:
        """Number of invalid rows that were left out, by reason: format, number, missing, label, ..."""
        return dict(self._bad.reasons)

    @property
    def columns(self) -> dict[str, str]:
        """What each column is learned as, by its title."""
        return self.rows.plan.describe()

    @property
    def left_out(self) -> dict[str, str]:
        """The columns that are left out because they grow without bound, and what each is."""
        return dict(self.rows.plan.left_out)

    @property
    def new_columns(self) -> dict[str, int]:
        """In how many rows there was a column that the first block did not have, by name."""
        return dict(self.rows.counts.columns)

    @property
    def new_categories(self) -> dict[str, int]:
        """How many rows had a text without a column of its own, by column."""
        return dict(self.rows.counts.categories)

    def state(self) -> StreamState:
        """All that ``open(source, resume=...)`` needs to continue after the last block: JSON's types and arrays."""
        return {
            "version": VERSION,
            **self.rows.state(),
            "position": {
                "rows": self.position.rows,
                "offset": self.position.offset,
                "line": self.position.line,
                "target": self._target is not None,
                "encoding": self._reader.encoding,
                **self.cursor.checksums(),
            },
            "bad_rows": self._bad.state(),
        }

    def _resume(self, state: StreamState) -> None:
        """Continues from a state; with position None the source is another one, read from its beginning."""
        position = state["position"]
        if position is None:
            self.rows.encoder.restore(state["encoder"])
            return
        self.rows.restore(state)
        self.position = Position(int(position["rows"]), int(position["offset"]), int(position["line"]))
        self.cursor.resume(position)
        if state["bad_rows"] is not None:
            self._bad.resume(state["bad_rows"], self.name)


def _narrow(y: NDArray[np.generic]) -> NDArray[np.generic]:
    """An array of text no wider than its longest one, so that rows left out do not change its type."""
    return np.array(y.tolist(), dtype=np.str_) if y.dtype.kind == "U" else y
