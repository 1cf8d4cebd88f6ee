"""The landmarks of a model in a plane."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nolana.evaluate import Point
from nolana.metrics import IN_PER_CENT
from nolana.plot.figures import COLOURS, MARKERS, new_figure, saved, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nolana.estimators import NolanaClassifier, NolanaRegressor, OnlineNystroem

MOST_IN_A_COLUMN = 8  # labels of the legend


def landmarks(
    model: "NolanaClassifier | NolanaRegressor | OnlineNystroem",
    path: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    history: Sequence[Point] = (),
    metric: str | None = None,
) -> "Figure":
    """Draw the landmarks of a model, each with its prediction, and beside them the score of a run.

    Two features are drawn as they are, more along the two principal axes of the landmarks. The size of a landmark is
    the number of rows it represents. Labels are colours, numbers are shades.

    Parameters
    ----------
    model : with ``landmarks_`` and ``counts_``: NolanaClassifier, NolanaRegressor, OnlineNystroem.
    path : the file, .png, .svg or .pdf; an existing file is replaced. None: none is written.
    title : above the plot.
    history : of a run of ``nolana.evaluate.progressive``; empty: no score is drawn.
    metric : which metric of the history.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana import NolanaClassifier, plot
    >>> X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    >>> figure = plot.landmarks(NolanaClassifier(n_landmarks=30).fit(X, X[:, 0] * X[:, 1] > 0))
    """
    scored = bool(history) and metric is not None
    figure = new_figure(path, 12 if scored else 6.5, 5)
    places, names = _plane(model)
    predicted = model.predict(model.landmarks_) if hasattr(model, "predict") else None
    axes = figure.add_subplot(1, 2 if scored else 1, 1)
    tidy(axes, "landmarks; a larger one represents more rows", *names)
    counts = model.counts_
    sizes = 15 + 145 * counts / max(1.0, float(counts.max(initial=0.0)))
    if predicted is None or predicted.dtype.kind == "f":
        points = axes.scatter(places[:, 0], places[:, 1], s=sizes, c=predicted, cmap="viridis", alpha=0.8, linewidths=0)
        if predicted is not None:
            figure.colorbar(points, ax=axes, label="prediction")
    else:
        labels = np.unique(predicted)
        for i, label in enumerate(labels):
            own = predicted == label
            axes.scatter(
                places[own, 0],
                places[own, 1],
                s=sizes[own],
                color=COLOURS[i % len(COLOURS)],
                marker=MARKERS[i // len(COLOURS) % len(MARKERS)],
                label=str(label),
                alpha=0.8,
                linewidths=0,
            )
        columns = 1 + (len(labels) > MOST_IN_A_COLUMN)
        axes.legend(title="prediction", framealpha=0.9, edgecolor="none", ncols=columns)
    if scored:
        _draw_score(figure.add_subplot(1, 2, 2), history, str(metric))
    figure.suptitle(title or f"{type(model).__name__}, {model.n_rows_:,} rows", x=0.01, ha="left")
    return saved(figure, path)


def _plane(model: "NolanaClassifier | NolanaRegressor | OnlineNystroem") -> tuple[NDArray[np.float64], tuple[str, str]]:
    """Places (m, 2) and the names of the axes; standardised first if the model scales its features."""
    places = np.asarray(model.landmarks_, dtype=np.float64)
    if places.shape[1] == 2:
        names = getattr(model, "feature_names_in_", ("feature 1", "feature 2"))
        return places, (str(names[0]), str(names[1]))
    centred = places - places.mean(axis=0)
    if getattr(model, "scale", False):
        deviation = centred.std(axis=0)
        centred = centred / np.where(deviation > 0, deviation, 1.0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    axes *= np.where(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    flat = centred @ axes.T
    return np.pad(flat, ((0, 0), (0, 2 - flat.shape[1]))), ("first principal axis", "second principal axis")


def _draw_score(axes: "Axes", history: Sequence[Point], metric: str) -> None:
    factor, unit = (100.0, " (%)") if metric in IN_PER_CENT else (1.0, "")
    rows = [point.rows for point in history]
    recent = [factor * point.window[metric] for point in history]
    overall = [factor * point.overall[metric] for point in history]
    axes.plot(rows, recent, color=COLOURS[5], linewidth=1, label="over the last window", zorder=2)
    axes.plot(rows, overall, color=COLOURS[0], linewidth=2, label="over all rows so far", zorder=3)
    tidy(axes, "each row predicted before it was learned", "rows learned", metric + unit)
    axes.set_xlim(0, max(rows))
    axes.legend(frameon=False)
