"""The two pieces of work that most experiments are made of: choosing parameters, and one pass with them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nolana import datasets
from nolana.comparison import METRICS, Run, by_held_out, one_pass
from nolana.contestants import Contestant, Task, contestant
from nolana.paper.experiment import Cell, Result, Results, Scale, Source
from nolana.paper.rows import rows_of, shuffled, tuning_rows
from nolana.tuning import Facts, Point, distance_of, tune

HOLD_OUT = 0.2
POINTS = 60

FACTORS = {"accuracy": 100.0, "rmse": 1.0}  # the tables show per cent


def metric_of(name: str) -> str:
    """What a data set is scored by."""
    return METRICS[datasets.catalogue()[name].task]


def facts_of(name: str) -> datasets.Paper:
    """How the paper runs a data set."""
    paper = datasets.catalogue()[name].paper
    assert paper is not None
    return paper


def limit_of(name: str, scale: Scale) -> int:
    """Rows of a data set at this scale: as many as the paper takes, at most."""
    return min(facts_of(name).rows, scale.rows or facts_of(name).rows)


def entry_of(name: str, method: str, n_features: int) -> Contestant:
    """A method at the paper's budget, with the paper's loss."""
    record, paper = datasets.catalogue()[name], facts_of(name)
    return contestant(method, Task(record.task, n_features, paper.n_landmarks, paper.loss))


def tuned(source: Source, _: Results, *, data: str, method: str, limit: int, rows: int, candidates: int) -> Result:
    """The point that cross-validation chooses for a method."""
    X, y = tuning_rows(source, data, limit, rows)
    entry = entry_of(data, method, X.shape[1])
    found = tune(entry, X, y, judge=by_held_out(metric_of(data)), candidates=candidates)
    everything = len(rows_of(source, data, limit)[1])
    return {
        "point": dict(found.point),
        "cross_validation": abs(found.score),
        "parameters": entry.parameters(found.point, Facts(distance_of(X), everything)),
        "rows": len(y),
        "candidates": found.candidates,
    }


def passed(
    source: Source,
    given: Results,
    *,
    data: str,
    method: str,
    limit: int,
    shuffle: int,
    rows: int,
    beyond: Mapping[str, Any] | None = None,
) -> Result:
    """One pass over a shuffle, with the parameters that were chosen, or with the defaults where none were.

    `beyond` are parameters that the budget does not allow, for those who ask why.
    """
    X, y = shuffled(source, data, limit, shuffle)
    entry = entry_of(data, method, X.shape[1])
    point: Point = next((result["point"] for result in given.values()), {})
    facts = Facts(distance_of(tuning_rows(source, data, limit, rows)[0]), len(y))
    estimator = entry.estimator(point, facts, shuffle).set_params(**(beyond or {}))
    run = one_pass(estimator, X, y, metric=metric_of(data), points=POINTS, hold_out=HOLD_OUT)
    return plain(run, metric_of(data))


def plain(run: Run, metric: str) -> Result:
    """A run as plain data, without its times: what is kept is the same in every run."""
    return {
        "progressive": run.score,
        "held_out": run.held_out,
        "bytes": run.bytes,
        "vectors": run.vectors,
        "moves": run.moves,
        "history": [[point.rows, float(point.overall[metric])] for point in run.history],
    }


def tuning_key(data: str, method: str) -> str:
    """Of the cell that chooses the parameters of a method."""
    return f"tune/{data}/{method}"


def pass_key(data: str, method: str, shuffle: int) -> str:
    """Of the cell that makes a pass."""
    return f"pass/{data}/{method}/shuffle {shuffle}"


def cells_of(data: str, method: str, scale: Scale, *, choose: bool = True) -> list[Cell]:
    """Choosing the parameters, unless the defaults are to be taken, and a pass for every shuffle."""
    limit, paper = limit_of(data, scale), facts_of(data)
    rows = min(scale.tuning_rows, limit)
    slow = method == "NOLANA-paper"
    per_row = 1e-5 + (2e-4 * (paper.n_landmarks / 100) ** 2 if slow else 0.0)
    cells = []
    if choose:
        cells.append(
            Cell(
                tuning_key(data, method),
                tuned,
                {"data": data, "method": method, "limit": limit, "rows": rows, "candidates": scale.candidates},
                cost=per_row * rows * (scale.candidates + 22),
            )
        )
    needs = (tuning_key(data, method),) if choose else ()
    for shuffle in range(scale.shuffles):
        arguments = {"data": data, "method": method, "limit": limit, "shuffle": shuffle, "rows": rows}
        cells.append(Cell(pass_key(data, method, shuffle), passed, arguments, needs, cost=per_row * limit))
    return cells


def over_shuffles(results: Results, data: str, method: str, scale: Scale, field: str) -> list[Any]:
    """A field of every pass."""
    return [results[pass_key(data, method, shuffle)][field] for shuffle in range(scale.shuffles)]


def mean_and_spread(values: Sequence[float], metric: str) -> str:
    """As the tables show it."""
    scaled = FACTORS[metric] * np.asarray(values, dtype=float)
    shown = f"{scaled.mean():.2f}" if abs(scaled.mean()) < 1e4 else f"{scaled.mean():.1e}"
    return shown if len(scaled) == 1 else f"{shown} ± {scaled.std():.2f}" if scaled.std() < 1e3 else shown
