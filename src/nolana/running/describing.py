"""What is in a model file."""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.errors import ModelFileError
from nolana.evaluate import Evaluation, Point
from nolana.running.checkpoints import Kept, read
from nolana.running.recipe import task_of
from nolana.running.scoring import Scoring
from nolana.streams.plan import Plan

__all__ = ["Description", "describe"]


class Description:
    """A model, its run and its score; ``facts`` is all that fits in JSON."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.estimator, self.kept = read(path)
        self.evaluation: Evaluation | None = None
        if self.kept is not None:
            try:
                self.evaluation = Scoring().resumed(self.kept.evaluation)
            except (ValueError, TypeError, KeyError) as error:
                raise ModelFileError(f"{self.path}: run/evaluation: {error}") from error

    @property
    def history(self) -> list[Point]:
        """The score over time; empty where the model was not made by a run."""
        return [] if self.evaluation is None else self.evaluation.history

    def plane(self) -> NDArray[np.float64]:
        """The landmarks (m, 2) along their two principal axes; standardised first, where the model does that."""
        places = np.asarray(self.estimator.landmarks_, dtype=np.float64)
        centred = places - places.mean(axis=0)
        if getattr(self.estimator, "scale", False):
            deviation = centred.std(axis=0)
            centred = centred / np.where(deviation > 0, deviation, 1.0)
        axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
        axes *= np.where(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
        flat = centred @ axes.T
        return np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))

    def facts(self) -> dict[str, Any]:
        """By name, in JSON's types."""
        model = self.estimator
        predicts = hasattr(model, "predict")
        classes = getattr(model, "classes_", None)
        return {
            "file": self.path,
            "file_bytes": os.path.getsize(self.path),
            "estimator": type(model).__name__,
            "task": task_of(model) if predicts else None,
            "rows": model.n_rows_,
            "features": int(model.n_features_in_),
            "classes": None if classes is None else classes.tolist(),
            "landmarks": len(model.landmarks_) if hasattr(model, "landmarks_") else None,
            "most_landmarks": getattr(model, "n_landmarks", None),
            "moves": getattr(model, "n_moves_", None),
            "gamma": getattr(model, "gamma_", None),
            "threshold": getattr(model, "threshold_", None),
            "bytes": model.memory_bytes_,
            "parameters": _plain(model.get_params(deep=False)),
            "run": None if self.kept is None else self._run(self.kept),
        }

    def _run(self, kept: Kept) -> dict[str, Any]:
        assert self.evaluation is not None
        plan = Plan.from_dict(kept.stream["plan"])
        return {
            "source": kept.source,
            "finished": kept.finished,
            "line": kept.stream["position"]["line"],
            "columns": None if plan.columns is None else {str(c.column): c.kind for c in plan.columns},
            "target": plan.target,
            "labels": plan.labels,
            "bad_rows": dict(kept.stream["bad_rows"]["reasons"]),
            "rows_scored": self.evaluation.rows,
            "score": self.evaluation.metrics,
            "recent_score": self.evaluation.recent,
            "window": kept.evaluation["window"],
        }


def describe(path: str | os.PathLike[str]) -> Description:
    """What is in a model file; ModelFileError where it is none."""
    return Description(path)


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters that were said and that JSON can say; others by what they look like."""
    plain = (str, int, float, bool)
    return {k: v if isinstance(v, plain) else repr(v) for k, v in parameters.items() if v is not None}
