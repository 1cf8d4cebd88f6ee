"""What an experiment is made of: cells to run, and a section of the report to write from their results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nolana.report import Section

__all__ = ["FULL", "QUICK", "Cell", "Experiment", "Result", "Results", "Scale", "Source"]

Array = NDArray[np.float64]
Result = dict[str, Any]  # plain data: what JSON can hold
Results = Mapping[str, Result]  # by the keys of the cells


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    name: str
    rows: int | None  # of a data set at most; None: all
    shuffles: int
    tuning_rows: int  # that choose the parameters
    candidates: int  # that are tried for each method


FULL = Scale("full", None, 5, 5_000, 32)
QUICK = Scale("quick", 1_000, 2, 400, 6)


class Source(Protocol):
    """Where the data sets come from; is sent to other processes, and equal to its copy there."""

    def __hash__(self) -> int:
        """By value."""
        ...

    def has(self, name: str) -> bool:
        """Whether the data set can be had."""
        ...

    def missing(self, name: str) -> str:
        """Why it cannot, and where to get it; empty where it can."""
        ...

    def load(self, name: str) -> tuple[Array, NDArray[Any]]:
        """X (n, d) and y (n,) in the order of the file."""
        ...


@dataclass(frozen=True)
class Cell:
    """One piece of work: ``work(source, given, **arguments) -> result``."""

    key: str  # "table1/usps/FOGD/shuffle 3": the name of the result, the same in every run
    work: Callable[..., Result]  # a function of a module, so that it can be sent to another process
    arguments: Mapping[str, Any] = field(default_factory=dict)  # plain data
    needs: tuple[str, ...] = ()  # keys of the cells whose results come as `given`
    alone: bool = False  # its times count, so nothing runs beside it
    cost: float = 1.0  # seconds, roughly: for the order and the progress bar


class Experiment(Protocol):
    """An experiment at a scale, on the data sets of a source."""

    name: str  # as on the command line
    title: str

    def plan(self) -> Sequence[Cell]:
        """All cells; two experiments may share some."""
        ...

    def section(self, results: Results) -> Section:
        """What the report says, from the results of all cells."""
        ...

    def lines(self, results: Results) -> Sequence[Mapping[str, Any]]:
        """The raw results, one line of CSV each."""
        ...
