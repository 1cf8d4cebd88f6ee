"""The public API as a typed program uses it; mypy --strict and pyright check this file, nothing runs it."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import nolana
import nolana.river
from nolana import (
    NolanaClassifier,
    NolanaRegressor,
    OnlineNystroem,
    StreamClassifier,
    StreamRegressor,
    baselines,
    datasets,
    evaluate,
    experts,
    rivals,
    streams,
)
from nolana.errors import DataError, ModelFileError, NolanaError

X: NDArray[np.float64] = np.zeros((10, 3))
y: NDArray[np.int64] = np.zeros(10, dtype=np.int64)

# Default estimators
model = StreamClassifier(memory="2MB", class_weight="balanced", random_state=0)
scores: NDArray[np.float64] = model.learn(X, y, sample_weight=np.ones(10))
same: StreamClassifier = model.partial_fit(X, y, classes=[0, 1]).fit(X, y)
labels: NDArray[np.generic] = model.predict(X)
probabilities: NDArray[np.float64] = model.predict_proba(X)
possible: NDArray[np.bool_] = StreamClassifier().fit(X, X[:, 0] > 0).predict_set(X, level=0.9)
several: bool = StreamClassifier().fit(X, X > 0).multilabel_
alarms: list[int] = model.drift_
relevance: NDArray[np.float64] = model.relevance_
size: int = model.memory_bytes_
names: list[str] = [record["name"] for record in model.experts_]
parts: list[StreamClassifier] = model.split(2)
merged: StreamClassifier = nolana.merge(parts, base=model)


def on_drift(row: int) -> None:
    print(row)


model.on_drift = on_drift
own = StreamClassifier(experts=[experts.Bins(grids=64), *experts.DEFAULT])
number = StreamRegressor(memory=1 << 20)
prediction, low, high = number.partial_fit(X, X[:, 0]).predict(X, interval=0.9)

# The landmark learner
single = NolanaClassifier(n_landmarks=50, landmarks="expiring", forgetting=1.0)
paper = NolanaClassifier.paper(n_landmarks=50, threshold=1.0)
places: NDArray[np.float64] = single.fit(X, y).landmarks_
robust = NolanaRegressor(loss="huber").fit(X, X[:, 0])
features: NDArray[np.float64] = OnlineNystroem(rank=0.5, solver="exact").partial_fit(X).transform(X)

# Files
try:
    model.save("model.nolana")
    loaded = nolana.load("model.nolana")
except ModelFileError as error:
    base: NolanaError = error


# Evaluation and streams
def blocks() -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    yield X, y


result = evaluate.progressive(model, blocks(), metrics=["accuracy", "auc"], window=100)
accuracy: float = result.metrics["accuracy"]
rows: int = result.history[-1].rows
with streams.open("rows.csv", target="label") as stream:
    for block in stream:
        count: int = block.X.shape[0]
try:
    data, target = datasets.load("elec2")
except DataError as missing:
    print(missing)
fogd = rivals.at_equal_budget("FOGD", n_landmarks=50, n_features=3)
citation: str = rivals.catalogue()["FOGD"].citation
trivial = baselines.MajorityClass()

# River
online = nolana.river.StreamClassifier(memory="64KB", seed=1)
online.learn_one({"a": 1.0}, "yes", w=2.0)
chances: dict[str, float] = online.predict_proba_one({"a": 1.0})
price: float = nolana.river.NolanaRegressor(n_landmarks=20).predict_one({"a": 1.0})
compared = evaluate.progressive(online, blocks())
