"""The default learner, NOLANA and its rivals at the budget of a task, for ``nolana compare`` and ``nolana paper``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from nolana.estimators import methods
from nolana.estimators.base import OnlineEstimator
from nolana.estimators.classifier import NolanaClassifier
from nolana.estimators.regressor import NolanaRegressor
from nolana.estimators.stream import StreamClassifier, StreamRegressor
from nolana.learner.memory import LARGEST_MEMORY, SMALLEST_MEMORY
from nolana.research import rivals
from nolana.research.rivals import Budget, Method
from nolana.research.rivals.method import RATE, WIDTH
from nolana.research.tuning import Axis, Choice, Facts, Point, Tunable, Value

__all__ = ["NOLANA", "STREAM", "TABLE", "THETA", "MethodAtBudget", "Task", "at_budget", "names"]

MOVE = Axis("threshold", 0.05, 1.0, lambda facts: facts.distance)
THETA = Axis("refit_penalty", 1e-6, 1e-2)


def _landmarks(budget: Budget) -> dict[str, float]:
    return {"n_landmarks": budget.n_landmarks}


def _unscaled(kind: type[OnlineEstimator], **parameters: object) -> OnlineEstimator:
    """All methods of a comparison get the same rows: standardised before, or as they are."""
    return kind(**{"scale": False} | parameters)


def _paper(kind: type[OnlineEstimator], **parameters: object) -> OnlineEstimator:
    estimator: OnlineEstimator = kind.paper(**{"threshold": "median"} | parameters)
    return estimator


_NOLANA = Method(
    "NOLANA",
    methods.NOLANA.citation,
    NolanaClassifier,
    NolanaRegressor,
    _landmarks,
    (WIDTH, MOVE, Axis("regularization", 1e-3, 10.0)),
    own_loss=True,
    make=_unscaled,
)
NOLANA = (
    _NOLANA,
    replace(
        _NOLANA,
        name="NOLANA-SGD",
        axes=(WIDTH, RATE, MOVE),
        own_loss=False,
        make=partial(_unscaled, optimizer="sgd"),
    ),
    replace(
        _NOLANA,
        name="NOLANA-paper",
        axes=(WIDTH, RATE, MOVE, THETA),
        own_loss=False,
        decomposes=True,
        make=_paper,
    ),
)


def _bytes_of_nolana(budget: Budget) -> dict[str, float]:
    """The memory of NOLANA with one output; more if the smallest stream learner needs more."""
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
    methods.STREAM.name, methods.STREAM.citation, StreamClassifier, StreamRegressor, _bytes_of_nolana, own_loss=True
)
_METHODS = (*NOLANA, STREAM, *rivals.catalogue().values())
TABLE = tuple(method.short_name for method in _METHODS if method.in_paper)  # the columns of the paper's table


@dataclass(frozen=True)
class Task:
    """What the methods learn, and with how much memory."""

    kind: str  # "classification" or "regression"
    n_features: int
    n_landmarks: int
    loss: str | None = None  # for the methods with a choice of losses; None: the default of each
    memory: int | str | None = None  # of the stream learner; None: the bytes of NOLANA
    lag: int | None = None  # of the stream learner


@dataclass(frozen=True)
class MethodAtBudget(Tunable[OnlineEstimator]):
    """A method at the budget of a task."""

    method: Method
    task: Task

    @property
    def name(self) -> str:
        return self.method.short_name

    def axes(self) -> Sequence[Axis | Choice]:
        return self.method.axes_for(self.task.kind)

    def parameters(self, point: Point, facts: Facts) -> dict[str, Value]:
        components = self.build({}, 0).get_params().get("n_components", 1)
        return super().parameters(point, replace(facts, n_components=components))

    def build(self, parameters: Mapping[str, Value], seed: int) -> OnlineEstimator:
        task, budget = self.task, Budget(self.task.n_landmarks, self.task.n_features)
        estimator = self.method.at_budget(budget, task.kind, random_state=seed)
        wanted = {"loss": None if self.method.own_loss else task.loss, "memory": task.memory, "lag": task.lag}
        known = estimator.get_params()
        estimator.set_params(**{name: value for name, value in wanted.items() if value is not None and name in known})
        estimator.set_params(**parameters)
        return estimator


def names(kind: str) -> tuple[str, ...]:
    """The methods for a kind of task: NOLANA and stream, then the paper's table, then the others."""
    return tuple(method.short_name for method in _METHODS if method.solves(kind))


def at_budget(name: str, task: Task) -> MethodAtBudget:
    """A method by its name or short name, in upper or lower case; ValueError if none solves the task."""
    for method in _METHODS:
        if method.solves(task.kind) and method.is_named(name):
            return MethodAtBudget(method, task)
    raise ValueError(f"{name!r} is not a method for {task.kind}; choose from {', '.join(names(task.kind))}")
