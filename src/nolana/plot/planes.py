"""A model in a plane: its landmarks, and what it predicts over two features."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana.evaluate import Point
from nolana.metrics import IN_PER_CENT
from nolana.plot.figures import COLOURS, MARKERS, new_figure, printable, saved, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nolana.estimators import NolanaClassifier, NolanaRegressor, OnlineNystroem
    from nolana.estimators.base import OnlinePredictor

Array = NDArray[np.float64]

MOST_IN_A_COLUMN = 8  # labels of the legend
STEPS = 150  # of the grid along each axis
MOST_ROWS = 1000  # drawn on top


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
    figure.suptitle(printable(title or f"{type(model).__name__}, {model.n_rows_:,} rows"), x=0.01, ha="left")
    return saved(figure, path)


def _plane(model: "NolanaClassifier | NolanaRegressor | OnlineNystroem") -> tuple[Array, tuple[str, str]]:
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


def regions(
    model: "OnlinePredictor",
    X: ArrayLike,
    y: ArrayLike | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    features: tuple[int, int] = (0, 1),
    title: str | None = None,
) -> "Figure":
    """Draw the decision regions of a classifier, or the predictions of a regressor, over two features.

    The other features have their medians in `X`. Darker regions are more certain.

    Parameters
    ----------
    model : a classifier or regressor that has learned.
    X : rows (n, d): they give the limits of the plane and the medians; at most 1,000 are drawn.
    y : their labels; None: rows are not drawn.
    path : the file, .png, .svg or .pdf; an existing file is replaced. None: none is written.
    features : the two columns of X that are the axes.
    title : above the plot.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana import StreamClassifier, plot
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2)); y = X[:, 0] * X[:, 1] > 0
    >>> figure = plot.regions(StreamClassifier(random_state=0).fit(X, y), X, y)
    """
    figure = new_figure(path, 6.5, 5.2)
    x = np.asarray(X, dtype=np.float64)
    a, b = features
    if x.ndim != 2 or not len(x) or max(a, b) >= x.shape[1] or a == b:
        raise ValueError(f"X must be rows with the columns {a} and {b}; got shape {x.shape}")
    low, high = x[:, [a, b]].min(axis=0), x[:, [a, b]].max(axis=0)
    margin = 0.05 * np.where(high > low, high - low, 1.0)
    across, up = (np.linspace(low[i] - margin[i], high[i] + margin[i], STEPS) for i in range(2))
    rows = np.tile(np.median(x, axis=0), (STEPS * STEPS, 1))
    rows[:, a], rows[:, b] = np.tile(across, STEPS), np.repeat(up, STEPS)
    axes = figure.add_subplot()
    names = [f"feature {i + 1}" for i in features]
    if hasattr(model, "feature_names_in_"):
        names = [str(model.feature_names_in_[i]) for i in features]
    tidy(axes, title or f"{type(model).__name__}, {model.n_rows_:,} rows", names[0], names[1])
    axes.grid(visible=False)
    extent = (across[0], across[-1], up[0], up[-1])
    classifies = hasattr(model, "classes_")
    values = _shades(model.predict_proba(rows)) if classifies else model.predict(rows)
    shown = axes.imshow(
        values.reshape(STEPS, STEPS, -1),
        "viridis",
        origin="lower",
        extent=extent,
        aspect="auto",
        interpolation="nearest",
    )
    if not classifies:
        figure.colorbar(shown, ax=axes, label="prediction")
    if y is not None and classifies:
        labels, chosen = np.asarray(y)[-MOST_ROWS:], x[-MOST_ROWS:]
        for i, label in enumerate(model.classes_):
            own = labels == label
            axes.scatter(
                chosen[own, a],
                chosen[own, b],
                s=14,
                color=COLOURS[i % len(COLOURS)],
                marker=MARKERS[i % len(MARKERS)],
                edgecolors="white",
                linewidths=0.4,
                label=str(label),
            )
        axes.legend(framealpha=0.9, edgecolor="none")
    return saved(figure, path)


def _shades(probabilities: Array) -> Array:  # (n, c) -> (n, 3)
    """The colour of the most probable class, lighter if it is less certain."""
    best = probabilities.argmax(axis=1)
    colours = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in COLOURS])[best % len(COLOURS)]
    least = 1 / max(2, probabilities.shape[1])
    strength = 0.12 + 0.5 * np.clip((probabilities.max(axis=1) - least) / (1 - least), 0, 1)
    return np.asarray(1 - strength[:, None] * (1 - colours))
