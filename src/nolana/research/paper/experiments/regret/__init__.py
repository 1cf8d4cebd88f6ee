"""The experiment on regret: plan, section of the report, CSV lines."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from nolana import plot
from nolana.plot import Panel
from nolana.research.paper.experiments.regret.cells import ARMS, DECAY, MAIN, RATE, key_of, measured
from nolana.research.paper.experiments.regret.findings import NEAR_ROOT, Numbers, findings, growth, growth_text
from nolana.research.paper.experiments.table1 import TITLES
from nolana.research.paper.harness import Cell, Experiment, Lines, Results, Scale, Source, SummaryLine, answer_of
from nolana.research.paper.harness.passes import limit_of
from nolana.research.report import Block, Figure, Grid, Lead, Text

DATA = ("usps_halves", "ijcnn1")
LONGEST = 4_000
SHORTEST = 30
HALVINGS = 4
DRAWS = 3
SHARED = ("m", "gamma", "eta", "threshold", "objective", "gap", "squared_norm")  # by all arms of a stream


class Regret(Experiment):
    """Regret by the length of the stream."""

    name = "regret"
    title = "Regret: against the best fixed model in hindsight"
    uses = DATA

    def __init__(self, source: Source, scale: Scale) -> None:
        super().__init__(source, scale)
        self.draws = min(DRAWS, scale.shuffles)
        self.limits = {name: limit_of(name, scale) for name in self.data}

    def sizes(self, data: str) -> list[int]:
        """The lengths T of the streams, each twice the one before; some rows are left for the initial landmarks."""
        longest = min(LONGEST, 9 * self.limits[data] // 10)
        return [longest >> i for i in range(HALVINGS, -1, -1) if longest >> i >= SHORTEST]

    def streams(self) -> Iterator[tuple[str, int, int]]:
        """Data set, rows and draw of every cell."""
        for data in self.data:
            yield from product([data], self.sizes(data), range(self.draws))

    def plan(self) -> Sequence[Cell]:
        cells = []
        for data, rows, draw in self.streams():
            arguments = {"data": data, "limit": self.limits[data], "rows": rows, "draw": draw}
            cells.append(Cell(key_of(data, rows, draw), measured, arguments, cost=30.0 * (rows / LONGEST) ** 2))
        return cells

    def numbers(self, results: Results) -> Numbers:
        """The means over the draws."""
        return Numbers(results, {data: self.sizes(data) for data in self.data}, self.draws)

    def blocks(self, results: Results) -> Sequence[Block]:
        numbers = self.numbers(results)
        return [
            Lead(growth_text(numbers)),
            Text(
                f"""Total cost of one pass minus that of the best fixed model in hindsight, for streams of T rows. A row
                costs log(1 + exp(-y f)) + lambda/2 |f|², lambda = {DECAY:g}: a loss with bounded and Lipschitz
                gradient, and a penalty that bounds the best model. The best model is the minimiser on the exact kernel
                (exp(-gamma |x - z|²), gamma 1 over the median squared distance), computed by Newton's method to a
                duality gap of at most {numbers.largest_gap():.0e} of its cost. As the analysis requires:
                η = {RATE:g}/√T, m = √T landmarks, √T moves (epsilon by bisection on the stream; moves made:
                {numbers.moves_made()}). The initial landmarks are rows that are not part of the stream; a ridge of
                1e-3 is part of the map. Means of {self.draws} shuffles."""
            ),
            Figure(self.drawing(numbers), "Regret against T, both logarithmic, and regret divided by √T."),
            self.regrets(numbers),
            Text(
                """The terms, measured for √T moves (weights carried over). Exactly: regret = |w*|²/2η + ηΣ|g|²/2 + J/2η
                + cost of the map - |w-w*|²/2η - slack. Here w* is the image of the best model under the current map, J
                the sum over the moves of the change of |w - w*|² by a move, the cost of the map the cost of w* minus
                that of the best model, and the slack the loss of accuracy in the convexity inequality. The bound uses
                ηL²T/2 for the second term (L is the largest |g|), τ(R+C) for J (τ moves; R and C are the largest |w|²
                and |w*|², because the paper gives no values for its radii), and for the cost of the map a multiple of
                the spectral errors |K - K_s|₂ of the maps between moves. A valid bound is Σ√(T_s/T)|K-K_s|₂/λ over the
                segments s of T_s rows (the slope of the loss is at most 1, the coefficients of the best model at most
                1/λT); K is the exact kernel matrix of all T rows, and the spectral errors are those of the first
                shuffle."""
            ),
            self.grid(numbers),
            Figure(self.terms_drawing(numbers), "The terms of the bound against T, both logarithmic, √T moves."),
            *(Text(words) for words in findings(numbers)),
            *self.unavailable(),
        ]

    def summary(self, results: Results) -> Sequence[SummaryLine]:
        numbers = self.numbers(results)
        powers = [numbers.exponent(data, MAIN) for data in self.data]
        slow = [power <= NEAR_ROOT for power in powers]
        answer = answer_of(yes=all(slow), partly=any(slow))
        listed = ", ".join(f"T^{power:.2f} on {TITLES[data]}" for data, power in zip(self.data, powers, strict=True))
        return [SummaryLine("With √T moves the regret grows like √T.", answer, listed)]

    def drawing(self, numbers: Numbers) -> str:
        """Regret, and regret divided by √T, for every data set."""
        panels = []
        for data in self.data:
            sizes = self.sizes(data)
            curves = {arm: [numbers.regret(data, rows, arm) for rows in sizes] for arm in ARMS}
            xs = [float(rows) for rows in sizes]
            positive = {arm: (xs, [v if v > 0 else math.nan for v in ys]) for arm, ys in curves.items()}
            over_root = {arm: (xs, list(np.divide(ys, np.sqrt(xs)))) for arm, ys in curves.items()}
            panels += [
                Panel(TITLES[data], positive, "rows T", "regret", log_x=True, log_y=True, points=True),
                Panel(TITLES[data], over_root, "rows T", "regret / √T", log_x=True, points=True),
            ]
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
                power, ratio = growth(sizes, values), values[-1] / math.sqrt(sizes[-1])
                shown = [f"{value:.1f}" for value in values]
                rows.append([f"{TITLES[data]}: {arm}", *shown, f"{power:.2f}", f"{ratio:.2f}"])
        head = ["", *(f"T = {size:,}" for size in self.sizes(self.data[0])), "power of T", "/ √T"]
        return Grid("Regret, the power of T that fits it, and regret/√T at the largest T.", head, rows)

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

    def lines(self, results: Results) -> Lines:
        lines: list[Mapping[str, object]] = []
        for data, rows, draw in self.streams():
            cell = results[key_of(data, rows, draw)]
            shared = {name: cell[name] for name in SHARED}
            for arm, terms in cell["arms"].items():
                line = {"data": data, "rows": rows, "draw": draw, "arm": arm} | shared
                line |= {"regret": terms["cost"] - cell["objective"]} | terms
                for name in ("spectral", "spectral_bound"):
                    line[name] = cell.get(name, "") if arm == MAIN else ""
                lines.append(line)
        return lines
