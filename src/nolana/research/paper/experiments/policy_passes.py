"""The cells of the section about change: one pass of a learner whose landmarks follow a policy."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nolana.estimators.classifier import NolanaClassifier
from nolana.evaluate import progressive
from nolana.research import datasets
from nolana.research.comparison import BLOCK
from nolana.research.paper.harness.data import shuffled
from nolana.research.paper.harness.experiment import Result, Results, Source

POLICIES: Mapping[str, Mapping[str, Any]] = {
    "kmeans": {"landmarks": "kmeans"},
    "kmeans, ε = 0": {"landmarks": "kmeans", "threshold": 0.0},
    "weighted": {"landmarks": "weighted"},
    "expiring": {"landmarks": "expiring"},
    "window": {"landmarks": "window"},
    "fixed": {"landmarks": "fixed"},
}


@dataclass(frozen=True)
class LearnerKind:
    """How to make a learner; short: it gets the rows that the paper's learner can take."""

    make: Callable[..., NolanaClassifier]
    short: bool
    seconds_per_row: float  # estimated


def _paper(n_landmarks: int, threshold: float | str = "median", **parameters: Any) -> NolanaClassifier:
    """The paper's learner with scaled features."""
    return NolanaClassifier.paper(n_landmarks, threshold, **parameters | {"scale": True})


LEARNERS: Mapping[str, LearnerKind] = {
    "the paper's": LearnerKind(_paper, True, 6e-4),
    "Newton": LearnerKind(NolanaClassifier, True, 2e-5),
    "Newton, all rows": LearnerKind(NolanaClassifier, False, 2e-5),
}


def followed(source: Source, _: Results, *, data: str, policy: str, learner: str, rows: int, landmarks: int) -> Result:
    """One pass over the first rows of a stream that changes, or of the first shuffle of one that does not."""
    if datasets.catalogue()[data].drifts:
        X, y = source.load(data)
        X, y = X[:rows], y[:rows]
    else:
        X, y = shuffled(source, data, None, 0, rows)
    model = LEARNERS[learner].make(n_landmarks=landmarks, random_state=0, **POLICIES[policy])
    blocks = [(X[i : i + BLOCK], y[i : i + BLOCK]) for i in range(0, len(y), BLOCK)]
    begin = time.process_time()
    result = progressive(model, blocks, metrics=["accuracy"])
    return {
        "rows": result.rows,
        "accuracy": result.metrics["accuracy"],
        "moves": model.n_moves_,
        "seconds": time.process_time() - begin,
        "bytes": model.memory_bytes_,
    }
