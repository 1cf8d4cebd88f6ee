"""NOLANA and its rivals as contestants: the same task, the same budget, each with the parameters it can be tuned by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nolana import rivals
from nolana.estimators.classifier import NolanaClassifier
from nolana.estimators.regressor import NolanaRegressor
from nolana.tuning import Axis, Choice, Facts, Point

__all__ = ["NOLANA", "TABLE", "Contestant", "Task", "contestant", "names"]

NOLANA = ("NOLANA", "NOLANA-SGD", "NOLANA-paper")
TABLE = ("PA", "NOGD", "FOGD", "DualSGD", "RRF")  # the columns of the paper's table
LONG_NAMES = {"PA": "PassiveAggressive"}

WIDTH = Axis("gamma", 0.2, 40.0, lambda facts: 1 / facts.distance)
RATE = Axis("learning_rate", 0.01, 10.0)
MOVE = Axis("threshold", 0.05, 1.0, lambda facts: facts.distance)
PENALTY = Axis("regularization", 0.01, 1000.0, lambda facts: 1 / facts.rows)
DECAY = Axis("regularization", 1e-5, 0.3)

AXES: Mapping[str, tuple[Axis | Choice, ...]] = {
    "NOLANA": (WIDTH, MOVE, Axis("regularization", 1e-3, 10.0)),
    "NOLANA-SGD": (WIDTH, RATE, MOVE),
    "NOLANA-paper": (WIDTH, RATE, MOVE, Axis("refit_penalty", 1e-6, 1e-2)),
    "PA": (Axis("C", 1e-4, 1e2), Choice("variant", ("PA-I", "PA-II"))),
    "FOGD": (WIDTH, RATE),
    "NOGD": (WIDTH, RATE),
    "DualSGD": (WIDTH, PENALTY),
    # its features have length sqrt(D)
    "RRF": (
        WIDTH,
        replace(RATE, unit=lambda facts: 1 / facts.n_components),
        Axis("width_rate", 1e-6, 1e-2),
    ),
    "KernelOGD": (WIDTH, RATE),
    "RBP": (WIDTH,),
    "Forgetron": (WIDTH,),
    "Projectron": (WIDTH, Axis("eta", 0.01, 0.7)),
    "ProjectronPlusPlus": (WIDTH, Axis("eta", 0.01, 0.7)),
    "BPA": (WIDTH, Axis("C", 1e-2, 1e2), Choice("projection", ("simple", "nearest"))),
    "BOGD": (WIDTH, RATE, DECAY),
    "BSGD": (WIDTH, PENALTY),
    "DoublySGD": (WIDTH, Axis("learning_rate", 0.1, 1000.0), DECAY),
}
# Only to regress. Steps of 1/(lambda t) overshoot with the squared loss, so DualSGD takes the other one.
TO_REGRESS: Mapping[str, tuple[Axis | Choice, ...]] = {
    "PA": (Axis("epsilon", 1e-2, 10.0),),
    "DualSGD": (Choice("loss", ("epsilon_insensitive",)),),
}


@dataclass(frozen=True)
class Task:
    """What the contestants are to do, and with how much memory."""

    kind: str  # "classification" or "regression"
    n_features: int
    n_landmarks: int
    loss: str | None = None  # for the methods that can choose; None: each its own


@dataclass(frozen=True)
class Contestant:
    """A method at the budget of a task."""

    name: str
    task: Task

    def axes(self) -> Sequence[Axis | Choice]:
        """The parameters to tune."""
        return AXES[self.name] + (TO_REGRESS.get(self.name, ()) if self.task.kind == "regression" else ())

    def estimator(self, point: Point, facts: Facts, seed: int) -> Any:
        """An estimator with the parameters of the point (the defaults, if it is empty) that draws by the seed."""
        return self.build(self.parameters(point, facts), seed)

    def parameters(self, point: Point, facts: Facts) -> dict[str, Any]:
        """The parameters that a point stands for."""
        if not point:
            return {}
        facts = replace(facts, n_components=int(self.build({}, 0).get_params().get("n_components", 1)))
        return {axis.name: axis.value(point[axis.name], facts) for axis in self.axes()}

    def build(self, parameters: Mapping[str, Any], seed: int) -> Any:
        """An estimator at the budget with these parameters."""
        task, given = self.task, dict(parameters)
        if self.name in NOLANA:
            kind = NolanaRegressor if task.kind == "regression" else NolanaClassifier
            own: dict[str, Any] = {"random_state": seed}
            if self.name != "NOLANA":
                own |= {"loss": task.loss}
            if self.name == "NOLANA-paper":
                return kind.paper(task.n_landmarks, given.pop("threshold", "median"), **(own | given))
            if self.name == "NOLANA-SGD":
                own |= {"optimizer": "sgd"}
            return kind(n_landmarks=task.n_landmarks, **(own | given))
        estimator = rivals.at_equal_budget(
            LONG_NAMES.get(self.name, self.name),
            n_landmarks=task.n_landmarks,
            n_features=task.n_features,
            task=task.kind,
            random_state=seed,
        )
        can_choose = "loss" in estimator.get_params()
        return estimator.set_params(**(({"loss": task.loss} if can_choose else {}) | given))


def names(kind: str) -> tuple[str, ...]:
    """All contestants for a kind of task, NOLANA first, then the paper's table, then the others."""
    short = {long: name for name, long in LONG_NAMES.items()}
    of_kind = [short.get(n, n) for n, m in rivals.catalogue().items() if kind == "classification" or m.regressor]
    return NOLANA + tuple(n for n in TABLE if n in of_kind) + tuple(n for n in of_kind if n not in TABLE)


def contestant(name: str, task: Task) -> Contestant:
    """A contestant by its name, in any case; ValueError where there is none for the task."""
    known = {n.lower(): n for n in names(task.kind)} | {
        long.lower(): short for short, long in LONG_NAMES.items() if short in names(task.kind)
    }
    if name.lower() not in known:
        raise ValueError(f"{name!r} is not a method for {task.kind}; choose from {', '.join(names(task.kind))}")
    return Contestant(known[name.lower()], task)
