"""The default learner, NOLANA and its rivals: by name, and at the budget of a task.

``nolana learn --method`` takes them by name; ``nolana compare`` and ``nolana paper`` run and tune them at one budget.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from nolana import rivals
from nolana.estimators.classifier import NolanaClassifier
from nolana.estimators.regressor import NolanaRegressor
from nolana.estimators.stream import StreamClassifier, StreamRegressor
from nolana.options import LARGEST_MEMORY, SMALLEST_MEMORY
from nolana.rivals import Budget, Method
from nolana.rivals.method import RATE, WIDTH
from nolana.tuning import Axis, Choice, Facts, Point

__all__ = [
    "LEARNING_METHODS", "NOLANA", "STREAM", "TABLE", "THETA", "MethodAtBudget", "Task", "at_budget", "method_by_name",
    "method_of", "names",
]  # fmt: skip

CITATION = "Si, Kumar, Li: Nonlinear Online Learning with Adaptive Nyström Approximation"
MOVE = Axis("threshold", 0.05, 1.0, lambda facts: facts.distance)
THETA = Axis("refit_penalty", 1e-6, 1e-2)


def _landmarks(budget: Budget) -> dict[str, Any]:
    return {"n_landmarks": budget.n_landmarks}


_NOLANA = Method(
    "NOLANA",
    CITATION,
    NolanaClassifier,
    NolanaRegressor,
    _landmarks,
    (WIDTH, MOVE, Axis("regularization", 1e-3, 10.0)),
    own_loss=True,
    # All methods of a comparison get the same rows: standardised before, or as they are.
    constructor=lambda estimator: partial(estimator, scale=False),
)
NOLANA = (
    _NOLANA,
    replace(
        _NOLANA,
        name="NOLANA-SGD",
        axes=(WIDTH, RATE, MOVE),
        own_loss=False,
        constructor=lambda estimator: partial(estimator, optimizer="sgd", scale=False),
    ),
    replace(
        _NOLANA,
        name="NOLANA-paper",
        axes=(WIDTH, RATE, MOVE, THETA),
        own_loss=False,
        decomposes=True,
        constructor=lambda estimator: partial(estimator.paper, threshold="median"),
    ),
)


def _bytes_of_nolana(budget: Budget) -> dict[str, Any]:
    """The memory of NOLANA with one output; more where the smallest stream learner needs more."""
    nolana = NolanaClassifier(n_landmarks=budget.n_landmarks, scale=False)._make_learner(budget.n_features, 1)
    memory = max(SMALLEST_MEMORY, nolana.memory_bytes)
    while memory < LARGEST_MEMORY and not _can_learn(memory, budget.n_features):
        memory *= 2
    return {"memory": min(memory, LARGEST_MEMORY)}


def _can_learn(memory: int, n_features: int) -> bool:
    try:
        StreamClassifier(memory=memory)._make_learner(n_features, 1)
    except ValueError:
        return False
    return True


STREAM = Method(
    "stream",
    "nolana: a linear model, landmarks, cells and recent neighbours behind one stack",
    StreamClassifier,
    StreamRegressor,
    _bytes_of_nolana,
    own_loss=True,
)
_METHODS = (*NOLANA, STREAM, *rivals.catalogue().values())
# What ``nolana learn --method`` can run, the default first.
LEARNING_METHODS = (STREAM, replace(_NOLANA, name="nolana"), *rivals.catalogue().values())
TABLE = tuple(method.short_name for method in _METHODS if method.in_paper)  # the columns of the paper's table


@dataclass(frozen=True)
class Task:
    """What the methods learn, and with how much memory."""

    kind: str  # "classification" or "regression"
    n_features: int
    n_landmarks: int
    loss: str | None = None  # for the methods with a choice of losses; None: the default of each
    memory: Any = None  # of the stream learner; None: the bytes of NOLANA


@dataclass(frozen=True)
class MethodAtBudget:
    """A method at the budget of a task."""

    method: Method
    task: Task

    @property
    def name(self) -> str:
        """The name in tables and options."""
        return self.method.short_name

    def axes(self) -> Sequence[Axis | Choice]:
        """The parameters to tune."""
        return self.method.axes_for(self.task.kind)

    def estimator(self, point: Point, facts: Facts, seed: int) -> Any:
        """An estimator with the parameters of a point (an empty one: the defaults) and a random seed."""
        return self.build(self.parameters(point, facts), seed)

    def parameters(self, point: Point, facts: Facts) -> dict[str, Any]:
        """The parameter values at a point."""
        if not point:
            return {}
        facts = replace(facts, n_components=int(self.build({}, 0).get_params().get("n_components", 1)))
        return {axis.name: axis.value(point[axis.name], facts) for axis in self.axes()}

    def build(self, parameters: Mapping[str, Any], seed: int) -> Any:
        """An estimator at the budget with these parameters."""
        task, budget = self.task, Budget(self.task.n_landmarks, self.task.n_features)
        estimator = self.method.at_budget(budget, task.kind, random_state=seed)
        takes_loss = "loss" in estimator.get_params() and not self.method.own_loss
        chosen: dict[str, Any] = {"loss": task.loss} if takes_loss else {}
        if task.memory is not None and "memory" in estimator.get_params():
            chosen["memory"] = task.memory
        return estimator.set_params(**(chosen | dict(parameters)))


def method_by_name(name: str) -> Method:
    """A method that ``nolana learn`` can run, by its name or short name, in upper or lower case."""
    for method in LEARNING_METHODS:
        if name.lower() in (method.name.lower(), method.short_name.lower()):
            return method
    names = ", ".join(method.short_name for method in LEARNING_METHODS)
    raise ValueError(f"method={name!r} is unknown; choose from {names}")


def method_of(estimator: Any) -> Method | None:
    """The method of an estimator; None where ``nolana learn`` cannot run it."""
    kind = type(estimator)
    return next((method for method in LEARNING_METHODS if kind in (method.classifier, method.regressor)), None)


def names(kind: str) -> tuple[str, ...]:
    """The methods for a kind of task: NOLANA and stream, then the paper's table, then the others."""
    return tuple(method.short_name for method in _METHODS if method.solves(kind))


def at_budget(name: str, task: Task) -> MethodAtBudget:
    """A method by its name or short name, in upper or lower case; ValueError where none solves the task."""
    for method in _METHODS:
        if method.solves(task.kind) and name.lower() in (method.name.lower(), method.short_name.lower()):
            return MethodAtBudget(method, task)
    raise ValueError(f"{name!r} is not a method for {task.kind}; choose from {', '.join(names(task.kind))}")
