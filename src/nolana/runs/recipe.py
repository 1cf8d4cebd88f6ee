"""What is specified of a run: its learner, and its score."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nolana.errors import ConflictError, OptionError, Remedy, Setting
from nolana.estimators._sklearn import is_classifier
from nolana.metrics import MAIN_METRICS, Predictions, resolve
from nolana.sources.labels import InferredTask, infer_task

if TYPE_CHECKING:
    from nolana.estimators.base import OnlineEstimator
    from nolana.estimators.methods import Method
    from nolana.evaluate import Evaluation

__all__ = ["Recipe", "Scoring", "task_of"]

DEFAULTS: dict[str, object] = {"scale": True, "random_state": 0}  # where a run differs from the estimators
MOST_REMEDIES = 3
WINDOW = 1000  # rows of the recent score


def task_of(estimator: object) -> str:
    """ "classification" or "regression"."""
    return "classification" if is_classifier(estimator) else "regression"


@dataclass(frozen=True)
class Recipe:
    """A learner: what is specified of it.

    Parameters
    ----------
    task : "classification" or "regression"; None: inferred from the labels of the first block.
    parameters : of the estimator, by name. Features are scaled unless ``scale`` is False.
    method : "stream", "nolana" or a name of `nolana.rivals.catalogue()`, in upper or lower case; None: "stream", or the
        method of the model file.
    """

    task: str | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)
    method: str | None = None

    def __post_init__(self) -> None:
        if self.task is not None and self.task not in MAIN_METRICS:
            raise OptionError("task", self.task, "is not one of: {expected}", expected=", ".join(MAIN_METRICS))
        if self.method is None and not self.parameters:
            return  # the methods are loaded after the source is opened
        from nolana.estimators.methods import methods

        method = self._method()
        known = {name for each in methods() for name in parameter_names(each)}
        for name, value in self.parameters.items():
            if name not in known:
                legal = ", ".join(sorted(parameter_names(method, self.task)))
                what = f"is no parameter; those of {method.short_name} are: {{expected}}"
                raise OptionError(name, value, what, expected=legal)

    @property
    def takes_tables(self) -> bool:
        """Whether the learner takes categories and missing values."""
        if self.method is None:
            return True
        return any(c is not None and c._takes_tables for c in map(self._method().class_for, MAIN_METRICS))

    def infer_task(self, y: NDArray[np.generic], name: object = None) -> InferredTask:
        """The task, inferred from labels and the name of their column if it is not specified."""
        inferred = infer_task(y, name) if self.task is None else InferredTask(self.task)
        if inferred.task == "regression" and y.dtype.kind not in "iufO":
            raise ValueError(f"regression needs scalar targets, got {y[:3].tolist()}; check the target")
        return inferred

    def check_new(self) -> None:
        """OptionError if the method of a new run does not have a parameter, with the methods that have it."""
        if not self.parameters:
            return
        from nolana.estimators.methods import methods

        method = self._method()
        for name, value in self.parameters.items():
            if name in parameter_names(method, self.task):
                continue
            others = [other.short_name for other in methods() if name in parameter_names(other, self.task)]
            if not others:
                facts = {"task": Setting("task", self.task)}
                raise OptionError(name, value, "is not a parameter for {task}", facts=facts, hint="leave it out")
            hint, remedies = "", [Remedy("method", others[0], "has it")]
            if self.method is not None:
                hint = f"leave it out, or choose a method that has it: {', '.join(others[:MOST_REMEDIES])}"
                remedies = []
            what = "cannot be combined with {method}" + (", the default" if self.method is None else "")
            facts = {"method": Setting("method", method.short_name)}
            raise OptionError(name, value, what, facts=facts, hint=hint, remedies=remedies)

    def build(self, task: str, *, keep_growing: bool = False) -> "OnlineEstimator":
        """The estimator, its parameters checked; `keep_growing`: the user has asked for columns that grow."""
        from nolana.estimators.methods import methods

        method = self._method()
        if not method.solves(task):
            others = ", ".join(other.short_name for other in methods() if other.solves(task))
            raise OptionError("method", method.short_name, f"has no form for {task}; choose from {others}")
        defaults = DEFAULTS | {"keep_growing": keep_growing}
        defaults = {name: value for name, value in defaults.items() if name in parameter_names(method, task)}
        try:
            estimator: OnlineEstimator = method.class_for(task)(**(defaults | dict(self.parameters)))
        except TypeError as error:
            raise ValueError(f"for {task}: {error}") from error
        estimator._check_parameters()
        return estimator

    def check(self, estimator: "OnlineEstimator") -> None:
        """ConflictError if the estimator of a file is another one."""
        from nolana.estimators.methods import method_by_name, method_of

        task = task_of(estimator)
        if self.task not in (None, task):
            raise ConflictError.differs("task", self.task, task)
        made_by = method_of(estimator)
        made = type(estimator).__name__ if made_by is None else made_by.short_name
        if self.method is not None and method_by_name(self.method) is not made_by:
            raise ConflictError.differs("method", self.method, made)
        saved = estimator.get_params(deep=False)
        for name, value in self.parameters.items():
            if name not in saved:
                facts = {"setting": Setting(name, value), "method": Setting("method", made)}
                what = "{setting} does not fit the model, which was made with {method}"
                raise ConflictError(what, value=value, facts=facts, hint="leave it out")
            if not _same(name, saved[name], value):
                raise ConflictError.differs(name, value, saved[name])

    def _method(self) -> "Method":
        from nolana.estimators.methods import STREAM, method_by_name

        return STREAM if self.method is None else method_by_name(self.method)


def parameter_names(method: "Method", task: str | None = None) -> set[str]:
    """The parameters of a method's estimator for a task; None: for any task."""
    classes = [method.class_for(each) for each in ((task,) if task else MAIN_METRICS)]
    return {name for cls in classes if cls is not None for name in inspect.signature(cls).parameters}


