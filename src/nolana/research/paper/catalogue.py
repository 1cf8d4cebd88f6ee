"""The experiments by their names on the command line, in the order of the report."""

from collections.abc import Callable, Sequence

from nolana.research.paper.claims.experiment import Claims
from nolana.research.paper.experiments.approximation import Approximation
from nolana.research.paper.experiments.change import Change
from nolana.research.paper.experiments.curves import Curves
from nolana.research.paper.experiments.refit import Refit
from nolana.research.paper.experiments.svd_time import SvdTime
from nolana.research.paper.experiments.table1 import Table1
from nolana.research.paper.experiments.table2 import Table2
from nolana.research.paper.harness.experiment import Experiment, Scale, Source
from nolana.research.paper.regret.experiment import Regret

__all__ = ["EXPERIMENTS", "experiments"]

EXPERIMENTS: dict[str, Callable[[Source, Scale], Experiment]] = {
    "table1": Table1,
    "table2": Table2,
    "approximation": Approximation,
    "change": Change,
    "svd-time": SvdTime,
    "refit": Refit,
    "curves": Curves,
    "claims": Claims,
    "regret": Regret,
}


def experiments(names: Sequence[str], source: Source, scale: Scale) -> list[Experiment]:
    """The experiments with these names."""
    return [EXPERIMENTS[name](source, scale) for name in names]
