"""Conversion of the content of files: labels to classes, features to a range."""

import numpy as np
from numpy.typing import NDArray

from nolana.research.datasets.records import Floats

__all__ = ["cover_type_two", "halves", "measured", "unit_range", "whole"]

LODGEPOLE_PINES = 283_301  # rows of cover type 2, a count that no other class of covtype has


def measured(y: Floats) -> Floats:
    """Targets of a regression, unchanged."""
    return y


def whole(y: Floats) -> NDArray[np.int64]:
    """Labels that are whole numbers."""
    classes = np.rint(y)
    odd = np.flatnonzero(classes != y)
    if len(odd):
        raise ValueError(f"row {odd[0] + 1} has the label {y[odd[0]]:g}, which is not a whole number")
    return classes.astype(np.int64)


def halves(y: Floats) -> NDArray[np.int64]:
    """-1 for the digits 0 to 4 and +1 for 5 to 9; the files have digit + 1."""
    return np.where(whole(y) > 5, 1, -1)


def cover_type_two(y: Floats) -> NDArray[np.int64]:
    """+1 for cover type 2 and -1 for the rest.

    Copies of covtype label the two classes 1 and 2 or -1 and +1; the number of rows identifies the class.
    """
    labels, counts = np.unique(y, return_counts=True)
    if len(labels) != 2 or LODGEPOLE_PINES not in counts:
        found = ", ".join(f"{label:g}: {count:,}" for label, count in zip(labels[:10], counts, strict=False))
        raise ValueError(f"expected two labels, one of them on {LODGEPOLE_PINES:,} rows; rows by label are {found}")
    return np.where(y == labels[counts == LODGEPOLE_PINES], 1, -1)


def unit_range(X: Floats) -> None:
    """Each feature to [0, 1], in place: (x - least) / (greatest - least).

    Features that already range from 0 to 1 are not changed.
    """
    low, high = X.min(axis=0), X.max(axis=0)
    if low.any() or (high != 1).any():
        X -= low
        X /= np.where(high > low, high - low, 1.0)
