"""From what the user wrote to the settings of a learner: defaults, ranges, and combinations that make no sense."""

import math
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np

from nolana import kernels, losses, schedules
from nolana.kernels import KernelChoice
from nolana.learners.nolana import Decomposition, GradientSteps, NewtonSteps, Settings
from nolana.nystroem import landmarks as policies

OPTIMIZERS = ("newton", "sgd")
SOLVERS = ("inverse", "exact", "rank2", "randomized")
REFITS = ("carry", "paper", "none")

SMALLEST_RIDGE = 1e-6  # below it the inverse loses too many digits of the 16 a double has
DEFAULT_RIDGE = 1e-3
LARGEST_RIDGE = 0.1  # beyond it no row is new enough to become a landmark
DEFAULT_RATES = {"hinge": 0.5, "squared_hinge": 0.15, "logistic": 2.0, "squared": 0.2, "epsilon_insensitive": 0.5}
DEFAULT_REGULARIZATION = {"squared_hinge": 0.05, "squared": 0.05, "logistic": 0.05}
DEFAULT_REGULARIZATION_OF_REGRESSION = 1 / 300


def choice(name: str, value: Any, legal: Iterable[str]) -> str:
    """A value out of a short list."""
    if not isinstance(value, str) or value not in tuple(legal):
        raise ValueError(f"{name}={value!r} is unknown; choose from {', '.join(map(repr, legal))}")
    return value


def number(
    name: str, value: Any, low: float, high: float = math.inf, *, open_low: bool = False, unbounded: bool = False
) -> float:
    """A real number in a range."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise ValueError(f"{name}={value!r} is not a number")
    x = float(value)
    if not low <= x <= high or (open_low and x == low) or (math.isinf(x) and not unbounded):
        raise ValueError(
            f"{name}={value!r} is out of range: {'more than' if open_low else 'at least'} {low:g}"
            + (f" and at most {high:g}" if high < math.inf else "")
        )
    return x


def integer(name: str, value: Any, low: int) -> int:
    """A whole number."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < low:
        raise ValueError(f"{name}={value!r} is not a whole number of at least {low}")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} is neither True nor False")
    return bool(value)


def conflict(first: str, value: Any, second: str, other: Any, legal: str) -> ValueError:
    """The error for two parameters that make no sense together."""
    return ValueError(f"{first}={value!r} does not go with {second}={other!r}: {legal}")


def kernel_of(kernel: Any, degree: Any, coef0: Any) -> KernelChoice:
    """The kernel, named or a callable."""
    if not callable(kernel):
        choice("kernel", kernel, kernels.NAMES)
    return KernelChoice(kernel, integer("degree", degree, 1), number("coef0", coef0, 0.0))


def gamma_of(gamma: Any) -> float | None:
    """None for "median"."""
    if isinstance(gamma, str):
        choice("gamma", gamma, ("median",))
        return None
    return number("gamma", gamma, 0.0, 1e100, open_low=True)


def threshold_of(threshold: Any) -> float | None:
    """None for "median"."""
    if isinstance(threshold, str):
        choice("threshold", threshold, ("median",))
        return None
    return number("threshold", threshold, 0.0, unbounded=True)


def policy_of(policy: Any) -> Any:
    """A name, or an object with propose()."""
    if hasattr(policy, "propose"):
        return policy
    if not isinstance(policy, str):
        names = ", ".join(map(repr, policies.NAMES))
        raise ValueError(f"landmarks={policy!r} is unknown; choose from {names}, or give an object with propose()")
    return choice("landmarks", policy, policies.NAMES)


def ridge_of(ridge: Any) -> float:
    """delta relative to the mean of k(u, u)."""
    return number("ridge", DEFAULT_RIDGE if ridge is None else ridge, 0.0, LARGEST_RIDGE)


def rank_of(rank: Any, n_landmarks: int) -> int:
    """r from a whole number or a fraction of m."""
    if isinstance(rank, numbers.Integral) and not isinstance(rank, bool):
        return min(integer("rank", rank, 1), n_landmarks)
    return max(1, int(number("rank", rank, 0.0, 1.0, open_low=True) * n_landmarks + 1e-9))


def initial_of(initial: Any, n_landmarks: int, n_features: int) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """The landmarks to start from (m, d), checked."""
    if initial is None:
        return None
    try:
        places = np.array(initial, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"initial_landmarks must be an array of numbers; got {type(initial).__name__}") from error
    if places.ndim == 2 and not np.isfinite(places).all():
        raise ValueError(f"initial_landmarks holds NaN or infinity in row {np.argwhere(~np.isfinite(places))[0][0]}")
    if places.shape != (n_landmarks, n_features):
        raise ValueError(
            f"initial_landmarks must be finite and of shape (n_landmarks, n_features) = {(n_landmarks, n_features)}; "
            f"got shape {places.shape}"
        )
    return np.ascontiguousarray(places)


def width_of(initial: Any) -> int:
    """The number of features that initial landmarks have, 1 where there are none to tell."""
    shape: tuple[int, ...] = np.shape(initial) if initial is not None else ()
    return shape[1] if len(shape) == 2 else 1


