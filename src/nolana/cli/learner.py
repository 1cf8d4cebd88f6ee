"""The options of the learner, declared once for all commands that make one."""

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nolana.options import Options, at_least, option

if TYPE_CHECKING:
    from nolana.runs import Recipe

__all__ = ["METHODS", "LearnerOptions"]

# Written here because help texts are printed before anything heavy is loaded.
METHODS = (
    "stream, nolana, PA, NOGD, FOGD, DualSGD, RRF, KernelOGD, RBP, Forgetron, Projectron, ProjectronPlusPlus, BPA, "
    "BOGD, BSGD, DoublySGD"
)


def value(text: str) -> Any:
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


def settings(pairs: list[str]) -> dict[str, Any]:
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
    """A size such as 2MB; ValueError where it is none, or out of range."""
    from nolana.estimators.stream import memory_of

    memory_of(memory)
    return memory


def check_method(_: str, method: str) -> str:
    """A name of a method; ValueError where there is no such method."""
    from nolana.methods import method_by_name

    method_by_name(method)
    return method


@dataclass(frozen=True, kw_only=True)
class LearnerOptions(Options):
    """What learns; all fields but ``task``, ``method`` and ``settings`` are parameters of the estimators."""

    task: str | None = option(
        help="What is predicted. Default: inferred from the labels of the first block.",
        choices=("classification", "regression"),
    )
    method: str | None = option(
        help=f"What learns: {METHODS}. stream has nothing to tune; nolana is the landmark learner with the options "
        "below; the others are methods of the literature. Default: stream.",
        check=check_method,
        metavar="NAME",
    )
    memory: str | None = option(
        help="Memory of the method stream: bytes, or a size such as 64KB or 2MB, from 32KB to 1GB. Default: 512KB.",
        check=check_memory,
        metavar="SIZE",
    )
    n_landmarks: int | None = option(
        help="Number of landmarks (nolana, NOGD). Default: 100.", flag="--landmarks", check=at_least(1), kind=int
    )
    gamma: Any = option(help="Width of the kernel (not stream): a number, or median for nolana.", parse=value)
    threshold: Any = option(
        help="Squared distance from which a row moves a landmark (nolana): a number, or median. Default: median.",
        parse=value,
    )
    landmarks: str | None = option(
        help="How landmarks follow the rows (nolana): kmeans, weighted, expiring, window or fixed. Default: kmeans.",
        flag="--landmark-policy",
    )
    optimizer: str | None = option(help="newton or sgd (nolana). Default: newton.")
    loss: str | None = option(
        help="hinge, squared_hinge or logistic; squared, huber or epsilon_insensitive "
        "for regression (not stream). Default of nolana: squared_hinge for newton, hinge for sgd, squared for "
        "regression."
    )
    scale: bool | None = option(
        help="Scale the features online (stream always does). Default: --scale.", kind=bool, flag="--scale/--no-scale"
    )
    random_state: int | None = option(
        help="Seed of all random numbers. Default: 0.", flag="--seed", check=at_least(0), kind=int
    )
    settings: Any = option(
        help="Any other parameter of the estimator; may be repeated.",
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
