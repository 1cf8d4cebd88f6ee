"""An experiment: cells to run, and a section of the report that is written from their results."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.label_index import Labels
from nolana.research.report import Block, Section, Text

__all__ = [
    "FULL",
    "QUICK",
    "Cell",
    "Experiment",
    "Labels",
    "Lines",
    "NeedsData",
    "Result",
    "Results",
    "Scale",
    "Source",
    "SummaryLine",
    "unavailable",
]

Array = NDArray[np.float64]
Result = dict[str, Any]  # plain data: what JSON can hold
Results = Mapping[str, Result]  # by the keys of the cells
Lines = Sequence[Mapping[str, object]]  # of a CSV file, by the names of the columns


@dataclass(frozen=True)
class Scale:
    """How large a run is."""

    name: str
    rows: int | None  # at most, of a data set; None: all
    shuffles: int
    tuning_rows: int  # for cross-validation
    candidates: int  # for each method


FULL = Scale("full", None, 5, 5_000, 32)
QUICK = Scale("quick", 1_000, 2, 400, 6)


class Source(Protocol):
    """Where the data sets come from. It is sent to other processes, so its copies must be equal to it."""

    def __hash__(self) -> int: ...  # by value

    def has(self, name: str) -> bool:
        """Whether the data set is available."""
        ...

    def missing(self, name: str) -> str:
        """Why the data set is not available and where to get it; empty if it is available."""
        ...

    def load(self, name: str) -> tuple[Array, Labels]:
        """X (n, d) and y (n,) in the order of the file."""
        ...


@dataclass(frozen=True)
class Cell:
    """One call: ``work(source, inputs, **arguments) -> result``."""

    key: str  # "table1/usps/FOGD/shuffle 3": the name of the result, equal in every run
    work: Callable[..., Result]  # defined at module level, so that it can be sent to another process
    arguments: Mapping[str, object] = field(default_factory=dict)  # plain data
    needs: tuple[str, ...] = ()  # keys of the cells whose results are the `inputs`
    alone: bool = False  # it measures time, so no other cell runs at the same time
    cost: float = 1.0  # estimated seconds, for the order and the progress bar


@dataclass(frozen=True)
class SummaryLine:
    """A line of the summary on top of the report."""

    claim: str  # of the paper, or a question
    answer: str  # yes, partly, no, or not run
    figure: str  # the number that decides


class Experiment(ABC):
    """An experiment at a scale, on the data sets of a source."""

    name: str  # as on the command line
    title: str
    uses: tuple[str, ...] = ()  # data sets; without some of them it runs on the others

    def __init__(self, source: Source, scale: Scale) -> None:
        self.source, self.scale = source, scale
        self.data = [name for name in self.uses if source.has(name)]

    @abstractmethod
    def plan(self) -> Sequence[Cell]:
        """All cells; experiments may share cells."""

    @abstractmethod
    def section(self, results: Results) -> Section:
        """The section of the report, from the results of all cells; its first block is the answer in one sentence."""

    @abstractmethod
    def summary(self, results: Results) -> Sequence[SummaryLine]:
        """What the section says about the claims of the paper; empty without data."""

    @abstractmethod
    def lines(self, results: Results) -> Lines:
        """The raw results, one dict for each line of the CSV file."""


def unavailable(source: Source, names: Sequence[str]) -> list[Text]:
    """A paragraph for each data set that is not available."""
    missing = {name: source.missing(name) for name in names if not source.has(name)}
    return [Text(f"{name}: the data was not available. {reason}") for name, reason in missing.items()]


class NeedsData(Experiment):
    """Runs nothing unless all of `required` are available: then the report says where to get them."""

    required: tuple[str, ...]

    def __init__(self, source: Source, scale: Scale) -> None:
        super().__init__(source, scale)
        self.missing = " ".join(dict.fromkeys(source.missing(data) for data in self.required if not source.has(data)))

    @abstractmethod
    def cells(self) -> Sequence[Cell]:
        """The cells if all data is available."""

    @abstractmethod
    def blocks(self, results: Results) -> Sequence[Block]:
        """The blocks of the section if all data is available."""

    @abstractmethod
    def verdicts(self, results: Results) -> Sequence[SummaryLine]:
        """The lines of the summary if all data is available."""

    @abstractmethod
    def records(self, results: Results) -> Lines:
        """The lines of the CSV file if all data is available."""

    def plan(self) -> Sequence[Cell]:
        return [] if self.missing else self.cells()

    def section(self, results: Results) -> Section:
        blocks = [Text("Not run: " + self.missing)] if self.missing else self.blocks(results)
        return Section(self.name, self.title, blocks)

    def summary(self, results: Results) -> Sequence[SummaryLine]:
        return [] if self.missing else self.verdicts(results)

    def lines(self, results: Results) -> Lines:
        return [] if self.missing else self.records(results)
