"""A stream of blocks out of rows that come in any pieces."""

from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.streams.blocks import Block, Position
from nolana.streams.formats import Rows
from nolana.streams.labels import Kind, Labels, Part
from nolana.streams.sources import Text

__all__ = ["Stream"]


class Stream:
    """An iterator over blocks and a context manager that closes the source; made by ``nolana.streams.open``."""

    def __init__(self, text: Text, rows: Rows, block_rows: int, labels: Kind | None) -> None:
        self._text, self._rows, self._block_rows = text, rows, block_rows
        self._labels = Labels(text, labels, *rows.label_place)
        self._ended = self._closed = False
        self.n_features = rows.n_features
        self.feature_names = rows.feature_names
        self.position = Position(0, text.offset, text.line)

    def __enter__(self) -> "Stream":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> "Stream":
        return self

    def __next__(self) -> Block:
        if self._ended:
            raise StopIteration
        if self._closed:
            raise ValueError(f"the stream of {self._text.path} is closed; open it again to read on")
        try:
            block = self._next()
        except BaseException:  # rows may be lost: going on would skip them in silence
            self.close()
            raise
        if block is None:
            self._ended = True
            self.close()
            raise StopIteration
        return block

    def _next(self) -> Block | None:
        parts: list[Part] = []
        count = 0
        while count < self._block_rows:
            part = self._rows.parse(self._block_rows - count)
            if len(part.X):
                parts.append(part)
                count += len(part.X)
            if count < self._block_rows:
                if self._text.final:
                    break
                self._text.more()
        if not parts:
            return None
        y = self._labels.read(parts) if self._rows.has_target else None
        self.position = Position(self.position.rows + count, self._text.offset, self._text.line)
        return Block(parts[0].X if len(parts) == 1 else np.concatenate([p.X for p in parts]), y, self.position)

    def close(self) -> None:
        """Closes the source, unless it was passed in open."""
        self._closed = True
        self._text.close()

    def gather(self) -> tuple[NDArray[np.float64], NDArray[Any] | None]:
        """All that is left as one X (n, d) and y (n,)."""
        blocks = list(self)
        if not blocks:
            return np.zeros((0, self.n_features)), self._labels.none() if self._rows.has_target else None
        x = np.concatenate([block.X for block in blocks])
        return x, np.concatenate(
            [block.y for block in blocks if block.y is not None]
        ) if self._rows.has_target else None
