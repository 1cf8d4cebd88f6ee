"""Regret against the best fixed model in hindsight, and every term of the paper's bound on it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nolana import plot
from nolana.paper.experiment import Cell, Results, Scale, Source
from nolana.paper.passes import limit_of
from nolana.paper.regret_cells import ARMS, DECAY, MAIN, RATE, key_of, measured
from nolana.paper.regret_numbers import Numbers, growth
from nolana.paper.regret_reading import reading
from nolana.paper.table1 import TITLES
from nolana.plot import Panel
from nolana.report import Block, Figure, Grid, Section, Text

__all__ = ["Regret"]

DATA = ("usps_halves", "ijcnn1")
LONGEST = 4_000
SHORTEST = 30
HALVINGS = 4
DRAWS = 3


class Regret:
    """Regret by the length of the stream."""

    name = "regret"
    title = "Regret: against the best fixed model in hindsight"

    def __init__(self, source: Source, scale: Scale) -> None:
        self.source, self.draws = source, min(DRAWS, scale.shuffles)
        self.data = [name for name in DATA if source.has(name)]
        self.limits = {name: limit_of(name, scale) for name in self.data}

    def sizes(self, data: str) -> list[int]:
        """T, doubling; rows for the first landmarks are left."""
        longest = min(LONGEST, 9 * self.limits[data] // 10)
        return [longest >> i for i in range(HALVINGS, -1, -1) if longest >> i >= SHORTEST]

    def plan(self) -> Sequence[Cell]:
        """A cell for every length and draw."""
        return [
            Cell(
                key_of(data, rows, draw),
                measured,
                {"data": data, "limit": self.limits[data], "rows": rows, "draw": draw},
                cost=30.0 * (rows / LONGEST) ** 2,
            )
            for data in self.data
            for rows in self.sizes(data)
            for draw in range(self.draws)
        ]

    def numbers(self, results: Results) -> Numbers:
        """What the section is written from."""
        return Numbers(results, {data: self.sizes(data) for data in self.data}, self.draws)

    def section(self, results: Results) -> Section:
        """Regret by length, its terms, and what follows."""
        if not self.data:
            return Section(self.name, self.title, [Text("None of the data sets was found.")])
        numbers = self.numbers(results)
        blocks: list[Block] = [
            Text(
                f"""Cumulated cost of one pass, minus that of the best fixed model in hindsight, for streams of T rows.
                A row costs log(1 + exp(-y f)) + lambda/2 |f|², lambda = {DECAY:g}: a loss with bounded and Lipschitz
                gradient, and a penalty that keeps the best model bounded. The best model is the minimiser on the exact
                kernel (exp(-gamma |x - z|²), gamma 1 over the median squared distance), found by Newton's method
                to a duality gap of at most {numbers.largest_gap():.0e} of its cost. As the analysis asks:
                η = {RATE:g}/√T, m = √T landmarks, √T moves (epsilon by bisection on the stream; moves made:
                {numbers.moves_made()}). The landmarks begin at rows that the stream does not reach; a ridge of
                1e-3 is part of the map. Mean of {self.draws} shuffles."""
            ),
            Figure(self.drawing(numbers), "Regret against T, both logarithmic, and regret over √T."),
            self.regrets(numbers),
            Text(
                """The terms, measured for √T moves (weights carried). Regret = |w*|²/2η + ηΣ|g|²/2 + J/2η + price of
                the map - |w-w*|²/2η - slack, exactly: w* is the image of the best model under the map of the moment,
                J the sum over the moves of what a move does to |w - w*|², the price of the map what w* costs more than
                the best model itself, the slack what convexity gives away. The bound takes ηL²T/2 for the second term
                (L the largest |g|), τ(R+C) for J (τ moves; R and C the largest |w|² and |w*|²: the paper gives
                its radii no values), and for the price of the map a multiple of the spectral errors |K - K_s|₂ of the
                maps between moves. One that holds is Σ√(T_s/T)|K-K_s|₂/λ over the segments s of T_s rows (the loss has
                a slope of at most 1 and the best model coefficients of at most 1/λT); K is the exact kernel matrix of
                all T rows, and the spectral errors are those of the first shuffle."""
            ),
            self.grid(numbers),
            Figure(self.terms_drawing(numbers), "The terms of the bound against T, both logarithmic, √T moves."),
            *(Text(words) for words in reading(numbers)),
            *(Text(words) for words in self.left_out()),
        ]
        return Section(self.name, self.title, blocks)

    def drawing(self, numbers: Numbers) -> str:
        """Regret, and regret over the root, for every data set."""
        panels = []
        for data in self.data:
            sizes = self.sizes(data)
            curves = {arm: [numbers.regret(data, rows, arm) for rows in sizes] for arm in ARMS}
            xs = [float(rows) for rows in sizes]
            panels.append(
                Panel(
                    TITLES[data],
                    {arm: (xs, [v if v > 0 else math.nan for v in ys]) for arm, ys in curves.items()},
                    "rows T",
                    "regret",
                    log_x=True,
                    log_y=True,
                    points=True,
                )
            )
            panels.append(
                Panel(
                    TITLES[data],
                    {arm: (xs, [v / math.sqrt(x) for x, v in zip(xs, ys, strict=True)]) for arm, ys in curves.items()},
                    "rows T",
                    "regret / √T",
                    log_x=True,
                    points=True,
                )
            )
        return plot.svg(panels, columns=2)

    def regrets(self, numbers: Numbers) -> Grid:
        """Regret by arm, and how it grows."""
        rows = []
        for data in self.data:
            sizes = self.sizes(data)
            costs = [f"{numbers.mean(data, size, 'objective'):.1f}" for size in sizes]
            rows.append([f"{TITLES[data]}: cost of the best model", *costs, "", ""])
            for arm in ARMS:
                values = [numbers.regret(data, size, arm) for size in sizes]
                over = f"{values[-1] / math.sqrt(sizes[-1]):.2f}"
                rows.append(
                    [f"{TITLES[data]}: {arm}", *(f"{v:.1f}" for v in values), f"{growth(sizes, values):.2f}", over]
                )
        head = [f"T = {size:,}" for size in self.sizes(self.data[0])]
        return Grid(
            "Regret; the power of T that fits it; and regret/√T at the end.",
            ["", *head, "power of T", "over √T"],
            rows,
        )

    def grid(self, numbers: Numbers) -> Grid:
        """The terms by length."""
        rows = []
        names = list(numbers.terms(self.data[0], self.sizes(self.data[0])[0]))
        for data in self.data:
            sizes = self.sizes(data)
            table = [numbers.terms(data, size) for size in sizes]
            for name in names:
                values = [terms[name] for terms in table]
                power = growth(sizes, values)
                shown = "" if math.isnan(power) else f"{power:.2f}"
                rows.append([f"{TITLES[data]}: {name}", *(f"{v:,.1f}" for v in values), shown])
        head = [f"T = {size:,}" for size in self.sizes(self.data[0])]
        return Grid("The terms, and the power of T that fits them.", ["", *head, "power of T"], rows)

    def terms_drawing(self, numbers: Numbers) -> str:
        """The terms that are never negative."""
        shown = ("regret", "|w*|²/2η", "ηL²T/2", "τ(R+C)", "τ(R+C)/2η", "Σ√(T_s/T)|K-K_s|₂/λ")
        panels = []
        for data in self.data:
            sizes = self.sizes(data)
            table = [numbers.terms(data, rows) for rows in sizes]
            curves = {name: ([float(rows) for rows in sizes], [terms[name] for terms in table]) for name in shown}
            panels.append(Panel(TITLES[data], curves, "rows T", "cost", log_x=True, log_y=True, points=True))
        return plot.svg(panels, columns=len(panels), height=3.8)

    def left_out(self) -> list[str]:
        """Data that was not there."""
        absent = [name for name in DATA if name not in self.data]
        return [f"{name}: the data was not available. {self.source.missing(name)}" for name in absent]

    def lines(self, results: Results) -> Sequence[Mapping[str, Any]]:
        """One line for every pass."""
        found: list[Mapping[str, Any]] = []
        for data in self.data:
            for rows in self.sizes(data):
                for draw in range(self.draws):
                    cell = results[key_of(data, rows, draw)]
                    shared = {name: cell[name] for name in ("m", "gamma", "eta", "threshold", "objective", "gap")}
                    for arm, terms in cell["arms"].items():
                        errors = {
                            name: cell.get(name, "") if arm == MAIN else "" for name in ("spectral", "spectral_bound")
                        }
                        found.append(
                            {"data": data, "rows": rows, "draw": draw, "arm": arm}
                            | shared
                            | {"squared_norm": cell["squared_norm"], "regret": terms["cost"] - cell["objective"]}
                            | terms
                            | errors
                        )
        return found
