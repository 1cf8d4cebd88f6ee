"""The experiments by their names on the command line, in the order of the report."""

from collections.abc import Sequence

from nolana.research.paper.experiments.approximation import Approximation
from nolana.research.paper.experiments.change import Change
from nolana.research.paper.experiments.claims import Claims
from nolana.research.paper.experiments.curves import Curves
from nolana.research.paper.experiments.refit import Refit
from nolana.research.paper.experiments.regret import Regret
from nolana.research.paper.experiments.svd_time import SvdTime
from nolana.research.paper.experiments.table1 import Table1
from nolana.research.paper.experiments.table2 import Table2
from nolana.research.paper.harness import Experiment, Scale, Source

EXPERIMENTS: dict[str, type[Experiment]] = {
    kind.name: kind for kind in (Table1, Table2, Approximation, Change, SvdTime, Refit, Curves, Claims, Regret)
}


def experiments(names: Sequence[str], source: Source, scale: Scale) -> list[Experiment]:
    """The experiments with these names."""
    return [EXPERIMENTS[name].on(source, scale) for name in names]
