"""``nolana learn --mlflow``: the score of a run, its drift alarms and memory, and its model file, in MLflow."""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

import typer

from nolana.evaluate import Progress
from nolana.mlflow import Logger, log_model
from nolana.mlflow.models import mlflow

if TYPE_CHECKING:
    from nolana.runs import Run

__all__ = ["Tracking"]

T = TypeVar("T")

SETTINGS = {  # unless they are set
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",  # a server that is gone must not hold up the rows for minutes
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # standard output is for results
}


class Tracking:
    """Within this context blocks are logged to a run of MLflow, which begins with the first of them.

    If the experiment cannot be opened, that is an error of the option. If MLflow fails later, this is reported once,
    and rows are learned without it.
    """

    def __init__(self, experiment: str, every: int) -> None:
        for name, value in SETTINGS.items():
            os.environ.setdefault(name, value)
        self._failure: type[Exception] = mlflow("exceptions").MlflowException
        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.WARNING)
        self.experiment = experiment
        self.error: str | None = None
        self._logger = Logger(every)
        try:
            mlflow().set_experiment(experiment)
        except self._failure as error:
            raise typer.BadParameter(_first_line(error), param_hint="--mlflow") from error

    @property
    def run_id(self) -> str | None:
        """The run of MLflow; None: no block was learned."""
        return self._logger.run_id

    def __enter__(self) -> "Tracking":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._end("FAILED")

    def __call__(self, run: "Run") -> None:
        """Log a block."""
        if self.error is None:
            self._try(self._log, run)

    def finish(self, model: Path, interrupted: bool) -> None:
        """Log the last rows and the model file, and end the run of MLflow."""
        if self.error is None and self.run_id is not None:
            self._try(self._log_model, model)
        self._end("KILLED" if interrupted else "FINISHED")

    def _log(self, run: "Run") -> None:
        if self.run_id is None:
            self._logger.run_id = mlflow().start_run().info.run_id
            parameters = {k: v for k, v in run.estimator.get_params(deep=False).items() if v is not None}
            mlflow().log_params({"source": run.stream.name, "method": run.method, "task": run.task} | parameters)
        evaluation = run.evaluation
        self._logger(Progress(evaluation.rows, evaluation.metrics, evaluation.seconds, run.estimator))

    def _log_model(self, model: Path) -> None:
        self._logger.close()
        log_model(model)

    def _end(self, status: str) -> None:
        if mlflow().active_run() is not None:
            self._try(mlflow().end_run, status)

    def _try(self, action: Callable[[T], None], argument: T) -> None:
        try:
            action(argument)
        except self._failure as error:
            if self.error is None:
                self.error = _first_line(error)
                typer.echo(f"nolana: MLflow: {self.error}; nothing more is logged, learning continues", err=True)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
