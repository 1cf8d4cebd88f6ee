"""The contents of a model file."""

import os
from typing import Any

from nolana.errors import ModelFileError
from nolana.estimators.methods import method_of
from nolana.estimators.stream import StreamModel
from nolana.evaluate import Evaluation, Point
from nolana.learner.memory import memory_bytes
from nolana.runs.checkpoints import SavedRun, read
from nolana.runs.recipe import task_of
from nolana.runs.score import Scoring
from nolana.sources.options import column_title
from nolana.sources.plan import Plan

__all__ = ["Inspection"]


class Inspection:
    """The model of a file, its run and its score; ModelFileError if the file is invalid."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.estimator, self.saved = read(path)
        self.evaluation: Evaluation | None = None
        if self.saved is not None:
            try:
                self.evaluation = Scoring().resume_evaluation(self.saved.evaluation)
            except (ValueError, TypeError, KeyError) as error:
                raise ModelFileError.of(error, f"{self.path}: run/evaluation") from error

    @property
    def history(self) -> list[Point]:
        """The score over time; empty if the model was saved without a run."""
        return [] if self.evaluation is None else self.evaluation.history

    def facts(self) -> dict[str, Any]:
        """All that fits in JSON, by name."""
        model = self.estimator
        predicts = hasattr(model, "predict")
        classes = getattr(model, "classes_", None)
        method, stream = method_of(model), isinstance(model, StreamModel)
        return {
            "file": self.path,
            "file_bytes": os.path.getsize(self.path),
            "estimator": type(model).__name__,
            "task": task_of(model) if predicts else None,
            "rows": model.n_rows_,
            "features": int(model.n_features_in_),
            "classes": None if classes is None else classes.tolist(),
            "method": None if method is None else method.short_name,
            "landmarks": len(model.landmarks_) if hasattr(model, "landmarks_") else None,
            "most_landmarks": getattr(model, "n_landmarks", None),
            "moves": getattr(model, "n_moves_", None),
            "gamma": getattr(model, "gamma_", None),
            "threshold": getattr(model, "threshold_", None),
            "bytes": model.memory_bytes_,
            "memory": memory_bytes(model.memory) if stream else None,
            "sizes": model.sizes_ if stream else None,
            "experts": model.experts_ if stream else None,
            "drift": model.drift_ if stream else None,
            "parameters": _plain(model.get_params(deep=False)),
            "run": None if self.saved is None else self._run(self.saved),
        }

    def _run(self, saved: SavedRun) -> dict[str, Any]:
        assert self.evaluation is not None
        plan = Plan.from_dict(saved.stream["plan"])
        return {
            "source": saved.source,
            "finished": saved.finished,
            "sources_before": [each.source for each in saved.learned],
            "line": None if saved.source is None else saved.stream["position"]["line"],
            "columns": None if plan.columns is None else {column_title(c.column): c.kind for c in plan.columns},
            "target": plan.target if plan.columns is None or plan.target is None else column_title(plan.target),
            "labels": plan.labels,
            "left_out": dict(plan.left_out),
            "new_columns": dict(saved.stream.get("new_columns", {}).get("columns", {})),
            "new_categories": dict(saved.stream.get("new_columns", {}).get("categories", {})),
            "bad_rows": dict(saved.stream["bad_rows"]["reasons"]),
            "rows_scored": self.evaluation.rows,
            "score": self.evaluation.metrics,
            "recent_score": self.evaluation.recent,
            "window": saved.evaluation["window"],
            "recent_rows": self.evaluation.recent_rows,
            "scored_rows": self.evaluation.rows,
        }


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters that are not None, in JSON's types; others as Python prints them."""
    plain = (str, int, float, bool)
    return {k: v if isinstance(v, plain) else repr(v) for k, v in parameters.items() if v is not None}
