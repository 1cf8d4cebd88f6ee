"""Table 2: the effect of the threshold on usps: accuracy, seconds and moves, beside the published numbers."""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from nolana.research.paper.experiments.moves import (
    DATA,
    FITTED,
    SCALINGS,
    STARTS,
    TABLE2,
    TUNED_AT,
    VARIANTS,
    chosen,
    closest,
    counted,
    expected,
    passed,
)
from nolana.research.paper.harness import (
    Array,
    Cell,
    Experiment,
    Lines,
    Result,
    Results,
    Scale,
    Source,
    SummaryLine,
    answer_of,
)
from nolana.research.paper.harness.passes import limit_of, mean_and_spread, paper_settings
from nolana.research.report import Block, Grid, Lead, Text

FITTED_START = "rows drawn at random"  # the start with which the factors are fitted
SETTINGS = (*product(SCALINGS, STARTS), *product(FITTED, [FITTED_START]))


class Table2(Experiment):
    """Accuracy, seconds and moves by the threshold."""

    name = "table2"
    title = "Table 2: the threshold"
    required = (DATA,)

    def __init__(self, source: Source, scale: Scale) -> None:
        super().__init__(source, scale.smaller)

    def plan(self) -> Sequence[Cell]:
        limit, rows, candidates = limit_of(DATA, self.scale), self.scale.tuning_rows, self.scale.candidates
        cells = []
        for scaling, start in SETTINGS:
            arguments: dict[str, object] = {"limit": limit, "scaling": scaling, "start": start}
            cost = limit * (1.5e-3 if scaling in FITTED else 1e-4)
            cells.append(Cell(self._moves_key(scaling, start), counted, arguments, cost=cost))
        settings = tuple(cell.key for cell in cells)
        for title, (solver, _, _, tuned) in VARIANTS.items():
            choice: tuple[str, ...] = ()
            per_move = 2e-3 if solver == "randomized" else 2e-5
            if tuned:
                choice = (f"table2/choose/{title}",)
                arguments = {"title": title, "limit": limit, "rows": rows, "candidates": candidates}
                cells.append(Cell(choice[0], chosen, arguments, settings, cost=per_move * rows * (candidates + 22)))
            for threshold, shuffle in product(TABLE2, range(self.shuffles(title))):
                arguments = {"title": title, "limit": limit, "threshold": threshold, "shuffle": shuffle}
                cost = limit * (2e-5 + per_move * TABLE2[threshold][2] / paper_settings(DATA).rows)
                key = self._pass_key(title, threshold, shuffle)
                cells.append(Cell(key, passed, arguments, settings + choice, alone=True, cost=cost))
        return cells

    def shuffles(self, title: str) -> int:
        """How many passes a variant makes at each threshold."""
        return min(self.scale.shuffles, VARIANTS[title][2])

    def _moves_key(self, scaling: str, start: str) -> str:
        return f"moves/{scaling}/{start}"

    def _pass_key(self, title: str, threshold: int, shuffle: int) -> str:
        return f"table2/{title}/threshold {threshold}/shuffle {shuffle}"

    def counts(self, results: Results) -> list[Result]:
        """The moves of every scaling and start."""
        return [results[self._moves_key(*setting)] for setting in SETTINGS]

    def blocks(self, results: Results) -> Sequence[Block]:
        best = closest(self.counts(results))
        return [
            Lead(
                f"""With the paper's solver, landmarks that move gain {self.gain(results):.2f} points at the best
                threshold; where every row moves a landmark, the inverse takes {self.speed(results):.0f} times less
                time."""
            ),
            Text(
                f"""The threshold is a squared distance: a row that is at least so far from the nearest landmark moves
                it. The paper describes neither the scaling of the features of usps nor the initial landmarks, and both
                determine how often a threshold moves a landmark; the solver does not matter. So the moves were counted
                for several scalings and starts, in one shuffle. The last column is the mean of
                |log((moves + 1)/(published + 1))| over the thresholds; two scalings have a factor that was fitted to
                make it small. The last of them is not a common scaling: it is the best of about thirty that were tried,
                of which only the common ones are shown, so its good fit is no surprise. {self._share()}"""
            ),
            self._counts_grid(results, best),
            Text(
                f"""The table below uses the closest setting ({self._setting(best)}): one pass, predict then learn, usps
                in two classes (0-4 / 5-9), m = {paper_settings(DATA).n_landmarks}, hinge loss. The paper's solver is
                the warm-started randomized SVD at rank 0.8 m with the paper's stage two; inverse means gradient steps
                without a decomposition; Newton has the squared hinge loss and default parameters. For the first two,
                kernel width and rate (and theta for the paper's) were tuned once, at threshold {TUNED_AT}, by 5-fold
                cross-validation on {self.scale.tuning_rows:,} rows of another shuffle with
                {self.scale.candidates} candidates and the defaults. Seconds are processor time
                of the pass. The paper's solver ran on one shuffle, the others on
                {self.shuffles("inverse")}; the table shows the means."""
            ),
            self._grid(results),
            *(Text(words) for words in self.findings(results)),
        ]

    def _share(self) -> str:
        rows, all_rows = limit_of(DATA, self.scale), paper_settings(DATA).rows
        if rows == all_rows:
            return ""
        return f"""The published moves are for {all_rows:,} rows and are scaled to the {rows:,} rows used here; so few
            rows cannot reach the published accuracy either."""

    def _setting(self, result: Result) -> str:
        factor = f" ({result['factor']:.3g})" if result["scaling"] in FITTED else ""
        return f"{result['scaling']}{factor}; initial landmarks: {result['start']}"

    def _counts_grid(self, results: Results, best: Result) -> Grid:
        published = [f"{value:,.0f}" for value in expected(limit_of(DATA, self.scale))]
        rows = [["published", "", *published, ""]]
        marked = set()
        for result in self.counts(results):
            if result is best:
                marked.add((len(rows), 2 + len(TABLE2)))
            factor = f" {result['factor']:.3g}" if result["scaling"] in FITTED else ""
            counts = [f"{moves:,}" for moves in result["moves"]]
            rows.append([result["scaling"] + factor, result["start"], *counts, f"{result['misfit']:.3f}"])
        head = ["features", "initial landmarks", *map(str, TABLE2), "misfit"]
        return Grid("Moves by scaling and initial landmarks, for each threshold.", head, rows, frozenset(marked))

    def _grid(self, results: Results) -> Grid:
        rows = []
        for threshold, (accuracy, seconds, moves) in TABLE2.items():
            row = [str(threshold), f"{accuracy:.2f}", f"{seconds:.2f}", f"{moves:,}"]
            for title in VARIANTS:
                row += [
                    mean_and_spread(self.values(results, title, threshold, "accuracy"), "accuracy"),
                    f"{np.mean(self.values(results, title, threshold, 'seconds')):.3f}",
                    f"{np.mean(self.values(results, title, threshold, 'moves')):,.0f}",
                ]
            rows.append(row)
        head = ["threshold"]
        for title in ("published", *VARIANTS):
            head += [f"{title}, %", "s", "moves"]
        return Grid("Accuracy in per cent, seconds of the whole pass, and landmark moves.", head, rows)

    def values(self, results: Results, title: str, threshold: int, field: str) -> list[float]:
        """A field of every pass of a variant at a threshold."""
        return [float(results[self._pass_key(title, threshold, s)][field]) for s in range(self.shuffles(title))]

    def means(self, results: Results, title: str, field: str) -> Array:
        """The means of a field for all thresholds."""
        return np.array([np.mean(self.values(results, title, threshold, field)) for threshold in TABLE2])

    def gain(self, results: Results) -> float:
        """Points at the best threshold against no moves, with the paper's solver."""
        accuracy = 100 * self.means(results, "the paper's", "accuracy")
        return float((accuracy - accuracy[-1]).max())

    def speed(self, results: Results) -> float:
        """How many times the inverse is faster if every row moves a landmark."""
        papers, inverse = (self.means(results, title, "seconds")[0] for title in ("the paper's", "inverse"))
        return float(papers / max(inverse, 1e-9))

    def summary(self, results: Results) -> Sequence[SummaryLine]:
        gain = self.gain(results)
        published = [accuracy for accuracy, _, _ in TABLE2.values()]
        figure = f"{gain:+.2f} points at the best threshold (published {max(published) - published[-1]:+.2f})"
        answer = answer_of(yes=gain > 0.5, partly=gain > 0.1)
        return [SummaryLine("Moving landmarks improves the accuracy on usps.", answer, figure)]

    def findings(self, results: Results) -> list[str]:
        """What agrees with the paper, and what does not."""
        counts = self.counts(results)
        best = closest(counts)
        common = closest([result for result in counts if result["scaling"] in SCALINGS])
        falling = (
            "they fall with the threshold for every scaling, as published"
            if all(min(-np.diff(result["moves"])) >= 0 for result in counts)
            else "they do not fall with the threshold for every scaling"
        )
        agreement = "close" if best["misfit"] < 0.1 else "only roughly equal"
        mean = {title: 100 * self.means(results, title, "accuracy") for title in VARIANTS}
        seconds = {title: self.means(results, title, "seconds") for title in VARIANTS}
        published = np.array([accuracy for accuracy, _, _ in TABLE2.values()])
        ours = mean["the paper's"]
        gap, gain, published_gain = ours - published, ours - ours[-1], published - published[-1]
        best_at, published_at = (list(TABLE2)[int(np.argmax(values))] for values in (ours, published))
        return [
            f"""Moves: {falling}. The closest setting is {self._setting(best)}; its counts are {agreement} (off by a
            factor of {np.exp(best["misfit"]):.2f} on average). The closest common scaling is {self._setting(common)},
            off by a factor of {np.exp(common["misfit"]):.2f}. Equal counts do not prove that the authors used this
            scaling.""",
            f"""Accuracy: the paper's solver, run here, is {gap.min():+.2f} to {gap.max():+.2f} points from the
            published numbers. It is best at threshold {best_at}, {gain.max():+.2f} points compared with no moves
            (published: best at {published_at}, {published_gain.max():+.2f}); moves at every row give {gain[0]:+.2f}
            (published {published_gain[0]:+.2f}). Over the thresholds the inverse has {mean["inverse"].min():.2f} to
            {mean["inverse"].max():.2f} % and Newton {mean["Newton"].min():.2f} to {mean["Newton"].max():.2f} %.""",
            f"""Time: with a move at every row our run of the paper's solver takes {seconds["the paper's"][0]:.3g} s
            (published {TABLE2[0][1]:.1f} s on another machine), without moves {seconds["the paper's"][-1]:.3g} s
            (published {TABLE2[300][1]:.1f} s); the inverse takes {seconds["inverse"][0]:.3g} s and
            {seconds["inverse"][-1]:.3g} s, Newton {seconds["Newton"][0]:.3g} s and {seconds["Newton"][-1]:.3g} s. The
            paper's solver runs in NumPy here and the other two in compiled code, so part of the ratio is due to the
            language; the section on SVD time separates the two effects.""",
        ]

    def lines(self, results: Results) -> Lines:
        lines: list[Mapping[str, object]] = []
        for result in self.counts(results):
            setting = {key: result[key] for key in ("scaling", "start", "factor", "misfit")}
            for threshold, moves in zip(TABLE2, result["moves"], strict=True):
                lines.append({"what": "moves", "threshold": threshold, "moves": moves} | setting)
        best = closest(self.counts(results))
        setting = {key: best[key] for key in ("scaling", "start", "factor")}
        for title in VARIANTS:
            for threshold in TABLE2:
                for shuffle in range(self.shuffles(title)):
                    result = results[self._pass_key(title, threshold, shuffle)]
                    measured = {key: result[key] for key in ("moves", "accuracy", "seconds", "bytes")}
                    lines.append({"what": title, "threshold": threshold, "shuffle": shuffle} | measured | setting)
        return lines
