"""From an estimator's parameters to the spec of a learner: defaults, ranges, and invalid combinations."""

import math
import numbers
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolana.engine.experts.landmarks.kernels import Kernel, Polynomial, UserKernel
from nolana.engine.experts.landmarks.landmark_map import LandmarkMap
from nolana.engine.experts.landmarks.newton import Newton
from nolana.engine.experts.landmarks.policies import Policy, UserPolicy
from nolana.engine.experts.sgd import SGD
from nolana.engine.learner.losses import REGRESSION, EpsilonInsensitive, Loss
from nolana.engine.learner.residual_variance import NoiseLevel
from nolana.errors import OptionError, Setting
from nolana.experts import MIXED, Bins, Effects, Expert, Linear, Trees
from nolana.experts.base import Budget
from nolana.experts.linear import has_full_covariance
from nolana.experts.spectral.refit import PaperLandmarkMap, PaperRefit, Refit
from nolana.experts.spectral.spectral_map import SpectralMap
from nolana.experts.spectral.spectrum import Randomized, Solver
from nolana.learner.driver import learner_spec
from nolana.learner.landmark import LandmarkOptions
from nolana.modelfile.specs import Spec, defaults_of, labels

if TYPE_CHECKING:
    from nolana.estimators.model import LandmarkEstimator, NolanaModel

OPTIMIZERS = ("newton", "sgd")
# Learning rates over time, eta t^-power at row t (from 1): a constant rate tracks drift, 1/sqrt(t) is the rate of the
# regret bounds, 1/t is for strongly convex losses (with eta = 1/lambda it is that of Pegasos).
POWERS = {"constant": 0.0, "sqrt": 0.5, "inverse": 1.0}
SOLVERS = ("inverse", *labels(Solver))
REFITS = tuple(labels(Refit))

SMALLEST_RIDGE = 1e-6  # below it the inverse loses too many digits of the 16 a double has
DEFAULT_RIDGE = 1e-3
LARGEST_RIDGE = 0.1  # beyond it no row is new enough to become a landmark
DEFAULT_FORGETTING = 1 - 1e-5  # per row: costs little where nothing changes and gains much where something does
DEFAULT_PENALTY = 1e-3  # of refit="paper"
DEFAULT_REGULARIZATION = {"classification": 0.05, "regression": 1 / 300}
NOISE_SHARE = 0.5  # of the variance of the residuals: the rest is what newton does not know yet
HUBER = 3.0  # deviations at which the robust loss clips a residual
ROBUST_LOSSES = {"huber": "squared"}  # a loss of numbers with clipped residuals, and the loss without
DEFAULT_LOSSES = {
    ("newton", "classification"): "squared_hinge",
    ("sgd", "classification"): "hinge",
    ("newton", "regression"): "squared",
    ("sgd", "regression"): "squared",
}


def choice(name: str, value: object, legal: Iterable[str]) -> str:
    """A value out of a short list."""
    if not isinstance(value, str) or value not in tuple(legal):
        raise OptionError(name, value, "is unknown; choose from {expected}", expected=", ".join(map(repr, legal)))
    return value


def number(
    name: str,
    value: object,
    low: float,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
    unbounded: bool = False,
) -> float:
    """A real number in a range."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise OptionError(name, value, "is not a number")
    x = float(value)
    outside = not low <= x <= high or (open_low and x == low) or (open_high and x == high)
    if outside or (math.isinf(x) and not unbounded):
        above, below = "more than" if open_low else "at least", "less than" if open_high else "at most"
        legal = f"{above} {low:g}" + (f" and {below} {high:g}" if high < math.inf else "")
        raise OptionError(name, value, "is out of range: {expected}", expected=legal)
    return x


def integer(name: str, value: object, low: int, high: int | None = None) -> int:
    """An integer in a range."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < low:
        raise OptionError(name, value, "is not an integer of at least {expected}", expected=low)
    if high is not None and int(value) > high:
        raise OptionError(name, value, "is more than {expected}", expected=high)
    return int(value)


