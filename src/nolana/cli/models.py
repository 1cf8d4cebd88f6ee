"""The commands about models: what each is called and which options it takes; the work is in the module of its name."""

from pathlib import Path
from typing import Annotated, Any

import typer

from nolana.cli.options import column, columns, refusing, settings, value

models = typer.Typer()

READ, LEARN = "How the source is read", "What learns"
SOURCE_HELP = "A file or - for standard input: CSV, TSV, JSON lines, LIBSVM (plain, gz, bz2, xz, zst), Parquet, Arrow."

Source = Annotated[str, typer.Argument(metavar="SOURCE", help=SOURCE_HELP)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

# How the source is read
Target = Annotated[
    str | None, typer.Option(help="Column of the label, by name or number; by default the last.", rich_help_panel=READ)
]
Features = Annotated[str | None, typer.Option(help="Columns to learn from; by default all.", rich_help_panel=READ)]
Ignore = Annotated[str | None, typer.Option(help="Columns to leave out.", rich_help_panel=READ)]
Format = Annotated[
    str | None, typer.Option(help="csv, jsonl, libsvm, parquet or arrow; by default told.", rich_help_panel=READ)
]
Labels = Annotated[str | None, typer.Option(help="int, float, bool or text; by default told.", rich_help_panel=READ)]
Categories = Annotated[str | None, typer.Option(help="Columns of text: error, hash or onehot.", rich_help_panel=READ)]
HashSlots = Annotated[int | None, typer.Option(min=1, help="Columns a hashed one becomes: 16.", rich_help_panel=READ)]
MaxCategories = Annotated[
    int | None, typer.Option(min=1, help="Texts that get a one-hot column: 32.", rich_help_panel=READ)
]
Missing = Annotated[str | None, typer.Option(help="Missing values: error, mean or indicator.", rich_help_panel=READ)]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="CSV: the first line has names.", rich_help_panel=READ)
]
Delimiter = Annotated[str | None, typer.Option(help="CSV: by default told.", rich_help_panel=READ)]
NFeatures = Annotated[int | None, typer.Option(min=1, help="LIBSVM: by default told.", rich_help_panel=READ)]
ZeroBased = Annotated[bool, typer.Option("--zero-based", help="LIBSVM: indices count from 0.", rich_help_panel=READ)]
OnBadRow = Annotated[
    str, typer.Option(help="Rows that make no sense: error, skip or quarantine=FILE.", rich_help_panel=READ)
]

# What learns
Task = Annotated[str | None, typer.Option(help="classification or regression; by default told.", rich_help_panel=LEARN)]
Landmarks = Annotated[int | None, typer.Option(min=1, help="How many: 100.", rich_help_panel=LEARN)]
Gamma = Annotated[str | None, typer.Option(help="Kernel width: a number or median.", rich_help_panel=LEARN)]
Threshold = Annotated[
    str | None,
    typer.Option(help="Squared distance from which a row moves a landmark: number or median.", rich_help_panel=LEARN),
]
Policy = Annotated[
    str | None, typer.Option("--landmark-policy", help="How landmarks follow: kmeans or fixed.", rich_help_panel=LEARN)
]
Optimizer = Annotated[str | None, typer.Option(help="newton or sgd.", rich_help_panel=LEARN)]
Loss = Annotated[str | None, typer.Option(help="logistic gives probabilities.", rich_help_panel=LEARN)]
Scale = Annotated[
    bool | None, typer.Option("--scale/--no-scale", help="Standardise features online.", rich_help_panel=LEARN)
]
Seed = Annotated[int | None, typer.Option(min=0, help="Of all that is random: 0.", rich_help_panel=LEARN)]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any parameter of the estimator.", rich_help_panel=LEARN),
]
Metrics = Annotated[str | None, typer.Option(help="Names with commas between them, such as accuracy,auc.")]
Window = Annotated[int | None, typer.Option(min=1, help="Rows of the recent score: 1000.")]


def _recipe(task: str | None, pairs: list[str] | None, **given: Any) -> Any:
    from nolana.running import Recipe

    with refusing("--set"):
        parameters = {name: said for name, said in given.items() if said is not None} | settings(pairs or [])
    with refusing("--task or --set"):
        return Recipe(task, parameters)


def _reading(**given: Any) -> Any:
    from nolana.running import Reading

    for name in ("features", "ignore"):
        given[name] = columns(given.get(name))
    if given["target"] is not None:
        given["target"] = column(given["target"])
    return Reading(**given)


def _number(text: str | None) -> Any:
    return None if text is None else value(text)


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


