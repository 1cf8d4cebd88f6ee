"""Whether probabilities are what they say."""

import os
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from nolana.metrics.label_index import Labels
from nolana.plot.figures import COLOURS, new_figure, saved, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = 15


def calibration(
    probabilities: ArrayLike,
    y: ArrayLike,
    classes: Sequence[Hashable] | Labels,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str = "Calibration",
) -> "Figure":
    """Draw how often the most probable class was right, against its probability.

    In a calibrated model, of the rows predicted with 80 % four in five are right. The title has the expected
    calibration error: the mean distance between both over 15 equal bins, weighted by their rows.

    Parameters
    ----------
    probabilities : (n, c), as of ``predict_proba``, of rows that were not learned yet.
    y : the labels (n,).
    classes : the labels of the columns (c,), as ``model.classes_``.
    path : the file, .png, .svg or .pdf; an existing file is replaced. None: none is written.
    title : above the plot.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana import StreamClassifier, plot
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 2)); y = X[:, 0] * X[:, 1] > 0
    >>> model = StreamClassifier(random_state=0).fit(X[:1000], y[:1000])
    >>> figure = plot.calibration(model.predict_proba(X[1000:]), y[1000:], model.classes_)
    """
    figure = new_figure(path, 6, 5.2)
    p, labels = np.asarray(probabilities, dtype=np.float64), np.asarray(y)
    if p.ndim != 2 or len(p) != len(labels) or p.shape[1] != len(classes) or not len(p):
        raise ValueError(
            f"probabilities must be (rows, classes) for {len(labels)} labels and {len(classes)} classes; "
            f"got shape {p.shape}"
        )
    best = p.argmax(axis=1)
    right, sure = np.asarray(classes)[best] == labels, p[np.arange(len(p)), best]
    bins = np.minimum(BINS - 1, (sure * BINS).astype(int))
    rows = np.bincount(bins, minlength=BINS)
    used = rows > 0
    said, seen = (np.bincount(bins, values, minlength=BINS)[used] / rows[used] for values in (sure, right))
    error = float((rows[used] * np.abs(said - seen)).sum() / rows.sum())
    axes = figure.add_subplot()
    axes.plot([0, 100], [0, 100], color="0.6", linewidth=1, linestyle=(0, (4, 3)), label="perfect")
    sizes = 20 + 180 * rows[used] / rows.max()
    axes.plot(100 * said, 100 * seen, color=COLOURS[0], linewidth=1.2, zorder=2)
    axes.scatter(100 * said, 100 * seen, s=sizes, color=COLOURS[0], zorder=3, label="rows; a larger point has more")
    tidy(
        axes,
        f"{title}: expected error {100 * error:.1f} % over {len(p):,} rows",
        "probability of the predicted class (%)",
        "how often it was right (%)",
    )
    lowest = 100 * max(0.0, min(float(said.min()), float(seen.min())) - 0.05)
    axes.set_xlim(lowest, 101)
    axes.set_ylim(lowest, 101)
    axes.legend(frameon=False, loc="upper left")
    return saved(figure, path)
