"""The future work of the paper: what landmarks should do when the stream changes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from nolana.estimators.classifier import NolanaClassifier
from nolana.research import datasets
from nolana.research.paper.harness import Cell, Experiment, Lines, Result, Results, Source, SummaryLine, answer_of
from nolana.research.paper.harness.data import shuffled
from nolana.research.paper.harness.variants import measured_pass
from nolana.research.report import Block, Grid, Lead, Text

DATA = ("usps", "ijcnn1", "covtype", "elec2", "insects", "interchanging_rbf")
TITLES = {"interchanging_rbf": "interchanging RBF", "the paper's": "the paper's learner"}
LANDMARKS = 100
MOST_ROWS = 20_000  # of a stream, if the paper's learner takes part: a move takes it milliseconds
CLEAR = 0.3  # points: smaller differences are not counted


POLICIES: Mapping[str, Mapping[str, object]] = {
    "kmeans": {"landmarks": "kmeans"},
    "kmeans, ε = 0": {"landmarks": "kmeans", "threshold": 0.0},
    "weighted": {"landmarks": "weighted"},
    "expiring": {"landmarks": "expiring"},
    "window": {"landmarks": "window"},
    "fixed": {"landmarks": "fixed"},
}


@dataclass(frozen=True)
class LearnerKind:
    """How to make a learner; short: it gets the rows that the paper's learner can take."""

    make: Callable[..., NolanaClassifier]
    short: bool
    seconds_per_row: float  # estimated


def _paper(n_landmarks: int, threshold: float | str = "median", **parameters: object) -> NolanaClassifier:
    """The paper's learner with scaled features."""
    return NolanaClassifier.paper(n_landmarks, threshold, **parameters | {"scale": True})


LEARNERS: Mapping[str, LearnerKind] = {
    "the paper's": LearnerKind(_paper, True, 6e-4),
    "Newton": LearnerKind(NolanaClassifier, True, 2e-5),
    "Newton, all rows": LearnerKind(NolanaClassifier, False, 2e-5),
}


def followed(source: Source, _: Results, *, data: str, policy: str, learner: str, rows: int, landmarks: int) -> Result:
    """One pass over the first rows of a stream that changes, or of the first shuffle of one that does not."""
    if datasets.catalogue()[data].drifts:
        X, y = source.load(data)
        X, y = X[:rows], y[:rows]
    else:
        X, y = shuffled(source, data, None, 0, rows)
    model = LEARNERS[learner].make(n_landmarks=landmarks, random_state=0, **POLICIES[policy])
    result = measured_pass(model, X, y)
    return {field: result[field] for field in ("rows", "accuracy", "moves", "seconds", "bytes")}


