"""The two kinds of cells that most experiments use: cross-validation of parameters, and one pass with them."""

from collections.abc import Mapping, Sequence

import numpy as np

from nolana.metrics import MAIN_METRICS
from nolana.metrics.label_index import Labels
from nolana.research import datasets
from nolana.research.comparison import Predictor, by_held_out, one_pass
from nolana.research.methods import MethodAtBudget, Task, at_budget
from nolana.research.paper.harness import Array, Cell, Result, Results, Scale, Source
from nolana.research.paper.harness.data import rows_of, shuffled, tuning_rows
from nolana.research.report import Grid
from nolana.research.tuning import Facts, Point, Tunable, Value, distance_of, tune

HOLD_OUT = 0.2
POINTS = 60

FACTORS = {"accuracy": 100.0, "rmse": 1.0}  # the tables show per cent


def metric_of(name: str) -> str:
    """The metric of a data set."""
    return MAIN_METRICS[datasets.catalogue()[name].task]


def paper_settings(name: str) -> datasets.Paper:
    """How the paper runs a data set."""
    paper = datasets.catalogue()[name].paper
    assert paper is not None
    return paper


def limit_of(name: str, scale: Scale) -> int:
    """Rows of a data set at this scale: at most as many as in the paper."""
    return min(paper_settings(name).rows, scale.rows or paper_settings(name).rows)


def method_on(name: str, method: str, n_features: int) -> MethodAtBudget:
    """A method at the paper's budget for a data set, with the paper's loss."""
    record, paper = datasets.catalogue()[name], paper_settings(name)
    return at_budget(method, Task(record.task, n_features, paper.n_landmarks, paper.loss))


def choose(method: Tunable[Predictor], X: Array, y: Labels, metric: str, candidates: int, pass_rows: int) -> Result:
    """The point that cross-validation over the rows chooses for a method, and its parameters for a pass."""
    best = tune(method, X, y, judge=by_held_out(metric), candidates=candidates)
    return {
        "point": dict(best.point),
        "cross_validation": abs(best.score),
        "parameters": method.parameters(best.point, Facts(distance_of(X), pass_rows)),
        "rows": len(y),
        "candidates": best.candidates,
    }


def tuned(source: Source, _: Results, *, data: str, method: str, limit: int, rows: int, candidates: int) -> Result:
    """`choose` for a method at the paper's budget."""
    X, y = tuning_rows(source, data, limit, rows)
    all_rows = len(rows_of(source, data, limit)[1])
    return choose(method_on(data, method, X.shape[1]), X, y, metric_of(data), candidates, all_rows)


def passed(
    source: Source,
    inputs: Results,
    *,
    data: str,
    method: str,
    limit: int,
    shuffle: int,
    rows: int,
    beyond: Mapping[str, Value] | None = None,
) -> Result:
    """One pass over a shuffle with the tuned parameters, or with the defaults if nothing was tuned.

    `beyond` are parameters that exceed the budget, to explain a result.
    """
    X, y = shuffled(source, data, limit, shuffle)
    sized = method_on(data, method, X.shape[1])
    point: Point = next((result["point"] for result in inputs.values()), {})
    facts = Facts(distance_of(tuning_rows(source, data, limit, rows)[0]), len(y))
    estimator = sized.estimator(point, facts, shuffle).set_params(**(beyond or {}))
    metric = metric_of(data)
    result = one_pass(estimator, X, y, metric=metric, points=POINTS, hold_out=HOLD_OUT)
    return {  # without times, so that it is the same in every run
        "progressive": result.score,
        "held_out": result.held_out,
        "bytes": result.bytes,
        "vectors": result.vectors,
        "moves": result.moves,
        "history": [[point.rows, float(point.overall[metric])] for point in result.history],
    }


def tuning_key(data: str, method: str) -> str:
    """The key of the cell that tunes a method."""
    return f"tune/{data}/{method}"


def pass_key(data: str, method: str, shuffle: int) -> str:
    """The key of the cell that makes a pass."""
    return f"pass/{data}/{method}/shuffle {shuffle}"


def cells_of(data: str, method: str, scale: Scale) -> list[Cell]:
    """A cell that tunes the method, and a pass with its parameters for every shuffle."""
    limit = limit_of(data, scale)
    rows = min(scale.tuning_rows, limit)
    tuning = Cell(
        tuning_key(data, method),
        tuned,
        {"data": data, "method": method, "limit": limit, "rows": rows, "candidates": scale.candidates},
        cost=_seconds_per_row(data, method) * rows * (scale.candidates + 22),
    )
    return [tuning, *passes_of(data, method, scale, needs=(tuning.key,))]


def passes_of(
    data: str,
    method: str,
    scale: Scale,
    *,
    title: str | None = None,
    needs: tuple[str, ...] = (),
    beyond: Mapping[str, Value] | None = None,
) -> list[Cell]:
    """A pass for every shuffle; it has a title of its own if parameters are `beyond` those of the method."""
    limit = limit_of(data, scale)
    arguments = {"data": data, "method": method, "limit": limit, "rows": min(scale.tuning_rows, limit)}
    if beyond is not None:
        arguments["beyond"] = beyond
    cost = _seconds_per_row(data, method) * limit
    return [
        Cell(pass_key(data, title or method, shuffle), passed, arguments | {"shuffle": shuffle}, needs, cost=cost)
        for shuffle in range(scale.shuffles)
    ]


def _seconds_per_row(data: str, method: str) -> float:
    decomposes = method_on(data, method, 1).method.decomposes
    return 1e-5 + (2e-4 * (paper_settings(data).n_landmarks / 100) ** 2 if decomposes else 0.0)


def over_shuffles(results: Results, data: str, method: str, scale: Scale, field: str) -> list[float]:
    """A field of every pass."""
    return [results[pass_key(data, method, shuffle)][field] for shuffle in range(scale.shuffles)]


def mean_and_spread(values: Sequence[float], metric: str) -> str:
    """The text of a table cell."""
    scaled = FACTORS[metric] * np.asarray(values, dtype=float)
    mean = f"{scaled.mean():.2f}" if abs(scaled.mean()) < 1e4 else f"{scaled.mean():.1e}"
    return mean if len(scaled) == 1 else f"{mean} ± {scaled.std():.2f}" if scaled.std() < 1e3 else mean


def parameter_grid(lines: Sequence[tuple[str, str, Result]]) -> Grid:
    """The tuned parameters and their scores in cross-validation: title, metric and tuning result of every line."""
    rows = []
    for title, metric, result in lines:
        chosen = ", ".join(
            f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in result["parameters"].items()
        )
        rows.append([title, f"{FACTORS[metric] * result['cross_validation']:.2f}", chosen or "the defaults"])
    return Grid("Parameters from cross-validation, and their scores there.", ["", "score", "parameters"], rows)
