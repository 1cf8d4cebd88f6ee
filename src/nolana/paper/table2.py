"""Table 2: what the threshold does on usps: accuracy, seconds and moves, beside the published numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.paper.experiment import Cell, Result, Results, Scale, Source
from nolana.paper.moves import DATA, counted, expected, nearest, scaled, started
from nolana.paper.passes import facts_of, limit_of, mean_and_spread
from nolana.paper.published import TABLE2
from nolana.paper.rows import TUNING_SEED, shuffled
from nolana.paper.scalings import FITTED, SCALINGS, STARTS
from nolana.paper.solving import Way, candidates_of, choose, rows_to_choose, shuffles_of, watched
from nolana.report import Block, Grid, Section, Text

__all__ = ["Table2"]

Array = NDArray[np.float64]

TUNED_AT = 50
SECOND_START = "rows drawn at random"  # with which the fitted factors are found
# title: solver, stage two, shuffles at most
WAYS = {
    "the paper's": ("randomized", "paper", 1),
    "inverse": ("inverse", "carry", 3),
    "Newton": ("Newton", "carry", 3),
}


def _stream(source: Source, given: Results, limit: int, seed: int) -> tuple[Array, NDArray[Any], Array | None]:
    """Rows in the order of a seed, labels, and landmarks to begin with, under the nearest scaling and start."""
    setting = nearest([given[key] for key in given if key.startswith("moves/")])
    X = scaled(source, limit, setting["scaling"], setting["factor"])
    order = np.random.default_rng(seed).permutation(len(X))
    return X[order], shuffled(source, DATA, limit, seed)[1], started(X, setting["start"], seed)


def way(title: str, threshold: float, initial: Array | None) -> Way:
    """One of WAYS."""
    solver, refit, _ = WAYS[title]
    return Way(solver, refit, facts_of(DATA).n_landmarks, facts_of(DATA).loss, threshold, initial)


def chosen(source: Source, given: Results, *, title: str, limit: int, rows: int, candidates: int) -> Result:
    """The parameters of a way at one threshold, for all of them."""
    X, y, initial = _stream(source, given, limit, TUNING_SEED)
    return choose(way(title, float(TUNED_AT), initial), X[:rows], y[:rows], candidates)


def passed(source: Source, given: Results, *, title: str, limit: int, threshold: int, shuffle: int) -> Result:
    """One pass at a threshold."""
    X, y, initial = _stream(source, given, limit, shuffle)
    parameters: dict[str, Any] = next(
        (given[key]["parameters"] for key in given if key.startswith("table2/choose/")), {}
    )
    return watched(way(title, float(threshold), initial).build(parameters, shuffle), X, y)


class Table2:
    """Accuracy, seconds and moves by the threshold."""

    name = "table2"
    title = "Table 2: the threshold"

    def __init__(self, source: Source, scale: Scale) -> None:
        self.source, self.scale = source, scale
        self.has_data = source.has(DATA)
        self.settings = [
            *((scaling, start) for scaling in SCALINGS for start in STARTS),
            *((scaling, SECOND_START) for scaling in FITTED),
        ]

    def plan(self) -> Sequence[Cell]:
        """Moves under every scaling and start, a choice of parameters for each way, and the passes."""
        if not self.has_data:
            return []
        limit, rows, candidates = limit_of(DATA, self.scale), rows_to_choose(self.scale), candidates_of(self.scale)
        counts = [
            Cell(
                self._moves(*setting),
                counted,
                {"limit": limit, "scaling": setting[0], "start": setting[1]},
                cost=limit * (1.5e-3 if setting[0] in FITTED else 1e-4),
            )
            for setting in self.settings
        ]
        settings = tuple(cell.key for cell in counts)
        cells = list(counts)
        for title, (solver, _, _) in WAYS.items():
            choice: tuple[str, ...] = ()
            slow = 2e-3 if solver == "randomized" else 2e-5
            if title != "Newton":
                choice = (f"table2/choose/{title}",)
                arguments = {"title": title, "limit": limit, "rows": rows, "candidates": candidates}
                cells.append(Cell(choice[0], chosen, arguments, settings, cost=slow * rows * (candidates + 22)))
            for threshold, published in TABLE2.items():
                for shuffle in range(self.shuffles(title)):
                    cells.append(
                        Cell(
                            self._pass(title, threshold, shuffle),
                            passed,
                            {"title": title, "limit": limit, "threshold": threshold, "shuffle": shuffle},
                            settings + choice,
                            alone=True,
                            cost=limit * (2e-5 + slow * published[2] / facts_of(DATA).rows),
                        )
                    )
        return cells

    def shuffles(self, title: str) -> int:
        """How many passes a way makes at each threshold."""
        return min(shuffles_of(self.scale), WAYS[title][2])

    def _moves(self, scaling: str, start: str) -> str:
        return f"moves/{scaling}/{start}"

    def _pass(self, title: str, threshold: int, shuffle: int) -> str:
        return f"table2/{title}/threshold {threshold}/shuffle {shuffle}"

    def section(self, results: Results) -> Section:
        """The moves under every scaling, and the table under the nearest."""
        if not self.has_data:
            return Section(self.name, self.title, [Text("Not run: " + self.source.missing(DATA))])
        best = nearest([results[self._moves(*setting)] for setting in self.settings])
        blocks: list[Block] = [
            Text(
                f"""The threshold is the squared distance to the nearest landmark from which a row moves it. The paper
                does not say how the features of usps were scaled nor where the landmarks began, and both decide how
                often a given threshold moves one; the solver has no part in it. So the moves were counted under several
                scalings and starts, in one shuffle. The last column is the mean of |log((moves + 1)/(published + 1))|
                over the thresholds; two scalings were given the factor that makes it least. The last of them is no
                common scaling: it was found by trying some thirty others, of which those that are in use are shown, so
                that it fits is no surprise. {self._share()}"""
            ),
            self._counts(results, best),
            Text(
                f"""The nearest ({self._setting(best)}) was taken for the table below: one pass, predict then learn,
                usps in two classes (0-4 / 5-9), m = {facts_of(DATA).n_landmarks}, hinge loss. The paper's solver is the
                warm-started randomized SVD at rank 0.8 m with its stage two; inverse is gradient steps without a
                decomposition; Newton has squared hinge loss and no parameter chosen. For the first two, kernel width
                and rate (for the paper's also theta) were chosen once, for threshold {TUNED_AT}, by 5-fold
                cross-validation on {rows_to_choose(self.scale):,} rows of another shuffle with
                {candidates_of(self.scale)} candidates and the defaults. Seconds are those spent in learning, with no
                other cell of the run beside them; the paper's solver made one shuffle, the others
                {self.shuffles("inverse")}, whose means stand here."""
            ),
            self._grid(results),
        ]
        blocks += [Text(words) for words in self.reading(results)]
        return Section(self.name, self.title, blocks)

    def _share(self) -> str:
        rows, all_rows = limit_of(DATA, self.scale), facts_of(DATA).rows
        if rows == all_rows:
            return ""
        return f"""The published moves are of {all_rows:,} rows, taken in proportion to {rows:,} here; so few rows
            cannot reach the published accuracy either."""

    def _setting(self, result: Result) -> str:
        factor = f" ({result['factor']:.3g})" if result["scaling"] in FITTED else ""
        return f"{result['scaling']}{factor}; landmarks begin at {result['start']}"

    def _counts(self, results: Results, best: Result) -> Grid:
        shown = [f"{value:,.0f}" for value in expected(limit_of(DATA, self.scale))]
        rows = [["published", "", *shown, ""]]
        marked = set()
        for setting in self.settings:
            result = results[self._moves(*setting)]
            if result is best:
                marked.add((len(rows), 2 + len(TABLE2)))
            factor = f" {result['factor']:.3g}" if result["scaling"] in FITTED else ""
            counts = [f"{moves:,}" for moves in result["moves"]]
            rows.append([result["scaling"] + factor, result["start"], *counts, f"{result['misfit']:.3f}"])
        head = ["features", "landmarks begin at", *map(str, TABLE2), "misfit"]
        return Grid("Moves by scaling and start, for each threshold.", head, rows, frozenset(marked))

    def _grid(self, results: Results) -> Grid:
        rows = []
        for threshold, (accuracy, seconds, moves) in TABLE2.items():
            row = [str(threshold), f"{accuracy:.2f}", f"{seconds:.2f}", f"{moves:,}"]
            for title in WAYS:
                row += [
                    mean_and_spread(self.of(results, title, threshold, "accuracy"), "accuracy"),
                    f"{np.mean(self.of(results, title, threshold, 'seconds')):.3f}",
                    f"{np.mean(self.of(results, title, threshold, 'moves')):,.0f}",
                ]
            rows.append(row)
        head = ["threshold"]
        for who in ("published", *WAYS):
            head += [f"{who}, %", "s", "moves"]
        return Grid("Accuracy in per cent, seconds of the whole pass, and landmark moves.", head, rows)

    def of(self, results: Results, title: str, threshold: int, field: str) -> list[float]:
        """A field of every pass of a way at a threshold."""
        return [float(results[self._pass(title, threshold, s)][field]) for s in range(self.shuffles(title))]

    def reading(self, results: Results) -> list[str]:
        """What agrees with the paper, and what does not."""
        counts = [results[self._moves(*setting)] for setting in self.settings]
        best = nearest(counts)
        plain = nearest([result for result in counts if result["scaling"] in SCALINGS])
        falling = (
            "they fall with the threshold under every scaling, as published"
            if all(min(-np.diff(result["moves"])) >= 0 for result in counts)
            else "they do not fall with the threshold under every scaling"
        )
        kind = "close" if best["misfit"] < 0.1 else "only roughly the same"
        mean = {
            title: np.array([np.mean(self.of(results, title, t, "accuracy")) for t in TABLE2]) * 100 for title in WAYS
        }
        seconds = {title: np.array([np.mean(self.of(results, title, t, "seconds")) for t in TABLE2]) for title in WAYS}
        published = np.array([accuracy for accuracy, _, _ in TABLE2.values()])
        ours = mean["the paper's"]
        gap, gain, published_gain = ours - published, ours - ours[-1], published - published[-1]
        best_at, published_at = (list(TABLE2)[int(np.argmax(values))] for values in (ours, published))
        return [
            f"""Moves: {falling}. The nearest is {self._setting(best)}, with counts that are {kind} (a factor of
            {np.exp(best["misfit"]):.2f} off, on average). Of the scalings in common use the nearest is
            {self._setting(plain)}, a factor of {np.exp(plain["misfit"]):.2f} off. Counts that fit do not prove that the
            authors scaled so.""",
            f"""Accuracy: the paper's solver, run here, is {gap.min():+.2f} to {gap.max():+.2f} points from the
            published numbers. It is best at threshold {best_at}, {gain.max():+.2f} points against no moves at all
            (published: best at {published_at}, {published_gain.max():+.2f}); a move at every row makes {gain[0]:+.2f}
            (published {published_gain[0]:+.2f}). Over the thresholds the inverse is at {mean["inverse"].min():.2f} to
            {mean["inverse"].max():.2f} % and Newton at {mean["Newton"].min():.2f} to {mean["Newton"].max():.2f}
            %.""",
            f"""Time: with a move at every row our run of the paper's solver takes {seconds["the paper's"][0]:.3g} s
            (published {TABLE2[0][1]:.1f} s on another machine) and {seconds["the paper's"][-1]:.3g} s without moves
            (published {TABLE2[300][1]:.1f} s); the inverse takes {seconds["inverse"][0]:.3g} s and
            {seconds["inverse"][-1]:.3g} s, Newton {seconds["Newton"][0]:.3g} s and {seconds["Newton"][-1]:.3g} s. The
            paper's solver runs in NumPy here and the other two in compiled code, so part of that ratio is the
            language; the section on SVD time takes the two apart.""",
        ]

    def lines(self, results: Results) -> Sequence[Mapping[str, Any]]:
        """One line for every count, and one for every pass."""
        if not self.has_data:
            return []
        found: list[Mapping[str, Any]] = []
        for setting in self.settings:
            result = results[self._moves(*setting)]
            for threshold, moves in zip(TABLE2, result["moves"], strict=True):
                about = {key: result[key] for key in ("scaling", "start", "factor", "misfit")}
                found.append({"what": "moves", "threshold": threshold, "moves": moves} | about)
        best = nearest([results[self._moves(*setting)] for setting in self.settings])
        for title in WAYS:
            for threshold in TABLE2:
                for shuffle in range(self.shuffles(title)):
                    one = results[self._pass(title, threshold, shuffle)]
                    own = {key: one[key] for key in ("moves", "accuracy", "seconds", "bytes")}
                    about = {key: best[key] for key in ("scaling", "start", "factor")}
                    found.append({"what": title, "threshold": threshold, "shuffle": shuffle} | own | about)
        return found
