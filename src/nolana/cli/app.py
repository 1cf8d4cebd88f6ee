"""The commands of ``nolana``: their names and options; the work is in the module of the same name."""

import os
import warnings
from pathlib import Path
from typing import Annotated

import typer
import typer.core

import nolana
from nolana.cli import INTERRUPTED, discard_output, output_error
from nolana.cli.learner import METRICS
from nolana.cli.models import READ, Json, models
from nolana.cli.options import (
    Group,
    check_source,
    convert_plain_values,
    hide_types_of_flags,
    text_of,
    with_groups,
)
from nolana.errors import LogError, ModelFileError, NolanaError, StreamError
from nolana.sources import SourceOptions

EXIT_CODES = (
    "Exit codes: 0 done; 1 invalid data, an invalid or locked model file, or a file that cannot be written; 2 an "
    "invalid command line; 129, 130 and 143 interrupted by SIGHUP, Ctrl-C and SIGTERM, the model is saved; 141 the "
    "output pipe was closed."
)
COMPARE_OPTIONS = (
    "target", "ignore", "keep_column", "labels", "categories", "missing", "encoding", "decimal", "comment",
)  # fmt: skip
COMMANDS = ("learn", "predict", "evaluate", "inspect", "serve", "compare", "demo", "data", "paper")  # of the help


class _Commands(typer.core.TyperGroup):
    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return sorted(super().list_commands(ctx), key=COMMANDS.index)


app = typer.Typer(name="nolana", cls=_Commands, add_completion=False, pretty_exceptions_enable=False, epilog=EXIT_CODES)
data = typer.Typer()
app.add_typer(data, name="data")
app.add_typer(models)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of a data set, see `nolana data list`.")]
Directory = Annotated[Path | None, typer.Option("--data", help="A directory to search first.")]
Picture = Annotated[Path, typer.Option(help="File of the picture: .png, .svg or .pdf.")]
JsonTable = Annotated[bool, typer.Option("--json", help="Print the table as JSON.")]


def run() -> int:
    """Run the command of the process and return its exit code; an error is one line."""
    convert_plain_values()
    hide_types_of_flags()
    warnings.showwarning = _print_warning
    try:
        code = app(prog_name="nolana", standalone_mode=False)
    except typer.Abort:
        return INTERRUPTED
    except (LogError, ModelFileError, StreamError) as error:
        return _print_error(text_of(error), 1)
    except NolanaError as error:
        return _print_error(text_of(error), 2)
    except OSError as error:
        unwritten = output_error()
        return _os_error(error) if unwritten is None else _output_error(unwritten)
    except SystemExit as end:  # so typer and rich end a process whose output nobody reads
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        return _output_error(end.__context__)
    except MemoryError as error:
        return _print_error(": ".join(filter(None, ["there is not enough memory", str(error)])), 1)
    except Exception as error:
        # typer has moved the class of these errors between modules; its method is as old as typer.
        if not hasattr(error, "format_message"):
            raise
        return _print_error(error.format_message(), 2)
    if (unwritten := output_error()) is not None:
        return _output_error(unwritten)
    return code if isinstance(code, int) else 0


def _output_error(error: OSError) -> int:
    """Standard output could not be written."""
    if isinstance(error, BrokenPipeError):
        discard_output()
        return 141
    return _print_error(f"cannot write to standard output: {error.strerror or error}", 1)


def _os_error(error: OSError) -> int:
    """A file could not be read or written."""
    # An error without a name is that of an open file, and only standard output is written to without one.
    place = "cannot write to standard output" if error.filename is None else os.fsdecode(error.filename)
    return _print_error(f"{place}: {error.strerror or error}", 1)


