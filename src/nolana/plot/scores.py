"""Scores of learners and weights of experts over the rows."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nolana.evaluate import Point
from nolana.metrics import IN_PER_CENT
from nolana.plot.figures import curve, new_figure, saved, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nolana.estimators import StreamClassifier, StreamRegressor

MOST_POINTS = 1024


def running_scores(
    curves: Mapping[str, Sequence[Point]],
    metric: str = "accuracy",
    path: str | os.PathLike[str] | None = None,
    title: str = "each row predicted before it was learned",
) -> "Figure":
    """Draw a metric over all rows so far against the rows learned, one curve for each name.

    Parameters
    ----------
    curves : for each name the history of a run of ``nolana.evaluate.progressive``.
    metric : which metric of the history; accuracy is drawn in per cent.
    path : the file, .png, .svg or .pdf; an existing file is replaced. None: none is written.
    title : above the plot.

    Examples
    --------
    >>> from nolana import plot
    >>> from nolana.evaluate import Point
    >>> history = [Point(100, {"accuracy": 0.7}, {}), Point(200, {"accuracy": 0.8}, {})]
    >>> figure = plot.running_scores({"mine": history})
    """
    figure = new_figure(path, 9, 5)
    if not curves:
        raise ValueError("curves is empty: nothing to draw")
    for name, history in curves.items():
        if not history or metric not in history[-1].overall:
            raise ValueError(f"curves[{name!r}] has no points with the metric {metric!r}")
    factor, unit, number = (100.0, " (%)", "{:.1f} %") if metric in IN_PER_CENT else (1.0, "", "{:.4g}")
    axes = figure.add_subplot()
    for i, (name, history) in enumerate(curves.items()):
        axes.plot(
            [point.rows for point in history],
            [factor * point.overall[metric] for point in history],
            label=f"{name}: {number.format(factor * history[-1].overall[metric])}",
            **curve(i),
            linewidth=2,
        )
    tidy(axes, title, "rows learned", f"{metric} over all rows so far{unit}")
    axes.set_xlim(0, max(history[-1].rows for history in curves.values()))
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return saved(figure, path)


class ExpertHistory:
    """Records the weights of the experts of a model: a callback of ``nolana.evaluate.progressive``.

    The history is bounded: at 1,024 points every second one is dropped, and from then on every second new one.

    Parameters
    ----------
    model : StreamClassifier or StreamRegressor.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana import StreamClassifier
    >>> from nolana.plot import ExpertHistory
    >>> model = StreamClassifier(random_state=0)
    >>> history = ExpertHistory(model)
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> for i in range(0, 300, 100):
    ...     _ = model.partial_fit(X[i:i+100], X[i:i+100, 0] > 0)
    ...     history()
    >>> history.rows
    [100, 200, 300]
    """

    def __init__(self, model: "StreamClassifier | StreamRegressor") -> None:
        self.model = model
        self.rows: list[int] = []
        self.weights: dict[str, list[float]] = {}
        self.alarms: list[int] = []
        self._stride = self._calls = 0

    def __call__(self, progress: object = None) -> None:
        self.alarms = sorted({*self.alarms, *self.model.drift_})[-MOST_POINTS:]
        self._calls += 1
        if self._calls % max(1, self._stride):
            return
        current = {record["name"]: record["weight"] for record in self.model.experts_}
        # Names change with the memory and the classes: a curve begins and ends with its expert.
        for name in {**self.weights, **current}:
            values = self.weights.setdefault(name, [float("nan")] * len(self.rows))
            values.append(current.get(name, float("nan")))
        self.rows.append(self.model.n_rows_)
        if len(self.rows) >= MOST_POINTS:
            self.rows = self.rows[1::2]
            self.weights = {name: values[1::2] for name, values in self.weights.items()}
            self._stride = 2 * max(1, self._stride)


def experts(
    history: ExpertHistory, path: str | os.PathLike[str] | None = None, *, title: str = "Weights of the experts"
) -> "Figure":
    """Draw the weights of the experts over time; vertical lines are drift alarms.

    Parameters
    ----------
    history : an `ExpertHistory` that was the callback of a run.
    path : the file, .png, .svg or .pdf; an existing file is replaced. None: none is written.
    title : above the plot.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana import StreamClassifier, evaluate, plot
    >>> X = np.random.default_rng(0).uniform(-1, 1, (1000, 2)); y = X[:, 0] * X[:, 1] > 0
    >>> model = StreamClassifier(random_state=0)
    >>> history = plot.ExpertHistory(model)
    >>> blocks = [(X[i:i+50], y[i:i+50]) for i in range(0, 1000, 50)]
    >>> result = evaluate.progressive(model, blocks, callback=history)
    >>> figure = plot.experts(history)
    """
    figure = new_figure(path, 9, 5)
    if not history.rows:
        raise ValueError("history is empty: pass it as callback to nolana.evaluate.progressive")
    axes = figure.add_subplot()
    for i, (name, weights) in enumerate(history.weights.items()):
        axes.plot(history.rows, weights, label=name, **curve(i), linewidth=1.8)
    for k, row in enumerate(history.alarms):
        axes.axvline(row, color="0.3", linewidth=1, linestyle=(0, (2, 2)), label="" if k else "drift alarm")
    tidy(axes, title, "rows learned", "weight in the stack")
    axes.set_xlim(0, history.rows[-1])
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return saved(figure, path)
