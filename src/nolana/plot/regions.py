"""What a model predicts over a plane of two features."""

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana.plot.figures import COLOURS, MARKERS, new_figure, saved, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

STEPS = 150  # of the grid along each axis
MOST_ROWS = 1000  # drawn on top


def regions(
    model: Any,
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
    common: dict[str, Any] = {"origin": "lower", "extent": extent, "aspect": "auto", "interpolation": "nearest"}
    if hasattr(model, "classes_"):
        axes.imshow(_shades(model.predict_proba(rows)).reshape(STEPS, STEPS, 3), **common)
    else:
        shown = axes.imshow(model.predict(rows).reshape(STEPS, STEPS), cmap="viridis", **common)
        figure.colorbar(shown, ax=axes, label="prediction")
    if y is not None and hasattr(model, "classes_"):
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
