"""Claim: prediction takes as long as with NOGD."""

import time
from collections.abc import Sequence
from typing import Any

from nolana.estimators.classifier import NolanaClassifier
from nolana.research import rivals
from nolana.research.paper.claims.claim import Finding, answer_of
from nolana.research.paper.harness.data import shuffled
from nolana.research.paper.harness.experiment import Cell, Result, Results, Scale, Source
from nolana.research.paper.harness.passes import limit_of, paper_settings

DATA = "usps_halves"
MOST_ROWS = 1_000  # learned first, then predicted in one block
REPEATS = 15
SAME, NEAR = 1.1, 1.5  # times NOGD


def learners(n_features: int) -> dict[str, Any]:
    """NOGD and NOLANA at the same budget."""
    m, loss = paper_settings(DATA).n_landmarks, paper_settings(DATA).loss
    return {
        "NOGD": rivals.at_equal_budget("NOGD", n_landmarks=m, n_features=n_features, loss=loss),
        "inverse": NolanaClassifier(n_landmarks=m, optimizer="sgd", loss=loss, scale=False),
        "Newton": NolanaClassifier(n_landmarks=m, scale=False),
        "the paper's solver, in NumPy": NolanaClassifier.paper(m, float("inf"), loss=loss),
    }


def predicted(source: Source, _: Results, *, limit: int) -> Result:
    """Microseconds per row of predict, the best of several rounds over all learners."""
    X, y = shuffled(source, DATA, limit, 0)
    fitted = {name: learner.partial_fit(X, y) for name, learner in learners(X.shape[1]).items()}
    seconds: dict[str, list[float]] = {name: [] for name in fitted}
    for _round in range(REPEATS):
        for name, learner in fitted.items():
            begin = time.process_time()
            learner.predict(X)
            seconds[name].append(time.process_time() - begin)
    return {"rows": len(y), "microseconds": {name: 1e6 * min(s) / len(y) for name, s in seconds.items()}}


class Prediction:
    """Microseconds per row of predict."""

    name = "prediction"
    says = "Prediction takes as long as with NOGD."
    criterion = f"yes: the inverse and Newton at most {SAME} times NOGD; partly: {NEAR} times"

    def __init__(self, scale: Scale) -> None:
        self.limit = min(MOST_ROWS, limit_of(DATA, scale))

    def plan(self) -> Sequence[Cell]:
        return [Cell("claims/prediction", predicted, {"limit": self.limit}, alone=True, cost=2.0)]

    def finding(self, results: Results) -> Finding:
        """By the slower of our two compiled solvers."""
        times = results["claims/prediction"]["microseconds"]
        ratio = max(times["inverse"], times["Newton"]) / times["NOGD"]
        listed = ", ".join(f"{name} {value:.2f}" for name, value in times.items())
        words = f"""Microseconds per row, the best of {REPEATS} rounds, blocks of
            {results["claims/prediction"]["rows"]:,} rows, m = {paper_settings(DATA).n_landmarks}: {listed}. In compiled
            code NOLANA takes {ratio:.2f} times as long as NOGD: both compute m kernel values and one product. The
            paper's solver scores row by row in NumPy; its time is not a property of the method."""
        measures = {f"microseconds {name}": float(value) for name, value in times.items()} | {"ratio": float(ratio)}
        figure = f"{ratio:.2f} times the time of NOGD"
        return Finding(answer_of(yes=ratio <= SAME, partly=ratio <= NEAR), figure, words, measures)
