"""Predictions for the rows of a source, by the model of a file, which knows how to read the columns."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nolana.errors import ConflictError, ModelFileError, NolanaError, Remedy
from nolana.learner.rows import Matrix
from nolana.runs.checkpoints import SavedRun, read
from nolana.runs.source import changes, check_predicts, check_width, open_to_predict
from nolana.sources import SourceOptions
from nolana.sources.blocks import Places
from nolana.sources.plan import Plan

__all__ = ["PredictedBlock", "Predictor"]

MOST_COLUMNS = 3  # that explain a prediction


@dataclass(frozen=True)
class PredictedBlock:
    """Some rows: their places by field, predicted labels or numbers (n,), and if asked for
    probabilities (n, classes) and the columns that add most to the score of each row, with what they add.
    """

    places: Places
    labels: NDArray[np.generic]
    probabilities: NDArray[np.float64] | None
    contributions: list[dict[str, float]] | None


class Predictor:
    """An iterator over blocks of predictions, and a context manager that closes the source.

    Parameters
    ----------
    path : the model file.
    source : a path, "-", or an address of messages.
    options : those that the file does not decide: the format, what happens to invalid rows. They also select the
        columns for a model that was saved without a run.
    probabilities : whether to predict them too; ConflictError if the model has none.
    explain : whether to explain them too; ConflictError if the model cannot.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        source: str,
        options: SourceOptions,
        *,
        probabilities: bool = False,
        explain: bool = False,
    ) -> None:
        self.estimator, saved = read(path)
        check_predicts(self.estimator, path)
        if probabilities and not hasattr(self.estimator, "predict_proba"):
            what = f"a {type(self.estimator).__name__} predicts numbers, which have no probabilities"
            raise ConflictError(what, place=os.fspath(path), remedies=[Remedy("probabilities", False)])
        if explain and not hasattr(self.estimator, "explain"):
            what = f"a {type(self.estimator).__name__} does not explain its predictions"
            raise ConflictError(what, place=os.fspath(path), remedies=[Remedy("explain", False)])
        self._probabilities, self._explain = probabilities, explain
        if saved is not None and "missing" in options.specified:
            _check_missing(path, options, saved)
        try:
            self.stream = open_to_predict(source, options, None if saved is None else saved.stream, self.estimator)
        except (NolanaError, OSError):
            raise
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            if saved is None:
                raise
            raise ModelFileError.of(error, os.fspath(path)) from error
        check_width(self.stream, self.estimator)

    @property
    def classes(self) -> list[object] | None:
        """The labels of the probabilities; None for a regressor."""
        classes = getattr(self.estimator, "classes_", None)
        return None if classes is None else list(classes.tolist())

    def __enter__(self) -> "Predictor":
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()

    def __iter__(self) -> Iterator[PredictedBlock]:
        for block in self.stream:
            proba = self.estimator.predict_proba(block.X) if self._probabilities else None
            labels = self.estimator.predict(block.X)
            why = self._contributions(block.X, labels) if self._explain else None
            yield PredictedBlock(block.places, labels, proba, why)

    def _contributions(self, X: Matrix, labels: NDArray[np.generic]) -> list[dict[str, float]]:
        """What the columns add to the score of the predicted class, or to the number; the largest first."""
        found = self.estimator.explain(X)
        if found.ndim == 3:
            columns = np.searchsorted(self.estimator.classes_, labels)
            found = found[np.arange(len(found)), :, columns]
        elif self.classes is not None and len(self.classes) == 2:
            found = np.where((labels == self.estimator.classes_[1])[:, None], found, -found)
        names = getattr(self.estimator, "feature_names_in_", [f"feature {j}" for j in range(found.shape[1])])
        largest = np.argsort(-np.abs(found), axis=1, kind="stable")[:, :MOST_COLUMNS]
        return [{str(names[j]): float(row[j]) for j in own} for row, own in zip(found, largest, strict=True)]


def _check_missing(path: str | os.PathLike[str], options: SourceOptions, saved: SavedRun) -> None:
    """ConflictError if missing values cannot be filled in another way than the model has learned."""
    plan = Plan.from_dict(saved.stream["plan"])
    if options.missing != plan.options.missing and "missing" not in changes(options, plan):
        raise ConflictError.differs("missing", options.missing, plan.options.missing).changed(place=os.fspath(path))
