"""What an experiment does without its data sets: it runs nothing, and the report says where to get them."""

from collections.abc import Mapping, Sequence
from typing import Any

from nolana.research.paper.harness.experiment import Cell, Results, Scale, Source, SummaryLine
from nolana.research.report import Block, Section, Text

__all__ = ["NeedsData", "unavailable"]


def unavailable(source: Source, names: Sequence[str]) -> list[Text]:
    """A paragraph for each data set that is not available."""
    missing = {name: source.missing(name) for name in names if not source.has(name)}
    return [Text(f"{name}: the data was not available. {reason}") for name, reason in missing.items()]


class NeedsData:
    """Runs nothing unless all of `required` are available; subclasses define the rest."""

    name: str
    title: str
    required: tuple[str, ...]

    def __init__(self, source: Source, scale: Scale) -> None:
        self.scale = scale
        self.missing = " ".join(dict.fromkeys(source.missing(data) for data in self.required if not source.has(data)))

    def cells(self) -> Sequence[Cell]:
        """The cells where all data is available."""
        raise NotImplementedError

    def blocks(self, results: Results) -> Sequence[Block]:
        """The blocks of the section where all data is available."""
        raise NotImplementedError

    def verdicts(self, results: Results) -> Sequence[SummaryLine]:
        """The lines of the summary where all data is available."""
        raise NotImplementedError

    def records(self, results: Results) -> Sequence[Mapping[str, Any]]:
        """The lines of the CSV file where all data is available."""
        raise NotImplementedError

    def plan(self) -> Sequence[Cell]:
        """All cells."""
        return [] if self.missing else self.cells()

    def section(self, results: Results) -> Section:
        """The section of the report, or the reason why there are no results."""
        blocks = [Text("Not run: " + self.missing)] if self.missing else self.blocks(results)
        return Section(self.name, self.title, blocks)

    def summary(self, results: Results) -> Sequence[SummaryLine]:
        """The lines of the summary."""
        return [] if self.missing else self.verdicts(results)

    def lines(self, results: Results) -> Sequence[Mapping[str, Any]]:
        """The lines of the CSV file."""
        return [] if self.missing else self.records(results)
