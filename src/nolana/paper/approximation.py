"""How near the adaptive map comes to the kernel, against the budget, beside the maps it competes with."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nolana import plot
from nolana.paper.experiment import Array, Cell, Result, Results, Scale, Source
from nolana.paper.gram import width_of
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
from nolana.paper.passes import limit_of
from nolana.paper.rows import rows_of, shuffled
from nolana.paper.table1 import TITLES
from nolana.plot import Panel
from nolana.report import Block, Figure, Grid, Section, Text

__all__ = ["Approximation"]

DATA = ("cpusmall", "usps", "covtype")
ROWS = 10_000  # of a data set at most
SAMPLE = 4_000  # rows that G is made of at most
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
SECONDS = {"FOGD": 45.0, "Fastfood": 60.0, "leverage": 40.0, "k-means": 30.0}  # of a whole data set, roughly


def errors(
    source: Source, _: Results, *, data: str, method: str, limit: int, sample: int, budgets: list[int], draws: int
) -> Result:
    """The error of one kind of map at all budgets, some draws each."""
    gamma, make = width_of(source, data, limit), METHODS[method]
    X = rows_of(source, data, limit)[0]
    if method in ONLINE:  # the order of the stream is what is drawn
        makers = [make(shuffled(source, data, limit, draw)[0], gamma) for draw in range(draws)]
    else:
        makers = [make(X, gamma)] * draws
    judged = X[np.random.default_rng(draws).permutation(len(X))[:sample]]
    found = {
        str(m): [relative_error(makers[draw].map(m, rank_of(m), draw), judged, gamma) for draw in range(draws)]
        for m in sorted(budgets, reverse=True)
    }
    return {"gamma": gamma, "rows": len(X), "judged": len(judged), "errors": found}


def rank_of(m: int) -> int:
    """r at the paper's budget."""
    return int(RANK * m + 1e-9)