@models.command()
def learn(
    source: Source,
    model: Annotated[Path, typer.Option(help="The model file, made or gone on with.")],
    target: Target = None,
    checkpoint_every: Annotated[
        str | None, typer.Option(metavar="ROWS|TIME", help="Write the model after so many rows, or 30s, 5m, 1h.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start a new model, whatever the file holds.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Learn a finished source once more.")] = False,
    leave_rest: Annotated[
        bool, typer.Option("--leave-rest", help="Leave the rest of an unfinished source for another one.")
    ] = False,
    each: Annotated[
        bool, typer.Option("--each", help="Print the prediction of each row made before it is learned.")
    ] = False,
    metrics: Metrics = None,
    window: Window = None,
    json: Json = False,
    features: Features = None,
    ignore: Ignore = None,
    format: Format = None,
    labels: Labels = None,
    categories: Categories = None,
    hash_slots: HashSlots = None,
    max_categories: MaxCategories = None,
    missing: Missing = None,
    header: Header = None,
    delimiter: Delimiter = None,
    n_features: NFeatures = None,
    zero_based: ZeroBased = False,
    on_bad_row: OnBadRow = "error",
    task: Task = None,
    landmarks: Landmarks = None,
    gamma: Gamma = None,
    threshold: Threshold = None,
    landmark_policy: Policy = None,
    optimizer: Optimizer = None,
    loss: Loss = None,
    scale: Scale = None,
    seed: Seed = None,
    set_: Set = None,
) -> None:
    """Learn a source into a model file; a run that was stopped goes on where it was."""
    from nolana.cli.learn import show
    from nolana.running import Scoring

    show(
        source,
        model,
        _reading(
            target=target,
            features=features,
            ignore=ignore,
            format=format,
            labels=labels,
            categories=categories,
            hash_slots=hash_slots,
            max_categories=max_categories,
            missing=missing,
            header=header,
            delimiter=delimiter,
            n_features=n_features,
            zero_based=zero_based or None,
            on_bad_row=on_bad_row,
        ),
        _recipe(
            task,
            set_,
            n_landmarks=landmarks,
            gamma=_number(gamma),
            threshold=_number(threshold),
            landmarks=landmark_policy,
            optimizer=optimizer,
            loss=loss,
            scale=scale,
            random_state=seed,
        ),
        Scoring(_names(metrics), window),
        every=checkpoint_every,
        fresh=fresh,
        again=again,
        leave_rest=leave_rest,
        each=each,
        as_json=json,
    )


@models.command()
def predict(
    source: Source,
    model: Annotated[Path, typer.Option(help="The model file.")],
    out: Annotated[Path | None, typer.Option(help="Where to write, all at once at the end; by default stdout.")] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Probabilities too (models with the logistic loss).")] = False,
    json: Annotated[bool, typer.Option("--json", help="Write JSON lines instead of CSV.")] = False,
    target: Target = None,
    features: Features = None,
    ignore: Ignore = None,
    format: Format = None,
    header: Header = None,
    delimiter: Delimiter = None,
    on_bad_row: OnBadRow = "error",
) -> None:
    """Predict the rows of a source; columns are found by their names, and labels are not needed."""
    from nolana.cli.predict import show

    reading = _reading(
        target=target,
        features=features,
        ignore=ignore,
        format=format,
        header=header,
        delimiter=delimiter,
        on_bad_row=on_bad_row,
    )
    show(source, model, reading, out=out, proba=proba, as_json=json)


@models.command()
def evaluate(
    source: Source,
    target: Target = None,
    metrics: Metrics = None,
    window: Window = None,
    delay: Annotated[int, typer.Option(min=0, help="Rows until the label of a row comes.")] = 0,
    out: Annotated[Path | None, typer.Option(help="A picture of the score over time: .png, .svg or .pdf.")] = None,
    json: Json = False,
    features: Features = None,
    ignore: Ignore = None,
    format: Format = None,
    labels: Labels = None,
    categories: Categories = None,
    hash_slots: HashSlots = None,
    max_categories: MaxCategories = None,
    missing: Missing = None,
    header: Header = None,
    delimiter: Delimiter = None,
    n_features: NFeatures = None,
    zero_based: ZeroBased = False,
    on_bad_row: OnBadRow = "error",
    task: Task = None,
    landmarks: Landmarks = None,
    gamma: Gamma = None,
    threshold: Threshold = None,
    landmark_policy: Policy = None,
    optimizer: Optimizer = None,
    loss: Loss = None,
    scale: Scale = None,
    seed: Seed = None,
    set_: Set = None,
) -> None:
    """Score a learner on a source, each row predicted before it is learned; nothing is kept."""
    from nolana.cli.evaluate import show
    from nolana.running import Scoring

    show(
        source,
        _reading(
            target=target,
            features=features,
            ignore=ignore,
            format=format,
            labels=labels,
            categories=categories,
            hash_slots=hash_slots,
            max_categories=max_categories,
            missing=missing,
            header=header,
            delimiter=delimiter,
            n_features=n_features,
            zero_based=zero_based or None,
            on_bad_row=on_bad_row,
        ),
        _recipe(
            task,
            set_,
            n_landmarks=landmarks,
            gamma=_number(gamma),
            threshold=_number(threshold),
            landmarks=landmark_policy,
            optimizer=optimizer,
            loss=loss,
            scale=scale,
            random_state=seed,
        ),
        Scoring(_names(metrics), window, delay),
        out=out,
        as_json=json,
    )


@models.command()
def inspect(
    model: Annotated[Path, typer.Argument(metavar="FILE", help="A model file.")],
    plot: Annotated[Path | None, typer.Option(help="Draw landmarks and score: where to, .png, .svg or .pdf.")] = None,
    json: Json = False,
) -> None:
    """Say what is in a model file: rows, classes, landmarks, moves, bytes, scores."""
    from nolana.cli.inspect import show

    show(model, plot=plot, as_json=json)
