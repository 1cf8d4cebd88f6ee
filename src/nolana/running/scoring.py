"""How a run is scored."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from nolana.errors import ConflictError
from nolana.evaluate import Evaluation
from nolana.metrics import Predictions, resolve

__all__ = ["Scoring"]

WINDOW = 1000


@dataclass(frozen=True)
class Scoring:
    """What is asked of the running score; None: not said.

    Parameters
    ----------
    metrics : names, see `nolana.metrics`; by default accuracy or rmse.
    window : rows of the recent score and between two points of the history; by default 1,000.
    delay : rows until a label comes.
    """

    metrics: tuple[str, ...] | None = None
    window: int | None = None
    delay: int = 0

    def evaluation(self) -> Evaluation:
        """A new one."""
        return Evaluation(metrics=self.metrics, window=self.window or WINDOW, delay=self.delay)

    def check(self, estimator: Any) -> None:
        """ValueError where a metric means nothing for such an estimator."""
        none = np.zeros(0)
        convert = (lambda scores: scores) if hasattr(estimator, "probabilities") else None
        rows = Predictions(none, none, learner=type(estimator).__name__)
        if is_classifier(estimator):
            two = np.zeros(2)
            rows = replace(rows, scores=np.zeros((0, 2)), classes=two, to_probabilities=convert)
        for metric in resolve(self.metrics or ()):
            metric.update(rows)

    def resumed(self, state: dict[str, Any]) -> Evaluation:
        """One that goes on; ConflictError where something else is asked than it does."""
        metrics, window = tuple(state["metrics"]), state["window"]
        for name, asked, there in (("metrics", self.metrics, metrics), ("window", self.window, window)):
            if asked is not None and asked != there:
                raise ConflictError(f"{name}={asked!r} is asked for, but the model was scored with {name}={there!r}")
        evaluation = Evaluation(metrics=metrics or None, window=window, delay=state["delay"])
        evaluation.restore(state)
        return evaluation
