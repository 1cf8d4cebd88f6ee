"""Claim: the model takes m d + m r numbers."""

import tracemalloc
from collections.abc import Sequence
from typing import Any

from nolana.estimators.classifier import NolanaClassifier
from nolana.research.paper.claims.claim import Finding, answer_of
from nolana.research.paper.harness.data import shuffled
from nolana.research.paper.harness.experiment import Cell, Result, Results, Scale, Source
from nolana.research.paper.harness.passes import limit_of, paper_settings
from nolana.research.rivals import Budget as MemoryBudget

DATA = "usps_halves"
RANK = 0.8
MOST_ROWS = 400
CLOSE, NEAR = 1.05, 1.25
BYTES = 8  # of a number


def learners() -> dict[str, Any]:
    """The paper's solver and ours, with a landmark move at every row."""
    m, loss = paper_settings(DATA).n_landmarks, paper_settings(DATA).loss
    return {
        "the paper's solver": NolanaClassifier.paper(m, 0.0, loss=loss),
        "inverse": NolanaClassifier(n_landmarks=m, optimizer="sgd", loss=loss, threshold=0.0, scale=False),
        "Newton": NolanaClassifier(n_landmarks=m, threshold=0.0, scale=False),
    }


def measured(source: Source, _: Results, *, limit: int) -> Result:
    """The numbers that each model stores after some rows, and what Python allocates in addition for one more row."""
    X, y = shuffled(source, DATA, limit, 0)
    models = {}
    for name, learner in learners().items():
        learner.partial_fit(X[:-1], y[:-1])
        tracemalloc.start()
        learner.partial_fit(X[-1:], y[-1:])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        models[name] = {"numbers": learner.memory_bytes_ / BYTES, "temporary": peak / BYTES}
    return {"features": X.shape[1], "models": models}


class Budget:
    """The size of the models, compared with m d + m r."""

    name = "budget"
    says = "The model takes m d + m r numbers."
    criterion = f"""yes: the paper's solver stores at most {CLOSE} times m d + m r numbers (r = {RANK} m); partly: at
        most {NEAR} times"""

    def __init__(self, scale: Scale) -> None:
        self.limit = min(MOST_ROWS, limit_of(DATA, scale))

    def plan(self) -> Sequence[Cell]:
        return [Cell("claims/budget", measured, {"limit": self.limit}, cost=1.0)]

    def finding(self, results: Results) -> Finding:
        """By the numbers that are stored between rows."""
        m, features = paper_settings(DATA).n_landmarks, int(results["claims/budget"]["features"])
        allowed, rank = MemoryBudget(m, features, RANK).numbers, int(RANK * m)
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
        return Finding(answer_of(yes=paper <= CLOSE, partly=paper <= NEAR), figure, words, measures)
