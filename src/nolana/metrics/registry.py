"""Metrics by name: every class with a `name` in a module of this folder."""

import importlib
import pkgutil
from collections.abc import Iterator, Sequence

from nolana.metrics.metric import Metric, RunningMetric

__all__ = [
    "IN_PER_CENT", "MAIN_METRICS", "METRICS", "NAMES", "OF_NUMBERS", "SMALLER_IS_BETTER", "resolve", "score_text",
]  # fmt: skip


def _metrics() -> Iterator[type[RunningMetric]]:
    folder = importlib.import_module("nolana.metrics").__path__
    for module in pkgutil.iter_modules(folder, "nolana.metrics."):
        if module.name == __name__:
            continue
        for each in vars(importlib.import_module(module.name)).values():
            own = isinstance(each, type) and issubclass(each, RunningMetric) and each.__module__ == module.name
            if own and "name" in vars(each):
                yield each


METRICS = {metric.name: metric for metric in sorted(_metrics(), key=lambda metric: metric.name)}
NAMES = tuple(METRICS)
IN_PER_CENT = tuple(name for name, metric in METRICS.items() if metric.in_per_cent)
OF_NUMBERS = tuple(name for name, metric in METRICS.items() if metric.task == "regression")
SMALLER_IS_BETTER = tuple(name for name, metric in METRICS.items() if metric.smaller_is_better)
MAIN_METRICS = {"classification": "accuracy", "regression": "rmse"}  # of each task


def score_text(name: str, value: float) -> str:
    """A metric as text.

    >>> score_text("accuracy", 0.5), score_text("rmse", 12.34567)
    ('accuracy 50.00 %', 'rmse 12.35')
    """
    return f"{name} {100 * value:.2f} %" if name in IN_PER_CENT else f"{name} {value:.4g}"


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
            if metric not in METRICS:
                raise ValueError(f"metrics: {metric!r} is unknown; choose from {', '.join(METRICS)}")
            resolved.append(METRICS[metric]())
            continue
        missing = [verb for verb in ("name", "update", "value", "state", "restore") if not hasattr(metric, verb)]
        if missing:
            raise ValueError(f"metrics: {metric!r} has no {', '.join(missing)}; see nolana.metrics.Metric")
        resolved.append(metric)
    names = [metric.name for metric in resolved]
    if len(set(names)) < len(names):
        raise ValueError(f"metrics: each name may appear once; got {', '.join(names)}")
    return resolved
