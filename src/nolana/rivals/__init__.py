"""Every online kernel method the paper compares with or cites, in one interface.

>>> from nolana import rivals
>>> sorted(rivals.catalogue())[:3]
['BOGD', 'BPA', 'BSGD']
>>> rivals.at_equal_budget("FOGD", n_landmarks=100, n_features=22).n_components
463
"""

import math
from dataclasses import dataclass
from typing import Any

from nolana.rivals.base import budget_numbers
from nolana.rivals.budget import (
    BOGDClassifier,
    BOGDRegressor,
    BPAClassifier,
    BSGDClassifier,
    ForgetronClassifier,
    KernelOGDClassifier,
    KernelOGDRegressor,
    ProjectronClassifier,
    ProjectronPlusPlusClassifier,
    RBPClassifier,
)
from nolana.rivals.fourier import (
    DoublySGDClassifier,
    DoublySGDRegressor,
    DualSGDClassifier,
    DualSGDRegressor,
    FOGDClassifier,
    FOGDRegressor,
    RRFClassifier,
    RRFRegressor,
)
from nolana.rivals.nystroem import NOGDClassifier, NOGDRegressor
from nolana.rivals.passive_aggressive import PassiveAggressiveClassifier, PassiveAggressiveRegressor

__all__ = [
    "BOGDClassifier",
    "BOGDRegressor",
    "BPAClassifier",
    "BSGDClassifier",
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


@dataclass(frozen=True)
class Method:
    """A method of the literature: its estimators, and where it comes from."""

    classifier: Any
    regressor: Any  # None where there is no regression form
    citation: str


_METHODS = {
    "PassiveAggressive": Method(
        PassiveAggressiveClassifier,
        PassiveAggressiveRegressor,
        "Crammer, Dekel, Keshet, Shalev-Shwartz, Singer: Online Passive-Aggressive Algorithms. JMLR 2006",
    ),
    "FOGD": Method(
        FOGDClassifier, FOGDRegressor, "Lu, Hoi, Wang, Zhao, Liu: Large Scale Online Kernel Learning. JMLR 2016"
    ),
    "NOGD": Method(
        NOGDClassifier, NOGDRegressor, "Lu, Hoi, Wang, Zhao, Liu: Large Scale Online Kernel Learning. JMLR 2016"
    ),
    "DualSGD": Method(
        DualSGDClassifier,
        DualSGDRegressor,
        "Le, Nguyen, Nguyen, Phung: Dual Space Gradient Descent for Online Learning. NIPS 2016",
    ),
    "RRF": Method(
        RRFClassifier,
        RRFRegressor,
        "Nguyen, Le, Bui, Phung: Large-scale Online Kernel Learning with Random Feature Reparameterization. IJCAI 2017",
    ),
    "KernelOGD": Method(
        KernelOGDClassifier,
        KernelOGDRegressor,
        "Kivinen, Smola, Williamson: Online Learning with Kernels. IEEE Trans. Signal Processing 2004",
    ),
    "RBP": Method(
        RBPClassifier,
        None,
        "Cavallanti, Cesa-Bianchi, Gentile: Tracking the Best Hyperplane with a Simple Budget Perceptron. ML 2007",
    ),
    "Forgetron": Method(
        ForgetronClassifier, None, "Dekel, Shalev-Shwartz, Singer: The Forgetron. NIPS 2005, SIAM J. Computing 2008"
    ),
    "Projectron": Method(
        ProjectronClassifier,
        None,
        "Orabona, Keshet, Caputo: The Projectron: a Bounded Kernel-Based Perceptron. ICML 2008",
    ),
    "ProjectronPlusPlus": Method(
        ProjectronPlusPlusClassifier,
        None,
        "Orabona, Keshet, Caputo: The Projectron: a Bounded Kernel-Based Perceptron. ICML 2008",
    ),
    "BPA": Method(BPAClassifier, None, "Wang, Vucetic: Online Passive-Aggressive Algorithms on a Budget. AISTATS 2010"),
    "BOGD": Method(
        BOGDClassifier,
        BOGDRegressor,
        "Zhao, Wang, Wu, Jin, Hoi: Fast Bounded Online Gradient Descent Algorithms for Scalable Kernel-Based Online "
        "Learning. ICML 2012",
    ),
    "BSGD": Method(
        BSGDClassifier,
        None,
        "Wang, Crammer, Vucetic: Breaking the Curse of Kernelization: Budgeted Stochastic Gradient Descent for "
        "Large-Scale SVM Training. JMLR 2012",
    ),
    "DoublySGD": Method(
        DoublySGDClassifier,
        DoublySGDRegressor,
        "Dai, Xie, He, Liang, Raj, Balcan, Song: Scalable Kernel Methods via Doubly Stochastic Gradients. NIPS 2014",
    ),
}


def catalogue() -> dict[str, Method]:
    """Every method by its name."""
    return dict(_METHODS)


def at_equal_budget(
    name: str,
    *,
    n_landmarks: int,
    n_features: int,
    task: str = "classification",
    rank: float = 0.8,
    **parameters: Any,
) -> Any:
    """An estimator sized to the paper's budget of m d + m r numbers, rounded down.

    NOGD: m landmarks, rank r. FOGD, RRF, Doubly SGD: (m d + m r)/d projections. DualSGD: m support vectors and
    m r / d projections. Support sets: a vector and its coefficient are d + 1 numbers; the Projectrons also hold an
    inverse of B x B. PA and kernel OGD have no budget.
    """
    if name not in _METHODS:
        raise ValueError(f"{name!r} is not a method; choose from {', '.join(sorted(_METHODS))}")
    if task not in ("classification", "regression"):
        raise ValueError(f"task={task!r} is unknown; choose 'classification' or 'regression'")
    method = _METHODS[name]
    kind = method.classifier if task == "classification" else method.regressor
    if kind is None:
        raise ValueError(f"{name} has no regression form")
    numbers = budget_numbers(n_landmarks, n_features, rank)
    size: dict[str, Any] = {}
    if name == "NOGD":
        size = {"n_landmarks": n_landmarks, "rank": rank}
    elif name in ("FOGD", "RRF", "DoublySGD"):
        size = {"n_components": max(1, numbers // n_features)}
    elif name == "DualSGD":
        rest = numbers - n_landmarks * n_features
        size = {"budget": n_landmarks, "merged": max(1, n_landmarks // 5), "n_components": max(1, rest // n_features)}
    elif name in ("Projectron", "ProjectronPlusPlus"):
        width = n_features + 1
        size = {"budget": max(1, math.floor((math.sqrt(width * width + 4 * numbers) - width) / 2))}
    elif name not in ("PassiveAggressive", "KernelOGD"):
        size = {"budget": max(1, numbers // (n_features + 1))}
    return kind(**(size | parameters))
