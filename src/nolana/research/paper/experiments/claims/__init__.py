"""The claims of the paper's text, each answered yes, partly or no by a stated criterion."""

from collections.abc import Sequence

from nolana.research.paper.experiments.claims.accuracy import DoublySGD, Iterations, SolversAgree
from nolana.research.paper.experiments.claims.cost import Budget, LinearTime, Prediction
from nolana.research.paper.harness import Cell, Experiment, Lines, Results, Scale, Source, SummaryLine
from nolana.research.report import Block, Grid, Lead, Text


class Claims(Experiment):
    """Six claims and their answers."""

    name = "claims"
    title = "Claims of the text"
    required = ("usps", "usps_halves")

    def __init__(self, source: Source, scale: Scale) -> None:
        super().__init__(source, scale.smaller)
        kinds = (SolversAgree, Iterations, Prediction, LinearTime, DoublySGD, Budget)
        self.claims = [kind(self.scale) for kind in kinds]

    def plan(self) -> Sequence[Cell]:
        return list({cell.key: cell for claim in self.claims for cell in claim.plan()}.values())

    def blocks(self, results: Results) -> Sequence[Block]:
        findings = [(claim, claim.finding(results)) for claim in self.claims]
        rows = [[claim.name, claim.says, finding.answer, _line(finding.words)] for claim, finding in findings]
        criteria = [[claim.name, _line(claim.criterion)] for claim in self.claims]
        by_answer = {
            answer: [claim.says.rstrip(".") for claim, finding in findings if finding.answer == answer]
            for answer in ("yes", "partly", "no")
        }
        counts = ", ".join(f"{len(claims)} {answer}" for answer, claims in by_answer.items())
        doubtful = by_answer["partly"] + by_answer["no"]
        rest = (
            "Not confirmed, or only in part: " + "; ".join(doubtful) + ". The table has the numbers."
            if doubtful
            else "All are confirmed."
        )
        return [
            Lead(f"Of {len(findings)} claims in the text of the paper: {counts}."),
            Text(
                """Statements in the text of the paper, each measured on usps and answered by the criterion below.
                Landmarks move often (the threshold of the section on SVD time) unless stated otherwise; times are
                processor time."""
            ),
            Grid("Claims and answers.", ["", "the paper says", "holds", "what was measured"], rows),
            Grid("The criteria.", ["", "criterion"], criteria),
            Text(rest),
        ]

    def summary(self, results: Results) -> Sequence[SummaryLine]:
        findings = [(claim, claim.finding(results)) for claim in self.claims]
        return [SummaryLine(claim.says, finding.answer, finding.figure) for claim, finding in findings]

    def lines(self, results: Results) -> Lines:
        findings = [(claim, claim.finding(results)) for claim in self.claims]
        return [
            {"claim": claim.name, "holds": finding.answer, "measure": name, "value": value}
            for claim, finding in findings
            for name, value in finding.measures.items()
        ]


def _line(words: str) -> str:
    return " ".join(words.split())
