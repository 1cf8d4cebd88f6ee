"""The parts of a round: each learns its slice in a task, and tasks merge them in a tree.

The driver merges at most `FAN_IN` states; if there are more parts, tasks merge as many of them before, in groups of
their order, so that the result does not depend on which task ends first.
"""

import copy
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.estimators.merging import merge
from nolana.evaluate import Evaluation
from nolana.spark.slices import Piece, identity, joined

__all__ = ["FAN_IN", "Part", "add", "collect_parts", "score"]

FAN_IN = 16


@dataclass(frozen=True)
class Part:
    """A part, or a merge of some, after its rows: its number, its pickled state, and the metrics of its rows."""

    number: int
    data: bytes
    metrics: list[Any]


def collect_parts(slices: Any, count: int, broadcast: Any, metrics: list[Any]) -> list[Part]:
    """What `count` parts have learned, each from one partition of the RDD; at most `FAN_IN` of them or their merges.

    broadcast: the pickled base. A part without rows is left out.
    """
    parts = slices.mapPartitionsWithIndex(partial(_learn, broadcast, metrics))
    while count > FAN_IN:
        count = -(-count // FAN_IN)
        parts = parts.map(_group).partitionBy(count, identity).mapPartitionsWithIndex(partial(_merge, broadcast))
    return sorted(parts.collect(), key=lambda part: int(part.number))


def score(learner: Any, x: NDArray[np.float64], y: NDArray[Any], metrics: list[Any]) -> list[Any]:
    """Learn rows; returns the metrics of the predictions before they were learned."""
    evaluation = Evaluation(metrics=metrics)
    evaluation.run(learner, [(x, y)])
    counted = copy.deepcopy(metrics)
    for metric, state in zip(counted, evaluation.state()["overall"], strict=True):
        metric.restore(state)
    return counted


def add(metrics: list[Any], others: list[Any]) -> None:
    """Add up what other metrics have counted."""
    for metric, other in zip(metrics, others, strict=True):
        metric.merge(other)


def _learn(broadcast: Any, metrics: list[Any], number: int, records: Iterable[tuple[int, Piece]]) -> Iterator[Part]:
    """The task of one part."""
    pieces = [piece for _, piece in records]
    if pieces:
        part = pickle.loads(broadcast.value).split(1)[0]
        counted = score(part, *joined(pieces), metrics)
        yield Part(number, pickle.dumps(part, protocol=pickle.HIGHEST_PROTOCOL), counted)


def _group(part: Part) -> tuple[int, Part]:
    return part.number // FAN_IN, part


def _merge(broadcast: Any, number: int, records: Iterable[tuple[int, Part]]) -> Iterator[Part]:
    """The task that merges a group."""
    parts = sorted((part for _, part in records), key=lambda part: part.number)
    if parts:
        merged = merge([pickle.loads(part.data) for part in parts], base=pickle.loads(broadcast.value))
        counted = parts[0].metrics
        for part in parts[1:]:
            add(counted, part.metrics)
        yield Part(number, pickle.dumps(merged, protocol=pickle.HIGHEST_PROTOCOL), counted)
