"""NOLANA by any of its solvers and stages two: choosing width and rate, and one pass that is watched."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.comparison import by_held_out
from nolana.estimators.classifier import NolanaClassifier
from nolana.evaluate import Progress, progressive
from nolana.paper.experiment import Cell, Result, Results, Scale, Source
from nolana.paper.passes import facts_of, limit_of
from nolana.paper.rows import shuffled, tuning_rows
from nolana.reference.landmarks import KMeans
from nolana.tuning import Axis, Choice, Facts, Point, distance_of, tune

Array = NDArray[np.float64]

WIDTH = Axis("gamma", 0.2, 40.0, lambda facts: 1 / facts.distance)
RATE = Axis("learning_rate", 0.01, 10.0)
THETA = Axis("refit_penalty", 1e-6, 1e-2)

# The paper's map has rank 0.8 m and no ridge; the inverse has full rank and cannot do without.
DECOMPOSED: dict[str, Any] = {"optimizer": "sgd", "rank": 0.8, "ridge": 0.0}
SOLVERS: Mapping[str, Mapping[str, Any]] = {
    "exact": DECOMPOSED | {"solver": "exact"},
    "rank2": DECOMPOSED | {"solver": "rank2"},
    "randomized": DECOMPOSED | {"solver": "randomized"},
    "inverse in NumPy": {"optimizer": "sgd", "landmarks": KMeans()},  # a policy that is an object runs in NumPy
    "inverse": {"optimizer": "sgd"},
    "Newton": {"optimizer": "newton"},
}
OFTEN, SELDOM, NEVER = 0.15, 0.4, None  # thresholds, in units of the mean squared distance of two rows

MOST_ROWS = 1_000  # that choose parameters: a move costs milliseconds here
POINTS = 20
PER_MOVE = {"exact": 1.5e-3, "rank2": 3e-3, "randomized": 2e-3, "inverse in NumPy": 3e-4}  # seconds, roughly


@dataclass(frozen=True)
class Way:
    """A way to run NOLANA: its solver, its stage two, and what is known before anything is chosen."""

    solver: str
    refit: str
    n_landmarks: int
    loss: str
    threshold: float
    initial: Array | None = None
    iterations: int = 2

    def axes(self) -> Sequence[Axis | Choice]:
        """What is chosen by cross-validation."""
        if self.solver == "Newton":
            return (WIDTH,)
        return (WIDTH, RATE, THETA) if self.refit == "paper" else (WIDTH, RATE)

    def parameters(self, point: Point, facts: Facts) -> dict[str, Any]:
        """The parameters that a point stands for; none for the empty one."""
        return {axis.name: axis.value(point[axis.name], facts) for axis in self.axes()} if point else {}

    def estimator(self, point: Point, facts: Facts, seed: int) -> NolanaClassifier:
        """A learner with the parameters of the point."""
        return self.build(self.parameters(point, facts), seed)

    def build(self, parameters: Mapping[str, Any], seed: int) -> NolanaClassifier:
        """A learner with these parameters; those that this way does not have are left out."""
        wanted = {axis.name for axis in self.axes()}
        fixed: dict[str, Any] = dict(SOLVERS[self.solver])
        if fixed["optimizer"] == "sgd":
            fixed |= {"refit": self.refit, "loss": self.loss}
        return NolanaClassifier(
            n_landmarks=self.n_landmarks,
            threshold=self.threshold,
            initial_landmarks=self.initial,
            power_iterations=self.iterations,
            random_state=seed,
            **fixed | {name: value for name, value in parameters.items() if name in wanted},
        )


def choose(way: Way, X: Array, y: NDArray[Any], candidates: int) -> Result:
    """Width and rate (and theta) of a way, by cross-validation over the rows."""
    found = tune(way, X, y, judge=by_held_out("accuracy"), candidates=candidates)
    return {
        "parameters": way.parameters(found.point, Facts(distance_of(X), len(y))),
        "cross_validation": found.score,
        "rows": len(y),
        "candidates": found.candidates,
    }


def watched(learner: NolanaClassifier, X: Array, y: NDArray[Any]) -> Result:
    """One pass, each row predicted before it is learned; every so often the seconds and moves so far are noted."""
    history: list[list[float]] = []

    def note(progress: Progress) -> None:
        history.append([progress.rows, progress.metrics["accuracy"], progress.seconds, learner.n_moves_])

    step = max(1, -(-len(y) // POINTS))
    blocks = [(X[i : i + step], y[i : i + step]) for i in range(0, len(y), step)]
    result = progressive(learner, blocks, metrics=["accuracy"], callback=note)
    return {
        "accuracy": result.metrics["accuracy"],
        "rows": result.rows,
        "seconds": result.seconds,
        "moves": learner.n_moves_,
        "bytes": learner.memory_bytes_,
        "history": history,
    }


def rows_to_choose(scale: Scale) -> int:
    """How many rows choose the parameters of a way."""
    return min(scale.tuning_rows // 2, MOST_ROWS)


def candidates_of(scale: Scale) -> int:
    """How many candidates are tried for a way."""
    return max(2, scale.candidates // 2)


def shuffles_of(scale: Scale) -> int:
    """How many shuffles a way is run on: three of five."""
    return max(1, 3 * scale.shuffles // 5)


def way_on(data: str, solver: str, refit: str, share: float | None, distance: float, iterations: int = 2) -> Way:
    """A way at the paper's m and loss, with a threshold of `share` times a distance, or none."""
    paper = facts_of(data)
    threshold = float("inf") if share is None else share * distance
    return Way(solver, refit, paper.n_landmarks, paper.loss, threshold, iterations=iterations)


