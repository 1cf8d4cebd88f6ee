"""The record of a method: its estimators, its citation, its size at a budget and the parameters it is tuned by."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nolana.estimators import methods
from nolana.estimators.base import OnlineEstimator
from nolana.research.tuning import Axis, Choice

# Axes that several methods share.
WIDTH = Axis("gamma", 0.2, 40.0, lambda facts: 1 / facts.distance)
RATE = Axis("learning_rate", 0.01, 10.0)
PENALTY = Axis("regularization", 0.01, 1000.0, lambda facts: 1 / facts.rows)
DECAY = Axis("regularization", 1e-5, 0.3)


@dataclass(frozen=True)
class Budget:
    """The memory that the paper gives every method: m d + m r numbers.

    Parameters
    ----------
    n_landmarks, n_features : m and d.
    rank : r, as an integer or as a fraction of m.
    """

    n_landmarks: int
    n_features: int
    rank: float = 0.8

    @property
    def numbers(self) -> int:
        """m d + m r, rounded down."""
        r = self.rank if isinstance(self.rank, int) else math.floor(self.rank * self.n_landmarks + 1e-9)
        return self.n_landmarks * self.n_features + self.n_landmarks * r


def projections(budget: Budget) -> dict[str, float]:
    """Random features: a projection is d numbers."""
    return {"n_components": max(1, budget.numbers // budget.n_features)}


def supports(budget: Budget) -> dict[str, float]:
    """A support set: a vector and its coefficient are d + 1 numbers."""
    return {"budget": max(1, budget.numbers // (budget.n_features + 1))}


def _unbounded(_: Budget) -> dict[str, float]:
    """No size to set: the memory is constant, or grows with the stream."""
    return {}


def _instance(kind: type[OnlineEstimator], **parameters: object) -> OnlineEstimator:
    return kind(**parameters)


@dataclass(frozen=True)
class Method(methods.Method):
    """A method of the literature, or a variant of NOLANA: its size at a budget, and how it is tuned.

    Parameters
    ----------
    sizes : the constructor arguments that fit a budget.
    axes, regression_axes : what cross-validation chooses; the second only for regression.
    in_paper : whether the method is a column of the paper's Table 1.
    own_loss : whether the method learns with its own loss, even if a task names another.
    decomposes : whether each landmark move computes a decomposition in NumPy, which makes a pass slow.
    make : builds an estimator from its class and its parameters.
    """

    sizes: Callable[[Budget], Mapping[str, float]] = _unbounded
    axes: tuple[Axis | Choice, ...] = ()
    regression_axes: tuple[Axis | Choice, ...] = ()
    in_paper: bool = False
    own_loss: bool = False
    decomposes: bool = False
    make: Callable[..., OnlineEstimator] = _instance

    def axes_for(self, task: str) -> tuple[Axis | Choice, ...]:
        """The parameters to tune for a task."""
        return self.axes + (self.regression_axes if task == "regression" else ())

    def at_budget(self, budget: Budget, task: str = "classification", /, **parameters: object) -> OnlineEstimator:
        """An estimator that fits a budget; `parameters` take precedence over the sizes."""
        estimator_class = self.class_for(task)
        if estimator_class is None:
            raise ValueError(
                f"{self.name} has no regression form; choose a method of nolana.rivals.catalogue() whose regressor is "
                "not None"
            )
        return self.make(estimator_class, **(dict(self.sizes(budget)) | parameters))
