"""The learner of a new run."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from nolana.comparison import METRICS, infer_task
from nolana.errors import ConflictError
from nolana.estimators import NolanaClassifier, NolanaRegressor

__all__ = ["Recipe", "task_of"]

CLASSES: Mapping[str, Any] = {"classification": NolanaClassifier, "regression": NolanaRegressor}
DEFAULTS: Mapping[str, Any] = {"scale": True, "random_state": 0}  # where a run differs from the estimators


def task_of(estimator: Any) -> str:
    """ "classification" or "regression"."""
    return "classification" if is_classifier(estimator) else "regression"


@dataclass(frozen=True)
class Recipe:
    """A learner: what is specified of it.

    Parameters
    ----------
    task : "classification" or "regression"; None: inferred from the labels of the first block.
    parameters : of the estimator, by name. Features are standardised unless ``scale`` is False.
    """

    task: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.task is not None and self.task not in METRICS:
            raise ValueError(f"task={self.task!r} is not one of: {', '.join(METRICS)}")
        tasks = (self.task,) if self.task else tuple(CLASSES)
        legal = sorted({name for task in tasks for name in inspect.signature(CLASSES[task]).parameters})
        for name in self.parameters:
            if name not in legal:
                raise ValueError(f"there is no parameter {name!r}; the parameters are: {', '.join(legal)}")

    def infer_task(self, y: NDArray[Any]) -> str:
        """The task, inferred from labels where it is not specified."""
        task = self.task or infer_task(y)
        if task == "regression" and y.dtype.kind not in "iuf":
            raise ValueError(f"regression needs numbers as targets, got {y[:3].tolist()}; check the target")
        return task

    def build(self, task: str) -> Any:
        """The estimator, its parameters checked."""
        try:
            estimator = CLASSES[task](**(dict(DEFAULTS) | dict(self.parameters)))
        except TypeError as error:
            raise ValueError(f"for {task}: {error}") from error
        estimator._check_parameters()
        return estimator

    def check(self, estimator: Any) -> None:
        """ConflictError where the estimator of a file is another one."""
        task = task_of(estimator)
        if self.task not in (None, task):
            raise ConflictError(f"task={self.task!r} differs from the model, which is for {task}")
        parameters = estimator.get_params(deep=False)
        for name, value in self.parameters.items():
            if name not in parameters or not _same(parameters[name], value):
                made = f"{name}={parameters[name]!r}" if name in parameters else f"no {name}"
                raise ConflictError(f"{name}={value!r} differs from the model, which was made with {made}")


def _same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(np.asarray(a, dtype=object), np.asarray(b, dtype=object)))
