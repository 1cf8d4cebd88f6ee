"""Tuning of parameters by cross-validation, with the same effort for every method.

A method has axes; a candidate is a point in their box, on a logarithmic scale and in units of the data (a kernel width
in units of 1 / mean squared distance, a penalty in units of 1 / rows). Half of the candidates are spread over the box,
the other half over a smaller box around the best so far. All candidates are scored on one fold, the best eight on two
more, the best three on all five, so every method makes the same number of passes.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.label_index import Labels

__all__ = ["Axis", "Choice", "Facts", "Judge", "Point", "Tunable", "Tuned", "Value", "distance_of", "tune"]

Array = NDArray[np.float64]
Value = float | str  # of a parameter
Point = Mapping[str, float]  # a coordinate between 0 and 1 on every axis
L = TypeVar("L")  # the estimators of a method
L_co = TypeVar("L_co", covariant=True)
# Estimator, rows to learn, rows of the fold -> score; larger is better.
Judge = Callable[[L, Array, Labels, Array, Labels], float]

CANDIDATES = 32
FOLDS = 5
LATER_FOLDS = ((8, 2), (3, 2))  # after the first fold: how many candidates continue, on how many more folds
SHRINK = 0.35  # side of the second box over that of the first


@dataclass(frozen=True)
class Facts:
    """The numbers that define the units of the axes."""

    distance: float  # mean squared distance of two rows
    rows: int  # of the pass that will use the parameters
    n_components: int = 1  # random features; 1 for a method without them


def distance_of(X: Array) -> float:
    """The mean squared distance of two rows; 1 if it is 0 or there are no rows."""
    return (2 * float(X.var(axis=0).sum()) if len(X) else 0.0) or 1.0


def _one(_: Facts) -> float:
    return 1.0


@dataclass(frozen=True)
class Axis:
    """A positive parameter between two bounds, on a logarithmic scale."""

    name: str
    low: float
    high: float
    unit: Callable[[Facts], float] = _one

    def value(self, coordinate: float, facts: Facts) -> float:
        return float(self.unit(facts) * self.low * (self.high / self.low) ** coordinate)


@dataclass(frozen=True)
class Choice:
    """A parameter with a finite set of values."""

    name: str
    options: tuple[str, ...]

    def value(self, coordinate: float, facts: Facts) -> str:
        return self.options[min(int(coordinate * len(self.options)), len(self.options) - 1)]


class Tunable(ABC, Generic[L_co]):
    """A method that can be tuned."""

    @abstractmethod
    def axes(self) -> Sequence[Axis | Choice]:
        """The parameters to tune; an empty sequence: none."""

    @abstractmethod
    def build(self, parameters: Mapping[str, Value], seed: int) -> L_co:
        """An estimator with these parameters."""

    def parameters(self, point: Point, facts: Facts) -> dict[str, Value]:
        """The parameter values at a point; an empty one: the defaults."""
        return {axis.name: axis.value(point[axis.name], facts) for axis in self.axes()} if point else {}

    def estimator(self, point: Point, facts: Facts, seed: int) -> L_co:
        """An estimator with the parameters of a point and a random seed."""
        return self.build(self.parameters(point, facts), seed)


@dataclass(frozen=True)
class Tuned:
    """The best point, its mean score over the folds (accuracy, or minus the RMSE), and the number of points tried."""

    point: Point
    score: float
    candidates: int


def tune(
    method: Tunable[L],
    X: Array,
    y: Labels,
    *,
    judge: Judge[L],
    candidates: int = CANDIDATES,
    seed: int = 0,
) -> Tuned:
    """The best of the defaults and `candidates` points, by cross-validation over the rows.

    Parameters
    ----------
    method : a method with its axes.
    X, y : rows for cross-validation; they are shuffled before they are split into folds.
    judge : trains a new estimator on the rows of the other folds and scores it; larger is better.
    candidates : number of points besides the defaults.
    seed : of the shuffle, and (plus the number of the fold) of the estimators; the candidates are always the same.
    """
    axes = method.axes()
    if not axes:
        return Tuned({}, float("nan"), 0)
    order = np.random.default_rng(seed).permutation(len(y))
    folds = np.array_split(order, FOLDS)
    distance = distance_of(X)

    def value(point: Point, fold: int) -> float:
        rest = np.concatenate([folds[i] for i in range(FOLDS) if i != fold])
        estimator = method.estimator(point, Facts(distance, len(rest)), seed + fold)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a candidate that diverges has a score that is not finite
            score = judge(estimator, X[rest], y[rest], X[folds[fold]], y[folds[fold]])
        return score if np.isfinite(score) else -np.inf

    wide = (candidates + 1) // 2
    points: list[Point] = [{}, *_spread(axes, wide)]
    scores = [[value(point, 0)] for point in points]
    middle = points[max(range(1, len(points)), key=lambda i: scores[i][0])]
    for point in _spread(axes, candidates - wide):
        points.append({name: _near(middle[name], coordinate) for name, coordinate in point.items()})
        scores.append([value(points[-1], 0)])

    remaining = list(range(len(points)))
    fold = 1
    for survivors, more in LATER_FOLDS:
        remaining = sorted(remaining, key=lambda i: -float(np.mean(scores[i])))[:survivors]
        for i in remaining:
            scores[i] += [value(points[i], f) for f in range(fold, fold + more)]
        fold += more
    best = max(remaining, key=lambda i: float(np.mean(scores[i])))
    return Tuned(points[best], float(np.mean(scores[best])), len(points))


def _near(middle: float, coordinate: float) -> float:
    return float(np.clip(middle + SHRINK * (coordinate - 0.5), 0.0, 1.0))


def _spread(axes: Sequence[Axis | Choice], count: int) -> list[Point]:
    """Points that fill the box evenly for any count: multiples of the powers of 1/phi modulo 1.

    phi > 1 solves phi^(k+1) = phi + 1 for k axes; k = 1 is the golden ratio.
    """
    phi = 2.0
    for _ in range(60):
        phi = (1 + phi) ** (1 / (len(axes) + 1))
    steps = [(1 / phi) ** (j + 1) for j in range(len(axes))]
    return [{a.name: float((0.5 + s * (i + 1)) % 1.0) for a, s in zip(axes, steps, strict=True)} for i in range(count)]
