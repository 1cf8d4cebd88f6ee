"""The options of the learner, declared once for all commands that make one."""

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nolana.errors import OptionError
from nolana.sources.declaration import Options, at_least, option

if TYPE_CHECKING:
    from nolana.runs import Recipe

__all__ = ["METHODS", "METRICS", "LearnerOptions"]

# Written here because help texts are printed before anything heavy is loaded.
METRICS = (
    "accuracy, auc, average_precision, balanced_accuracy, brier, f1, f1_macro, f1_micro, kappa, kappa_temporal, "
    "log_loss, precision, recall; for regression mae, mase, r2, rmse"
)
METHODS = (
    "stream, nolana, PA, NOGD, FOGD, DualSGD, RRF, KernelOGD, RBP, Forgetron, Projectron, ProjectronPlusPlus, BPA, "
    "BOGD, BSGD, DoublySGD"
)
LONG_NAMES = ("passiveaggressive",)  # that are not their short names, in lower case


def value(text: str) -> object:
    """A number, True, False, None, or a word.

    >>> value("0.5"), value("inf"), value("median"), value("none")
    (0.5, inf, 'median', None)
    """
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return float(text) if not text.lstrip("-").isdigit() else int(text)
    except ValueError:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return text


def settings(pairs: list[str]) -> dict[str, object]:
    """``name=value`` of each text.

    >>> settings(["n_landmarks=20", "kernel=cosine"])
    {'n_landmarks': 20, 'kernel': 'cosine'}
    """
    parsed = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise ValueError(f"{pair!r} is not name=value")
        parsed[name.strip()] = value(text.strip())
    return parsed


def check_memory(_: str, memory: str) -> str:
    """A size such as 2MB; OptionError if it is none, or out of range."""
    from nolana.learner.memory import memory_bytes  # loads the engine

    memory_bytes(memory)
    return memory


def check_method(_: str, method: str) -> str:
    """A name of a method; OptionError if there is no such method."""
    if method.lower() not in [*METHODS.lower().split(", "), *LONG_NAMES]:
        raise OptionError("method", method, "is unknown; choose from {expected}", expected=METHODS)
    return method


@dataclass(frozen=True, kw_only=True)
class LearnerOptions(Options):
    """What learns; all fields but ``task``, ``method`` and ``settings`` are parameters of the estimators."""

    task: str | None = option(
        help="What is predicted. Default: inferred from the labels of the first block.",
        choices=("classification", "regression"),
    )
    method: str | None = option(
        help=f"The method: {METHODS}. stream needs no tuning; nolana is the landmark learner, with the options "
        "below; the others are methods of the literature. Default: stream.",
        check=check_method,
        metavar="NAME",
    )
    memory: str | None = option(
        help="Memory of the method stream: bytes, or a size such as 64KB or 2MB, from 32KB to 1GB. Default: 512KB.",
        check=check_memory,
        metavar="SIZE",
    )
    lag: int | None = option(
        help="stream: the label of a row is known when the row so many rows later is predicted, and is an input there. "
        "Default: labels of other rows are no input.",
        check=at_least(1),
        kind=int,
    )
    group: str | None = option(
        help="stream: the column of categories that names the series of a row; --lag counts rows of the same series.",
        metavar="COLUMN",
    )
    n_landmarks: int | None = option(
        help="nolana and NOGD: number of landmarks. Default: 100.", flag="--landmarks", check=at_least(1), kind=int
    )
    gamma: float | str | None = option(
        help="Not stream: width of the kernel, a number; for nolana also median.", parse=value
    )
    threshold: float | str | None = option(
        help="nolana: squared distance from which a row moves a landmark, a number or median. Default: median.",
        parse=value,
    )
    landmarks: str | None = option(
        help="nolana: how landmarks follow the rows: kmeans, weighted, expiring, window or fixed. Default: kmeans.",
        flag="--landmark-policy",
    )
    optimizer: str | None = option(help="nolana: newton or sgd. Default: newton.")
    loss: str | None = option(
        help="Not stream: hinge, squared_hinge or logistic; for regression squared, huber or epsilon_insensitive. "
        "Default of nolana: squared_hinge with newton, hinge with sgd, squared for regression."
    )
    scale: bool | None = option(help="Scale the features online (stream always does). Default: --scale.", kind=bool)
    random_state: int | None = option(
        help="Seed of all random numbers. Default: 0.", flag="--seed", check=at_least(0), kind=int
    )
    settings: dict[str, object] | None = option(
        help="Any other parameter of the estimator. The option may be repeated.",
        flag="--set",
        metavar="NAME=VALUE",
        kind=list[str],
        parse=settings,
    )

    def recipe(self) -> "Recipe":
        """The learner of a run."""
        from nolana.runs import Recipe

        parameters = {name: v for name, v in self.specified.items() if name not in ("task", "method", "settings")}
        return Recipe(self.task, parameters | (self.settings or {}), self.method)
