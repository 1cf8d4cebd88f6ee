"""The options of the learner, declared once for all commands that make one."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nolana.cli.options import settings, value
from nolana.options import Options, at_least, option

if TYPE_CHECKING:
    from nolana.runs import Recipe

__all__ = ["LearnerOptions"]

PARAMETERS = {"landmarks": "n_landmarks", "landmark_policy": "landmarks", "seed": "random_state"}  # of the estimators


@dataclass(frozen=True, kw_only=True)
class LearnerOptions(Options):
    """What learns; a field has the name of the estimator's parameter, or stands in ``PARAMETERS``."""

    task: str | None = option(
        help="What is predicted. Default: inferred from the labels of the first block.",
        choices=("classification", "regression"),
    )
    landmarks: int | None = option(help="Number of landmarks. Default: 100.", check=at_least(1), kind=int)
    gamma: Any = option(help="Width of the kernel: a number, or median. Default: median.", parse=value)
    threshold: Any = option(
        help="Squared distance from which a row moves a landmark: a number, or median. Default: median.", parse=value
    )
    landmark_policy: str | None = option(help="How landmarks follow the rows: kmeans or fixed. Default: kmeans.")
    optimizer: str | None = option(help="newton or sgd. Default: newton.")
    loss: str | None = option(
        help="hinge, squared_hinge or logistic (which gives probabilities); squared or epsilon_insensitive for "
        "regression. Default: squared_hinge for newton, hinge for sgd, squared for regression."
    )
    scale: bool | None = option(
        help="Standardise the features online. Default: --scale.", kind=bool, flag="--scale/--no-scale"
    )
    seed: int | None = option(help="Seed of all random numbers. Default: 0.", check=at_least(0), kind=int)
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

        parameters = {k: v for k, v in self.specified.items() if k not in ("task", "settings")}
        return Recipe(self.task, {PARAMETERS.get(k, k): v for k, v in parameters.items()} | (self.settings or {}))
