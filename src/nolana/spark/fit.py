"""One pass over a DataFrame: rounds in which a leader learns on the driver and frozen parts on the executors.

    1. The rows are read once, checked, and packed (`nolana.spark.rows`).
    2. A shuffle brings each row to its slice: which part learns it in which round (`nolana.spark.slices`).
    3. In each round the leader learns its rows and is broadcast; each part learns its slice; the parts are merged.

The rows of the DataFrame are learned in its order. The result depends on this order, on `rows_per_round` and on the
number of parts, and not on the partitions of the DataFrame.
"""

import copy
import pickle
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from nolana.errors import StreamError
from nolana.estimators._sklearn import is_classifier
from nolana.estimators.base import OnlinePredictor
from nolana.estimators.merging import check_mergeable, merge
from nolana.estimators.parameters import integer
from nolana.estimators.rounds import leader_rows
from nolana.metrics import Metric, resolve
from nolana.spark.columns import Features, check_frame, choose, pyspark
from nolana.spark.rows import check_policy, count_bad, pack
from nolana.spark.slices import Layout, Mergeable, Slices, add, collect_parts, score

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["FitResult", "Round", "fit"]


@dataclass(frozen=True)
class Round:
    """One round: its rows, those of the leader, the bytes of the states that were moved, and the seconds.

    ``bytes_sent`` is the state of the leader, which goes to every executor; ``bytes_received`` are the states of the
    parts, or of their merges, that came back to the driver.
    """

    rows: int
    leader_rows: int
    bytes_sent: int
    bytes_received: int
    seconds: float


@dataclass(frozen=True)
class FitResult:
    """The model, its progressive metrics, rows learned, rows left out by reason, and the rounds."""

    model: OnlinePredictor
    metrics: dict[str, float]
    rows: int
    bad_rows: dict[str, int] = field(default_factory=dict)
    rounds: list[Round] = field(default_factory=list)


def fit(
    df: "DataFrame",
    model: OnlinePredictor,
    *,
    features: Features,
    label: str,
    rows_per_round: int = 200_000,
    parts: int | None = None,
    on_bad_row: str = "error",
    metrics: Sequence[str | Metric] | None = None,
) -> FitResult:
    """Learn the rows of a DataFrame in its order, in one pass, on all executors.

    The model itself does not change: a copy learns. One that has learned before continues.

    Parameters
    ----------
    df : the rows. They are read once; packed rows are stored on the disks of the executors until the end.
    model : `StreamClassifier`, `StreamRegressor`, or `NolanaClassifier` or `NolanaRegressor` with newton.
    features : columns, or one column of vectors or arrays; `NolanaClassifier` and `NolanaRegressor` take numbers alone.
    label : the column of the label.
    rows_per_round : rows between two merges. More: less is moved, and the model tracks drift later.
    parts : learners of a round; None: as many as the DataFrame has partitions.
    on_bad_row : "error": an invalid row (infinity, another length; for models of numbers also null and NaN) is a
        `nolana.errors.StreamError`, and nothing is learned; "skip": such rows are left out and counted.
    metrics : names or objects, see `nolana.metrics`; None: accuracy or rmse. Each row is scored before it is learned.

    Examples
    --------
    >>> import nolana
    >>> model = nolana.StreamClassifier(random_state=0)
    >>> result = nolana.spark.fit(df, model, features=["width", "height"], label="kind")  # doctest: +SKIP
    >>> result.metrics["accuracy"], result.model.n_rows_  # doctest: +SKIP
    """
    check_frame(df)
    check_policy(on_bad_row)
    integer("rows_per_round", rows_per_round, 1)
    if parts is not None:
        integer("parts", parts, 1)
    check_mergeable(model)
    columns = choose(df, features, label, model)
    patterns = _metrics(metrics, model)
    tally = copy.deepcopy(patterns)
    learner = copy.deepcopy(model)
    packed = pack(df, columns, on_bad_row).persist(pyspark().StorageLevel.DISK_ONLY)
    try:
        layout, bad = _layout(packed, learner, rows_per_round, parts)
        slices = Slices(packed, layout)
        rounds = []
        for r in range(layout.rounds):
            learner, counted, done = _learn_round(slices, layout, r, learner, patterns)
            add(tally, counted)
            rounds.append(done)
    finally:
        packed.unpersist()
    learner.spark_features_ = features if isinstance(features, str) else list(features)
    values = {metric.name: metric.value() for metric in tally}
    return FitResult(learner, values, layout.rows, dict(bad), rounds)


def _metrics(metrics: Sequence[str | Metric] | None, model: OnlinePredictor) -> list[Mergeable]:
    """Metrics that can be added up."""
    found: list[Mergeable] = []
    for metric in resolve(["accuracy" if is_classifier(model) else "rmse"] if metrics is None else metrics):
        if not isinstance(metric, Mergeable):
            raise ValueError(
                f"metrics: {metric.name!r} has no merge(other), which adds up what parts have counted; choose others"
            )
        found.append(metric)
    return found


def _layout(
    packed: "DataFrame", model: OnlinePredictor, rows_per_round: int, parts: int | None
) -> tuple[Layout, Counter[str]]:
    """Who learns which rows, and the rows that were left out; StreamError for the first invalid row."""
    records = packed.select("partition", "rows", "width", "bad").collect()
    bad, rows, widths = Counter[str](), Counter[int](), dict[int, int]()
    for record in sorted(records, key=lambda record: record.partition):
        count_bad(record, bad)
        if record.rows:
            rows[record.partition] += record.rows
            widths.setdefault(record.width, record.partition)
    if not rows:
        why = f"; {bad.total():,} invalid rows were left out" if bad else ""
        raise StreamError(f"there are no rows to learn{why}")
    if len(widths) > 1:
        (first, here), (second, there) = list(widths.items())[:2]
        raise StreamError(
            f"partition {here} begins with a row of {first} numbers, partition {there} with one of {second}; "
            "all rows must have the same length"
        )
    numbers = sorted(rows)
    *starts, total = accumulate((rows[p] for p in numbers), initial=0)
    sizes = [min(rows_per_round, total - start) for start in range(0, total, rows_per_round)]
    leaders = tuple(leader_rows(model, size, r * rows_per_round) for r, size in enumerate(sizes))
    count = packed.rdd.getNumPartitions() if parts is None else parts
    return Layout(total, dict(zip(numbers, starts, strict=True)), rows_per_round, count, leaders), bad


def _learn_round(
    slices: Slices, layout: Layout, r: int, learner: OnlinePredictor, metrics: list[Mergeable]
) -> tuple[OnlinePredictor, list[Mergeable], Round]:
    """The learner after a round, the metrics of its rows, and its record."""
    begin = time.perf_counter()
    rows, first = layout.size(r), layout.leaders[r]
    counted = score(learner, *slices.leader(r), metrics)
    if first == rows:
        return learner, counted, Round(rows, first, 0, 0, time.perf_counter() - begin)
    data = pickle.dumps(learner, protocol=pickle.HIGHEST_PROTOCOL)
    broadcast = slices.context.broadcast(data)
    try:
        learned = collect_parts(slices.parts(r), layout.parts, broadcast, metrics)
    finally:
        broadcast.destroy()
    for part in learned:
        add(counted, part.metrics)
    received = sum(len(part.data) for part in learned)
    learner = merge([pickle.loads(part.data) for part in learned], base=learner)
    return learner, counted, Round(rows, first, len(data), received, time.perf_counter() - begin)