class Change(Experiment):
    """Every policy on every stream, with the paper's learner and with Newton."""

    name = "change"
    title = "Future work: what should landmarks do when the stream changes?"
    uses = DATA

    def rows(self, data: str, learner: str) -> int:
        """The rows of a stream that a learner gets."""
        everything = datasets.catalogue()[data].rows
        most = min(everything, self.scale.rows or everything)
        return min(most, MOST_ROWS) if LEARNERS[learner].short else most

    def plan(self) -> Sequence[Cell]:
        cells = []
        for data, policy, learner in product(self.data, POLICIES, LEARNERS):
            rows = self.rows(data, learner)
            arguments = {"data": data, "policy": policy, "learner": learner, "rows": rows, "landmarks": LANDMARKS}
            cost = rows * LEARNERS[learner].seconds_per_row
            cells.append(Cell(self.key(data, policy, learner), followed, arguments, cost=cost))
        return cells

    @staticmethod
    def key(data: str, policy: str, learner: str) -> str:
        return f"change/{data}/{policy}/{learner}"

    def accuracy(self, results: Results, data: str, policy: str, learner: str) -> float:
        """In per cent."""
        return 100 * float(results[self.key(data, policy, learner)]["accuracy"])

    def blocks(self, results: Results) -> Sequence[Block]:
        return [
            Lead(self.answer(results)),
            Text(
                f"""The paper moves landmarks by k-means and names two other rules as future work: weighted k-means, and
                landmarks that expire. Here both run beside k-means, a window over the stream (the oldest landmark is
                replaced by a new row), and landmarks that never move. usps, ijcnn1 and covtype are shuffled, so they do
                not change; elec2, insects and interchanging RBF are in their own order and change. All learners have
                m = {LANDMARKS}, their default parameters and scaled features; nothing is tuned. The threshold is the
                median distance of the first landmarks; one line has the threshold 0, at which every row moves a
                landmark. The window ignores the threshold."""
            ),
            Text(
                f"""The paper's learner takes gradient steps, decomposes by the randomized SVD at rank 0.8 m and refits
                by stage two. It runs in NumPy, so it gets at most {MOST_ROWS:,} rows of a stream, and Newton gets the
                same rows beside it; the last columns show Newton on all rows. Accuracy in per cent, each row predicted
                before it is learned. Seconds are processor time of one pass."""
            ),
            self.grid(results),
            self.gains(results),
            *(Text(words) for words in self.findings(results)),
            *self.unavailable(),
        ]

    def answer(self, results: Results) -> str:
        words = []
        for learner in LEARNERS:
            best = self.best(results, learner)
            words.append(
                f"{best} for {TITLES.get(learner, learner)} ({self.gain(results, best, learner, drifts=True):+.1f})"
            )
        return f"""Best rule on the streams that change, with its points against landmarks that never move:
            {", ".join(words)}."""

    def best(self, results: Results, learner: str) -> str:
        """The policy with the largest mean gain on the streams that change; fixed if there is none."""
        gains = {policy: self.gain(results, policy, learner, drifts=True) for policy in POLICIES}
        known = {policy: gain for policy, gain in gains.items() if not np.isnan(gain)}
        return max(known, key=known.__getitem__) if known else "fixed"

    def summary(self, results: Results) -> Sequence[SummaryLine]:
        if not any(datasets.catalogue()[data].drifts for data in self.data):
            return []
        lines = []
        for rule in ("weighted", "expiring"):
            gains = {
                learner: self.gain(results, rule, learner, drifts=True)
                - self.gain(results, "kmeans", learner, drifts=True)
                for learner in LEARNERS
            }
            clear = [gain > CLEAR for gain in gains.values()]
            answer = answer_of(yes=all(clear), partly=any(clear))
            listed = ", ".join(f"{learner} {gain:+.2f}" for learner, gain in gains.items())
            question = f"Future work: is {rule} better than k-means where the stream changes?"
            lines.append(SummaryLine(question, answer, f"points, mean over the streams: {listed}"))
        return lines

    def grid(self, results: Results) -> Grid:
        """A line for every stream and policy; the best policy of a stream is highlighted."""
        rows: list[list[str]] = []
        marked = set()
        for data in self.data:
            for column, learner in enumerate(LEARNERS):
                scores = [self.accuracy(results, data, policy, learner) for policy in POLICIES]
                marked.add((len(rows) + int(np.argmax(scores)), 2 + 3 * column))
            for policy in POLICIES:
                row = [TITLES.get(data, data), policy]
                for learner in LEARNERS:
                    one = results[self.key(data, policy, learner)]
                    row += [f"{100 * one['accuracy']:.2f}", f"{one['moves']:,}", f"{one['seconds']:.2f}"]
                rows.append(row)
        head = ["stream", "landmarks"]
        for learner in LEARNERS:
            head += [f"{learner}, %", "moves", "s"]
        return Grid("Accuracy, moves and seconds of every policy.", head, rows, frozenset(marked))

    def gains(self, results: Results) -> Grid:
        """Points against landmarks that never move, mean over the streams that change and those that do not."""
        rows = []
        for policy in POLICIES:
            row = [policy]
            for learner in LEARNERS:
                row += [f"{self.gain(results, policy, learner, drifts=drifts):+.2f}" for drifts in (False, True)]
            rows.append(row)
        head = ["landmarks"]
        for learner in LEARNERS:
            head += [f"{learner}, shuffled", "in order"]
        return Grid("Points against landmarks that never move, mean over the streams.", head, rows)

    def gain(self, results: Results, policy: str, learner: str, *, drifts: bool) -> float:
        """The mean gain over landmarks that never move; NaN without such a stream."""
        gains = [
            self.accuracy(results, data, policy, learner) - self.accuracy(results, data, "fixed", learner)
            for data in self.data
            if datasets.catalogue()[data].drifts == drifts
        ]
        return float(np.mean(gains)) if gains else float("nan")

    def findings(self, results: Results) -> list[str]:
        """Who leads where, and what moves cost."""
        words = []
        for learner in LEARNERS:
            leaders = []
            for data in self.data:
                scores = {policy: self.accuracy(results, data, policy, learner) for policy in POLICIES}
                best = max(scores, key=scores.__getitem__)
                lead = scores[best] - scores["fixed"]
                leaders.append(
                    f"{TITLES.get(data, data)}: {best} ({lead:+.2f})"
                    if lead > CLEAR
                    else f"{TITLES.get(data, data)}: none is better than fixed landmarks by more than {CLEAR} points"
                )
            words.append(
                f"""Best policy with {TITLES.get(learner, learner)}, in brackets its points against fixed landmarks:
                {"; ".join(leaders)}."""
            )
        full = list(LEARNERS)[-1]
        still = [TITLES.get(data, data) for data in self.data if not results[self.key(data, "kmeans", full)]["moves"]]
        if still:
            words.append(
                f"""On {", ".join(still)} k-means makes no move: few landmarks explain every row, so no row is as far
                from its landmark as the median threshold. There weighted and expiring are the same as fixed."""
            )
        costs = {
            policy: float(np.mean([self._seconds(results, data, policy, full) for data in self.data]))
            for policy in POLICIES
        }
        listed = ", ".join(f"{policy} {ratio:.1f}" for policy, ratio in costs.items())
        words.append(
            f"""Time of {full}, as a multiple of the time with fixed landmarks, mean over the streams: {listed}. At
            threshold 0 it has {self._zero(results)} points against the median threshold, mean over the streams, and
            more moves, so the default of learners is the median."""
        )
        return words

    def _seconds(self, results: Results, data: str, policy: str, learner: str) -> float:
        fixed, own = (float(results[self.key(data, one, learner)]["seconds"]) for one in ("fixed", policy))
        return own / max(fixed, 1e-9)

    def _zero(self, results: Results) -> str:
        learner = list(LEARNERS)[-1]
        gains = [
            self.accuracy(results, data, "kmeans, ε = 0", learner) - self.accuracy(results, data, "kmeans", learner)
            for data in self.data
        ]
        return f"{np.mean(gains):+.2f}"

    def lines(self, results: Results) -> Lines:
        return [
            {"data": data, "landmarks": policy, "learner": learner} | results[self.key(data, policy, learner)]
            for data, policy, learner in product(self.data, POLICIES, LEARNERS)
        ]
