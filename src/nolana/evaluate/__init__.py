"""Prequential evaluation (progressive validation): each row is predicted before it is learned, and that is scored.

The only predict-then-learn loop in the project (`Evaluation.run`). It uses protocols only: a learner has
``learn(X, y) -> scores``, and ``classes_`` if it classifies, or is a model of River; blocks are tuples (X, y) or have
``.X`` and ``.y``.
"""

from collections.abc import Callable, Iterable, Sequence

from nolana.evaluate.evaluation import Evaluation, Learner, Progress, Result, delay_by_lag
from nolana.evaluate.history import Point
from nolana.evaluate.one_by_one import Block, RowModel
from nolana.metrics import Metric

__all__ = ["Evaluation", "Learner", "Point", "Progress", "Result", "RowModel", "progressive"]


def progressive(
    learner: Learner | RowModel,
    blocks: Iterable[Block],
    *,
    metrics: Sequence[str | Metric] | None = None,
    window: int | None = None,
    callback: Callable[[Progress], None] | None = None,
    delay: int | None = None,
) -> Result:
    """Predict, then learn, block by block.

    Parameters
    ----------
    learner : a model of River (``learn_one``, ``predict_one``), or anything with ``learn(X, y) -> scores``; with a
        delay also ``scores(X)``, the current scores of rows. Scores are (n,), (n, targets), or (n, classes) if the
        learner has ``classes_``. For log_loss a classifier has ``probabilities(scores)``, or
        ``learn_proba(X, y) -> (scores, probabilities)``; with a delay also ``scores_proba(X)``. A learner may have
        ``convert(X, y)``, which makes the rows that its ``learn`` takes; the time for this is not counted.
    blocks : tuples (X, y) or (X, y, sample_weight), or objects with ``.X``, ``.y`` and optionally ``.sample_weight``.
        Weights are passed to `learn` and used in the metrics.
    metrics : names ("accuracy", "f1", "auc", "log_loss", ...; "rmse", "mae", "r2", "mase") or objects, see
        `nolana.metrics`; by default accuracy if the learner has ``classes_``, otherwise rmse. For several targets
        rmse, mae, r2 and mase are the mean over the targets.
    window : rows between two points of the history, each with the metrics of its own rows and of all rows so far; by
        default one point for each block. The history is bounded: at 1,024 points every second one is dropped, and
        from then on every second new one. The last point is always included.
    callback : called after each block with a `Progress`.
    delay : rows until a label arrives: row t is scored when it arrives, and learned after row t + delay was scored. So
        it is scored by a model that has learned the rows before t - delay, and is counted when its label arrives.
        When the stream ends, all missing labels arrive. None: the lag of the learner less 1, so that row t is scored by
        a model that knows row t - lag; 0 without a lag, and with a group, whose lag counts rows of a series.

    A row before the first known class counts as an error; `nolana.metrics` describes this for each metric.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana import NolanaClassifier
    >>> from nolana.evaluate import progressive
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (1000, 2)); y = (X[:, 0] * X[:, 1] > 0).astype(int)
    >>> blocks = [(X[i:i+100], y[i:i+100]) for i in range(0, 1000, 100)]
    >>> result = progressive(NolanaClassifier(n_landmarks=30), blocks, metrics=["accuracy", "auc"])
    >>> result.rows, result.metrics["accuracy"] > 0.85, result.metrics["auc"] > 0.93
    (1000, True, True)
    """
    late = delay_by_lag(getattr(learner, "lag", None), getattr(learner, "group", None)) if delay is None else delay
    return Evaluation(metrics=metrics, window=window, delay=late).run(learner, blocks, callback)
