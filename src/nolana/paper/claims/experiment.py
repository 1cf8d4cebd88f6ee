"""The claims of the text, each answered yes, partly or no by a criterion that is stated beside it."""

from collections.abc import Mapping, Sequence
from typing import Any

from nolana.paper.claims.budget import Budget
from nolana.paper.claims.claim import Claim
from nolana.paper.claims.doubly_sgd import DoublySGD
from nolana.paper.claims.iterations import Iterations
from nolana.paper.claims.linear_time import LinearTime
from nolana.paper.claims.prediction import Prediction
from nolana.paper.claims.solvers_agree import SolversAgree
from nolana.paper.experiment import Cell, Results, Scale, Source
from nolana.report import Grid, Section, Text

__all__ = ["Claims"]

DATA = ("usps", "usps_halves")


class Claims:
    """Six claims and their answers."""

    name = "claims"
    title = "Claims of the text"

    def __init__(self, source: Source, scale: Scale) -> None:
        self.missing = " ".join(dict.fromkeys(source.missing(data) for data in DATA if not source.has(data)))
        self.claims: list[Claim] = (
            []
            if self.missing
            else [
                SolversAgree(scale),
                Iterations(scale),
                Prediction(scale),
                LinearTime(scale),
                DoublySGD(scale),
                Budget(scale),
            ]
        )

    def plan(self) -> Sequence[Cell]:
        """What all claims need, each cell once."""
        return list({cell.key: cell for claim in self.claims for cell in claim.plan()}.values())

    def section(self, results: Results) -> Section:
        """A table of the answers."""
        if self.missing:
            return Section(self.name, self.title, [Text("Not run: " + self.missing)])
        found = [(claim, claim.finding(results)) for claim in self.claims]
        rows = [[claim.name, claim.says, one.answer, _line(one.words)] for claim, one in found]
        criteria = [[claim.name, _line(claim.criterion)] for claim in self.claims]
        by_answer = {
            answer: [claim.says.rstrip(".") for claim, one in found if one.answer == answer]
            for answer in ("yes", "partly", "no")
        }
        counts = ", ".join(f"{len(claims)} {answer}" for answer, claims in by_answer.items())
        doubtful = by_answer["partly"] + by_answer["no"]
        rest = (
            "Not, or not fully, confirmed: " + "; ".join(doubtful) + ". The table says by how much."
            if doubtful
            else "All are confirmed."
        )
        return Section(
            self.name,
            self.title,
            [
                Text(
                    """Statements that the paper makes in its text, each measured on usps and answered by a criterion
                    that stands below. Landmarks move often (the threshold of the section on SVD time) unless said
                    otherwise; times were taken with no other cell of the run beside them."""
                ),
                Grid("Claims and answers.", ["", "the paper says", "holds", "what was measured"], rows),
                Grid("The criteria.", ["", "criterion"], criteria),
                Text(f"Of {len(found)} claims: {counts}. {rest}"),
            ],
        )

    def lines(self, results: Results) -> Sequence[Mapping[str, Any]]:
        """One line for every number."""
        found = [(claim, claim.finding(results)) for claim in self.claims]
        return [
            {"claim": claim.name, "holds": one.answer, "measure": name, "value": value}
            for claim, one in found
            for name, value in one.measures.items()
        ]


def _line(words: str) -> str:
    return " ".join(words.split())
