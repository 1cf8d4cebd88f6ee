"""The protocol of a claim."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from nolana.research.paper.harness.experiment import Cell, Results

__all__ = ["Answer", "Claim", "Finding", "answer_of"]

Answer = Literal["yes", "partly", "no"]


@dataclass(frozen=True)
class Finding:
    """Whether a claim holds, with text and numbers."""

    answer: Answer
    figure: str  # the number that decides
    words: str
    measures: Mapping[str, float]


class Claim(Protocol):
    """A claim at a scale."""

    name: str
    says: str  # what the paper claims
    criterion: str  # when the answer is yes, when partly

    def plan(self) -> Sequence[Cell]:
        """The cells that the answer needs."""
        ...

    def finding(self, results: Results) -> Finding:
        """The answer, from the results of the cells."""
        ...


def answer_of(*, yes: bool, partly: bool) -> Answer:
    """The first of the two that is true, otherwise "no"."""
    return "yes" if yes else "partly" if partly else "no"
