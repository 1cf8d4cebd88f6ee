"""Every online kernel method that the paper compares with or cites, with one interface.

>>> from nolana import rivals
>>> sorted(rivals.catalogue())[:3]
['BOGD', 'BPA', 'BSGD']
>>> rivals.at_equal_budget("FOGD", n_landmarks=100, n_features=22).n_components
463
"""

from typing import Any

from nolana.research.rivals.fourier import (
    DOUBLY_SGD,
    DUAL_SGD,
    FOGD,
    RRF,
    DoublySGDClassifier,
    DoublySGDRegressor,
    DualSGDClassifier,
    DualSGDRegressor,
    FOGDClassifier,
    FOGDRegressor,
    RRFClassifier,
    RRFRegressor,
)
from nolana.research.rivals.gradient_descent import (
    BOGD,
    BSGD,
    KERNEL_OGD,
    BOGDClassifier,
    BOGDRegressor,
    BSGDClassifier,
    KernelOGDClassifier,
    KernelOGDRegressor,
)
from nolana.research.rivals.method import Budget, Method
from nolana.research.rivals.nogd import NOGD, NOGDClassifier, NOGDRegressor
from nolana.research.rivals.passive_aggressive import (
    BPA,
    PASSIVE_AGGRESSIVE,
    BPAClassifier,
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
)
from nolana.research.rivals.perceptrons import (
    FORGETRON,
    PROJECTRON,
    PROJECTRON_PLUS_PLUS,
    RBP,
    ForgetronClassifier,
    ProjectronClassifier,
    ProjectronPlusPlusClassifier,
    RBPClassifier,
)

__all__ = [
    "BOGDClassifier",
    "BOGDRegressor",
    "BPAClassifier",
    "BSGDClassifier",
    "Budget",
    "DoublySGDClassifier",
    "DoublySGDRegressor",
    "DualSGDClassifier",
    "DualSGDRegressor",
    "FOGDClassifier",
    "FOGDRegressor",
    "ForgetronClassifier",
    "KernelOGDClassifier",
    "KernelOGDRegressor",
    "Method",
    "NOGDClassifier",
    "NOGDRegressor",
    "PassiveAggressiveClassifier",
    "PassiveAggressiveRegressor",
    "ProjectronClassifier",
    "ProjectronPlusPlusClassifier",
    "RBPClassifier",
    "RRFClassifier",
    "RRFRegressor",
    "at_equal_budget",
    "catalogue",
]

# The methods of the paper's Table 1 first, in the order of its columns.
_METHODS = (
    PASSIVE_AGGRESSIVE,
    NOGD,
    FOGD,
    DUAL_SGD,
    RRF,
    KERNEL_OGD,
    RBP,
    FORGETRON,
    PROJECTRON,
    PROJECTRON_PLUS_PLUS,
    BPA,
    BOGD,
    BSGD,
    DOUBLY_SGD,
)


def catalogue() -> dict[str, Method]:
    """Every method by its name."""
    return {method.name: method for method in _METHODS}


def at_equal_budget(
    name: str,
    *,
    n_landmarks: int,
    n_features: int,
    task: str = "classification",
    rank: float = 0.8,
    **parameters: object,
) -> Any:
    """An estimator that has the memory of NOLANA in the paper: m d + m r numbers, rounded down.

    Each method's ``sizes`` says what it makes of that memory: landmarks, projections or support vectors.
    Passive-Aggressive and kernel OGD have no budget.

    Parameters
    ----------
    name : a name of the catalogue.
    n_landmarks, n_features : m and d.
    task : "classification" or "regression".
    rank : r, as an integer or as a fraction of m.
    parameters : further parameters of the estimator.
    """
    methods = catalogue()
    if name not in methods:
        raise ValueError(f"{name!r} is not a method; choose from {', '.join(sorted(methods))}")
    return methods[name].at_budget(Budget(n_landmarks, n_features, rank), task, **parameters)
