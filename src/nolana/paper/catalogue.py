"""The experiments by the names of the command line, in the order of the report."""

from collections.abc import Callable, Sequence

from nolana.paper.approximation import Approximation
from nolana.paper.claims.experiment import Claims
from nolana.paper.curves import Curves
from nolana.paper.experiment import Experiment, Scale, Source
from nolana.paper.refit import Refit
from nolana.paper.regret import Regret
from nolana.paper.svd_time import SvdTime
from nolana.paper.table1 import Table1
from nolana.paper.table2 import Table2

__all__ = ["EXPERIMENTS", "experiments"]

EXPERIMENTS: dict[str, Callable[[Source, Scale], Experiment]] = {
    "table1": Table1,
    "table2": Table2,
    "approximation": Approximation,
    "svd-time": SvdTime,
    "refit": Refit,
    "curves": Curves,
    "claims": Claims,
    "regret": Regret,
}


def experiments(names: Sequence[str], source: Source, scale: Scale) -> list[Experiment]:
    """The experiments of some names."""
    return [EXPERIMENTS[name](source, scale) for name in names]