def chosen(
    source: Source, _: Results, *, data: str, refit: str, share: float, limit: int, rows: int, candidates: int
) -> Result:
    """The parameters of a stage two, chosen with the exact solver."""
    X, y = tuning_rows(source, data, limit, rows)
    return choose(way_on(data, "exact", refit, share, distance_of(X)), X, y, candidates)


def solved(
    source: Source,
    given: Results,
    *,
    data: str,
    solver: str,
    refit: str,
    share: float | None,
    iterations: int,
    limit: int,
    rows: int,
    shuffle: int,
) -> Result:
    """One pass over a shuffle with the parameters that were chosen."""
    X, y = shuffled(source, data, limit, shuffle)
    way = way_on(data, solver, refit, share, distance_of(tuning_rows(source, data, limit, rows)[0]), iterations)
    (choice,) = given.values()
    return watched(way.build(choice["parameters"], shuffle), X, y)


def chosen_cell(data: str, refit: str, scale: Scale) -> Cell:
    """Of `chosen`, at the threshold that moves landmarks often."""
    rows, candidates = rows_to_choose(scale), candidates_of(scale)
    arguments = {"data": data, "refit": refit, "share": OFTEN, "limit": limit_of(data, scale)}
    return Cell(
        f"choose/{data}/stage two {refit}",
        chosen,
        arguments | {"rows": rows, "candidates": candidates},
        cost=1e-3 * rows * (candidates + 22),
    )


@dataclass(frozen=True)
class Pass:
    """One pass by a way: names its cell."""

    data: str
    solver: str
    refit: str = "carry"
    share: float | None = OFTEN
    shuffle: int = 0
    iterations: int = 2
    timed: bool = False
    most_rows: int | None = None

    @property
    def key(self) -> str:
        """Of the cell."""
        moves = {OFTEN: "often", SELDOM: "seldom", NEVER: "never"}[self.share]
        way = f"{self.solver} x{self.iterations}" if self.solver == "randomized" else self.solver
        rows = "" if self.most_rows is None else f"/{self.most_rows} rows"
        kind = "time" if self.timed else "solve"
        return f"{kind}/{self.data}/{way}/stage two {self.refit}/moves {moves}{rows}/shuffle {self.shuffle}"

    def cell(self, scale: Scale) -> Cell:
        """The pass at a scale; alone where its time counts."""
        if self.most_rows is not None:
            scale = replace(scale, rows=min(self.most_rows, limit_of(self.data, scale)))
        limit = limit_of(self.data, scale)
        moves = limit * {OFTEN: 0.6, SELDOM: 0.1, NEVER: 0.0}[self.share]
        slow = self.solver in PER_MOVE
        return Cell(
            self.key,
            solved,
            {
                "data": self.data,
                "solver": self.solver,
                "refit": self.refit,
                "share": self.share,
                "iterations": self.iterations,
                "limit": limit,
                "rows": rows_to_choose(scale),
                "shuffle": self.shuffle,
            },
            needs=(chosen_cell(self.data, self.refit, scale).key,),
            alone=self.timed,
            cost=limit * (1e-4 if slow else 2e-5) + moves * PER_MOVE.get(self.solver, 2e-5),
        )
