"""Claim: time is near linear in the rows."""

from collections.abc import Sequence

from nolana.research.paper.claims.claim import Finding, answer_of
from nolana.research.paper.experiments.svd_time import DATA, exponent, timed
from nolana.research.paper.harness.experiment import Cell, Results, Scale
from nolana.research.paper.harness.passes import paper_settings
from nolana.research.paper.harness.variants import SOLVERS, chosen_cell

LOW, HIGH, FAR = 0.85, 1.1, 1.3


class LinearTime:
    """The exponent b of seconds ~ rows^b, for every solver."""

    name = "linear time"
    says = "Time is near linear in the rows."
    criterion = f"""yes: from the point at which all landmarks are set, the seconds so far grow like the rows to the
        power of {LOW} to {HIGH} for every solver; partly: to the power of at most {FAR}"""

    def __init__(self, scale: Scale) -> None:
        self.scale = scale

    def plan(self) -> Sequence[Cell]:
        passes = [timed(solver).cell(self.scale) for solver in SOLVERS]
        return [chosen_cell(DATA, "carry", self.scale), *passes]

    def finding(self, results: Results) -> Finding:
        """By a line through log seconds against log rows."""
        m = paper_settings(DATA).n_landmarks
        exponents = {solver: exponent(results[timed(solver).key]["history"], m) for solver in SOLVERS}
        shares = self._shares(results)
        listed = ", ".join(f"{solver} {value:.2f}" for solver, value in exponents.items())
        words = f"""Exponents: {listed}. Landmarks moved at {shares[0]:.0%} of the rows in the first half of the stream,
            at {shares[1]:.0%} in the second."""
        answer = answer_of(
            yes=all(LOW <= value <= HIGH for value in exponents.values()), partly=max(exponents.values()) <= FAR
        )
        figure = f"exponents {min(exponents.values()):.2f} to {max(exponents.values()):.2f}"
        return Finding(answer, figure, words, {f"exponent {solver}": value for solver, value in exponents.items()})

    def _shares(self, results: Results) -> tuple[float, float]:
        """Moves per row in the two halves of the stream."""
        history = results[timed("inverse").key]["history"]
        middle, end = history[(len(history) - 1) // 2], history[-1]
        return middle[3] / middle[0], (end[3] - middle[3]) / max(1, end[0] - middle[0])
