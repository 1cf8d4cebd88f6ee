"""The running score of an evaluation in MLflow, with the row number as the step."""

import time

from nolana.errors import OptionError
from nolana.evaluate import Progress
from nolana.mlflow.models import mlflow

__all__ = ["Logger"]


class Logger:
    """Logs the metrics so far, the memory of the learner and its drift alarms, as a callback of an evaluation.

    The step of a metric is the number of rows. ``drift_alarms``, the number of alarms so far, has one point for each
    alarm, at its row. Points are at ends of blocks; each is one request to MLflow, which is made before the next block
    is learned. An error of MLflow is raised.

    Parameters
    ----------
    every : int, default=1000
        Rows between two points, if blocks are not longer.
    run_id : str, default=None
        The run to log to. None: the active run of MLflow when the first rows come, or a new one, which becomes active.

    Examples
    --------
    >>> with mlflow.start_run(), nolana.mlflow.Logger(every=1000) as logger:    # doctest: +SKIP
    ...     nolana.evaluate.progressive(model, blocks, callback=logger)
    """

    def __init__(self, every: int = 1000, run_id: str | None = None) -> None:
        if every < 1:
            raise OptionError("every", every, "is not a number of rows; choose {expected} or more", expected=1)
        self.every, self.run_id = every, run_id
        self._last: Progress | None = None
        self._logged = 0  # rows
        self._alarms = 0
        self._alarm = -1  # row of the last one

    def __call__(self, progress: Progress) -> None:
        """Log, if so many rows came since the last time."""
        self._last = progress
        if progress.rows - self._logged >= self.every:
            self._log(progress)

    def __enter__(self) -> "Logger":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()

    def close(self) -> None:
        """Log the rows since the last point."""
        if self._last is not None and self._last.rows > self._logged:
            self._log(self._last)

    def _log(self, progress: Progress) -> None:
        metric, now = mlflow("entities").Metric, int(1000 * time.time())
        values = {"memory_bytes": getattr(progress.learner, "memory_bytes_", None)} | progress.metrics
        points = [metric(name, float(v), now, progress.rows) for name, v in values.items() if v is not None]
        alarms = [row for row in getattr(progress.learner, "drift_", ()) if row > self._alarm]
        points += [metric("drift_alarms", float(self._alarms + i), now, row) for i, row in enumerate(alarms, 1)]
        if self.run_id is None:
            self.run_id = str((mlflow().active_run() or mlflow().start_run()).info.run_id)
        mlflow("tracking").MlflowClient().log_batch(self.run_id, metrics=points)
        self._logged, self._alarms = progress.rows, self._alarms + len(alarms)
        self._alarm = max(alarms, default=self._alarm)
