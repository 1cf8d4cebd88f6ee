"""The history of a run: a bounded number of points, however long the stream."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nolana.metrics.label_index import State

__all__ = ["History", "Point"]

MOST_POINTS = 1024  # then every second one is dropped; an even number, so that the remaining ones are equally spaced


@dataclass(frozen=True)
class Point:
    """Metrics after some rows: over the whole stream so far, and over the last window."""

    rows: int
    overall: dict[str, float]
    window: dict[str, float]


class History:
    """One point for each `stride` windows; the stride doubles whenever there are too many points.

    The points are rows of two arrays of fixed size: memory does not grow with the stream.
    """

    def __init__(self) -> None:
        self._windows = 0
        self._stride = 1
        self._count = 0
        self._names: list[str] = []
        self._rows = np.zeros(MOST_POINTS, dtype=np.int64)
        self._values = np.zeros((MOST_POINTS, 2, 0))  # overall and over the window, by metric

    @property
    def points(self) -> list[Point]:
        """The stored points."""
        count, names = self._count, self._names
        return [
            Point(rows, dict(zip(names, overall, strict=True)), dict(zip(names, window, strict=True)))
            for rows, (overall, window) in zip(self._rows[:count].tolist(), self._values[:count].tolist(), strict=True)
        ]

    def offer(self, point: Callable[[], Point]) -> None:
        """Called at the end of a window; the point is computed only if it is stored."""
        self._windows += 1
        if self._windows % self._stride:
            return
        new = point()
        if not self._count:
            self._name(list(new.overall))
        self._rows[self._count] = new.rows
        self._values[self._count] = [[values[n] for n in self._names] for values in (new.overall, new.window)]
        self._count += 1
        if self._count == MOST_POINTS:
            self._count //= 2
            for values in (self._rows, self._values):
                values[: self._count] = values[1::2].copy()
            self._stride *= 2

    def _name(self, names: list[str]) -> None:
        self._names, self._values = names, np.zeros((MOST_POINTS, 2, len(names)))

    def state(self, names: list[str]) -> State:
        """Everything, as plain data; `names` are the metrics."""
        count = self._count
        values = self._values[:count].copy() if count else np.zeros((0, 2, len(names)))
        return {
            "windows": self._windows,
            "stride": self._stride,
            "rows": self._rows[:count].copy(),
            "overall": values[:, 0],
            "window": values[:, 1],
        }

    def restore(self, state: State, names: list[str]) -> None:
        """Continue from an exported state."""
        rows, overall, window = (np.asarray(state[name]) for name in ("rows", "overall", "window"))
        expected = (len(rows), len(names))
        if rows.ndim != 1 or len(rows) >= MOST_POINTS or overall.shape != expected or window.shape != expected:
            raise ValueError(
                f"history: expected fewer than {MOST_POINTS} points of {len(names)} metrics; "
                f"got {rows.shape}, {overall.shape} and {window.shape}"
            )
        if int(state["windows"]) < 0 or int(state["stride"]) < 1:
            raise ValueError(f"history: windows={state['windows']} and stride={state['stride']} are impossible")
        self._windows, self._stride, self._count = int(state["windows"]), int(state["stride"]), len(rows)
        self._name(list(names))
        self._rows[: len(rows)] = rows
        self._values[: len(rows), 0], self._values[: len(rows), 1] = overall, window
