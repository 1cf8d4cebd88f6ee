"""Columns that grow without bound: row numbers, counters, UNIX times.

A learner has never seen the values that it will be asked about, so such a column can only hurt. In the first block of n
rows, at least 200, with values v and steps v[i + 1] - v[i]:

    row number   all steps are equal
    counter      99 % of the steps go one way, no value is more than 1 % of the range behind the largest before it, and
                 90 % of the values are different
    UNIX time    the same with any number of equal values, where all are seconds, milli-, micro- or nanoseconds between
                 the years 2001 and 2128

A file that is sorted by a feature looks the same: what is left out is always reported, and can be forced in. A column
that starts again (the hour of the day) falls behind its largest value and is not taken for one that grows.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["infer_growth"]

FEWEST_ROWS = 200
ONE_WAY = 0.99  # of the steps
LARGEST_FALL = 0.01  # of the range
DIFFERENT = 0.9  # of the values
FEWEST_TIMES = 10  # different values of a UNIX time
UNIX = (1e9, 5e9)  # seconds
UNITS = (1.0, 1e3, 1e6, 1e9)  # in a second
EQUAL = 1e-6  # of a step


def infer_growth(values: NDArray[np.float64]) -> str | None:
    """What kind of growing column these values (n,) of the first block are; None if they do not grow.

    Examples
    --------
    >>> infer_growth(np.arange(300.0)), infer_growth(np.arange(300.0) % 24), infer_growth(np.arange(300.0) ** 1.5)
    ('row number', None, 'counter')
    """
    if len(values) < FEWEST_ROWS:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.diff(values)
        if steps.mean() < 0:
            values, steps = -values, -steps
        if not steps.mean() > 0 or not np.isfinite(steps).all():
            return None
        if np.abs(steps - steps[0]).max() <= EQUAL * abs(steps[0]):
            return "row number"
        fall = (np.maximum.accumulate(values) - values).max()
        if (steps >= 0).mean() < ONE_WAY or fall > LARGEST_FALL * (values.max() - values.min()):
            return None
    different = len(np.unique(values))
    low, high = np.abs(values).min(), np.abs(values).max()
    if different >= FEWEST_TIMES and any(unit * UNIX[0] <= low and high <= unit * UNIX[1] for unit in UNITS):
        return "UNIX time"
    return "counter" if different >= DIFFERENT * len(values) else None
