"""The commands of ``nolana``: what each is called and which options it takes; the work is in the module of its name."""

from pathlib import Path
from typing import Annotated

import typer

import nolana
from nolana.cli.models import Categories, Ignore, Missing, models
from nolana.cli.options import columns, in_words_of_options
from nolana.errors import ModelFileError, NolanaError, StreamError

EXIT_CODES = (
    "Exit codes: 0 done; 1 something is wrong in the data or in a model file, or cannot be written; 2 the command line "
    "is wrong; 130 and 143 interrupted by Ctrl-C and SIGTERM, what was learned is saved; 141 nobody reads the output."
)
app = typer.Typer(name="nolana", add_completion=False, pretty_exceptions_enable=False, epilog=EXIT_CODES)
data = typer.Typer()
app.add_typer(data, name="data")
app.add_typer(models)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A data set, as `nolana data list` names it.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def run() -> int:
    """Run the command that the process was given and return its exit code; what is wrong is one line."""
    try:
        code = app(prog_name="nolana", standalone_mode=False)
    except typer.Abort:
        return 130
    except (ModelFileError, StreamError) as error:
        return _refuse(in_words_of_options(str(error)), 1)
    except NolanaError as error:
        return _refuse(str(error))
    except Exception as error:
        # The class that typer raises for a bad argument has had several homes; this method of it is as old as typer.
        if not hasattr(error, "format_message"):
            raise
        return _refuse(error.format_message())
    return code if isinstance(code, int) else 0


def _refuse(message: str, code: int = 2) -> int:
    typer.echo("nolana: " + " ".join(message.split()), err=True)
    return code


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
    out: Annotated[Path, typer.Option(help="Where to write the picture: .png, .svg or .pdf.")] = Path("demo.png"),
    landmarks: Annotated[int, typer.Option(min=1, max=1797, help="Landmarks of each NOLANA.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the shuffle.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Watch four learners read 1797 handwritten digits, each digit predicted before it is learned."""
    from nolana.cli.demo import show

    show(out, landmarks=landmarks, seed=seed, as_json=json)


@app.command()
def compare(
    data: Annotated[Path | None, typer.Argument(help="A file of any format; by default scikit-learn's digits.")] = None,
    target: Annotated[str | None, typer.Option(help="Column of the label, by name or number.")] = None,
    task: Annotated[str | None, typer.Option(help="classification or regression; by default told from labels.")] = None,
    methods: Annotated[str | None, typer.Option(help="Names with commas between them, or all.")] = None,
    landmarks: Annotated[int, typer.Option(min=1, help="The budget: what NOLANA needs for so many.")] = 100,
    shuffles: Annotated[int, typer.Option(min=1, help="Passes, each over the rows in another order.")] = 5,
    in_order: Annotated[bool, typer.Option("--in-order", help="One pass in the order of the file.")] = False,
    tune: Annotated[bool, typer.Option("--tune", help="Choose parameters by cross-validation on first rows.")] = False,
    scale: Annotated[bool, typer.Option(help="Standardise the features by the rows so far.")] = True,
    ignore: Ignore = None,
    categories: Categories = None,
    missing: Missing = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the shuffles.")] = 0,
    out: Annotated[Path, typer.Option(help="Where to write the picture: .png, .svg or .pdf.")] = Path("compare.png"),
    json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Compare NOLANA with its rivals on your own data, at equal budget, each row predicted before it is learned."""
    from nolana.cli.compare import show

    given = {"ignore": columns(ignore), "categories": categories, "missing": missing}
    show(
        data,
        target=target,
        reading={name: said for name, said in given.items() if said is not None},
        task=task,
        methods=methods,
        landmarks=landmarks,
        shuffles=shuffles,
        in_order=in_order,
        tuned=tune,
        scaled=scale,
        seed=seed,
        out=out,
        as_json=json,
    )


@data.callback(invoke_without_command=True)
def data_sets(context: typer.Context) -> None:
    """The data sets of the paper, and some that drift: which there are, where they stand, how to get them."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@data.command("list")
def list_data(
    directory: Annotated[Path | None, typer.Option("--data", help="A directory to search first.")] = None,
    json: Json = False,
) -> None:
    """List the data sets, and where those stand that are on this machine."""
    from nolana.cli.data import show_all

    show_all(directory, as_json=json)


@data.command("where")
def where_data(
    name: Name,
    directory: Annotated[Path | None, typer.Option("--data", help="A directory to search first.")] = None,
    json: Json = False,
) -> None:
    """Print the files of a data set; an error says where to get it if it is missing."""
    from nolana.cli.data import show_place

    show_place(name, directory, as_json=json)


@data.command("get")
def get_data(
    name: Name,
    directory: Annotated[
        Path | None, typer.Option("--data", help="Where to put it; by default to your data directory.")
    ] = None,
    url: Annotated[str | None, typer.Option(help="A mirror of the LIBSVM collection.")] = None,
    json: Json = False,
) -> None:
    """Download a data set, going on where an earlier attempt broke off, and check it."""
    from nolana.cli.data import fetch

    fetch(name, directory, url=url, as_json=json)


@app.command()
def paper(
    experiment: Annotated[str, typer.Argument(help="all, or one of its tables and figures.")] = "all",
    directory: Annotated[Path | None, typer.Option("--data", help="A directory to search for data first.")] = None,
    out: Annotated[Path, typer.Option(help="Directory for report.html and the CSV files.")] = Path("paper"),
    quick: Annotated[bool, typer.Option("--quick", help="Few rows and two shuffles: minutes, not hours.")] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; by default as many as cores.")] = None,
) -> None:
    """Re-run the experiments of the paper and write the report; an interrupted run goes on where it stopped."""
    from nolana.cli.paper import show

    show(experiment, data=directory, out=out, quick=quick, jobs=jobs)
