"""Claim: two or three iterations of the warm-started randomized SVD are enough."""

from collections.abc import Sequence

import numpy as np

from nolana.estimators.transformer import OnlineNystroem
from nolana.research.paper.claims.claim import Finding, answer_of
from nolana.research.paper.harness.data import shuffled, tuning_rows
from nolana.research.paper.harness.experiment import Cell, Result, Results, Scale, Source
from nolana.research.paper.harness.passes import limit_of, paper_settings
from nolana.research.paper.harness.variants import DECOMPOSED, OFTEN, Pass, chosen_cell, rows_to_tune
from nolana.research.tuning import distance_of

DATA = "usps"
MOST_ROWS = 3_000  # of a pass
SAMPLE = 300  # rows whose kernel matrix is approximated
COUNTS = (1, 2, 3, 4, 5)
CLOSE = 0.5  # points of accuracy
WORSE = 1.05  # times the error of the exact solver


def mapped(source: Source, inputs: Results, *, limit: int, rows: int, solver: str, iterations: int) -> Result:
    """|G - Gbar|_F / |G|_F of the map after one pass, over rows of the stream and over its landmarks."""
    X, _ = shuffled(source, DATA, limit, 0)
    (choice,) = inputs.values()
    online = OnlineNystroem(
        n_landmarks=paper_settings(DATA).n_landmarks,
        gamma=choice["parameters"].get("gamma", "median"),
        threshold=OFTEN * distance_of(tuning_rows(source, DATA, limit, rows)[0]),
        solver=solver,
        rank=DECOMPOSED["rank"],
        ridge=DECOMPOSED["ridge"],
        power_iterations=iterations,
        scale=False,
    ).partial_fit(X)
    return {
        "moves": online.n_moves_,
        "error": online.approximation_error(X[:SAMPLE]),
        "landmark_error": online.approximation_error(online.landmarks_),
    }


class Iterations:
    """One to five iterations beside the exact solver."""

    name = "iterations"
    says = "Two or three iterations of the warm-started randomized SVD are enough."
    criterion = f"""yes: with two, accuracy at most {CLOSE} points below the exact solver's and an error of the map at
        most {WORSE} times that of the exact solver; partly: only one of the two, or both with three"""

    def __init__(self, scale: Scale) -> None:
        self.scale = scale
        self.limit = min(MOST_ROWS, limit_of(DATA, scale))

    def plan(self) -> Sequence[Cell]:
        choice = chosen_cell(DATA, "carry", self.scale)
        cells = [choice]
        for solver, count in self._solvers():
            cells.append(self._pass(solver, count).cell(self.scale))
            arguments = {"limit": self.limit, "rows": rows_to_tune(self.scale), "solver": solver, "iterations": count}
            cells.append(
                Cell(
                    self._map_key(solver, count), mapped, arguments, (choice.key,), cost=self.limit * 5e-4 * (1 + count)
                )
            )
        return cells

    def _solvers(self) -> list[tuple[str, int]]:
        return [("exact", 2), *(("randomized", count) for count in COUNTS)]

    def _pass(self, solver: str, count: int) -> Pass:
        return Pass(DATA, solver, iterations=count, most_rows=self.limit)

    def _map_key(self, solver: str, count: int) -> str:
        return f"claims/map/{solver} x{count}/{self.limit} rows"

    def finding(self, results: Results) -> Finding:
        """By the accuracy and by the error of the map."""
        accuracy = {solver: 100 * results[self._pass(*solver).key]["accuracy"] for solver in self._solvers()}
        error = {solver: results[self._map_key(*solver)]["error"] for solver in self._solvers()}
        inner = {solver: results[self._map_key(*solver)]["landmark_error"] for solver in self._solvers()}
        exact = ("exact", 2)

        def accurate(count: int) -> bool:
            return bool(accuracy["randomized", count] >= accuracy[exact] - CLOSE)

        def faithful(count: int) -> bool:
            return bool(error["randomized", count] <= WORSE * error[exact])

        by_count = "; ".join(
            f"{count}: {accuracy['randomized', count]:.2f} %, error {error['randomized', count]:.4f}, at the landmarks "
            f"{inner['randomized', count]:.4f}"
            for count in COUNTS
        )
        words = f"""{self.limit:,} rows of usps, {results[self._map_key(*exact)]["moves"]:,} moves. exact:
            {accuracy[exact]:.2f} %, error {error[exact]:.4f}, at the landmarks {inner[exact]:.4f}. Iterations:
            {by_count}. The error is |G - Gbar|/|G| (Frobenius) over {min(SAMPLE, self.limit)} rows after the pass."""
        measures = {f"accuracy {s} x{n} %": value for (s, n), value in accuracy.items()}
        measures |= {f"error {s} x{n}": value for (s, n), value in error.items()}
        measures |= {f"landmark error {s} x{n}": value for (s, n), value in inner.items()}
        answer = answer_of(
            yes=accurate(2) and faithful(2),
            partly=accurate(2) or faithful(2) or (accurate(3) and faithful(3)),
        )
        figure = f"""with two {accuracy["randomized", 2] - accuracy[exact]:+.2f} points and
            {error["randomized", 2] / error[exact]:.2f} times the error of the exact solver"""
        return Finding(
            answer,
            " ".join(figure.split()),
            words,
            {name: float(np.round(value, 6)) for name, value in measures.items()},
        )
