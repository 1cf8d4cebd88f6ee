"""Claims about time and memory: of the rows, of prediction, and of the model."""

import time
import tracemalloc
from collections.abc import Sequence

from nolana.estimators.base import OnlinePredictor
from nolana.estimators.classifier import NolanaClassifier
from nolana.research import rivals
from nolana.research.paper.experiments.claims.claim import Claim, Finding
from nolana.research.paper.experiments.svd_time import DATA, exponent, timed
from nolana.research.paper.harness import Cell, Result, Results, Source, answer_of
from nolana.research.paper.harness.data import shuffled
from nolana.research.paper.harness.passes import limit_of, paper_settings
from nolana.research.paper.harness.variants import SOLVERS, chosen_cell

HALVES = "usps_halves"
REPEATS = 15
BYTES = 8  # of a number


class LinearTime(Claim):
    """The exponent b of seconds ~ rows^b, for every solver."""

    low, high, far = 0.85, 1.1, 1.3

    name = "linear time"
    says = "Time is near linear in the rows."
    criterion = f"""yes: from the point at which all landmarks are set, the seconds so far grow like the rows to the
        power of {low} to {high} for every solver; partly: to the power of at most {far}"""

    def plan(self) -> Sequence[Cell]:
        passes = [timed(solver).cell(self.scale) for solver in SOLVERS]
        return [chosen_cell(DATA, "carry", self.scale), *passes]

    def finding(self, results: Results) -> Finding:
        """By a line through log seconds against log rows."""
        m = paper_settings(DATA).n_landmarks
        exponents = {solver: exponent(results[timed(solver).key]["history"], m) for solver in SOLVERS}
        low, high = min(exponents.values()), max(exponents.values())
        history = results[timed("inverse").key]["history"]
        middle, end = history[(len(history) - 1) // 2], history[-1]
        first, second = middle[3] / middle[0], (end[3] - middle[3]) / max(1, end[0] - middle[0])
        listed = ", ".join(f"{solver} {value:.2f}" for solver, value in exponents.items())
        words = f"""Exponents: {listed}. Landmarks moved at {first:.0%} of the rows in the first half of the stream,
            at {second:.0%} in the second."""
        linear = all(self.low <= value <= self.high for value in exponents.values())
        measures = {f"exponent {solver}": value for solver, value in exponents.items()}
        answer = answer_of(yes=linear, partly=high <= self.far)
        return Finding(answer, f"exponents {low:.2f} to {high:.2f}", words, measures)


def predicted(source: Source, _: Results, *, limit: int) -> Result:
    """Microseconds per row of predict, at the same budget; the best of several rounds over all learners."""
    X, y = shuffled(source, HALVES, limit, 0)
    m, loss = paper_settings(HALVES).n_landmarks, paper_settings(HALVES).loss
    learners: dict[str, OnlinePredictor] = {
        "NOGD": rivals.at_equal_budget("NOGD", n_landmarks=m, n_features=X.shape[1], loss=loss),
        "inverse": NolanaClassifier(n_landmarks=m, optimizer="sgd", loss=loss, scale=False),
        "Newton": NolanaClassifier(n_landmarks=m, scale=False),
        "the paper's solver, in NumPy": NolanaClassifier.paper(m, float("inf"), loss=loss),
    }
    fitted = {name: learner.partial_fit(X, y) for name, learner in learners.items()}
    seconds: dict[str, list[float]] = {name: [] for name in fitted}
    for _round in range(REPEATS):
        for name, learner in fitted.items():
            begin = time.process_time()
            learner.predict(X)
            seconds[name].append(time.process_time() - begin)
    return {"rows": len(y), "microseconds": {name: 1e6 * min(s) / len(y) for name, s in seconds.items()}}


class Prediction(Claim):
    """Microseconds per row of predict."""

    most_rows = 1_000  # learned first, then predicted in one block
    same, near = 1.1, 1.5  # times NOGD

    name = "prediction"
    says = "Prediction takes as long as with NOGD."
    criterion = f"yes: the inverse and Newton at most {same} times NOGD; partly: {near} times"

    def plan(self) -> Sequence[Cell]:
        limit = min(self.most_rows, limit_of(HALVES, self.scale))
        return [Cell("claims/prediction", predicted, {"limit": limit}, alone=True, cost=2.0)]

    def finding(self, results: Results) -> Finding:
        """By the slower of our two compiled solvers."""
        times = results["claims/prediction"]["microseconds"]
        ratio = max(times["inverse"], times["Newton"]) / times["NOGD"]
        listed = ", ".join(f"{name} {value:.2f}" for name, value in times.items())
        words = f"""Microseconds per row, the best of {REPEATS} rounds, blocks of
            {results["claims/prediction"]["rows"]:,} rows, m = {paper_settings(HALVES).n_landmarks}: {listed}. In
            compiled code NOLANA takes {ratio:.2f} times as long as NOGD: both compute m kernel values and one product.
            The paper's solver scores row by row in NumPy; its time is not a property of the method."""
        measures = {f"microseconds {name}": float(value) for name, value in times.items()} | {"ratio": float(ratio)}
        answer = answer_of(yes=ratio <= self.same, partly=ratio <= self.near)
        return Finding(answer, f"{ratio:.2f} times the time of NOGD", words, measures)


def measured(source: Source, _: Results, *, limit: int) -> Result:
    """The numbers that each model stores after some rows, and what Python allocates in addition for one more row.

    A landmark moves at every row.
    """
    X, y = shuffled(source, HALVES, limit, 0)
    m, loss = paper_settings(HALVES).n_landmarks, paper_settings(HALVES).loss
    learners = {
        "the paper's solver": NolanaClassifier.paper(m, 0.0, loss=loss),
        "inverse": NolanaClassifier(n_landmarks=m, optimizer="sgd", loss=loss, threshold=0.0, scale=False),
        "Newton": NolanaClassifier(n_landmarks=m, threshold=0.0, scale=False),
    }
    models = {}
    for name, learner in learners.items():
        learner.partial_fit(X[:-1], y[:-1])
        tracemalloc.start()
        learner.partial_fit(X[-1:], y[-1:])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        models[name] = {"numbers": learner.memory_bytes_ / BYTES, "temporary": peak / BYTES}
    return {"features": X.shape[1], "models": models}


class Budget(Claim):
    """The size of the models, compared with m d + m r."""

    rank = 0.8  # of m
    most_rows = 400
    close, near = 1.05, 1.25

    name = "budget"
    says = "The model takes m d + m r numbers."
    criterion = f"""yes: the paper's solver stores at most {close} times m d + m r numbers (r = {rank} m); partly: at
        most {near} times"""

    def plan(self) -> Sequence[Cell]:
        limit = min(self.most_rows, limit_of(HALVES, self.scale))
        return [Cell("claims/budget", measured, {"limit": limit}, cost=1.0)]

    def finding(self, results: Results) -> Finding:
        """By the numbers that are stored between rows."""
        m, features = paper_settings(HALVES).n_landmarks, int(results["claims/budget"]["features"])
        allowed, rank = rivals.Budget(m, features, self.rank).numbers, int(self.rank * m)
        models = results["claims/budget"]["models"]
        ratio = {name: one["numbers"] / allowed for name, one in models.items()}
        sizes = ", ".join(f"{name} {one['numbers']:,.0f} ({ratio[name]:.2f})" for name, one in models.items())
        temporary = models["the paper's solver"]["temporary"]
        words = f"""usps: m d + m r = {allowed:,} numbers. Stored between rows, with all buffers (in brackets: times the
            budget): {sizes}. Beyond the budget the paper's solver has {2 * rank + m} numbers for the eigenvalues
            ({rank}), the weights ({rank}) and the counts ({m}); the rest is a buffer for one row. The map takes
            m r = {m * rank:,} numbers; instead of them the inverse has m (m + 1)/2 = {m * (m + 1) // 2:,}, Newton
            m (m + 1) = {m * (m + 1):,}. Temporary memory of a move is not counted: the randomized SVD allocates
            {temporary:,.0f} numbers at its peak, {temporary / allowed:.2f} times the budget."""
        measures = {f"numbers {name}": one["numbers"] for name, one in models.items()}
        measures |= {f"times budget {name}": value for name, value in ratio.items()}
        measures |= {f"allocated for a row {name}": one["temporary"] for name, one in models.items()}
        paper = ratio["the paper's solver"]
        figure = f"{paper:.2f} times m d + m r, with all buffers"
        return Finding(answer_of(yes=paper <= self.close, partly=paper <= self.near), figure, words, measures)
