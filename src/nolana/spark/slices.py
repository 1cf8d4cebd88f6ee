"""The rows of a DataFrame in slices, in the order of the DataFrame: who learns which rows in which round.

Round r has the rows from r R on, R of them. Its leader has the first rows, its parts the others, 64 at a time by turns
(`nolana.estimators.rounds`). The slices of a round are r (k + 1) for the leader and the next k for the parts, so a
shuffle with one partition for each slice brings every row to its place.

Each part of a round learns its slice in a task, and tasks merge them in a tree. The driver merges at most `FAN_IN`
states; if there are more parts, tasks merge as many of them before, in groups of their order, so that the result does
not depend on which task ends first.
"""

import copy
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nolana.estimators.base import OnlinePredictor
from nolana.estimators.merging import merge
from nolana.estimators.rounds import part_of_rows
from nolana.evaluate import Evaluation
from nolana.metrics import Metric
from nolana.metrics.label_index import Labels
from nolana.sources.blocks import joined as rows_joined
from nolana.spark.columns import pyspark
from nolana.spark.rows import XY, unpack

if TYPE_CHECKING:
    from pyspark import RDD, Broadcast, SparkContext
    from pyspark.sql import DataFrame, Row

    Cuts: TypeAlias = RDD["Cut"]
    State: TypeAlias = Broadcast[bytes]  # a pickled learner

__all__ = ["FAN_IN", "Layout", "Mergeable", "Part", "Slices", "add", "collect_parts", "score"]

FAN_IN = 16

Piece = tuple[int, NDArray[np.float64], Labels]  # number of the first row, X, y
Cut = tuple[int, Piece]  # with its slice


@runtime_checkable
class Mergeable(Metric, Protocol):
    """A metric whose counts can be added up."""

    def merge(self, other: Self) -> None:
        """Count the rows that another one has counted."""
        ...


Metrics = list[Mergeable]


@dataclass(frozen=True)
class Layout:
    """Which slice each row belongs to.

    Parameters
    ----------
    rows : of the DataFrame.
    offsets : the number of the first row of each partition.
    rows_per_round, parts : R and k.
    leaders : how many rows the leader of each round learns.
    """

    rows: int
    offsets: dict[int, int]
    rows_per_round: int
    parts: int
    leaders: tuple[int, ...]

    @property
    def rounds(self) -> int:
        """Rounds until all rows are learned."""
        return len(self.leaders)

    @property
    def slices(self) -> int:
        """Slices of all rounds."""
        return self.rounds * (self.parts + 1)

    def size(self, r: int) -> int:
        """Rows of a round."""
        return min(self.rows_per_round, self.rows - r * self.rows_per_round)

    def leader(self, r: int) -> int:
        """The slice of the leader of a round."""
        return r * (self.parts + 1)

    def slices_of(self, first: int, count: int) -> NDArray[np.int64]:
        """The slices of consecutive rows, (count,)."""
        rows = np.arange(first, first + count)
        rounds = rows // self.rows_per_round
        after = rows % self.rows_per_round - np.array(self.leaders, dtype=np.int64)[rounds]
        turn = np.where(after < 0, 0, 1 + part_of_rows(np.maximum(after, 0), self.parts))
        return np.asarray(rounds * (self.parts + 1) + turn)

    def cut(self, record: "Row") -> Iterator[Cut]:
        """The pieces of a packed record, with the slice of each."""
        x, y = unpack(record.data)
        first = self.offsets[record.partition] + record.first
        slices = self.slices_of(first, len(x))
        for each in np.unique(slices).tolist():
            own = slices == each
            yield each, (first, x[own], y[own])


