"""The claims of the paper's text: how each is measured, and when the answer is yes."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nolana.research.paper.harness import Cell, Results, Scale


@dataclass(frozen=True)
class Finding:
    """Whether a claim holds, with text and numbers."""

    answer: str  # yes, partly or no
    figure: str  # the number that decides
    words: str
    measures: Mapping[str, float]


class Claim(ABC):
    """A claim at a scale."""

    name: str
    says: str  # what the paper claims
    criterion: str  # when the answer is yes, when partly

    def __init__(self, scale: Scale) -> None:
        self.scale = scale

    @abstractmethod
    def plan(self) -> Sequence[Cell]:
        """The cells that the answer needs."""

    @abstractmethod
    def finding(self, results: Results) -> Finding:
        """The answer, from the results of the cells."""
