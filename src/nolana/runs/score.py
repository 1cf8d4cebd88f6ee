"""How a run is scored."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nolana.errors import ConflictError
from nolana.estimators._sklearn import is_classifier
from nolana.evaluate import Evaluation
from nolana.evaluate.evaluation import check_delay
from nolana.metrics import Predictions, resolve

__all__ = ["Scoring"]

WINDOW = 1000


@dataclass(frozen=True)
class Scoring:
    """The running score of a run.

    Parameters
    ----------
    metrics : names, see `nolana.metrics`; None: accuracy or rmse.
    window : rows of the recent score and between two points of the history; None: 1,000.
    delay : rows until a label comes.
    """

    metrics: tuple[str, ...] | None = None
    window: int | None = None
    delay: int = 0

    def new_evaluation(self) -> Evaluation:
        """The evaluation of a new run."""
        return Evaluation(metrics=self.metrics, window=self.window or WINDOW, delay=self.delay)

    def check(self, estimator: Any) -> None:
        """ValueError if a metric is not defined for such an estimator, or the delay is longer than its lag."""
        check_delay(self.delay, estimator)
        none = np.zeros(0)
        convert = (lambda scores: scores) if hasattr(estimator, "predict_proba") else None
        rows = Predictions(none, none, learner=type(estimator).__name__)
        if is_classifier(estimator):
            two = np.zeros(2)
            rows = replace(rows, scores=np.zeros((0, 2)), classes=two, to_probabilities=convert)
        for metric in resolve(self.metrics or ()):
            metric.update(rows)

    def resume_evaluation(self, state: dict[str, Any]) -> Evaluation:
        """The evaluation of a saved run; ConflictError if another one is specified here."""
        metrics, window = tuple(state["metrics"]), state["window"]
        for name, value, saved in (("metrics", self.metrics, metrics), ("window", self.window, window)):
            if value is not None and value != saved:
                raise ConflictError.differs(name, value, saved)
        evaluation = Evaluation(metrics=metrics or None, window=window, delay=state["delay"])
        evaluation.restore(state)
        return evaluation
