"""The history of a run: a bounded number of points, however long the stream."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["History", "Point"]

MOST_POINTS = 1024  # at so many every second one is dropped; an even number, so that the ones kept are equally spaced


@dataclass(frozen=True)
class Point:
    """Metrics after some rows: over the whole stream so far, and over the last window."""

    rows: int
    overall: dict[str, float]
    window: dict[str, float]


class History:
    """One point for each `stride` windows; the stride doubles whenever there are too many points."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self._windows = 0
        self._stride = 1

    def offer(self, point: Callable[[], Point]) -> None:
        """A window has ended; its point is made only if it is kept."""
        self._windows += 1
        if self._windows % self._stride == 0:
            self.points.append(point())
            if len(self.points) == MOST_POINTS:
                self.points = self.points[1::2]
                self._stride *= 2

    def state(self, names: list[str]) -> dict[str, Any]:
        """Everything, as plain data; `names` are the metrics."""
        return {
            "windows": self._windows,
            "stride": self._stride,
            "rows": np.array([p.rows for p in self.points], dtype=np.int64),
            "overall": np.array([[p.overall[n] for n in names] for p in self.points]).reshape(
                len(self.points), len(names)
            ),
            "window": np.array([[p.window[n] for n in names] for p in self.points]).reshape(
                len(self.points), len(names)
            ),
        }

    def restore(self, state: dict[str, Any], names: list[str]) -> None:
        """Continue from an exported state."""
        rows, overall, window = (np.asarray(state[name]) for name in ("rows", "overall", "window"))
        expected = (len(rows), len(names))
        if rows.ndim != 1 or len(rows) >= MOST_POINTS or overall.shape != expected or window.shape != expected:
            raise ValueError(
                f"history: expected fewer than {MOST_POINTS} points of {len(names)} metrics; "
                f"got {rows.shape}, {overall.shape} and {window.shape}"
            )
        if int(state["windows"]) < 0 or int(state["stride"]) < 1:
            raise ValueError(f"history: windows={state['windows']} and stride={state['stride']} cannot be")
        self._windows, self._stride = int(state["windows"]), int(state["stride"])
        self.points = [
            Point(n, dict(zip(names, a, strict=True)), dict(zip(names, b, strict=True)))
            for n, a, b in zip(rows.tolist(), overall.tolist(), window.tolist(), strict=True)
        ]
