"""The linear rival: Passive-Aggressive."""

from typing import Any

from nolana.estimators.parameters import choice, number
from nolana.learners.rival import Part
from nolana.rivals.base import RivalClassifier, RivalParameters, RivalRegressor, WithoutWeights

VARIANTS = ("PA", "PA-I", "PA-II")


class PassiveAggressiveParameters(RivalParameters):
    """Parameters of both forms."""

    def __init__(
        self,
        *,
        variant: str = "PA-I",
        C: float = 1.0,
        epsilon: float = 0.1,
        center: bool = True,
        max_iter: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.variant = variant
        self.C = C
        self.epsilon = epsilon
        self.center = center
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state

    def _part(self, n_features: int) -> Part:
        choice("variant", self.variant, VARIANTS)
        c = number("C", self.C, 0.0, open_low=True)
        how = {"PA": Part("Unbounded"), "PA-I": Part("Capped", {"c": c}), "PA-II": Part("Softened", {"c": c})}
        return Part(
            "PassiveAggressive",
            {
                "features": n_features,
                "how": how[self.variant],
                "epsilon": self._epsilon(),
                "regression": self._regression,
            },
        )


class PassiveAggressiveClassifier(WithoutWeights, RivalClassifier, PassiveAggressiveParameters):  # type: ignore[misc]
    """Linear Passive-Aggressive classification: PA, PA-I, PA-II (Crammer et al. 2006).

    Parameters
    ----------
    variant : "PA", "PA-I" (steps of at most C) or "PA-II" (steps softened by 1/(2C)).
    C : aggressiveness.
    epsilon, center : of the regressor; without meaning here.
    max_iter, shuffle, random_state : of ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> from nolana.rivals import PassiveAggressiveClassifier
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> PassiveAggressiveClassifier().fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0) > 0.9
    True
    """


class PassiveAggressiveRegressor(WithoutWeights, RivalRegressor, PassiveAggressiveParameters):  # type: ignore[misc]
    """Linear Passive-Aggressive regression (Crammer et al. 2006).

    Parameters are those of `PassiveAggressiveClassifier`; epsilon is half the width of the band without loss, center
    predicts around the running mean of y.
    """