class Approximation:
    """The error of every map at every budget."""

    name = "approximation"
    title = "Approximation: how near the map comes to the kernel"

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
        """Of a cell."""
        return f"approximation/{data}/{method}"

    def mean(self, results: Results, data: str, method: str, m: int) -> float:
        """Over the draws."""
        return float(np.mean(results[self.key(data, method)]["errors"][str(m)]))

    def section(self, results: Results) -> Section:
        """Two figures, online and offline, and the numbers."""
        if not self.data:
            return Section(self.name, self.title, [Text("None of the data sets was found.")])
        first = {data: results[self.key(data, "NOGD")] for data in self.data}
        widths = "; ".join(
            f"{data}: {one['rows']:,} rows, G of {one['judged']:,}, gamma {one['gamma']:.3g}"
            for data, one in first.items()
        )
        blocks: list[Block] = [
            Text(
                f"""The relative error |G - Gbar|_F / |G|_F of the kernel matrix, against the number of landmarks m.
                Landmark maps have rank r = 0.8 m, random maps as many projections as the same m d + m r numbers hold,
                (m d + m r)/d; the mean of {self.draws} draws (of the order of the stream for the online maps). The
                kernel is exp(-gamma |x - z|^2), the same for all maps. The paper does not give its width; here
                gamma is 1 over the median squared distance of rows. G is taken over a random sample of the rows where
                there are many. {widths}."""
            ),
            Text(
                """OANA and NOGD both begin with the first m rows; OANA then lets every row move its landmark
                (epsilon = 0), or only rows farther away than the first landmarks are from each other (median epsilon).
                "Defaults" is what OnlineNystroem does when it is told nothing: median epsilon, and a row becomes a
                landmark only if it is new enough."""
            ),
            Figure(self.drawing(results, list(ONLINE)), "Maps of one pass: error against m, both logarithmic."),
            self.grid(results, "Maps of one pass", list(ONLINE)),
            Text(
                f"""What a map can reach that sees all rows before it chooses: k-means takes the centroids of all rows
                (20 rounds of Lloyd's), leverage draws rows in proportion to their leverage scores of rank r (without
                replacement), the ensemble is the mean of {EXPERTS} uniform maps with m rows each, so it has
                {EXPERTS} times the budget, and Fastfood has as many projections as FOGD and stores less for them."""
            ),
            Figure(
                self.drawing(results, ["OANA", *OFFLINE]),
                "OANA after one pass beside maps that see all rows: error against m, both logarithmic.",
            ),
            self.grid(results, "Maps that see all rows", list(OFFLINE)),
            *(Text(words) for words in self.reading(results)),
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

    def grid(self, results: Results, what: str, methods: Sequence[str]) -> Grid:
        """All means; the best of these maps stands out."""
        rows: list[list[str]] = []
        marked = set()
        for data, m in self.places():
            means = [self.mean(results, data, method, m) for method in methods]
            marked.add((len(rows), 2 + int(np.argmin(means))))
            rows.append([data, str(m), *(f"{value:.4f}" for value in means)])
        caption = f"{what}: |G - Gbar|_F / |G|_F, mean of {self.draws} draws. The best stands out."
        return Grid(caption, ["data", "m", *methods], rows, frozenset(marked))

    def places(self) -> list[tuple[str, int]]:
        """Every data set with every budget."""
        return [(data, m) for data in self.data for m in self.budgets(data)]

    def ratios(self, results: Results, one: str, other: str) -> dict[tuple[str, int], float]:
        """The error of one map over that of another, at every place."""
        return {
            (data, m): self.mean(results, data, one, m) / self.mean(results, data, other, m)
            for data, m in self.places()
        }

    def reading(self, results: Results) -> list[str]:
        """What agrees with the paper, and what does not."""
        words = []
        against = {rival: self.ratios(results, "OANA", rival) for rival in ("NOGD", "FOGD")}
        lost = [
            f"{data} at m = {m} ({rival}: {ratio:.2f} times its error)"
            for rival, ratios in against.items()
            for (data, m), ratio in ratios.items()
            if ratio >= 1
        ]
        verdict = "OANA with epsilon = 0 comes nearer to G than NOGD and FOGD, as the paper says, " + (
            f"but not on {'; '.join(lost)}" if lost else "at every budget on every data set"
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
                f"""The threshold matters: with the median epsilon OANA is farther from G than NOGD, whose landmarks do
                not move at all, on {"; ".join(worse)}. Only rows far from all landmarks move one then; where landmarks
                are few these are likely outliers, which pull their landmark away from where most rows are."""
                if worse
                else "With the median epsilon too OANA comes nearer to G than NOGD at every budget."
            )
            + f""" Where OnlineNystroem chooses its first landmarks itself, rows that are new enough, the error is
            {typical(self.ratios(results, "OANA, defaults", "OANA, median ε"))} that of starting with the first m rows
            at the same epsilon."""
        )
        seen = self.ratios(results, "OANA", "k-means")
        (worst, m), most = max(seen.items(), key=lambda item: item[1])
        words.append(
            f"""Against the maps that see all rows: OANA's error is {typical(seen)} that of k-means over all rows; one
            pass loses most on {worst} at m = {m} ({most:.1f} times). Leverage scores give
            {typical(self.ratios(results, "leverage", "uniform"))} the error of uniform draws, the ensemble
            {typical(self.ratios(results, f"ensemble of {EXPERTS}", "uniform"))} with {EXPERTS} times the budget. Two
            checks: on a shuffled stream the first m rows are a uniform draw, and NOGD's error is
            {typical(self.ratios(results, "NOGD", "uniform"))} that of the uniform map; Fastfood's is
            {typical(self.ratios(results, "Fastfood", "FOGD"))} that of FOGD."""
        )
        absent = [name for name in DATA if name not in self.data]
        return words + [f"{name}: the data was not available. {self.source.missing(name)}" for name in absent]

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
    """A ratio over all places: the median, the least and the largest."""
    values = np.array(list(ratios.values()))
    return f"{np.median(values):.2f} times ({values.min():.2f} to {values.max():.2f})"
