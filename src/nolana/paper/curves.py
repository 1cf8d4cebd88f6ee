"""Curves: the score so far against the rows seen, for all methods on every data set."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nolana import plot
from nolana.paper.experiment import Cell, Results, Scale, Source
from nolana.paper.passes import FACTORS, metric_of, pass_key
from nolana.paper.table1 import HEADINGS, METHODS, TITLES, Table1
from nolana.plot import Panel
from nolana.report import Figure, Section, Text

__all__ = ["Curves"]

OUTSIDE = 0.14  # share of the values, the worst, that may lie outside of the axes


class Curves:
    """The running score of the first shuffle of Table 1."""

    name = "curves"
    title = "Curves: the score while the stream runs"

    def __init__(self, source: Source, scale: Scale) -> None:
        self.table = Table1(source, scale)

    def plan(self) -> Sequence[Cell]:
        """The passes of Table 1."""
        return self.table.plan()

    def section(self, results: Results) -> Section:
        """A panel for every data set."""
        panels = [self._panel(results, data) for data in self.table.data]
        return Section(
            self.name,
            self.title,
            [
                Text(
                    """The score over all rows so far, each predicted before it was learned, in the first shuffle of
                    Table 1. Axes are cut where a curve leaves the others far behind. What matters on a stream is on
                    the left: how few rows a method needs before it is useful."""
                ),
                Figure(plot.svg(panels, columns=2), "Score so far against rows seen (logarithmic), first shuffle."),
            ],
        )

    def _panel(self, results: Results, data: str) -> Panel:
        curves = {HEADINGS.get(method, method): self._curve(results, data, method) for method in METHODS}
        values = np.array([value for _, ys in curves.values() for value in ys])
        values = values[np.isfinite(values)]
        rmse = metric_of(data) == "rmse"
        ends = np.quantile(values, (0.0, 1 - OUTSIDE) if rmse else (OUTSIDE / 2, 1.0))
        margin = 0.04 * float(ends[1] - ends[0]) or 1.0
        label = "RMSE so far" if rmse else "accuracy so far (%)"
        y_range = (float(ends[0]) - margin, float(ends[1]) + margin)
        return Panel(TITLES[data], curves, "rows seen", label, log_x=True, y_range=y_range)

    def _curve(self, results: Results, data: str, method: str) -> tuple[list[float], list[float]]:
        history = results[pass_key(data, method, 0)]["history"]
        factor = FACTORS[metric_of(data)]
        return [float(rows) for rows, _ in history], [factor * value for _, value in history]

    def lines(self, results: Results) -> Sequence[Mapping[str, Any]]:
        """One line for every point."""
        return [
            {"data": data, "method": method, "rows": rows, metric_of(data): value}
            for data in self.table.data
            for method in METHODS
            for rows, value in results[pass_key(data, method, 0)]["history"]
        ]
