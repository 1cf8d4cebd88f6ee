"""Stage two: what it does for the accuracy that the weights are fitted again when a landmark has moved."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nolana import plot
from nolana.paper.experiment import Cell, Results, Scale, Source
from nolana.paper.passes import facts_of, limit_of, mean_and_spread
from nolana.paper.solving import (
    OFTEN,
    SELDOM,
    Pass,
    candidates_of,
    chosen_cell,
    rows_to_choose,
    shuffles_of,
)
from nolana.plot import Panel
from nolana.report import Figure, Grid, Section, Text

__all__ = ["REFITS", "Refit"]

DATA = "usps"
SOLVERS = ("exact", "randomized")
REFITS = {"paper": "the paper's", "carry": "carry", "none": "none"}
SHARES = {OFTEN: "moves often", SELDOM: "moves seldom"}


class Refit:
    """Accuracy with and without stage two."""

    name = "refit"
    title = "Stage two: with and without"

    def __init__(self, source: Source, scale: Scale) -> None:
        self.source, self.scale = source, scale
        self.has_data = source.has(DATA)

    def plan(self) -> Sequence[Cell]:
        """A choice of parameters for every stage two, and the passes."""
        if not self.has_data:
            return []
        choices = [chosen_cell(DATA, refit, self.scale) for refit in REFITS]
        return choices + [
            one.cell(self.scale)
            for solver in SOLVERS
            for refit in REFITS
            for share in SHARES
            for one in self.passes(solver, refit, share)
        ]

    def passes(self, solver: str, refit: str, share: float) -> list[Pass]:
        """One for each shuffle."""
        return [Pass(DATA, solver, refit, share, shuffle) for shuffle in range(shuffles_of(self.scale))]

    def of(self, results: Results, solver: str, refit: str, share: float, field: str) -> list[float]:
        """A field of every pass."""
        return [float(results[one.key][field]) for one in self.passes(solver, refit, share)]

    def accuracy(self, results: Results, solver: str, refit: str, share: float) -> float:
        """The mean, in per cent."""
        return 100 * float(np.mean(self.of(results, solver, refit, share, "accuracy")))

    def section(self, results: Results) -> Section:
        """Curves, a table, and what they say."""
        if not self.has_data:
            return Section(self.name, self.title, [Text("Not run: " + self.source.missing(DATA))])
        m, shuffles = facts_of(DATA).n_landmarks, shuffles_of(self.scale)
        panels = [
            Panel(
                f"{solver}, {words}",
                {f"stage two: {title}": self._curve(results, solver, refit, share) for refit, title in REFITS.items()},
                "rows seen",
                "accuracy so far (%)",
            )
            for share, words in SHARES.items()
            for solver in SOLVERS
        ]
        return Section(
            self.name,
            self.title,
            [
                Text(
                    f"""When a landmark has moved, the weights belong to a map that is no more. Stage two of the paper
                    fits new weights to the old values at the landmarks, with a penalty theta on their size; "carry"
                    does so with a penalty on their change instead; "none" keeps the weights as they are. usps in ten
                    classes, {limit_of(DATA, self.scale):,} rows, m = {m}, rank 0.8 m, hinge loss, mean of {shuffles}
                    shuffles; thresholds of {OFTEN:g} and {SELDOM:g} times the mean squared distance of two rows. Each
                    stage two has its own kernel width and rate (the paper's its theta too), chosen with the exact
                    solver on {rows_to_choose(self.scale):,} rows with {candidates_of(self.scale)} candidates each and
                    the defaults, at the lower threshold."""
                ),
                Figure(plot.svg(panels, columns=2), "Accuracy so far against rows seen, mean of the shuffles."),
                self._grid(results),
                self._parameters(results),
                *(Text(words) for words in self.reading(results)),
            ],
        )

    def _curve(self, results: Results, solver: str, refit: str, share: float) -> tuple[list[float], list[float]]:
        histories = np.array([results[one.key]["history"] for one in self.passes(solver, refit, share)])
        middle = histories.mean(axis=0)
        return [float(rows) for rows in middle[:, 0]], [100 * float(accuracy) for accuracy in middle[:, 1]]

    def _grid(self, results: Results) -> Grid:
        rows: list[list[str]] = []
        marked: set[tuple[int, int]] = set()
        for solver in SOLVERS:
            for share, words in SHARES.items():
                means = [self.accuracy(results, solver, refit, share) for refit in REFITS]
                marked.add((len(rows), 2 + int(np.argmax(means))))
                moves = np.mean(self.of(results, solver, "carry", share, "moves"))
                shown = [
                    mean_and_spread(self.of(results, solver, refit, share, "accuracy"), "accuracy") for refit in REFITS
                ]
                rows.append([f"{solver}, {words}", f"{moves:,.0f}", *shown])
        head = ["", "moves", *(f"stage two: {title}" for title in REFITS.values())]
        return Grid("Accuracy in per cent. The best of each line stands out.", head, rows, frozenset(marked))

    def _parameters(self, results: Results) -> Grid:
        rows = []
        for refit, title in REFITS.items():
            found = results[chosen_cell(DATA, refit, self.scale).key]
            chosen = ", ".join(f"{name} {value:.3g}" for name, value in found["parameters"].items())
            rows.append([f"stage two: {title}", f"{100 * found['cross_validation']:.2f}", chosen or "the defaults"])
        return Grid("The parameters that were chosen, and their accuracy in cross-validation.", ["", "%", ""], rows)

    def reading(self, results: Results) -> list[str]:
        """What agrees with the paper, and what does not."""
        words = []
        for share, how in SHARES.items():
            gains = {refit: self._gains(results, refit, share) for refit in ("paper", "carry")}
            shown = {refit: f"{min(gain):+.2f} to {max(gain):+.2f}" for refit, gain in gains.items()}
            words.append(
                f"""Where the landmark set {how}, the paper's stage two {verdict(gains["paper"])} ({shown["paper"]}
                points against none, by solver) and carrying the function over {verdict(gains["carry"])}
                ({shown["carry"]})."""
            )
        best = max(gain for share in SHARES for gain in self._gains(results, "paper", share))
        agreement = (
            "So the paper is right that fitting the weights again is worth it."
            if best > 0.3
            else "So the gain that the paper sees from fitting the weights again is not seen here."
        )
        return [
            " ".join(words) + " " + agreement,
            """The likely reason why little is at stake: one move of k-means shifts a landmark by 1/(N + 1) of the way
            to a row, less and less as N grows, so the map turns slowly; and eigenvectors are kept in order and sign
            from one move to the next, so that weights which are simply kept still mean nearly the same. Gradient steps
            correct the rest. The paper's penalty pulls the model towards zero at every move, which a longer rate has to
            make up for."""
            if best < 3
            else """The likely reason: weights that are kept belong to eigenvectors that turn with every move, above
            all those of near eigenvalues, so what was learned is scrambled faster than gradient steps repair it.""",
        ]

    def _gains(self, results: Results, refit: str, share: float) -> list[float]:
        return [
            self.accuracy(results, solver, refit, share) - self.accuracy(results, solver, "none", share)
            for solver in SOLVERS
        ]

    def lines(self, results: Results) -> Sequence[Mapping[str, Any]]:
        """One line for every pass."""
        if not self.has_data:
            return []
        return [
            {"solver": solver, "stage_two": refit, "threshold_share": share, "shuffle": one.shuffle}
            | {field: results[one.key][field] for field in ("accuracy", "moves", "seconds", "rows")}
            for solver in SOLVERS
            for refit in REFITS
            for share in SHARES
            for one in self.passes(solver, refit, share)
        ]


def verdict(gains: Sequence[float]) -> str:
    """Gains in points, one for each solver, as a verb."""
    if min(gains) > 0.3:
        return "helps"
    if max(gains) < -0.3:
        return "harms"
    return "makes no clear difference" if max(map(abs, gains)) <= 0.3 else "helps or harms by the solver"
