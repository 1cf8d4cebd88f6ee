"""The protocol of an experiment: cells to run, and a section of the report that is written from their results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nolana.research.report import Section

__all__ = ["FULL", "QUICK", "Cell", "Experiment", "Result", "Results", "Scale", "Source", "SummaryLine"]

Array = NDArray[np.float64]
Result = dict[str, Any]  # plain data: what JSON can hold
Results = Mapping[str, Result]  # by the keys of the cells


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

    def __hash__(self) -> int:
        """By value."""
        ...

    def has(self, name: str) -> bool:
        """Whether the data set is available."""
        ...

    def missing(self, name: str) -> str:
        """Why the data set is not available and where to get it; empty if it is available."""
        ...

    def load(self, name: str) -> tuple[Array, NDArray[Any]]:
        """X (n, d) and y (n,) in the order of the file."""
        ...


@dataclass(frozen=True)
class Cell:
    """One call: ``work(source, inputs, **arguments) -> result``."""

    key: str  # "table1/usps/FOGD/shuffle 3": the name of the result, equal in every run
    work: Callable[..., Result]  # defined at module level, so that it can be sent to another process
    arguments: Mapping[str, Any] = field(default_factory=dict)  # plain data
    needs: tuple[str, ...] = ()  # keys of the cells whose results are the `inputs`
    alone: bool = False  # it measures time, so no other cell runs at the same time
    cost: float = 1.0  # estimated seconds, for the order and the progress bar


@dataclass(frozen=True)
class SummaryLine:
    """A line of the summary on top of the report."""

    claim: str  # of the paper, or a question
    answer: str  # yes, partly, no, or not run
    figure: str  # the number that decides


class Experiment(Protocol):
    """An experiment at a scale, on the data sets of a source."""

    name: str  # as on the command line
    title: str

    def plan(self) -> Sequence[Cell]:
        """All cells; experiments may share cells."""
        ...

    def section(self, results: Results) -> Section:
        """The section of the report, from the results of all cells; its first block is the answer in one sentence."""
        ...

    def summary(self, results: Results) -> Sequence[SummaryLine]:
        """What the section says about the claims of the paper; empty without data."""
        ...

    def lines(self, results: Results) -> Sequence[Mapping[str, Any]]:
        """The raw results, one dict for each line of the CSV file."""
        ...
