"""The commands of ``nolana``: what each is called and which options it takes; the work is in the module of its name."""

from pathlib import Path
from typing import Annotated

import typer

import nolana
from nolana.errors import NolanaError

app = typer.Typer(name="nolana", add_completion=False, pretty_exceptions_enable=False)


def run() -> int:
    """Run the command that the process was given and return its exit code; a user's mistake is one line and a 2."""
    try:
        code = app(prog_name="nolana", standalone_mode=False)
    except typer.Abort:
        return 130
    except NolanaError as error:
        return _refuse(str(error))
    except Exception as error:
        # The class that typer raises for a bad argument has had several homes; this method of it is as old as typer.
        if not hasattr(error, "format_message"):
            raise
        return _refuse(error.format_message())
    return code if isinstance(code, int) else 0


def _refuse(message: str) -> int:
    typer.echo("nolana: " + " ".join(message.split()), err=True)
    return 2


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
