"""What changed at a drift alarm: the score, the features, their relevance, the classes or the level of the target.

Every 256 rows the learner looks for alarms since the last time; every 1,024 rows, and if there was one, it notes what
the alarm watches. An alarm has its details the time after that: 256 rows or more came since, and no row of them is from
before the drift. All numbers are of rows whose numbers are fixed, so that blocks may be split anywhere, and there is
nothing to do for a row:

    before     what was noted last before the alarm
    after      classification: the errors that the alarm has counted since; regression: the mean of the squared
               residuals, and of the target, over the last 256 rows. Running means m know it: (m - k m0)/(1 - k), m0 the
               mean that was noted, k the weight that it still has
    moved      difference of the means of a feature over its pooled standard deviation, from 0.5 on: stored rows since
               the alarm against the 256 that ended 64 rows before it
    relevance  share of the target's variance that a feature explains in either, alone or in a pair with another one
               (`relevance.screen`), if it changed by 0.1 and by a factor of 2
    rates      of the classes in either, if they differ by 0.05 and by three standard errors

At most five of each, the largest first. Rows that are stored as sketches have no features to compare.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nolana.engine.base.state import Field, Size
from nolana.engine.learner.residual_variance import SLOWEST
from nolana.engine.learner.robust_scaling import MEMORY
from nolana.engine.learner.stack import MOST_ALARMS
from nolana.experts.base import Array, State
from nolana.learner.relevance import FEWEST_ROWS, screen, target_columns

CHECK_EVERY, NOTE_EVERY = 256, 1024  # rows
WINDOW, GAP = 256, 64  # rows before an alarm that are compared, and those between, of which some are after the drift
FEWEST = 64  # rows on either side
MOST = 5  # features and classes of a record
SMALLEST_SHIFT, SMALLEST_SHARE, SMALLEST_RATE = 0.5, 0.1, 0.05
OTHER = 2.0  # times as relevant as before
ERRORS = 3.0  # standard errors of a rate
NONE = -1.0  # no column, no class, not known
HEAD = ("row", "complete", "before", "after", "level_before", "level_after")
PARTS = {"moved": 4, "relevance": 3, "rates": 3}  # numbers of an entry: a column or class, then before and after
WIDTH = len(HEAD) + MOST * sum(PARTS.values())
WATCHED = ("alarm_errors", "alarm_seen", "stacked", "residual_variance", "target_scaling/")


def next_check(rows: int) -> int:
    """The row after so many at which the learner looks for alarms; events of the schedule are of another kind."""
    return (rows // CHECK_EVERY + 1) * CHECK_EVERY


class Watched(NamedTuple):
    """What the alarm watches after so many rows: errors as a mean, or mean squares and the level of the target."""

    rows: float
    error: float
    level: float = 0.0
    counted: float = 0.0  # rows that the level is a mean of
    since: float = NONE  # the mean of errors since the last alarm


def watched(state: State) -> Watched:
    """From the state of an engine."""
    errors, seen, rows = (float(state[name]) for name in WATCHED[:3])
    if "residual_variance" not in state:
        return Watched(rows, errors / seen, since=max(0.0, (errors - 1) / max(1.0, seen - 4)))
    factor = float(state["target_scaling/factor"][0]) or 1.0
    level, counted = (float(state[f"target_scaling/{name}"][0]) for name in ("mean", "counted"))
    return Watched(rows, float(state["residual_variance"]) / factor**2, level, counted)


class Changes:
    """noted (3,): rows, error and level at the last check; records (k, 56), the last 100, as numbers."""

    def __init__(self) -> None:
        self.noted: Array = np.zeros(3)
        self.records: Array = np.zeros((0, WIDTH))

    def fields(self) -> list[Field]:
        shape = (Size("changes", MOST_ALARMS), WIDTH)
        return [Field(self, "noted", (3,), name="changes_noted"), Field(self, "records", shape, name="changes")]

    def is_due(self, seen: int, rows: int, alarms: list[int]) -> bool:
        """Whether there is something to note after so many rows were seen, and so many of them with a label."""
        new = bool(alarms) and alarms[-1] >= rows - CHECK_EVERY
        return new or seen % NOTE_EVERY == 0 or (len(self.records) > 0 and self.records[-1, 1] == 0)

    def check(self, alarms: list[int], now: Watched, details: Callable[[int], dict[str, Array]]) -> None:
        """After so many rows; `details` compares the last rows, so many of them since an alarm, with earlier ones."""
        last, error, level = self.noted.tolist()
        for record in self.records[self.records[:, HEAD.index("complete")] == 0]:
            row = int(record[0])
            after = now.since if now.since != NONE else mean_since(now, error, last)
            of_level = mean_since(now._replace(error=now.level), level, last, 1 / MEMORY)
            own = head(row, 1.0, record[2], after, record[4], of_level if now.counted >= MEMORY else now.level)
            self.records[self.records[:, 0] == row] = np.concatenate([own, packed(details(int(now.rows) - row))])
        for row in alarms:
            if row >= now.rows - CHECK_EVERY and row not in self.records[:, 0]:
                known = last > 0
                new = head(row, 0.0, error if known else NONE, NONE, level if known else now.level, now.level)
                self.records = np.vstack([self.records, np.concatenate([new, packed({})])])[-MOST_ALARMS:]
        self.noted = np.array([now.rows, now.error, now.level])

    def listed(self, alarms: list[int]) -> list[dict[str, Any]]:
        """A record for each alarm, with numbers of columns and classes; one without details may be yet to come."""
        found = {int(record[0]): record for record in self.records}
        return [unpacked(found.get(row, np.concatenate([head(row), packed({})]))) for row in alarms]


def head(row: float, complete: float = 0.0, *numbers: float) -> Array:
    """The first numbers of a record."""
    return np.array([row, complete, *numbers, *[NONE] * (len(HEAD) - 2 - len(numbers))])


def packed(details: dict[str, Array]) -> Array:
    """The other numbers of a record."""
    entries = []
    for name, width in PARTS.items():
        part = np.full((MOST, width), NONE)
        own = details.get(name, np.zeros((0, width)))[:MOST]
        part[: len(own)] = own
        entries.append(part.ravel())
    return np.concatenate(entries)


def unpacked(record: Array) -> dict[str, Any]:
    """A record by names: row, complete, before, ..., and a list of tuples of numbers for each part."""
    found: dict[str, Any] = dict(zip(HEAD, record.tolist(), strict=False))
    start = len(HEAD)
    for name, width in PARTS.items():
        part = record[start : start + MOST * width].reshape(MOST, width)
        found[name] = [tuple(entry) for entry in part[part[:, 0] >= 0].tolist()]
        start += MOST * width
    return found


def mean_since(now: Watched, then: float, rows: float, gain: float = SLOWEST) -> float:
    """The mean of what came since a running mean was `then`, from its value now."""
    gains = np.maximum(gain, 1 / (np.arange(rows + 1, now.rows + 1) + 10)) if gain == SLOWEST else None
    kept = (1 - gain) ** (now.rows - rows) if gains is None else float(np.prod(1 - gains))
    return float((now.error - kept * then) / (1 - kept)) if kept < 1 else now.error


def compared(
    rows: Array | None, targets: Array, task: str, since: int, categories: Sequence[int] = ()
) -> dict[str, Array]:  # (n, d), (n,)
    """The entries of a record, from rows of which the last `since` are those since the alarm; None: only targets.

    Categories are stored as their effects on the target, which say nothing about how often they came.
    """
    middle = len(targets) - since - GAP
    before, after = slice(max(0, middle - WINDOW), max(0, middle)), slice(max(0, len(targets) - since), None)
    old, new = targets[before], targets[after]
    found: dict[str, Array] = {}
    if min(len(old), len(new)) < FEWEST:
        return found
    if task == "classification":
        found["rates"] = changed_rates(old, new)
    if rows is not None:
        found["moved"] = moved(rows[before], rows[after], categories)
        if min(len(old), len(new)) >= FEWEST_ROWS:
            found["relevance"] = changed_relevance((rows[before], old), (rows[after], new), task)
    return found


def moved(old: Array, new: Array, categories: Sequence[int] = ()) -> Array:  # (n, d), (m, d) -> (k, 4)
    """Column, standardised shift, and both means; not of categories."""
    means = old.mean(axis=0), new.mean(axis=0)
    spread = np.sqrt((old.var(axis=0) + new.var(axis=0)) / 2)
    shift = np.divide(means[1] - means[0], spread, out=np.zeros(old.shape[1]), where=spread > 0)
    shift[list(categories)] = 0.0
    largest = np.argsort(-np.abs(shift), kind="stable")[:MOST]
    largest = largest[np.abs(shift[largest]) >= SMALLEST_SHIFT]
    return np.column_stack([largest, shift[largest], means[0][largest], means[1][largest]])


def changed_relevance(old: tuple[Array, Array], new: tuple[Array, Array], task: str) -> Array:  # -> (k, 3)
    """Column, and the share of the target's variance that it explains before and after."""
    shares = []
    for rows, targets in (old, new):
        found = screen(rows, target_columns(targets, task))
        shares.append(np.diag(found) / 2 + found.sum(axis=1) / 2)  # half of each pair
    before, after = shares
    change, other = np.abs(after - before), np.maximum(before, after) >= OTHER * np.minimum(before, after)
    largest = [j for j in np.argsort(-change, kind="stable")[:MOST] if change[j] >= SMALLEST_SHARE and other[j]]
    return np.column_stack([largest, before[largest], after[largest]])


def changed_rates(old: Array, new: Array) -> Array:  # (n,), (m,) -> (k, 3)
    """Number of the class, and its rates before and after."""
    classes = np.unique(np.concatenate([old, new]))
    before, after = ((each[:, None] == classes).mean(axis=0) for each in (old, new))
    both = (before * len(old) + after * len(new)) / (len(old) + len(new))
    error = np.sqrt(both * (1 - both) * (1 / len(old) + 1 / len(new)))
    change = np.abs(after - before)
    largest = [
        k for k in np.argsort(-change, kind="stable")[:MOST] if change[k] >= max(SMALLEST_RATE, ERRORS * error[k])
    ]
    return np.column_stack([classes[largest], before[largest], after[largest]])
