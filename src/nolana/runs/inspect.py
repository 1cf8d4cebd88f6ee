"""The contents of a model file."""

import os
from typing import Any

import numpy as np

from nolana.errors import ModelFileError
from nolana.estimators.methods import method_of
from nolana.estimators.stream import StreamModel
from nolana.evaluate import Evaluation, Point
from nolana.learner.memory import memory_bytes
from nolana.learner.stream import StreamLearner
from nolana.runs.checkpoints import SavedRun, place_words, read
from nolana.runs.recipe import Scoring, task_of
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
            "multilabel": bool(getattr(model, "multilabel_", False)),
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
            "changes": model.changes_ if stream else None,
            "columns": self._columns(),
            "categories": self._categories(),
            "parameters": _plain(model.get_params(deep=False)),
            "run": None if self.saved is None else self._run(self.saved),
        }

    def _columns(self) -> dict[str, str] | None:
        """What each column is learned as; None: X had no names."""
        schema = self.estimator.__dict__.get("_schema")
        if schema is not None:
            return {str(column.name): column.became for column in schema.columns}
        return None if self.saved is None else Plan.from_dict(self.saved.stream["plan"]).describe() or None

    def _categories(self) -> dict[str, object] | None:
        """The effects of the first categories of each column, the open pairs, and how many were evicted."""
        schema, learner = self.estimator.__dict__.get("_schema"), self.estimator._learner
        if schema is None or schema.sparse or not schema.categories or not isinstance(learner, StreamLearner):
            return None
        facts = learner.category_facts()
        stored = [] if self.saved is None else self.saved.stream["encoder"]["categories"]
        places = {place.start: str(column.name) for column, place in zip(schema.columns, schema.places, strict=True)}
        effects: dict[str, dict[str, list[float]]] = {}
        for column, named in zip(schema.categories, stored, strict=False):
            found = learner.category_effects(column, np.array([key for key, _ in named]))
            by_name = {str(name): each for (_, name), each in zip(named, found.tolist(), strict=True)}
            effects[places[column]] = {name: each for name, each in by_name.items() if each == each}
        seen = self.estimator._seen_classes() or []
        if len(seen) == 2 and seen[1] < seen[0]:  # the output is that of the second one that came
            seen = seen[::-1]
            effects = {c: {n: [-v for v in each] for n, each in named.items()} for c, named in effects.items()}
        return {
            "effects": effects,
            "outputs": seen[1:2] if len(seen) == 2 else seen,
            "pairs": [[places[a], places[b]] for a, b in facts["pairs"]],
            "evicted": facts["evicted"],
        }

    def _run(self, saved: SavedRun) -> dict[str, object]:
        assert self.evaluation is not None
        plan, bad_rows = Plan.from_dict(saved.stream["plan"]), saved.stream["bad_rows"]
        position = None if saved.source is None else saved.stream["position"]
        return {
            "source": saved.source,
            "finished": saved.finished,
            "sources_before": [each.source for each in saved.learned],
            "line": None if position is None else position["line"],
            "place": None if position is None else place_words(position),
            "messages": None if position is None else position.get("messages"),
            "columns": None if plan.columns is None else plan.describe(),
            "target": plan.target if plan.columns is None or plan.target is None else column_title(plan.target),
            "labels": plan.labels,
            "left_out": dict(plan.left_out),
            "new_columns": dict(saved.stream.get("new_columns", {}).get("columns", {})),
            "new_categories": dict(saved.stream.get("new_columns", {}).get("categories", {})),
            "bad_rows": {} if bad_rows is None else dict(bad_rows["reasons"]),
            "rows_scored": self.evaluation.rows,
            "score": self.evaluation.metrics,
            "recent_score": self.evaluation.recent,
            "baselines": self.evaluation.baselines,
            "window": saved.evaluation["window"],
            "recent_rows": self.evaluation.recent_rows,
            "scored_rows": self.evaluation.rows,
        }


def _plain(parameters: dict[str, object]) -> dict[str, object]:
    """The parameters that are not None, in JSON's types; others as Python prints them."""
    plain = (str, int, float, bool)
    return {k: v if isinstance(v, plain) else repr(v) for k, v in parameters.items() if v is not None}
