"""Curves: the score so far against the rows learned, for all methods on every data set."""

from collections.abc import Sequence

import numpy as np

from nolana import plot
from nolana.plot import Panel
from nolana.research.paper.experiments.table1 import METHODS, PUBLISHED, STREAMS, TITLES, Table1, best_of, on_data
from nolana.research.paper.harness import Lines, Results, SummaryLine, answer_of
from nolana.research.paper.harness.passes import FACTORS, metric_of, pass_key
from nolana.research.report import Block, Figure, Lead, Text

UNTUNED = ("NOLANA", *STREAMS)
EARLY = 10  # the early score is the one after a tenth of the rows
OUTSIDE = 0.14  # the worst values that may lie outside the axes, as a share of all


class Curves(Table1):
    """The running score of the first shuffle of Table 1."""

    name = "curves"
    title = "Curves: the score while the stream runs"

    def blocks(self, results: Results) -> Sequence[Block]:
        panels = [self._panel(results, data) for data in self.data]
        return [
            Lead(self.answer(results)),
            Text(
                """The score over all rows so far, each predicted before it is learned, in the first shuffle of Table 1.
                The axes leave out values that are far worse than the others. The left part of a panel shows how few
                rows a method needs before it is useful."""
            ),
            Figure(plot.svg(panels, columns=2), "Score so far against rows learned (logarithmic), first shuffle."),
            *(Text(words) for words in self.findings(results)),
        ]

    def histories(self, results: Results, data: str) -> dict[str, list[list[float]]]:
        """Rows and score so far at every point of the pass, by method."""
        return {method: results[pass_key(data, method, 0)]["history"] for method in METHODS}

    def early_leaders(self, results: Results) -> dict[str, str]:
        """The best method after a tenth of the rows, by data set."""
        early = {
            data: {method: _early(history)[1] for method, history in self.histories(results, data).items()}
            for data in self.data
        }
        return {data: best_of(data, scores) for data, scores in early.items()}

    def answer(self, results: Results) -> str:
        return f"After a tenth of the rows the best method is {on_data(self.early_leaders(results))}."

    def summary(self, results: Results) -> Sequence[SummaryLine]:
        early = self.early_leaders(results)
        untuned = sum(method in UNTUNED for method in early.values())
        answer = answer_of(yes=untuned == len(early), partly=untuned > 0)
        claim = "Methods without tuning (NOLANA with Newton steps, the default learner) lead after a tenth of the rows."
        return [SummaryLine(claim, answer, f"on {untuned} of {len(early)} data sets")]

    def findings(self, results: Results) -> list[str]:
        """Which method is best early and at the end, and where NOLANA-paper is better than the methods of its table."""
        leaders, ahead = [], []
        for data, first in self.early_leaders(results).items():
            histories = self.histories(results, data)
            scores = {method: history[-1][1] for method, history in histories.items()}
            rows = _early(histories["NOLANA"])[0]
            leaders.append(f"{TITLES[data]}: {first} after {rows:,} rows, {best_of(data, scores)} at the end")
            if best_of(data, {method: scores[method] for method in PUBLISHED}) == "NOLANA-paper":
                ahead.append(TITLES[data])
        return [
            f"""Best method early and at the end: {"; ".join(leaders)}. NOLANA and the two lines of the default learner
            (stream) are not tuned.""",
            f"""At the end NOLANA-paper is better than all five methods of its table on
            {", ".join(ahead) or "no data set"}; in the published table it is better on all data sets but ijcnn1.""",
        ]

    def _panel(self, results: Results, data: str) -> Panel:
        factor = FACTORS[metric_of(data)]
        curves = {
            method: ([float(rows) for rows, _ in history], [factor * value for _, value in history])
            for method, history in self.histories(results, data).items()
        }
        values = np.array([value for _, ys in curves.values() for value in ys])
        values = values[np.isfinite(values)]
        rmse = metric_of(data) == "rmse"
        ends = np.quantile(values, (0.0, 1 - OUTSIDE) if rmse else (OUTSIDE / 2, 1.0))
        margin = 0.04 * float(ends[1] - ends[0]) or 1.0
        label = "RMSE so far" if rmse else "accuracy so far (%)"
        y_range = (float(ends[0]) - margin, float(ends[1]) + margin)
        return Panel(TITLES[data], curves, "rows learned", label, log_x=True, y_range=y_range)

    def lines(self, results: Results) -> Lines:
        return [
            {"data": data, "method": method, "rows": rows, metric_of(data): value}
            for data in self.data
            for method, history in self.histories(results, data).items()
            for rows, value in history
        ]


def _early(history: list[list[float]]) -> list[float]:
    return history[len(history) // EARLY]
