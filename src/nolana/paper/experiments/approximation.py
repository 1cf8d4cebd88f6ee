"""Approximation error of the adaptive map by budget, beside the maps it competes with."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nolana import plot
from nolana.paper.experiments.table1 import TITLES
from nolana.paper.harness.data import rows_of, shuffled
from nolana.paper.harness.experiment import Array, Cell, Result, Results, Scale, Source
from nolana.paper.harness.gram import width_of
from nolana.paper.harness.passes import limit_of
from nolana.paper.harness.required import unavailable
from nolana.paper.maps.ensemble import EXPERTS, Ensemble
from nolana.paper.maps.error import relative_error
from nolana.paper.maps.fastfood import Fastfood
from nolana.paper.maps.fourier import Fourier
from nolana.paper.maps.kmeans import Centroids
from nolana.paper.maps.leverage import Leverage
from nolana.paper.maps.nogd import FirstRows
from nolana.paper.maps.oana import Default, Median, Moving
from nolana.paper.maps.protocol import Maker
from nolana.paper.maps.uniform import Uniform
from nolana.plot import Panel
from nolana.report import Block, Figure, Grid, Section, Text

__all__ = ["Approximation"]

DATA = ("cpusmall", "usps", "covtype")
ROWS = 10_000  # at most, of a data set
SAMPLE = 4_000  # rows of G at most
DRAWS = 3
BUDGETS = (20, 50, 100, 200, 400)
RANK = 0.8  # of m

ONLINE: Mapping[str, Callable[[Array, float], Maker]] = {
    "OANA": Moving,
    "OANA, median ε": Median,
    "OANA, defaults": Default,
    "NOGD": FirstRows,
    "FOGD": Fourier,
}
OFFLINE: Mapping[str, Callable[[Array, float], Maker]] = {
    "uniform": Uniform,
    "k-means": Centroids,
    "leverage": Leverage,
    f"ensemble of {EXPERTS}": Ensemble,
    "Fastfood": Fastfood,
}
METHODS = {**ONLINE, **OFFLINE}
SECONDS = {"FOGD": 45.0, "Fastfood": 60.0, "leverage": 40.0, "k-means": 30.0}  # for a whole data set, estimated


def errors(
    source: Source, _: Results, *, data: str, method: str, limit: int, sample: int, budgets: list[int], draws: int
) -> Result:
    """The error of one kind of map at all budgets, some draws each."""
    gamma, make = width_of(source, data, limit), METHODS[method]
    X = rows_of(source, data, limit)[0]
    if method in ONLINE:  # a draw is a shuffle of the stream
        makers = [make(shuffled(source, data, limit, draw)[0], gamma) for draw in range(draws)]
    else:
        makers = [make(X, gamma)] * draws
    judged = X[np.random.default_rng(draws).permutation(len(X))[:sample]]
    by_budget = {
        str(m): [relative_error(makers[draw].map(m, rank_of(m), draw), judged, gamma) for draw in range(draws)]
        for m in sorted(budgets, reverse=True)
    }
    return {"gamma": gamma, "rows": len(X), "judged": len(judged), "errors": by_budget}


def rank_of(m: int) -> int:
    """The rank r for m landmarks."""
    return int(RANK * m + 1e-9)


class Approximation:
    """The error of every map at every budget."""

    name = "approximation"
    title = "Approximation: the error of the kernel map"

    def __init__(self, source: Source, scale: Scale) -> None:
        self.source, self.draws = source, min(DRAWS, scale.shuffles)
        self.data = [name for name in DATA if source.has(name)]
        self.limits = {name: min(ROWS, limit_of(name, scale)) for name in self.data}

    def budgets(self, data: str) -> list[int]:
        """Landmarks, a third of the rows at most."""
        return [m for m in BUDGETS if 3 * m <= self.limits[data]]

    def plan(self) -> Sequence[Cell]:
        """A cell for every kind of map on every data set."""
        return [
            Cell(
                self.key(data, method),
                errors,
                {
                    "data": data,
                    "method": method,
                    "limit": self.limits[data],
                    "sample": min(SAMPLE, self.limits[data]),
                    "budgets": self.budgets(data),
                    "draws": self.draws,
                },
                cost=SECONDS.get(method, 10.0) * (self.limits[data] / ROWS) ** 2,
            )
            for data in self.data
            for method in METHODS
        ]

    @staticmethod
    def key(data: str, method: str) -> str:
        """The key of a cell."""
        return f"approximation/{data}/{method}"

    def mean(self, results: Results, data: str, method: str, m: int) -> float:
        """The mean error over the draws."""
        return float(np.mean(results[self.key(data, method)]["errors"][str(m)]))

    def section(self, results: Results) -> Section:
        """Two figures, online and offline, and the numbers."""
        if not self.data:
            return Section(self.name, self.title, [Text("No data set is available.")])
        first = {data: results[self.key(data, "NOGD")] for data in self.data}
        widths = "; ".join(
            f"{data}: {one['rows']:,} rows, G of {one['judged']:,}, gamma {one['gamma']:.3g}"
            for data, one in first.items()
        )
        blocks: list[Block] = [
            Text(
                f"""The relative error |G - Gbar|_F / |G|_F of the kernel matrix by the number of landmarks m. Landmark
                maps have rank r = 0.8 m; random maps have (m d + m r)/d projections, which take the same memory of
                m d + m r numbers. Errors are means of {self.draws} draws; for the online maps a draw is a shuffle of
                the stream. The kernel is exp(-gamma |x - z|^2), the same for all maps. The paper does not state its
                width; here gamma is 1 over the median squared distance of rows. For large data sets G is computed on a
                random sample of the rows. {widths}."""
            ),
            Text(
                """OANA and NOGD both start from the first m rows. In OANA every row then moves its nearest landmark
                (epsilon = 0), or only rows that are farther from it than the first landmarks are from each other
                (median epsilon). "Defaults" is OnlineNystroem with its default parameters: median epsilon, and a row
                becomes a landmark only if it differs enough from the others."""
            ),
            Figure(self.drawing(results, list(ONLINE)), "Maps of one pass: error against m, both logarithmic."),
            self.grid(results, "Maps of one pass", list(ONLINE)),
            Text(
                f"""The maps below use all rows at once. k-means takes the centroids of all rows (20 iterations of
                Lloyd's algorithm), leverage draws rows in proportion to their leverage scores of rank r (without
                replacement), the ensemble is the mean of {EXPERTS} uniform maps with m rows each, so it has {EXPERTS}
                times the budget, and Fastfood has as many projections as FOGD and needs less memory for them."""
            ),
            Figure(
                self.drawing(results, ["OANA", *OFFLINE]),
                "OANA after one pass, and maps that use all rows at once: error against m, both logarithmic.",
            ),
            self.grid(results, "Maps that use all rows at once", list(OFFLINE)),
            *(Text(words) for words in self.findings(results)),
            *unavailable(self.source, DATA),
        ]
        return Section(self.name, self.title, blocks)

    def drawing(self, results: Results, methods: Sequence[str]) -> str:
        """A panel for every data set."""
        panels = []
        for data in self.data:
            budgets = self.budgets(data)
            curves = {
                method: ([float(m) for m in budgets], [self.mean(results, data, method, m) for m in budgets])
                for method in methods
            }
            title = TITLES[data].partition(" (")[0].partition(",")[0]
            panels.append(Panel(title, curves, "landmarks m", "relative error", log_x=True, log_y=True, points=True))
        return plot.svg(panels, columns=len(panels), height=3.8)

    def grid(self, results: Results, title: str, methods: Sequence[str]) -> Grid:
        """All means; the best map is highlighted."""
        rows: list[list[str]] = []
        marked = set()
        for data, m in self.settings():
            means = [self.mean(results, data, method, m) for method in methods]
            marked.add((len(rows), 2 + int(np.argmin(means))))
            rows.append([data, str(m), *(f"{value:.4f}" for value in means)])
        caption = f"{title}: |G - Gbar|_F / |G|_F, mean of {self.draws} draws. The best is highlighted."
        return Grid(caption, ["data", "m", *methods], rows, frozenset(marked))

    def settings(self) -> list[tuple[str, int]]:
        """Every data set with every budget."""
        return [(data, m) for data in self.data for m in self.budgets(data)]

    def ratios(self, results: Results, one: str, other: str) -> dict[tuple[str, int], float]:
        """The error of one map divided by that of another, for every data set and budget."""
        return {
            (data, m): self.mean(results, data, one, m) / self.mean(results, data, other, m)
            for data, m in self.settings()
        }

    def findings(self, results: Results) -> list[str]:
        """What agrees with the paper, and what does not."""
        words = []
        against = {rival: self.ratios(results, "OANA", rival) for rival in ("NOGD", "FOGD")}
        lost = [
            f"{data} at m = {m} ({ratio:.2f} times the error of {rival})"
            for rival, ratios in against.items()
            for (data, m), ratio in ratios.items()
            if ratio >= 1
        ]
        verdict = "OANA with epsilon = 0 has a smaller error than NOGD and FOGD, as the paper says, " + (
            f"but not on {'; '.join(lost)}" if lost else "at every budget and on every data set"
        )
        by_data = ", ".join(
            f"{np.median([v for (d, _), v in against['FOGD'].items() if d == data]):.2f} on {data}"
            for data in self.data
        )
        words.append(
            f"""{verdict}. Its error is {typical(against["NOGD"])} that of NOGD and {typical(against["FOGD"])} that of
            FOGD; by data set, against FOGD: {by_data}."""
        )
        median = self.ratios(results, "OANA, median ε", "NOGD")
        worse = [f"{data} at m = {m} ({ratio:.1f} times)" for (data, m), ratio in median.items() if ratio > 1]
        words.append(
            (
                f"""The threshold matters: with the median epsilon OANA has a larger error than NOGD, whose landmarks
                never move, on {"; ".join(worse)}. Then only rows far from all landmarks move one; with few landmarks
                these are likely outliers, which pull their landmark away from most rows."""
                if worse
                else "With the median epsilon OANA also has a smaller error than NOGD at every budget."
            )
            + f""" With the defaults of OnlineNystroem, which takes only rows that differ enough as first landmarks,
            the error is {typical(self.ratios(results, "OANA, defaults", "OANA, median ε"))} that of starting from the
            first m rows at the same epsilon."""
        )
        offline = self.ratios(results, "OANA", "k-means")
        (worst, m), most = max(offline.items(), key=lambda item: item[1])
        words.append(
            f"""Compared with the maps that use all rows at once: the error of OANA is {typical(offline)} that of
            k-means, with the largest ratio on {worst} at m = {m} ({most:.1f} times). Leverage scores have
            {typical(self.ratios(results, "leverage", "uniform"))} the error of uniform draws, the ensemble
            {typical(self.ratios(results, f"ensemble of {EXPERTS}", "uniform"))} with {EXPERTS} times the budget. Two
            checks: on a shuffled stream the first m rows are a uniform draw, and the error of NOGD is
            {typical(self.ratios(results, "NOGD", "uniform"))} that of the uniform map; the error of Fastfood is
            {typical(self.ratios(results, "Fastfood", "FOGD"))} that of FOGD."""
        )
        return words

    def lines(self, results: Results) -> Sequence[Mapping[str, Any]]:
        """One line for every draw."""
        return [
            {"data": data, "method": method, "m": m, "rank": rank_of(m), "draw": draw, "gamma": one["gamma"]}
            | {"rows": one["rows"], "judged": one["judged"], "error": error}
            for data in self.data
            for method in METHODS
            for one in [results[self.key(data, method)]]
            for m in self.budgets(data)
            for draw, error in enumerate(one["errors"][str(m)])
        ]


def typical(ratios: Mapping[tuple[str, int], float]) -> str:
    """A ratio over all data sets and budgets: median, smallest and largest."""
    values = np.array(list(ratios.values()))
    return f"{np.median(values):.2f} times ({values.min():.2f} to {values.max():.2f})"
