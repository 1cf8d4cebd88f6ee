"""The protocol of a metric, and metrics by name."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from nolana.metrics.auc import AUC
from nolana.metrics.average_precision import AveragePrecision
from nolana.metrics.balanced import BalancedAccuracy
from nolana.metrics.brier import Brier
from nolana.metrics.by_class import F1, Precision, Recall
from nolana.metrics.means import MAE, RMSE, Accuracy, LogLoss
from nolana.metrics.predictions import Predictions
from nolana.metrics.r2 import R2

__all__ = ["IN_PER_CENT", "NAMES", "OF_NUMBERS", "SMALLER_IS_BETTER", "Metric", "resolve"]


class Metric(Protocol):
    """The protocol of a metric.

    The object that the user passes is never changed: it is copied (``copy.deepcopy``) for the whole stream and for each
    window. To give the same number however the blocks are cut, add in the order of the rows (`running_sum`). A metric
    that reads `Predictions.probabilities` has ``needs_probabilities = True``. `nolana.spark.fit` needs ``merge(other)``
    too, which counts the rows that another metric of the same class has counted.
    """

    name: str

    def update(self, rows: Predictions) -> None:
        """Count some rows, in fixed memory; ValueError if the metric is not defined for the learner."""
        ...

    def value(self) -> float:
        """The metric over all rows counted, NaN before the first."""
        ...

    def state(self) -> dict[str, Any]:
        """Everything counted, as plain data: dicts and lists of numbers, text, None and numeric arrays."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from an exported state."""
        ...


_MAKERS: dict[str, Callable[[], Metric]] = {
    "accuracy": Accuracy,
    "auc": AUC,
    "average_precision": AveragePrecision,
    "balanced_accuracy": BalancedAccuracy,
    "brier": Brier,
    "f1": F1,
    "log_loss": LogLoss,
    "mae": MAE,
    "precision": Precision,
    "r2": R2,
    "recall": Recall,
    "rmse": RMSE,
}


IN_PER_CENT = ("accuracy", "auc", "average_precision", "balanced_accuracy", "f1", "precision", "recall")
OF_NUMBERS = ("mae", "r2", "rmse")
SMALLER_IS_BETTER = ("brier", "log_loss", "mae", "rmse")
NAMES = tuple(_MAKERS)


def resolve(metrics: Sequence[str | Metric]) -> list[Metric]:
    """Metric objects from names and objects.

    Examples
    --------
    >>> [metric.name for metric in resolve(["accuracy", "auc"])]
    ['accuracy', 'auc']
    """
    if isinstance(metrics, str):
        raise ValueError(f"metrics={metrics!r} must be a list of names or objects, such as [{metrics!r}]")
    resolved: list[Metric] = []
    for metric in metrics:
        if isinstance(metric, str):
            if metric not in _MAKERS:
                raise ValueError(f"metrics: {metric!r} is unknown; choose from {', '.join(_MAKERS)}")
            resolved.append(_MAKERS[metric]())
            continue
        missing = [verb for verb in ("name", "update", "value", "state", "restore") if not hasattr(metric, verb)]
        if missing:
            raise ValueError(f"metrics: {metric!r} has no {', '.join(missing)}; see nolana.metrics.Metric")
        resolved.append(metric)
    names = [metric.name for metric in resolved]
    if len(set(names)) < len(names):
        raise ValueError(f"metrics: each name may appear once; got {', '.join(names)}")
    return resolved
