"""Stage two: the effect on the accuracy of refitting the weights after a landmark has moved."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from nolana import plot
from nolana.plot import Panel
from nolana.research.paper.harness import Cell, Experiment, Lines, Results, Scale, Source, SummaryLine, answer_of
from nolana.research.paper.harness.passes import limit_of, mean_and_spread, paper_settings, parameter_grid
from nolana.research.paper.harness.variants import OFTEN, SELDOM, Pass, chosen_cell
from nolana.research.report import Block, Figure, Grid, Lead, Text

DATA = "usps"
SOLVERS = ("exact", "randomized")
REFITS = {"paper": "the paper's", "carry": "carry", "none": "none"}
CLEAR = 0.3  # points: smaller differences are not counted
SHARES = {OFTEN: "moves often", SELDOM: "moves seldom"}


class Refit(Experiment):
    """Accuracy with and without stage two."""

    name = "refit"
    title = "Stage two: with and without"
    required = (DATA,)

    def __init__(self, source: Source, scale: Scale) -> None:
        super().__init__(source, scale.smaller)

    def plan(self) -> Sequence[Cell]:
        choices = [chosen_cell(DATA, refit, self.scale) for refit in REFITS]
        settings = product(SOLVERS, REFITS, SHARES)
        return choices + [one.cell(self.scale) for setting in settings for one in self.passes(*setting)]

    def passes(self, solver: str, refit: str, share: float) -> list[Pass]:
        """One for each shuffle."""
        return [Pass(DATA, solver, refit, share, shuffle) for shuffle in range(self.scale.shuffles)]

    def values(self, results: Results, solver: str, refit: str, share: float, field: str) -> list[float]:
        return [float(results[one.key][field]) for one in self.passes(solver, refit, share)]

    def accuracy(self, results: Results, solver: str, refit: str, share: float) -> float:
        """The mean, in per cent."""
        return 100 * float(np.mean(self.values(results, solver, refit, share, "accuracy")))

    def blocks(self, results: Results) -> Sequence[Block]:
        m, shuffles = paper_settings(DATA).n_landmarks, self.scale.shuffles
        panels = [
            Panel(
                f"{solver}, {words}",
                {f"stage two: {title}": self._curve(results, solver, refit, share) for refit, title in REFITS.items()},
                "rows learned",
                "accuracy so far (%)",
            )
            for share, words in SHARES.items()
            for solver in SOLVERS
        ]
        tuned = [
            (f"stage two: {title}", "accuracy", results[chosen_cell(DATA, refit, self.scale).key])
            for refit, title in REFITS.items()
        ]
        (line,) = self.summary(results)
        return [
            Lead(
                f"The paper's stage two changes the accuracy by {line.figure} against leaving the weights as they are."
            ),
            Text(
                f"""After a landmark has moved, the weights still belong to the old map. Stage two of the paper fits new
                weights to the old values at the landmarks, with a penalty theta on their size; "carry" uses a penalty
                on their change instead; "none" leaves the weights unchanged. usps in ten classes,
                {limit_of(DATA, self.scale):,} rows, m = {m}, rank 0.8 m, hinge loss, mean of {shuffles} shuffles;
                thresholds of {OFTEN:g} and {SELDOM:g} times the mean squared distance of two rows. Each stage two has
                its own kernel width and rate (the paper's also its theta), tuned with the exact solver at the lower
                threshold, on {self.scale.tuning_rows:,} rows with {self.scale.candidates} candidates and the
                defaults."""
            ),
            Figure(plot.svg(panels, columns=2), "Accuracy so far against rows learned, mean of the shuffles."),
            self._grid(results),
            parameter_grid(tuned),
            *(Text(words) for words in self.findings(results)),
        ]

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
                moves = np.mean(self.values(results, solver, "carry", share, "moves"))
                shown = [
                    mean_and_spread(self.values(results, solver, refit, share, "accuracy"), "accuracy")
                    for refit in REFITS
                ]
                rows.append([f"{solver}, {words}", f"{moves:,.0f}", *shown])
        head = ["", "moves", *(f"stage two: {title}" for title in REFITS.values())]
        return Grid("Accuracy in per cent. The best of each line is highlighted.", head, rows, frozenset(marked))

    def findings(self, results: Results) -> list[str]:
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
            "This confirms the paper: refitting the weights improves the accuracy."
            if best > CLEAR
            else "The gain that the paper reports for refitting the weights is not confirmed here."
        )
        return [
            " ".join(words) + " " + agreement,
            """The likely reason for the small effect: one move of k-means shifts a landmark by 1/(N + 1) of the
            distance to a row, which falls as N grows, so the map changes slowly; and eigenvectors have the same order
            and sign from one move to the next, so unchanged weights keep nearly the same meaning. Gradient steps
            correct the rest. The paper's penalty pulls the model towards zero at every move, which a larger rate has to
            compensate."""
            if best < 3
            else """The likely reason: unchanged weights belong to eigenvectors that turn with every move, above all
            those of close eigenvalues, so the model is disturbed faster than gradient steps can repair it.""",
        ]

    def summary(self, results: Results) -> Sequence[SummaryLine]:
        gains = [gain for share in SHARES for gain in self._gains(results, "paper", share)]
        answer = answer_of(yes=min(gains) > CLEAR, partly=max(gains) > CLEAR)
        figure = f"{min(gains):+.2f} to {max(gains):+.2f} points"
        return [SummaryLine("Stage two, the new weights after a move, improves the accuracy.", answer, figure)]

    def _gains(self, results: Results, refit: str, share: float) -> list[float]:
        return [
            self.accuracy(results, solver, refit, share) - self.accuracy(results, solver, "none", share)
            for solver in SOLVERS
        ]

    def lines(self, results: Results) -> Lines:
        return [
            {"solver": one.solver, "stage_two": one.refit, "threshold_share": one.share, "shuffle": one.shuffle}
            | {field: results[one.key][field] for field in ("accuracy", "moves", "seconds", "rows")}
            for setting in product(SOLVERS, REFITS, SHARES)
            for one in self.passes(*setting)
        ]


def verdict(gains: Sequence[float]) -> str:
    """Gains in points, one for each solver, as a verb."""
    if min(gains) > CLEAR:
        return "helps"
    if max(gains) < -CLEAR:
        return "harms"
    return (
        "makes no clear difference" if max(map(abs, gains)) <= CLEAR else "helps with one solver and harms with another"
    )
