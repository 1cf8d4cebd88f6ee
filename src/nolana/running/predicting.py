"""Predictions for the rows of a source, by the model of a file and its own way of reading columns."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana import streams
from nolana.errors import ConflictError, ModelFileError, NolanaError
from nolana.running.checkpoints import read
from nolana.running.reading import Reading

__all__ = ["Predicted", "Predicting"]


@dataclass(frozen=True)
class Predicted:
    """Some rows: their lines (n,), labels or numbers (n,), and probabilities (n, classes) where they are asked for."""

    lines: NDArray[np.int64]
    labels: NDArray[Any]
    probabilities: NDArray[np.float64] | None


class Predicting:
    """An iterator over blocks of predictions, and a context manager that closes the source.

    Parameters
    ----------
    path : the model file.
    source : a path, or "-".
    reading : for what the file does not know: the format, what becomes of bad rows. The columns of a model that was
        saved without a run are chosen here too.
    probabilities : whether they are asked for; ConflictError where the model has none.
    """

    def __init__(
        self, path: str | os.PathLike[str], source: str, reading: Reading, *, probabilities: bool = False
    ) -> None:
        self.estimator, kept = read(path)
        if not hasattr(self.estimator, "predict"):
            raise ConflictError(f"{os.fspath(path)}: a {type(self.estimator).__name__} predicts nothing")
        if probabilities and not hasattr(self.estimator, "predict_proba"):
            raise ConflictError(
                f"{os.fspath(path)}: this model has no probabilities; learn one with --loss logistic, or leave --proba"
            )
        self._probabilities = probabilities
        self.stream = self._open(path, source, reading, None if kept is None else kept.stream)
        width = int(self.estimator.n_features_in_)
        if self.stream.n_features != width:
            self.stream.close()
            raise ConflictError(
                f"{self.stream.name} has {self.stream.n_features} features, the model {width}; "
                "--features and --ignore choose columns"
            )

    @staticmethod
    def _open(
        path: str | os.PathLike[str], source: str, reading: Reading, state: dict[str, Any] | None
    ) -> streams.Stream:
        if state is None:
            return reading.open_without_labels(source)
        try:
            return reading.open_to_predict(source, state)
        except (NolanaError, OSError):
            raise
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ModelFileError(f"{os.fspath(path)}: {error}") from error

    @property
    def classes(self) -> list[Any] | None:
        """The labels that probabilities are of; None for a regressor."""
        classes = getattr(self.estimator, "classes_", None)
        return None if classes is None else list(classes.tolist())

    def __enter__(self) -> "Predicting":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stream.close()

    def __iter__(self) -> Iterator[Predicted]:
        for block in self.stream:
            proba = self.estimator.predict_proba(block.X) if self._probabilities else None
            yield Predicted(block.lines, self.estimator.predict(block.X), proba)