def _print_error(text: str, code: int) -> int:
    try:
        lines = text.split("\n") if "\n- " in text else [text]  # several problems have a line each
        typer.echo("nolana: " + "\n".join(" ".join(line.split()) for line in lines), err=True)
    except OSError:  # standard error cannot be written; the code remains
        discard_output(2)
    return code


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    typer.echo("nolana: warning: " + " ".join(text_of(message).split()), err=True)


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print version, backend and build.")] = False,
) -> None:
    """Nonlinear learning on streams, in fixed memory."""
    if version:
        typer.echo(f"nolana {nolana.__version__} (backend {nolana.backend_name()}, build {nolana.build_name()})")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def demo(
    out: Picture = Path("demo.png"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of nolana's learner.")] = 0,
    json: JsonTable = False,
) -> None:
    """Learn real digits that are turned half-way, beside a linear model and a retrained gradient boosting."""
    from nolana.cli.demo import execute

    execute(out, seed=seed, as_json=json)


@app.command()
@with_groups
def compare(
    options: Annotated[SourceOptions, Group(READ, COMPARE_OPTIONS)],
    data: Annotated[Path | None, typer.Argument(help="A file of any format. Default: scikit-learn's digits.")] = None,
    task: Annotated[
        str | None, typer.Option(help="classification or regression. Default: inferred from the labels.")
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Names separated by commas, such as stream,NOLANA,FOGD, or all. Of other libraries, if they are "
            "installed: river:linear, ARF, AMF, SRP or HAT, moa:ARF, SRP or SAMkNN, or a class after the colon.",
        ),
    ] = None,
    landmarks: Annotated[
        int, typer.Option(min=1, help="Each method gets the memory that NOLANA needs for this many.")
    ] = 100,
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory of the method stream, such as 2MB. Default: the bytes of NOLANA."),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"The metric: {METRICS}. Default: accuracy, or rmse."),
    ] = None,
    shuffles: Annotated[
        int | None, typer.Option(min=1, help="Number of passes, each over the rows in another order. Default: 5.")
    ] = None,
    in_order: Annotated[
        bool | None,
        typer.Option(
            "--in-order/--shuffled",
            help="One pass in the order of the file, or shuffled ones. Default: in order if a column is a date or time "
            "and --shuffles is not set.",
        ),
    ] = None,
    lag: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="The label of a row is known when the row this many later is predicted; stream learns from it. One "
            "pass in the order of the file.",
        ),
    ] = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Tune the parameters by cross-validation on the first rows.")
    ] = False,
    scale: Annotated[bool, typer.Option(help="Standardise the features of a file by the rows so far.")] = True,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the shuffles.")] = 0,
    out: Picture = Path("compare.png"),
    json: JsonTable = False,
) -> None:
    """Compare methods on your own data with equal memory: each row is predicted before it is learned."""
    if data is not None:
        check_source(str(data))
    from nolana.cli.compare import execute

    execute(
        data,
        options=options,
        task=task,
        methods=methods,
        landmarks=landmarks,
        memory=memory,
        metric=metric,
        shuffles=shuffles,
        in_order=in_order,
        lag=lag,
        tuned=tune,
        scaled=scale,
        seed=seed,
        out=out,
        as_json=json,
    )


@data.callback(invoke_without_command=True)
def data_sets(context: typer.Context) -> None:
    """List, find and download data sets: those of the paper, and three that drift."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@data.command("list")
def list_data(directory: Directory = None, json: Json = False) -> None:
    """List the data sets, and where they are on this machine."""
    from nolana.cli.data import show_all

    show_all(directory, as_json=json)


@data.command("where")
def where_data(name: Name, directory: Directory = None, json: Json = False) -> None:
    """Print the paths of the files of a data set."""
    from nolana.cli.data import show_place

    show_place(name, directory, as_json=json)


@data.command("get")
def get_data(
    name: Name,
    directory: Annotated[
        Path | None, typer.Option("--data", help="Directory to save it in. Default: your data directory.")
    ] = None,
    url: Annotated[str | None, typer.Option(help="A mirror of the LIBSVM collection.")] = None,
    json: Json = False,
) -> None:
    """Download and check a data set; an interrupted download is resumed."""
    from nolana.cli.data import fetch

    fetch(name, directory, url=url, as_json=json)


@app.command()
def paper(
    experiment: Annotated[str, typer.Argument(help="The name of one table or figure, or all.")] = "all",
    directory: Annotated[Path | None, typer.Option("--data", help="A directory to search for data first.")] = None,
    out: Annotated[Path, typer.Option(help="Directory for report.html and the CSV files.")] = Path("paper"),
    quick: Annotated[bool, typer.Option("--quick", help="Few rows and two shuffles: minutes, not hours.")] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Number of processes. Default: number of cores.")] = None,
) -> None:
    """Re-run the experiments of the paper and write the report; the same command resumes an interrupted run."""
    from nolana.cli.paper import execute

    execute(experiment, data=directory, out=out, quick=quick, jobs=jobs)
