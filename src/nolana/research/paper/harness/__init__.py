"""An experiment: cells to run, and a section of the report that is written from their results."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.label_index import Labels
from nolana.research.report import Block, Section, Text

Array = NDArray[np.float64]
Result = dict[str, Any]  # plain data: what JSON can hold
Results = Mapping[str, Result]  # by the keys of the cells
Lines = Sequence[Mapping[str, object]]  # of a CSV file, by the names of the columns

MOST_ROWS = 1_000  # for cross-validation at a smaller scale


@dataclass(frozen=True)
class Scale:
    """How large a run is."""

    name: str
    rows: int | None  # at most, of a data set; None: all
    shuffles: int
    tuning_rows: int  # for cross-validation
    candidates: int  # for each method

    @property
    def smaller(self) -> "Scale":
        """For learners whose rows take milliseconds: three of five shuffles, half of the effort to tune."""
        rows = min(self.tuning_rows // 2, MOST_ROWS)
        shuffles, candidates = max(1, 3 * self.shuffles // 5), max(2, self.candidates // 2)
        return replace(self, shuffles=shuffles, tuning_rows=rows, candidates=candidates)


FULL = Scale("full", None, 5, 5_000, 32)
QUICK = Scale("quick", 1_000, 2, 400, 6)


class Source(Protocol):
    """Where the data sets come from. It is sent to other processes, so its copies must be equal to it."""

    def __hash__(self) -> int: ...  # by value

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
    answer: str  # yes, partly or no
    figure: str  # the number that decides


def answer_of(*, yes: bool, partly: bool) -> str:
    """The first of the two that is true, otherwise "no"."""
    return "yes" if yes else "partly" if partly else "no"


class Experiment(ABC):
    """An experiment at a scale, on the data sets of a source."""

    name: str  # as on the command line
    title: str
    uses: tuple[str, ...] = ()  # data sets; without some of them it runs on the others, without all it does not run
    required: tuple[str, ...] = ()  # data sets; without one of them it does not run

    def __init__(self, source: Source, scale: Scale) -> None:
        self.source, self.scale = source, scale
        self.data = [name for name in self.uses if not source.missing(name)]

    @classmethod
    def on(cls, source: Source, scale: Scale) -> "Experiment":
        """The experiment, or one that only says why it cannot run."""
        missing = dict.fromkeys(source.missing(name) for name in cls.required if source.missing(name))
        if missing:
            return NotRun(cls, "Not run: " + " ".join(missing))
        if cls.uses and all(source.missing(name) for name in cls.uses):
            return NotRun(cls, "No data set is available.")
        return cls(source, scale)

    @abstractmethod
    def plan(self) -> Sequence[Cell]:
        """All cells; experiments may share cells."""

    @abstractmethod
    def blocks(self, results: Results) -> Sequence[Block]:
        """The section of the report, from the results of all cells; its first block is the answer in one sentence."""

    @abstractmethod
    def summary(self, results: Results) -> Sequence[SummaryLine]:
        """What the section says about the claims of the paper."""

    @abstractmethod
    def lines(self, results: Results) -> Lines:
        """The raw results, one dict for each line of the CSV file."""

    def section(self, results: Results) -> Section:
        """The section of the report."""
        return Section(self.name, self.title, self.blocks(results))

    def unavailable(self) -> list[Text]:
        """A paragraph for each data set that is not available."""
        reasons = {name: self.source.missing(name) for name in self.uses}
        return [Text(f"{name}: the data was not available. {reason}") for name, reason in reasons.items() if reason]


class NotRun(Experiment):
    """An experiment whose data is not available."""

    def __init__(self, kind: type[Experiment], why: str) -> None:
        self.name, self.title, self.why = kind.name, kind.title, why

    def plan(self) -> Sequence[Cell]:
        return []

    def blocks(self, results: Results) -> Sequence[Block]:
        return [Text(self.why)]

    def summary(self, results: Results) -> Sequence[SummaryLine]:
        return []

    def lines(self, results: Results) -> Lines:
        return []
