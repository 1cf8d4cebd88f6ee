"""What the first block decides: the kind of each column, what is left out because it grows, slots of categories.

A column grows without bound if it is a row number, a counter, a UNIX time. A learner has never seen the values that it
will be asked about, so such a column can only hurt. In the first block of n rows, at least 200, with values v and steps
v[i + 1] - v[i]:

    row number   all steps are equal
    counter      99 % of the steps go one way, no value is more than 1 % of the range behind the largest before it, and
                 90 % of the values are different
    UNIX time    the same with any number of equal values, where all are seconds, milli-, micro- or nanoseconds between
                 the years 2001 and 2128

A file that is sorted by a feature looks the same: what is left out is always reported, and can be forced in. A column
that starts again (the hour of the day) falls behind its largest value and is not taken for one that grows.

One-hot: a column with k different strings in the first block has k + k // 4 + 1 slots, at most ``max_categories``, and
one more that all later strings share.
"""

import re
import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nolana.columns.infer import UNITS, are_prose, both_declared, is_id, unix_unit
from nolana.columns.times import PARTS, infer_parts, seconds
from nolana.columns.values import Numbers
from nolana.errors import Remedy, StreamError, StreamWarning, joined_problems
from nolana.sources.cells import ABSENT, NUMBER, TEXT, TIME, TRUTH, UNBOUNDED, Cells, Flaw, is_missing
from nolana.sources.labels import infer_label_kind
from nolana.sources.options import Categories, Column, ColumnKind, Growing, SourceOptions
from nolana.sources.plan import Plan, PlannedColumn

if TYPE_CHECKING:
    from nolana.sources.reader import Reader

__all__ = ["infer_growth", "infer_plan", "infer_slots"]

MOSTLY = 0.9  # of the values: a column of numbers, in which other values are invalid; of few values all but one
LEADING_ZERO = re.compile(r"[+-]?0[0-9]")  # of an identifier, not of a number

FEWEST_ROWS = 200  # also of slots: a category of 1 % of the rows is absent from this many with probability 0.13
ONE_WAY = 0.99  # of the steps
LARGEST_FALL = 0.01  # of the range
DIFFERENT = 0.9  # of the values
FEWEST_TIMES = 10  # different values of a UNIX time
UNIX = (1e9, 5e9)  # seconds
EQUAL = 1e-6  # of a step
SPARE = 4  # one spare slot for this many categories, and one more: a file in time order begins with few of them


def infer_plan(reader: "Reader", options: SourceOptions, columns: list[int], target: int | None) -> Plan:
    """The plan for these columns of a source."""
    cells = reader.peek(options.block_rows, columns if target is None else [*columns, target])
    kept = {reader.columns.index(which, "keep_column") for which in options.keep_column or ()}
    declared = _declared(reader, options)
    encoding = options.columns_as_numbers
    sized = encoding.categories == "onehot" and "max_categories" not in options.specified and not reader.live
    planned, left_out, refused = list[PlannedColumn](), dict[int, str](), list[StreamError]()
    for place, column in enumerate(columns):
        growing = "keep" if column in kept else options.growing
        key = reader.columns.key(column)
        inferred = infer_column(key, cells, place, encoding.categories, growing, reader.quoted_numbers)
        if inferred.kind == "text" and encoding.categories == "error":
            row = int((~is_missing(cells.text_codes[:, place])).argmax())
            refused.append(reader.cell_error(cells, row, column, _column_of_strings(place, key)))
            inferred = PlannedColumn(key)
        if column in declared:
            inferred = PlannedColumn(key, declared[column])
        elif inferred.kind == "text":
            reader.check_strings(cells, place, column)
            if encoding.categories == "native" and are_prose(cells.texts(place)):
                what = f"{reader.columns.describe(column)} looks like text, and is learned as a category"
                words = Remedy("text_features", [key], "learns its words")
                remedies = [words, Remedy("ignore", [key], "leaves it out")]
                warnings.warn(StreamWarning(what, place=reader.path, remedies=remedies), stacklevel=1)
        if inferred.kind == "text" and sized:  # the first rows of a pipe are as many as have come: no sample
            inferred = replace(inferred, slots=infer_slots(cells.texts(place), options.max_categories))
        planned.append(inferred)
        if inferred.kind == "number" and growing == "leave_out" and options.features is None:
            values, valid = cells.floats(place, quoted=reader.quoted_numbers)
            values = values[valid & np.isfinite(values) & (cells.text_codes[:, place] != ABSENT)]
            if (growth := infer_growth(values)) is not None:
                left_out[place] = growth
    if refused:
        raise joined_problems(refused)
    if target is not None and options.labels is None and options.growing == "leave_out":
        reader.check_labels(cells, len(columns), target)
    if len(left_out) == len(planned):  # at least one feature must be left
        left_out = {}
    for place, growth in left_out.items():
        column = columns[place]
        what = f"is a {growth}: it grows in all of the first {len(cells.lines):,} rows. It is left out"
        remedies = [Remedy("keep_column", [reader.columns.key(column)], "learns from it")]
        warning = StreamWarning(f"{reader.columns.describe(column)} {what}", place=reader.path, remedies=remedies)
        warnings.warn(warning, stacklevel=1)
    names = reader.columns.names
    return Plan(
        reader.format,
        tuple(column for place, column in enumerate(planned) if place not in left_out),
        left_out={reader.columns.title(columns[place]): growth for place, growth in left_out.items()},
        known=None if names is None else tuple(names),
        target=None if target is None else reader.columns.key(target),
        labels=None if target is None else infer_label_kind(cells, len(columns)),
        width=reader.columns.width,
        options=encoding,
        **reader.plan_fields(),
    )