class Slices:
    """All rows, shuffled to their slices; one shuffle, whose files serve every round."""

    def __init__(self, packed: "DataFrame", layout: Layout) -> None:
        self._layout = layout
        records = packed.select("partition", "first", "data").where("rows > 0").rdd
        self._rdd = records.flatMap(layout.cut).partitionBy(layout.slices, int)  # keys are numbers of partitions

    @property
    def context(self) -> "SparkContext":
        """The SparkContext."""
        return self._rdd.context

    def leader(self, r: int) -> XY:
        """The rows of the leader of a round, brought to the driver."""
        cuts = self.context.runJob(self._rdd, list, [self._layout.leader(r)])
        return _joined(piece for _, piece in cuts)

    def parts(self, r: int) -> "Cuts":
        """An RDD with one partition for each part of a round.

        Spark's own class for this has no form in Python; a set of Scala is a function from a number to true or false.
        """
        jvm, first = self.context._jvm, self._layout.leader(r) + 1
        assert jvm is not None
        wanted = jvm.PythonUtils.toSeq(list(range(first, first + self._layout.parts))).toSet()
        pruned = jvm.org.apache.spark.rdd.PartitionPruningRDD.create(self._rdd._jrdd.rdd(), wanted)
        parts: Cuts = pyspark("rdd").RDD(pruned.toJavaRDD(), self.context, self._rdd._jrdd_deserializer)
        return parts


def _joined(pieces: Iterable[Piece]) -> XY:
    """X and y of some pieces, in the order of the rows."""
    ordered = sorted(pieces, key=lambda piece: piece[0])
    return rows_joined([x for _, x, _ in ordered]), np.concatenate([y for _, _, y in ordered])


# Parts


@dataclass(frozen=True)
class Part:
    """A part, or a merge of some, after its rows: its number, its pickled state, and the metrics of its rows."""

    number: int
    data: bytes
    metrics: Metrics


def collect_parts(slices: "Cuts", count: int, base: "State", metrics: Metrics) -> list[Part]:
    """What `count` parts have learned, each from one partition of the RDD; at most `FAN_IN` of them or their merges.

    base: what all parts begin with. A part without rows is left out.
    """
    parts = slices.mapPartitionsWithIndex(partial(_learn, base, metrics))
    while count > FAN_IN:
        count = -(-count // FAN_IN)
        groups = parts.map(lambda part: (part.number // FAN_IN, part)).partitionBy(count, int)
        parts = groups.mapPartitionsWithIndex(partial(_merge, base))
    return sorted(parts.collect(), key=lambda part: int(part.number))


def score(learner: OnlinePredictor, x: NDArray[np.float64], y: Labels, metrics: Metrics) -> Metrics:
    """Learn rows; returns the metrics of the predictions before they were learned."""
    evaluation = Evaluation(metrics=metrics)
    evaluation.run(learner, [(x, y)])
    counted = copy.deepcopy(metrics)
    for metric, state in zip(counted, evaluation.state()["overall"], strict=True):
        metric.restore(state)
    return counted


def add(metrics: Metrics, others: Metrics) -> None:
    """Add up what other metrics have counted."""
    for metric, other in zip(metrics, others, strict=True):
        metric.merge(other)


def _learn(base: "State", metrics: Metrics, number: int, records: Iterable[Cut]) -> Iterator[Part]:
    """The task of one part."""
    pieces = [piece for _, piece in records]
    if pieces:
        part = pickle.loads(base.value).split(1)[0]
        counted = score(part, *_joined(pieces), metrics)
        yield Part(number, pickle.dumps(part, protocol=pickle.HIGHEST_PROTOCOL), counted)


def _merge(base: "State", number: int, records: Iterable[tuple[int, Part]]) -> Iterator[Part]:
    """The task that merges a group."""
    parts = sorted((part for _, part in records), key=lambda part: part.number)
    if parts:
        merged = merge([pickle.loads(part.data) for part in parts], base=pickle.loads(base.value))
        counted = parts[0].metrics
        for part in parts[1:]:
            add(counted, part.metrics)
        yield Part(number, pickle.dumps(merged, protocol=pickle.HIGHEST_PROTOCOL), counted)
