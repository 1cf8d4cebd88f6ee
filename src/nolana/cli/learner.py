"""The options of the learner, declared once for all commands that make one."""

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nolana.options import Options, at_least, option

if TYPE_CHECKING:
    from nolana.runs import Recipe

__all__ = ["LearnerOptions"]


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


@dataclass(frozen=True, kw_only=True)
class LearnerOptions(Options):
    """What learns; all fields but ``task`` and ``settings`` are parameters of the estimators."""

    task: str | None = option(
        help="What is predicted. Default: inferred from the labels of the first block.",
        choices=("classification", "regression"),
    )
    n_landmarks: int | None = option(
        help="Number of landmarks. Default: 100.", flag="--landmarks", check=at_least(1), kind=int
    )
    gamma: Any = option(help="Width of the kernel: a number, or median. Default: median.", parse=value)
    threshold: Any = option(
        help="Squared distance from which a row moves a landmark: a number, or median. Default: median.", parse=value
    )
    landmarks: str | None = option(
        help="How landmarks follow the rows: kmeans, weighted, expiring, window or fixed. Default: kmeans.",
        flag="--landmark-policy",
    )
    optimizer: str | None = option(help="newton or sgd. Default: newton.")
    loss: str | None = option(
        help="hinge, squared_hinge or logistic (which gives probabilities); squared or epsilon_insensitive for "
        "regression. Default: squared_hinge for newton, hinge for sgd, squared for regression."
    )
    scale: bool | None = option(
        help="Standardise the features online. Default: --scale.", kind=bool, flag="--scale/--no-scale"
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

        parameters = {name: v for name, v in self.specified.items() if name not in ("task", "settings")}
        return Recipe(self.task, parameters | (self.settings or {}))
