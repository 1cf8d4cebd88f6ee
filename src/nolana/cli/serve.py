"""``nolana serve``: a model behind HTTP, with a durable log."""

import socket
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import typer

from nolana.cli.options import blame_option, blame_source, words
from nolana.engine.base.threads import one_blas_thread
from nolana.errors import ConflictError, MissingExtraError
from nolana.runs import ModelLock, Recipe, Scoring, SourceOptions, Stop, exit_on_signals
from nolana.runs.checkpoints import check_writable
from nolana.serve.options import ServeOptions
from nolana.serve.status import note

EXTRA = ("httptools", "msgspec", "starlette", "uvicorn")


def execute(model: Path, options: ServeOptions, source: SourceOptions, recipe: Recipe, scoring: Scoring) -> None:
    """Serve until a signal comes, then save the model."""
    try:
        from nolana.serve.app import App, Guard
        from nolana.serve.model import NewModel
        from nolana.serve.server import listen, open_service, run
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRA:
            raise
        raise MissingExtraError(f'nolana serve needs the package {package}; pip install "nolana[serve]"') from None
    options.check_classes(recipe.task)
    if options.classes is not None:
        recipe = replace(recipe, task="classification")
    options.check_public()
    with blame_option("--token-file"):
        token = options.token()
    if options.read_only and not model.exists():
        raise typer.BadParameter(f"there is no file {str(model)!r}", param_hint="MODEL")
    if not options.read_only:
        with blame_option("MODEL"):
            check_writable(model)
    if not model.exists():
        with blame_source(str(model)):
            recipe.check_new()
    with blame_option("--host or --port"):
        opened = listen(options.host, options.port)
    with (
        opened,
        exit_on_signals(),
        nullcontext() if options.read_only else ModelLock(model, note),
        one_blas_thread(),
    ):
        service, replayed = open_service(model, NewModel(source, recipe, scoring), options)
        with Stop() as stop:
            service.start()
            app = App(service, Guard(token, options.host), options, words)
            note(f"{model} at {_address(opened)}" + (f", {replayed:,} records of the log learned" if replayed else ""))
            try:
                run(app, opened, stop, options)
            finally:
                service.stop()
    if service.failure is not None:
        raise ConflictError(f"the service has failed: {service.failure}")
    rows = 0 if service.model is None else service.model.rows
    if service.checkpoint_failure is not None and not options.read_only:
        note(f"the model was not saved, its rows are in the log: {service.checkpoint_failure}")
        raise typer.Exit(1)
    note(f"{model}: ended" if options.read_only else f"{model}: saved, {rows:,} rows")


def _address(opened: socket.socket) -> str:
    host, port = opened.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