def flag(name: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise OptionError(name, value, "is neither True nor False")
    return bool(value)


def kernel_of(kernel: object, degree: object, coef0: object) -> Spec:
    """The kernel, by its name or a callable."""
    degree, coef0 = integer("degree", degree, 1), number("coef0", coef0, 0.0)
    if callable(kernel):
        return Spec(UserKernel, {"block": kernel})
    kind = labels(Kernel)[choice("kernel", kernel, labels(Kernel))]
    return Spec(kind, {"degree": degree, "coef0": coef0} if kind is Polynomial else {})


def gamma_of(gamma: object) -> float | None:
    """None for "median"."""
    if isinstance(gamma, str):
        choice("gamma", gamma, ("median",))
        return None
    return number("gamma", gamma, 0.0, 1e100, open_low=True)


def threshold_of(threshold: object) -> float | None:
    """None for "median"."""
    if isinstance(threshold, str):
        choice("threshold", threshold, ("median",))
        return None
    return number("threshold", threshold, 0.0, unbounded=True)


def policy_of(policy: object, novelty: object) -> Spec:
    """The policy, by its name or an object with propose()."""
    novelty = number("novelty", novelty, 0.0, 1.0)
    if hasattr(policy, "propose"):
        return Spec(UserPolicy, {"policy": policy, "novelty": novelty})
    known = labels(Policy)
    if not isinstance(policy, str):
        names = ", ".join(map(repr, known))
        raise OptionError("landmarks", policy, f"is unknown; choose from {names}, or pass an object with propose()")
    kind = known[choice("landmarks", policy, known)]
    return Spec(kind, {"novelty": novelty} | defaults_of(kind))


def losses_for(task: str) -> dict[str, type[Loss]]:
    """The losses of a task by their names for users; a robust one has the class of the loss without clipping."""
    found = {label: kind for label, kind in labels(Loss).items() if task in kind.tasks}
    robust = {name: found[plain] for name, plain in ROBUST_LOSSES.items() if task == REGRESSION}
    return dict(sorted((found | robust).items()))


def loss_of(name: object, task: str, epsilon: object = 0.0) -> Spec:
    """A loss for this task, by its name."""
    legal = {label: kind for label, kind in labels(Loss).items() if task in kind.tasks}
    kind = legal[choice("loss", name, legal)]
    epsilon = number("epsilon", epsilon, 0.0)
    return Spec(kind, {"epsilon": epsilon} if kind is EpsilonInsensitive else {})


def ridge_of(ridge: object) -> float:
    """delta relative to the mean of k(u, u)."""
    return number("ridge", DEFAULT_RIDGE if ridge is None else ridge, 0.0, LARGEST_RIDGE)


def rank_of(rank: object, n_landmarks: int) -> int:
    """r from an integer or a fraction of m."""
    if isinstance(rank, numbers.Integral) and not isinstance(rank, bool):
        return min(integer("rank", rank, 1), n_landmarks)
    return max(1, int(number("rank", rank, 0.0, 1.0, open_low=True) * n_landmarks + 1e-9))


def initial_of(initial: ArrayLike | None, n_landmarks: int, n_features: int) -> NDArray[np.float64] | None:
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


def width_of(initial: ArrayLike | None) -> int:
    """The number of features that initial landmarks have, 1 where there are none to tell."""
    shape: tuple[int, ...] = np.shape(initial) if initial is not None else ()
    return shape[1] if len(shape) == 2 else 1


class Conflict(NamedTuple):
    """Two parameters that are invalid together, and what to do instead."""

    first: str
    second: str
    applies: Callable[["Combination"], bool]
    remedy: str


class Combination(NamedTuple):
    """What an estimator's parameters choose."""

    newton: bool
    loss: type[Loss]
    decomposed: bool
    refit: str
    robust: bool  # whether residuals are clipped
    estimator: Any


INSTEAD = {  # what a remedy names
    "sgd": Setting("optimizer", "sgd"),
    "newton": Setting("optimizer", "newton"),
    "inverse": Setting("solver", "inverse"),
    "exact": Setting("solver", "exact"),
    "squared": Setting("loss", "squared"),
    "carry": Setting("refit", "carry"),
    "paper": Setting("refit", "paper"),
}
# Every rule about parameters that exclude each other. The table in docs/choose.md shows what is left.
CONFLICTS = (
    Conflict(
        "loss",
        "optimizer",
        lambda c: c.newton and not c.loss.curved,
        "Newton steps need curvature, so use {curved}, or {sgd}",
    ),
    Conflict(
        "loss",
        "solver",
        lambda c: c.robust and c.decomposed,
        "a robust loss standardises its targets, which needs {inverse}; or use {squared}",
    ),
    Conflict(
        "loss",
        "center",
        lambda c: c.robust and not c.estimator.center,
        "a robust loss standardises its targets; leave center True, or use {squared}",
    ),
    Conflict(
        "learning_rate",
        "optimizer",
        lambda c: c.newton and c.estimator.learning_rate is not None,
        "Newton steps choose their own length; leave it None or use {sgd}",
    ),
    Conflict(
        "schedule",
        "optimizer",
        lambda c: c.newton and c.estimator.schedule != "constant",
        "Newton steps choose their own length; leave it 'constant' or use {sgd}",
    ),
    Conflict(
        "forgetting",
        "optimizer",
        lambda c: not c.newton and c.estimator.forgetting is not None,
        "gradient steps forget by themselves; leave it None or use {newton}",
    ),
    Conflict(
        "optimizer",
        "solver",
        lambda c: c.newton and c.decomposed,
        "the Newton head has its covariance beside the inverse, so use {inverse}, or {sgd}",
    ),
    Conflict(
        "rank",
        "solver",
        lambda c: not c.decomposed and c.estimator.rank is not None,
        "the inverse has full rank; leave rank None, or use {exact}, 'rank2' or 'randomized'",
    ),
    Conflict(
        "refit",
        "solver",
        lambda c: not c.decomposed and c.refit == "none",
        "there are no weights apart from the map to leave as they are; use {carry} or 'paper', "
        "or {exact}, 'rank2' or 'randomized'",
    ),
    Conflict(
        "refit",
        "optimizer",
        lambda c: c.newton and c.refit == "paper",
        "the paper's stage two has no covariance; use {carry}, or {sgd}",
    ),
    Conflict(
        "refit_penalty",
        "refit",
        lambda c: c.refit != "paper" and c.estimator.refit_penalty is not None,
        "only {paper} has a penalty; leave it None",
    ),
    Conflict(
        "ridge",
        "solver",
        lambda c: not c.decomposed and ridge_of(c.estimator.ridge) < SMALLEST_RIDGE,
        f"the inverse needs a ridge of at least {SMALLEST_RIDGE:g}; use {{exact}}, 'rank2' or 'randomized' for less",
    ),
)


def check_conflicts(combination: Combination, values: dict[str, object], task: str) -> None:
    """ValueError for the first two parameters that exclude each other."""
    for conflict in CONFLICTS:
        if conflict.applies(combination):
            curved = [label for label, kind in losses_for(task).items() if kind.curved]
            facts = INSTEAD | {"curved": ", ".join(map(repr, curved))}
            facts |= {"other": Setting(conflict.second, values[conflict.second])}
            what = f"cannot be combined with {{other}}: {conflict.remedy}"
            raise OptionError(conflict.first, values[conflict.first], what, facts=facts)


def map_of(estimator: "LandmarkEstimator", n_features: int, solver: str, rank: int, refit: str, penalty: float) -> Spec:
    """The map with these landmarks, kernel, policy and decomposition."""
    common = {
        "features": n_features,
        "capacity": integer("n_landmarks", estimator.n_landmarks, 1),
        "kernel": kernel_of(estimator.kernel, estimator.degree, estimator.coef0),
        "policy": policy_of(estimator.landmarks, estimator.novelty),
    }
    iterations = integer("power_iterations", estimator.power_iterations, 1, 1000)
    if solver == "inverse":
        return Spec(PaperLandmarkMap, common | {"penalty": penalty}) if refit == "paper" else Spec(LandmarkMap, common)
    method, stage_two = labels(Solver)[solver], labels(Refit)[refit]
    own = {
        "solver": Spec(method, {"iterations": iterations} if method is Randomized else {}),
        "rank": rank,
        "refit": Spec(stage_two, {"penalty": penalty} if stage_two is PaperRefit else {}),
    }
    return Spec(SpectralMap, common | own)


def spec_of(estimator: "NolanaModel", n_features: int, task: str) -> tuple[Spec, LandmarkOptions]:
    """The learner of an estimator's parameters; every invalid one is a ValueError here."""
    n_landmarks = integer("n_landmarks", estimator.n_landmarks, 1)
    solver = choice("solver", estimator.solver, SOLVERS)
    refit = choice("refit", estimator.refit, REFITS)
    optimizer = choice("optimizer", estimator.optimizer, OPTIMIZERS)
    name = DEFAULT_LOSSES[optimizer, task] if estimator.loss is None else estimator.loss
    choice("loss", name, losses_for(task))
    robust = name in ROBUST_LOSSES
    loss = loss_of(ROBUST_LOSSES.get(name, name), task, getattr(estimator, "epsilon", 0.0))
    newton, ridge = optimizer == "newton", ridge_of(estimator.ridge)
    combination = Combination(newton, loss.kind, solver != "inverse", refit, robust, estimator)
    check_conflicts(combination, estimator.get_params(deep=False) | {"loss": name}, task)
    clip = {"clip": HUBER} if robust else {}
    estimated = newton and estimator.regularization is None
    # Numbers are standardised where their noise is estimated or residuals are clipped by it.
    number_targets = robust or (estimated and task == REGRESSION and estimator.center)
    if newton:
        ratio = DEFAULT_REGULARIZATION[task] if estimator.regularization is None else estimator.regularization
        if estimated and number_targets:
            ratio = NOISE_SHARE
        noise, prior = loss.kind.noise_and_prior(number("regularization", ratio, 0.0, open_low=True))
        share = DEFAULT_FORGETTING if estimator.forgetting is None else estimator.forgetting
        own = {
            "noise": noise,
            "prior": prior,
            "move_noise": number("move_noise", estimator.move_noise, 0.0),
            "forgetting": number("forgetting", share, 0.0, 1.0, open_low=True),
        }
        head = Spec(Newton, {"loss": loss, **own, **clip})
    else:
        rate = loss.kind.default_rate if estimator.learning_rate is None else estimator.learning_rate
        decay = 0.0 if estimator.regularization is None else estimator.regularization
        head = Spec(
            SGD,
            {
                "loss": loss,
                "rate": number("learning_rate", rate, 0.0, open_low=True),
                "power": POWERS[choice("schedule", estimator.schedule, POWERS)],
                "decay": number("regularization", decay, 0.0),
                **clip,
            },
        )
    rank = n_landmarks if estimator.rank is None else rank_of(estimator.rank, n_landmarks)
    penalty = DEFAULT_PENALTY if estimator.refit_penalty is None else estimator.refit_penalty
    map = map_of(estimator, n_features, solver, rank, refit, number("refit_penalty", penalty, 0.0))
    options = options_of(estimator, ridge)
    options = replace(options, number=number_targets, relative_weights=estimated or not newton)
    variance = Spec(NoiseLevel) if number_targets and (estimated or not newton) else None
    return learner_spec(map, head, variance), options


def options_of(estimator: "LandmarkEstimator", ridge: float) -> LandmarkOptions:
    """What is re-estimated while it learns."""
    gamma, threshold = gamma_of(estimator.gamma), threshold_of(estimator.threshold)
    scale, keep = flag("scale", estimator.scale), flag("keep_growing", estimator.keep_growing)
    return LandmarkOptions(gamma, threshold, ridge, scale, watch_growth=scale and not keep)


def sets_of(experts: object, mixed: bool = False) -> list[Spec]:
    """The expert sets as specs; `mixed`: of rows with categories, the only ones with effects."""
    sets = list(MIXED) if experts is None else experts
    if not isinstance(sets, list | tuple) or not sets or not all(isinstance(each, Expert) for each in sets):
        raise ValueError(f"experts={experts!r} is not a list of expert sets such as nolana.experts.Bins()")
    return [Spec(type(each), dict(vars(each))) for each in sets if mixed or not isinstance(each, Effects)]


def fits_trees(trees: Spec, memory: int, features: int) -> bool:
    """Whether the memory is enough for trees of one output; if not, they are left out."""
    return bool(Trees(**trees.arguments).sizes(Budget(memory, features, features, 1))["trees"])


def sets_for(experts: object, memory: int, features: int, sparse: bool, mixed: bool = False) -> list[Spec]:
    """The expert sets of a learner; `sparse`: of one that takes the non-zeros of rows, if there is a set for these."""
    sets = sets_of(experts, mixed)
    if not sets:
        raise ValueError(
            f"experts={experts!r} learns on rows with categories, and these rows have none: add another set such as "
            "nolana.experts.Bins(), or name the categories in categorical_features"
        )
    linear = sum(each.kind is Linear for each in sets)
    if linear > 1:
        raise ValueError(f"experts={experts!r} has {linear} linear sets; leave one")
    if sparse and linear:
        # The sums of a sketch are all alike: there is no relevance to measure, and no axis to split along.
        sets = [each for each in sets if each.kind is not Trees]
        alike = {"relevance": False}
        return [replace(each, arguments={**each.arguments, **alike}) if each.kind is Bins else each for each in sets]
    sets = [each for each in sets if each.kind is not Trees or len(sets) == 1 or fits_trees(each, memory, features)]
    others = [each for each in sets if each.kind is not Linear]
    if has_full_covariance(memory, features, alone=not others):
        return sets
    if not others:
        raise ValueError(
            f"experts={experts!r} learns on rows of at most 64 features, or on sparse rows of more than 256: pass the "
            "rows as a sparse matrix of SciPy, or add another set such as nolana.experts.Bins()"
        )
    return others
