"""NOLANA with any of its solvers and refits: tuning of width and rate, and one measured pass."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from nolana.engine.experts.landmarks.policies import KMeans
from nolana.estimators.classifier import NolanaClassifier
from nolana.evaluate import Progress, progressive
from nolana.metrics.label_index import Labels
from nolana.research.methods import THETA
from nolana.research.paper.harness import Array, Cell, Result, Results, Scale, Source
from nolana.research.paper.harness.data import shuffled, tuning_rows
from nolana.research.paper.harness.passes import choose, limit_of, paper_settings
from nolana.research.rivals.method import RATE, WIDTH
from nolana.research.tuning import Axis, Choice, Tunable, Value, distance_of

RANK, RIDGE = 0.8, 0.0  # of the paper's map, times m; the inverse has full rank and needs a ridge
DECOMPOSED = {"optimizer": "sgd", "rank": RANK, "ridge": RIDGE}
SOLVERS: Mapping[str, Mapping[str, object]] = {
    "exact": DECOMPOSED | {"solver": "exact"},
    "rank2": DECOMPOSED | {"solver": "rank2"},
    "randomized": DECOMPOSED | {"solver": "randomized"},
    "inverse in NumPy": {"optimizer": "sgd", "landmarks": KMeans(novelty=0.03)},  # a policy object runs in NumPy
    "inverse": {"optimizer": "sgd"},
    "Newton": {"optimizer": "newton"},
}
OFTEN, SELDOM, NEVER = 0.15, 0.4, None  # thresholds, in units of the mean squared distance of two rows

POINTS = 20
PER_MOVE = {"exact": 1.5e-3, "rank2": 3e-3, "randomized": 2e-3, "inverse in NumPy": 3e-4}  # estimated seconds


@dataclass(frozen=True)
class Variant(Tunable[NolanaClassifier]):
    """NOLANA with a solver, a refit (the paper's stage two) and the settings that are not tuned."""

    solver: str
    refit: str
    n_landmarks: int
    loss: str
    threshold: float
    initial: Array | None = None
    iterations: int = 2

    def axes(self) -> Sequence[Axis | Choice]:
        if SOLVERS[self.solver]["optimizer"] != "sgd":
            return (WIDTH,)
        return (WIDTH, RATE, THETA) if self.refit == "paper" else (WIDTH, RATE)

    def build(self, parameters: Mapping[str, Value], seed: int) -> NolanaClassifier:
        """A learner with these parameters; those that the variant does not tune are ignored."""
        model = NolanaClassifier(
            n_landmarks=self.n_landmarks,
            threshold=self.threshold,
            initial_landmarks=self.initial,
            power_iterations=self.iterations,
            scale=False,
            random_state=seed,
        )
        model.set_params(**SOLVERS[self.solver])
        if model.optimizer == "sgd":
            model.set_params(refit=self.refit, loss=self.loss)
        tuned = {axis.name for axis in self.axes()}
        model.set_params(**{name: value for name, value in parameters.items() if name in tuned})
        return model


def measured_pass(learner: NolanaClassifier, X: Array, y: Labels) -> Result:
    """One pass, each row predicted before it is learned, with the seconds and moves at every point of its history.

    Seconds are processor time, which other programs on the machine do not change.
    """
    history: list[list[float]] = []
    begin = time.process_time()

    def record(progress: Progress) -> None:
        seconds = time.process_time() - begin
        history.append([progress.rows, progress.metrics["accuracy"], seconds, learner.n_moves_])

    step = max(1, -(-len(y) // POINTS))
    blocks = [(X[i : i + step], y[i : i + step]) for i in range(0, len(y), step)]
    result = progressive(learner, blocks, metrics=["accuracy"], callback=record)
    return {
        "accuracy": result.metrics["accuracy"],
        "rows": result.rows,
        "seconds": history[-1][2],
        "moves": learner.n_moves_,
        "bytes": learner.memory_bytes_,
        "history": history,
    }


@dataclass(frozen=True)
class Pass:
    """One pass of a variant, which defines a cell."""

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
        moves = {OFTEN: "often", SELDOM: "seldom", NEVER: "never"}[self.share]
        solver = f"{self.solver} x{self.iterations}" if self.solver == "randomized" else self.solver
        rows = "" if self.most_rows is None else f"/{self.most_rows} rows"
        kind = "time" if self.timed else "solve"
        return f"{kind}/{self.data}/{solver}/stage two {self.refit}/moves {moves}{rows}/shuffle {self.shuffle}"

    def variant(self, distance: float) -> Variant:
        """At the paper's m and loss; the threshold is `share` times a distance, or infinite for None."""
        paper = paper_settings(self.data)
        threshold = float("inf") if self.share is None else self.share * distance
        return Variant(self.solver, self.refit, paper.n_landmarks, paper.loss, threshold, iterations=self.iterations)

    def cell(self, scale: Scale) -> Cell:
        """The cell at a scale; it runs alone if its time is measured."""
        if self.most_rows is not None:
            scale = replace(scale, rows=min(self.most_rows, limit_of(self.data, scale)))
        limit = limit_of(self.data, scale)
        moves = limit * {OFTEN: 0.6, SELDOM: 0.1, NEVER: 0.0}[self.share]
        in_numpy = self.solver in PER_MOVE
        return Cell(
            self.key,
            solved,
            {"one": asdict(self), "limit": limit, "rows": scale.tuning_rows},
            needs=(chosen_cell(self.data, self.refit, scale).key,),
            alone=self.timed,
            cost=limit * (1e-4 if in_numpy else 2e-5) + moves * PER_MOVE.get(self.solver, 2e-5),
        )


def solved(source: Source, inputs: Results, *, one: Result, limit: int, rows: int) -> Result:
    """A `Pass` with the chosen parameters."""
    made = Pass(**one)
    X, y = shuffled(source, made.data, limit, made.shuffle)
    distance = distance_of(tuning_rows(source, made.data, limit, rows)[0])
    (choice,) = inputs.values()
    return measured_pass(made.variant(distance).build(choice["parameters"], made.shuffle), X, y)


def chosen_cell(data: str, refit: str, scale: Scale) -> Cell:
    """The cell that tunes a refit, at the threshold that moves landmarks often."""
    arguments = {"data": data, "refit": refit, "limit": limit_of(data, scale)}
    arguments |= {"rows": scale.tuning_rows, "candidates": scale.candidates}
    cost = 1e-3 * scale.tuning_rows * (scale.candidates + 22)
    return Cell(f"choose/{data}/stage two {refit}", chosen, arguments, cost=cost)


def chosen(source: Source, _: Results, *, data: str, refit: str, limit: int, rows: int, candidates: int) -> Result:
    """The parameters of a refit, chosen with the exact solver."""
    X, y = tuning_rows(source, data, limit, rows)
    variant = Pass(data, "exact", refit).variant(distance_of(X))
    return choose(variant, X, y, "accuracy", candidates, len(y))
