"""Running metrics: each keeps a few numbers, whatever the length of the stream."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Metric(Protocol):
    """A mean over rows, finished by a function."""

    name: str

    def losses(self, truth: NDArray[np.generic], predicted: NDArray[np.generic]) -> Array:
        """What each row adds to the mean."""
        ...

    def finish(self, mean: float) -> float:
        """The metric, from the mean."""
        ...


class Accuracy:
    """The share of rows whose label was predicted."""

    name = "accuracy"

    def losses(self, truth: NDArray[np.generic], predicted: NDArray[np.generic]) -> Array:
        return np.asarray(truth == predicted, dtype=np.float64)

    def finish(self, mean: float) -> float:
        return mean


class RMSE:
    """The root of the mean squared error."""

    name = "rmse"

    def losses(self, truth: NDArray[np.generic], predicted: NDArray[np.generic]) -> Array:
        return (np.asarray(truth, dtype=np.float64) - np.asarray(predicted, dtype=np.float64)) ** 2

    def finish(self, mean: float) -> float:
        return float(np.sqrt(mean))


class MAE:
    """The mean absolute error."""

    name = "mae"

    def losses(self, truth: NDArray[np.generic], predicted: NDArray[np.generic]) -> Array:
        return np.abs(np.asarray(truth, dtype=np.float64) - np.asarray(predicted, dtype=np.float64))

    def finish(self, mean: float) -> float:
        return mean


_BY_NAME: dict[str, type[Accuracy] | type[RMSE] | type[MAE]] = {m.name: m for m in (Accuracy, RMSE, MAE)}


def resolve(metrics: Sequence[str | Metric]) -> list[Metric]:
    """Metric objects from names and objects."""
    found: list[Metric] = []
    for metric in metrics:
        if isinstance(metric, str):
            if metric not in _BY_NAME:
                raise ValueError(f"metrics: {metric!r} is unknown; choose from {', '.join(sorted(_BY_NAME))}")
            found.append(_BY_NAME[metric]())
        else:
            found.append(metric)
    return found