def _same(name: str, a: object, b: object) -> bool:
    if name == "memory":  # "1MB" and "1024KB" are the same
        from nolana.learner.memory import memory_bytes  # loads the engine

        return memory_bytes(a) == memory_bytes(b)
    return bool(np.array_equal(np.asarray(a, dtype=object), np.asarray(b, dtype=object)))


@dataclass(frozen=True)
class Scoring:
    """The running score of a run.

    Parameters
    ----------
    metrics : names, see `nolana.metrics`; None: accuracy or rmse.
    window : rows of the recent score and between two points of the history; None: 1,000.
    delay : rows until a label comes.
    """

    metrics: tuple[str, ...] | None = None
    window: int | None = None
    delay: int = 0

    def new_evaluation(self) -> "Evaluation":
        """The evaluation of a new run."""
        from nolana.evaluate import Evaluation  # a prediction loads this module, and needs none

        return Evaluation(metrics=self.metrics, window=self.window or WINDOW, delay=self.delay)

    def check(self, estimator: "OnlineEstimator") -> None:
        """ValueError if a metric is not defined for such an estimator, or the delay is longer than its lag."""
        from nolana.evaluate.evaluation import check_delay

        check_delay(self.delay, estimator)
        none = np.zeros(0)
        convert = (lambda scores: scores) if hasattr(estimator, "predict_proba") else None
        rows = Predictions(none, none, learner=type(estimator).__name__)
        if is_classifier(estimator):
            two = np.zeros(2)
            rows = replace(rows, scores=np.zeros((0, 2)), classes=two, to_probabilities=convert)
        for metric in resolve(self.metrics or ()):
            metric.update(rows)

    def resume_evaluation(self, state: dict[str, Any]) -> "Evaluation":
        """The evaluation of a saved run; ConflictError if another one is specified here."""
        from nolana.evaluate import Evaluation

        metrics, window = tuple(state["metrics"]), state["window"]
        for name, value, saved in (("metrics", self.metrics, metrics), ("window", self.window, window)):
            if value is not None and value != saved:
                raise ConflictError.differs(name, value, saved)
        evaluation = Evaluation(metrics=metrics or None, window=window, delay=state["delay"])
        evaluation.restore(state)
        return evaluation