def steps_of(estimator: Any, legal_losses: tuple[str, ...], regression: bool) -> GradientSteps | NewtonSteps:
    """How the weights learn."""
    optimizer = choice("optimizer", estimator.optimizer, OPTIMIZERS)
    loss = estimator.loss
    if loss is None:
        loss = "squared" if regression else {"newton": "squared_hinge", "sgd": "hinge"}[optimizer]
    choice("loss", loss, legal_losses)
    regularization = estimator.regularization
    if optimizer == "newton":
        if loss not in losses.WITH_CURVATURE:
            legal = ", ".join(repr(name) for name in legal_losses if name in losses.WITH_CURVATURE)
            raise conflict(
                "loss", loss, "optimizer", "newton", f"Newton steps need curvature, so use {legal}, or optimizer='sgd'"
            )
        if estimator.learning_rate is not None:
            raise conflict(
                "learning_rate",
                estimator.learning_rate,
                "optimizer",
                "newton",
                "Newton steps choose their own length; leave it None or use optimizer='sgd'",
            )
        if estimator.schedule != "constant":
            raise conflict(
                "schedule",
                estimator.schedule,
                "optimizer",
                "newton",
                "Newton steps choose their own length; leave it 'constant' or use optimizer='sgd'",
            )
        if regularization is None:
            regularization = DEFAULT_REGULARIZATION_OF_REGRESSION if regression else DEFAULT_REGULARIZATION[loss]
        ratio = number("regularization", regularization, 0.0, open_low=True)
        noise, prior = (1.0, 1 / ratio) if loss == "logistic" else (ratio, 1.0)
        return NewtonSteps(loss, noise, prior, number("move_noise", estimator.move_noise, 0.0))
    power = schedules.POWERS[choice("schedule", estimator.schedule, schedules.POWERS)]
    rate = DEFAULT_RATES[loss] if estimator.learning_rate is None else estimator.learning_rate
    decay = 0.0 if regularization is None else regularization
    return GradientSteps(
        loss, number("learning_rate", rate, 0.0, open_low=True), power, number("regularization", decay, 0.0)
    )


def settings_of(estimator: Any, n_features: int, legal_losses: tuple[str, ...], regression: bool) -> Settings:
    """The settings of a learner from an estimator's parameters; every nonsensical one is a ValueError here."""
    n_landmarks = integer("n_landmarks", estimator.n_landmarks, 1)
    solver = choice("solver", estimator.solver, SOLVERS)
    refit = choice("refit", estimator.refit, REFITS)
    steps = steps_of(estimator, legal_losses, regression)
    decomposed = solver != "inverse"
    if decomposed and isinstance(steps, NewtonSteps):
        raise conflict(
            "optimizer",
            "newton",
            "solver",
            solver,
            "the Newton head keeps its covariance beside the inverse, so use solver='inverse', or optimizer='sgd'",
        )
    if estimator.rank is not None and not decomposed:
        raise conflict(
            "rank",
            estimator.rank,
            "solver",
            solver,
            "the inverse has full rank; leave rank None, or use solver='exact', 'rank2' or 'randomized'",
        )
    if refit == "none" and not decomposed:
        raise conflict(
            "refit",
            refit,
            "solver",
            solver,
            "there are no weights apart from the map to keep; use refit='carry' or 'paper', "
            "or solver='exact', 'rank2' or 'randomized'",
        )
    if refit == "paper" and isinstance(steps, NewtonSteps):
        raise conflict(
            "refit",
            refit,
            "optimizer",
            "newton",
            "the paper's stage two has no covariance; use refit='carry', or optimizer='sgd'",
        )
    if estimator.refit_penalty is not None and refit != "paper":
        raise conflict(
            "refit_penalty", estimator.refit_penalty, "refit", refit, "only refit='paper' has a penalty; leave it None"
        )
    ridge = ridge_of(estimator.ridge)
    if not decomposed and ridge < SMALLEST_RIDGE:
        raise conflict(
            "ridge",
            estimator.ridge,
            "solver",
            solver,
            f"the inverse needs a ridge of at least {SMALLEST_RIDGE:g}; "
            "use solver='exact', 'rank2' or 'randomized' for less",
        )
    rank = n_landmarks if estimator.rank is None else rank_of(estimator.rank, n_landmarks)
    iterations = integer("power_iterations", estimator.power_iterations, 1)
    return Settings(
        n_landmarks=n_landmarks,
        kernel=kernel_of(estimator.kernel, estimator.degree, estimator.coef0),
        gamma=gamma_of(estimator.gamma),
        threshold=threshold_of(estimator.threshold),
        policy=policy_of(estimator.landmarks),
        initial_landmarks=initial_of(estimator.initial_landmarks, n_landmarks, n_features),
        steps=steps,
        decomposition=Decomposition(solver, rank, iterations) if decomposed else None,
        refit=refit,
        refit_penalty=number(
            "refit_penalty", 1e-3 if estimator.refit_penalty is None else estimator.refit_penalty, 0.0
        ),
        ridge=ridge,
        scale=flag("scale", estimator.scale),
        novelty=number("novelty", estimator.novelty, 0.0, 1.0),
        epsilon=number("epsilon", getattr(estimator, "epsilon", 0.0), 0.0),
    )
