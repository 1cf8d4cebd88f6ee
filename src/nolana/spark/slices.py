"""The rows of a DataFrame in slices, in the order of the DataFrame: who learns which rows in which round.

Round r has the rows from r R on, R of them. Its leader has the first rows, its parts the others, 64 at a time by turns
(`nolana.estimators.rounds`). The slices of a round are r (k + 1) for the leader and the next k for the parts, so a
shuffle with one partition for each slice brings every row to its place.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.estimators.rounds import part_of_rows
from nolana.sources.blocks import joined as rows_joined
from nolana.spark.packing import XY, unpack
from nolana.spark.requirements import pyspark

__all__ = ["Layout", "Piece", "Slices", "identity", "joined"]

Piece = tuple[int, NDArray[np.float64], NDArray[Any]]  # number of the first row, X, y


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

    def cut(self, record: Any) -> Iterator[tuple[int, Piece]]:
        """The pieces of a packed record, with the slice of each."""
        x, y = unpack(record.data)
        first = self.offsets[record.partition] + record.first
        slices = self.slices_of(first, len(x))
        for each in np.unique(slices).tolist():
            own = slices == each
            yield each, (first, x[own], y[own])


class Slices:
    """All rows, shuffled to their slices; one shuffle, whose files serve every round."""

    def __init__(self, packed: Any, layout: Layout) -> None:
        self._layout = layout
        records = packed.select("partition", "first", "data").where("rows > 0").rdd
        self._rdd = records.flatMap(layout.cut).partitionBy(layout.slices, identity)

    @property
    def context(self) -> Any:
        """The SparkContext."""
        return self._rdd.context

    def leader(self, r: int) -> XY:
        """The rows of the leader of a round, brought to the driver."""
        return joined(self.context.runJob(self._rdd, _pieces, [self._layout.leader(r)]))

    def parts(self, r: int) -> Any:
        """An RDD with one partition for each part of a round.

        Spark's own class for this has no form in Python; a set of Scala is a function from a number to true or false.
        """
        context, first = self.context, self._layout.leader(r) + 1
        wanted = context._jvm.PythonUtils.toSeq(list(range(first, first + self._layout.parts))).toSet()
        pruned = context._jvm.org.apache.spark.rdd.PartitionPruningRDD.create(self._rdd._jrdd.rdd(), wanted)
        return pyspark("rdd").RDD(pruned.toJavaRDD(), context, self._rdd._jrdd_deserializer)


def joined(pieces: Iterable[Piece]) -> XY:
    """X and y of some pieces, in the order of the rows."""
    ordered = sorted(pieces, key=lambda piece: piece[0])
    return rows_joined([x for _, x, _ in ordered]), np.concatenate([y for _, _, y in ordered])


def identity(key: int) -> int:
    """The partition of a shuffle whose keys are numbers of partitions."""
    return key


def _pieces(records: Iterable[tuple[int, Piece]]) -> list[Piece]:
    return [piece for _, piece in records]
