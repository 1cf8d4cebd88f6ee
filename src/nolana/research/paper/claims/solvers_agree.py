"""Claim: the accuracy is similar with every solver."""

from collections.abc import Sequence

import numpy as np

from nolana.research.paper.claims.claim import Finding, answer_of
from nolana.research.paper.harness.experiment import Cell, Results, Scale
from nolana.research.paper.harness.variants import Pass, chosen_cell, shuffles_of

DATA = "usps"
PAPERS = ("exact", "rank2", "randomized")
SOLVERS = (*PAPERS, "inverse")
CLOSE, NEAR = 0.5, 1.5  # points


class SolversAgree:
    """exact, rank2, randomized and the inverse on the same rows."""

    name = "solvers agree"
    says = "The accuracy is similar with every solver."
    criterion = f"yes: mean accuracies within {CLOSE} points of each other, the inverse included; partly: {NEAR} points"

    def __init__(self, scale: Scale) -> None:
        self.scale = scale

    def plan(self) -> Sequence[Cell]:
        passes = [one.cell(self.scale) for solver in SOLVERS for one in self._passes(solver)]
        return [chosen_cell(DATA, "carry", self.scale), *passes]

    def _passes(self, solver: str) -> list[Pass]:
        return [Pass(DATA, solver, shuffle=shuffle) for shuffle in range(shuffles_of(self.scale))]

    def finding(self, results: Results) -> Finding:
        """By the spread of the means."""
        mean = {
            solver: 100 * float(np.mean([results[one.key]["accuracy"] for one in self._passes(solver)]))
            for solver in SOLVERS
        }
        spread = max(mean.values()) - min(mean.values())
        papers = max(mean[solver] for solver in PAPERS) - min(mean[solver] for solver in PAPERS)
        listed = ", ".join(f"{solver} {value:.2f}" for solver, value in mean.items())
        words = f"""usps, ten classes, per cent: {listed}. The spread is {spread:.2f} points, {papers:.2f} among the
            paper's three."""
        measures = {f"accuracy {solver} %": value for solver, value in mean.items()} | {"spread": spread}
        figure = f"spread {spread:.2f} points"
        return Finding(answer_of(yes=spread <= CLOSE, partly=spread <= NEAR), figure, words, measures)
