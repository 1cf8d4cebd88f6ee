"""The commands about models: their names and options; the work is in the module of the same name."""

from pathlib import Path
from typing import Annotated

import typer

from nolana.cli.learner import METRICS, LearnerOptions
from nolana.cli.options import Group, blame_option, check_model, check_source, with_groups
from nolana.estimators._sklearn import use_stand_ins
from nolana.serve.options import ServeOptions
from nolana.sources import SourceOptions
from nolana.sources.filters import COMPRESSIONS
from nolana.sources.formats import FORMATS
from nolana.sources.messages import SCHEMES, is_address

__all__ = ["READ", "models"]

models = typer.Typer()

READ = "How the source is read"
PREDICT_OPTIONS = (
    "target", "features", "ignore", "missing", "format", "header", "delimiter", "encoding", "decimal", "comment",
    "names", "on_bad_row", "new_columns", "from_", "follow", "partitions", "kafka_config",
)  # fmt: skip
SERVE_OPTIONS = (
    "target", "features", "ignore", "keep_column", "categorical_features", "text_features", "labels", "categories",
    "hash_slots", "max_categories", "missing", "new_columns",
)  # fmt: skip
ADDRESSES = ", ".join(scheme.form for scheme in SCHEMES.values())
SOURCE_HELP = (
    f"A file, or - for standard input: {', '.join(format.title for format in FORMATS.values())}; "
    f"text may be compressed ({', '.join(compression.ending for compression in COMPRESSIONS)}). "
    f"Or messages: {ADDRESSES}."
)

Source = Annotated[str, typer.Argument(metavar="SOURCE", help=SOURCE_HELP)]
Options = Annotated[SourceOptions, Group(READ)]
Learner = Annotated[LearnerOptions, Group("What learns")]
Metrics = Annotated[
    str | None,
    typer.Option(metavar="NAME,...", help=f"Metrics, separated by commas: {METRICS}. Default: accuracy, or rmse."),
]
Window = Annotated[int | None, typer.Option(min=1, help="Number of rows of the recent score. Default: 1000.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


@models.command()
@with_groups
def learn(
    source: Source,
    model: Annotated[Path, typer.Option(help="The model file. It is created; if it exists, the run is resumed.")],
    options: Options,
    learner: Learner,
    checkpoint_every: Annotated[
        str,
        typer.Option(
            metavar="ROWS|TIME",
            help="Save the model after this number of rows, such as 10000, or this time, such as 30s, 5m or 1h.",
        ),
    ] = "30s",
    fresh: Annotated[bool, typer.Option("--fresh", help="Start a new model even if the file exists.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Learn all rows of a source that was learned before.")] = False,
    leave_rest: Annotated[
        bool, typer.Option("--leave-rest", help="Learn this source although the previous one is unfinished.")
    ] = False,
    each: Annotated[
        bool, typer.Option("--each", help="Print a line for each row, with its prediction from before it is learned.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of processes that learn in rounds of 20,000 rows. Default: no rounds, one process.",
        ),
    ] = None,
    mlflow: Annotated[
        str | None,
        typer.Option(
            metavar="EXPERIMENT",
            help="Log the score, drift alarms, memory and the model file to this experiment of MLflow (extra mlflow); "
            "MLFLOW_TRACKING_URI is the address of the server.",
        ),
    ] = None,
    mlflow_every: Annotated[int, typer.Option(metavar="ROWS", min=1, help="Rows between two points in MLflow.")] = 1000,
    metrics: Metrics = None,
    window: Window = None,
    json: Json = False,
) -> None:
    """Learn a source into a model file; the same command resumes a run that was interrupted."""
    check_source(source)
    use_stand_ins()  # before the estimators are loaded
    from nolana.cli.learn import learn
    from nolana.runs import Scoring

    with blame_option("--task or --set"):
        recipe = learner.recipe()
    learn(
        source,
        model,
        options,
        recipe,
        Scoring(_names(metrics), window),
        every=checkpoint_every,
        fresh=fresh,
        again=again,
        leave_rest=leave_rest,
        each=each,
        workers=workers,
        experiment=mlflow,
        log_every=mlflow_every,
        as_json=json,
    )


@models.command()
@with_groups
def predict(
    source: Source,
    model: Annotated[Path, typer.Option(help="The model file.")],
    options: Annotated[
        SourceOptions,
        Group(READ, PREDICT_OPTIONS),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|ADDRESS",
            help="Output file, written when all rows are predicted, or a topic or stream, to which each prediction is "
            f"sent as JSON: {ADDRESSES}. Default: stdout.",
        ),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Print the probabilities of the classes too.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the three columns that add most to the score of a prediction.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Write JSON lines instead of CSV.")] = False,
) -> None:
    """Predict the rows of a source. Columns are matched by name; labels are not needed."""
    check_model(model, "--model")
    if is_address(source):
        check_source(source)
    use_stand_ins()  # before the estimators are loaded
    from nolana.cli.predict import execute

    execute(source, model, options, out=out, proba=proba, explain=explain, as_json=json)


@models.command()
@with_groups
def evaluate(
    source: Source,
    options: Options,
    learner: Learner,
    metrics: Metrics = None,
    window: Window = None,
    delay: Annotated[
        int | None,
        typer.Option(min=0, help="Number of rows after which the label of a row arrives. Default: --lag less 1, or 0."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File of a picture of the score over time: .png, .svg or .pdf.")
    ] = None,
    json: Json = False,
) -> None:
    """Score a learner on a source: each row is predicted before it is learned. No model is saved."""
    check_source(source)
    use_stand_ins()  # before the estimators are loaded
    from nolana.cli.learn import evaluate
    from nolana.evaluate.evaluation import delay_by_lag
    from nolana.runs import Scoring

    with blame_option("--task or --set"):
        recipe = learner.recipe()
    late = delay_by_lag(learner.lag, learner.group) if delay is None else delay
    evaluate(source, options, recipe, Scoring(_names(metrics), window, late), out=out, as_json=json)


@models.command()
@with_groups
def serve(
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", help="The model file. Without one the first rows decide what is learned."),
    ],
    service: Annotated[ServeOptions, Group("The service")],
    options: Annotated[SourceOptions, Group("Columns of a new model", SERVE_OPTIONS)],
    learner: Learner,
    metrics: Metrics = None,
    window: Window = None,
) -> None:
    """Serve a model over HTTP: predict, learn, watch. Every row to learn is on the disk before it is learned."""
    from nolana.cli.serve import execute
    from nolana.runs import Scoring

    with blame_option("--task or --set"):
        recipe = learner.recipe()
    execute(model, service, options, recipe, Scoring(_names(metrics), window))


@models.command()
def inspect(
    model: Annotated[Path, typer.Argument(metavar="FILE", help="A model file.")],
    plot: Annotated[
        Path | None, typer.Option(help="File of a picture of the score and the landmarks: .png, .svg or .pdf.")
    ] = None,
    json: Json = False,
) -> None:
    """Print the contents of a model file: method, rows, classes, memory, experts, drift alarms, scores."""
    check_model(model, "FILE")
    use_stand_ins()  # before the estimators are loaded
    from nolana.cli.inspect import execute

    execute(model, plot=plot, as_json=json)
