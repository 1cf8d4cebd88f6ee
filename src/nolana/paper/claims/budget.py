"""Claim: the model takes m d + m r numbers."""

import tracemalloc
from collections.abc import Sequence
from typing import Any

from nolana.estimators.classifier import NolanaClassifier
from nolana.paper.claims.claim import Finding, answer_of
from nolana.paper.experiment import Cell, Result, Results, Scale, Source
from nolana.paper.passes import facts_of, limit_of
from nolana.paper.rows import shuffled
from nolana.rivals.base import budget_numbers

DATA = "usps_halves"
RANK = 0.8
MOST_ROWS = 400
CLOSE, NEAR = 1.05, 1.25
BYTES = 8  # of a number


def learners() -> dict[str, Any]:
    """The paper's form and ours, landmarks that move at every row."""
    m, loss = facts_of(DATA).n_landmarks, facts_of(DATA).loss
    return {
        "the paper's solver": NolanaClassifier.paper(m, 0.0, loss=loss),
        "inverse": NolanaClassifier(n_landmarks=m, optimizer="sgd", loss=loss, threshold=0.0),
        "Newton": NolanaClassifier(n_landmarks=m, threshold=0.0),
    }


def weighed(source: Source, _: Results, *, limit: int) -> Result:
    """Numbers that each model holds after some rows, and what Python allocates beside them for one more."""
    X, y = shuffled(source, DATA, limit, 0)
    found = {}
    for name, learner in learners().items():
        learner.partial_fit(X[:-1], y[:-1])
        tracemalloc.start()
        learner.partial_fit(X[-1:], y[-1:])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        found[name] = {"numbers": learner.memory_bytes_ / BYTES, "passing": peak / BYTES}
    return {"features": X.shape[1], "models": found}


class Budget:
    """What the models weigh, against m d + m r."""

    name = "budget"
    says = "The model takes m d + m r numbers."
    criterion = f"""yes: the paper's form holds at most {CLOSE} times m d + m r numbers (r = {RANK} m); partly: {NEAR}
        times"""

    def __init__(self, scale: Scale) -> None:
        self.limit = min(MOST_ROWS, limit_of(DATA, scale))

    def plan(self) -> Sequence[Cell]:
        """One cell."""
        return [Cell("claims/budget", weighed, {"limit": self.limit}, cost=1.0)]

    def finding(self, results: Results) -> Finding:
        """By the numbers that are kept between rows."""
        m, features = facts_of(DATA).n_landmarks, int(results["claims/budget"]["features"])
        allowed, rank = budget_numbers(m, features, RANK), int(RANK * m)
        found = results["claims/budget"]["models"]
        ratio = {name: one["numbers"] / allowed for name, one in found.items()}
        shown = ", ".join(f"{name} {one['numbers']:,.0f} ({ratio[name]:.2f})" for name, one in found.items())
        passing = found["the paper's solver"]["passing"]
        words = f"""usps: m d + m r = {allowed:,} numbers. Held between rows, scratch counted (times the budget):
            {shown}. Beyond the budget the paper's form has {2 * rank + m} numbers for the eigenvalues ({rank}), the
            weights ({rank}) and the counts ({m}), the rest is room for a row. Of the map, m r = {m * rank:,}: the
            inverse has m (m + 1)/2 = {m * (m + 1) // 2:,} in its place, Newton m (m + 1) = {m * (m + 1):,}. Not counted
            is what comes and goes within a move: the randomized SVD allocates {passing:,.0f} numbers at its peak,
            {passing / allowed:.2f} times the budget."""
        measures = {f"numbers {name}": one["numbers"] for name, one in found.items()}
        measures |= {f"times budget {name}": value for name, value in ratio.items()}
        measures |= {f"allocated for a row {name}": one["passing"] for name, one in found.items()}
        paper = ratio["the paper's solver"]
        return Finding(answer_of(yes=paper <= CLOSE, partly=paper <= NEAR), words, measures)