def _declared(reader: "Reader", options: SourceOptions) -> dict[int, ColumnKind]:
    """The kinds that the options declare, by column."""
    categories = {reader.columns.index(which, "categorical_features") for which in options.categorical_features or ()}
    texts = {reader.columns.index(which, "text_features") for which in options.text_features or ()}
    for column in sorted(categories & texts):
        raise both_declared(options.text_features, reader.columns.key(column))
    kinds: dict[int, ColumnKind] = dict.fromkeys(texts, "words")
    return kinds | dict.fromkeys(categories, "text")


def _column_of_strings(feature: int, key: Column) -> Flaw:
    """Why a column without a number cannot be learned."""
    remedies = (
        Remedy("categories", "hash"),
        Remedy("categories", "onehot", "turns strings into numbers"),
        Remedy("ignore", [key], "leaves the column out"),
    )
    what = "{value} is not a number, nor is any value of this column in the first block"
    return Flaw(feature, "number", what, remedies, numeric=True)


def infer_column(
    column: Column, cells: Cells, place: int, categories: Categories, growing: Growing, quoted_numbers: bool
) -> PlannedColumn:
    """A column of texts, its kind inferred from all its values in these rows.

    A column is of numbers, of true and false, or of dates and times where all its values are, missing ones apart; a
    number with a leading zero is a string. Of other columns those of numbers, but for one value or a tenth, have
    invalid rows, if strings are learned as categories or refused; the others are text if categories are encoded.
    quoted_numbers: the texts of a source that distinguishes text from numbers may be numbers too.
    """
    codes = cells.text_codes[:, place]
    native = categories == "native"
    present = ~is_missing(codes)
    if not present.any():
        return PlannedColumn(column)
    number = codes == NUMBER
    if quoted_numbers and np.isin(codes[present], (NUMBER, TEXT)).all():
        number = cells.floats(place, quoted=True)[1]
    if number[present].all():
        if native and _are_identifiers(cells, place):
            return PlannedColumn(column, "text")
        values = cells.floats(place, quoted=quoted_numbers)[0][present]
        if not native or growing != "leave_out":
            return PlannedColumn(column)
        unit = unix_unit(column, Numbers(values))
        if unit is not None:
            return PlannedColumn(column, "date", PARTS, unit=unit)
        an_id = is_id(column, Numbers(values)) and infer_growth(values) is None
        return PlannedColumn(column, "text" if an_id else "number")
    if (codes[present] == TRUTH).all():
        return PlannedColumn(column, "bool")
    if (codes[present] == TIME).all():
        return _times(column, cells.floats(place)[0][present], growing, native)
    if (codes[present] == TEXT).all():
        texts = cells.texts(place)
        times = [seconds(texts[i] or "") for i in np.flatnonzero(present)]
        if None not in times:
            return _times(column, np.array(times, dtype=np.float64), growing, native)
        if categories == "error":
            return PlannedColumn(column, "text")
    finite = number | (codes == UNBOUNDED)
    others = int((present & ~finite).sum())
    few = others <= max(1.0, (1 - MOSTLY) * present.sum()) and others < finite[present].sum()
    mostly_numbers = native and few and not _are_identifiers(cells, place)
    return PlannedColumn(column, "number" if categories == "error" or mostly_numbers else "text")


def _are_identifiers(cells: Cells, place: int) -> bool:
    return any(text is not None and LEADING_ZERO.match(text) for text in cells.texts(place))


def _times(column: Column, times: NDArray[np.float64], growing: Growing, native: bool) -> PlannedColumn:
    """A date has all its parts, as in a table; those of plain numbers must be of use in the first block."""
    if growing == "keep":
        return PlannedColumn(column, "time")
    return PlannedColumn(column, "date", PARTS if native else infer_parts(times))


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
    if different >= FEWEST_TIMES and any(unit * UNIX[0] <= low and high <= unit * UNIX[1] for unit in UNITS.values()):
        return "UNIX time"
    return "counter" if different >= DIFFERENT * len(values) else None


def infer_slots(texts: Iterable[str | None], largest: int) -> int | None:
    """The slots of a one-hot column with these values in the first block; None: too few rows to tell.

    Examples
    --------
    >>> infer_slots(["yes", "no"] * 100, 32), infer_slots(map(str, range(500)), 32), infer_slots(["yes", "no"], 32)
    (3, 32, None)
    """
    values = list(texts)
    seen = len(set(values) - {None})
    return min(seen + seen // SPARE + 1, largest) if len(values) >= FEWEST_ROWS else None
