"""Passive-Aggressive: linear, with a kernel, or on a budget (BPA)."""

from typing import TYPE_CHECKING

from nolana.engine.learner.losses import REGRESSION
from nolana.engine.rivals import bpa
from nolana.engine.rivals import passive_aggressive as pa
from nolana.estimators.base import parameters
from nolana.estimators.parameters import choice, number
from nolana.modelfile.specs import Spec
from nolana.research.rivals.base import (
    FIRST_CAPACITY,
    KernelParameters,
    RivalClassifier,
    RivalRegressor,
    SupportParameters,
    WithoutWeights,
)
from nolana.research.rivals.method import WIDTH, Method, supports
from nolana.research.tuning import Axis, Choice

if TYPE_CHECKING:
    from sklearn.utils import Tags

VARIANTS = ("PA", "PA-I", "PA-II")
PROJECTIONS = {"simple": bpa.BPASimple, "nearest": bpa.BPANearest}


@parameters
class _PassiveAggressiveParameters(KernelParameters):
    variant: str = "PA-I"
    C: float = 1.0
    kernel: str = "linear"
    epsilon: float = 0.1
    center: bool = True

    @property
    def _linear(self) -> bool:
        return bool(self.kernel == "linear")

    def _spec(self, n_features: int) -> Spec:
        choice("variant", self.variant, VARIANTS)
        c = number("C", self.C, 0.0, open_low=True)
        how = {"PA": Spec(pa.Unbounded), "PA-I": Spec(pa.Capped, {"c": c}), "PA-II": Spec(pa.Softened, {"c": c})}
        band = Spec(pa.Band, {"epsilon": number("epsilon", self.epsilon, 0.0)})
        demand = band if self._task == REGRESSION else Spec(pa.Margin)
        kernel = self._kernel()
        rule = {"features": n_features, "demand": demand, "how": how[self.variant]}
        if self._linear:
            return Spec(pa.PassiveAggressive, rule)
        return Spec(pa.KernelPassiveAggressive, rule | {"budget": FIRST_CAPACITY, "kernel": kernel})

    def _gamma(self) -> float | None:
        gamma = super()._gamma()
        return 1.0 if self._linear else gamma  # x.z has no width to estimate


class PassiveAggressiveClassifier(WithoutWeights, RivalClassifier, _PassiveAggressiveParameters):  # type: ignore[misc]
    """Passive-Aggressive classification: PA, PA-I, PA-II, linear or with a kernel (Crammer et al. 2006).

    A row whose margin l = 1 - y f is positive moves the model by tau y x, tau = l/|x|^2 (PA), min(C, l/|x|^2) (PA-I)
    or l/(|x|^2 + 1/(2C)) (PA-II). With a kernel |x|^2 is k(x, x), and each such row joins the support set, which
    grows with the stream; `BPAClassifier` is the form on a budget.

    Parameters
    ----------
    variant : "PA", "PA-I" (steps of at most C) or "PA-II" (steps softened by 1/(2C)).
    C : aggressiveness.
    kernel : "linear": the weights themselves, in fixed memory. "rbf", "laplacian", "polynomial", "cosine": a support
        set without a bound.
    gamma, degree, coef0 : of the kernel, as in `RBPClassifier`; without meaning for "linear".
    epsilon, center : of the regressor; without meaning here.
    scale : whether features are scaled robustly online, as in `nolana.StreamClassifier`; gamma is then for scaled rows.
    max_iter, shuffle, random_state : of ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.research.rivals import PassiveAggressiveClassifier
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> PassiveAggressiveClassifier().fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0) > 0.9
    True
    >>> inside = (X**2).sum(axis=1) < 2  # no linear model can do this
    >>> PassiveAggressiveClassifier(kernel="rbf").fit(X, inside).score(X, inside) > 0.9
    True
    """


class PassiveAggressiveRegressor(WithoutWeights, RivalRegressor, _PassiveAggressiveParameters):  # type: ignore[misc]
    """Passive-Aggressive regression, linear or with a kernel (Crammer et al. 2006).

    A row with l = |y - f| - epsilon > 0 moves the model by sign(y - f) tau x.

    Parameters are those of `PassiveAggressiveClassifier`; epsilon is half the width of the band without loss, center
    predicts around the running mean of y.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.research.rivals import PassiveAggressiveRegressor
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(1000, 1))
    >>> PassiveAggressiveRegressor(kernel="rbf").fit(X, np.sin(2 * X[:, 0])).score(X, np.sin(2 * X[:, 0])) > 0.9
    True
    """

    _several_targets = False  # a step is for the residual of one target

    def __sklearn_tags__(self) -> "Tags":
        tags = super().__sklearn_tags__()
        # scikit-learn's checks set C = 0.01 on a class of this name: enough for rows of length 3, not for k(x, x) = 1.
        tags.regressor_tags.poor_score = not self._linear
        return tags


PASSIVE_AGGRESSIVE = Method(
    "PassiveAggressive",
    "Crammer, Dekel, Keshet, Shalev-Shwartz, Singer: Online Passive-Aggressive Algorithms. JMLR 2006",
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
    axes=(Axis("C", 1e-4, 1e2), Choice("variant", ("PA-I", "PA-II"))),
    regression_axes=(Axis("epsilon", 1e-2, 10.0),),
    abbreviation="PA",
    in_paper=True,
)


@parameters
class BPAClassifier(WithoutWeights, RivalClassifier, SupportParameters):  # type: ignore[misc]
    """Budgeted passive-aggressive: the vector whose removal costs least is replaced (Wang & Vucetic 2010).

    Parameters
    ----------
    C : aggressiveness.
    projection : what the removed vector is projected on: "simple" (the new row) or "nearest" (also its neighbour).
    budget, kernel, gamma, degree, coef0, max_iter, shuffle, random_state : as in `RBPClassifier`.
    """

    C: float = 1.0
    projection: str = "simple"

    def _spec(self, n_features: int) -> Spec:
        kind = PROJECTIONS[choice("projection", self.projection, PROJECTIONS)]
        return Spec(kind, self._support(n_features) | {"c": number("C", self.C, 0.0, open_low=True)})


BPA = Method(
    "BPA",
    "Wang, Vucetic: Online Passive-Aggressive Algorithms on a Budget. AISTATS 2010",
    BPAClassifier,
    sizes=supports,
    axes=(WIDTH, Axis("C", 1e-2, 1e2), Choice("projection", tuple(PROJECTIONS))),
)
