"""Kernel perceptrons on a budget: RBP, Forgetron, Projectron and Projectron++.

When the support set is full, RBP removes a random vector, and Forgetron shrinks all coefficients and removes the oldest
one. A Projectron projects a row near the span of its support set on it instead of adding the row.
"""

import math

from nolana.engine.rivals import forgetron, projectron, rbp
from nolana.estimators.base import parameters
from nolana.estimators.parameters import number
from nolana.modelfile.specs import Spec
from nolana.research.rivals.base import RivalClassifier, SupportParameters, WithoutWeights
from nolana.research.rivals.method import WIDTH, Budget, Method, supports
from nolana.research.tuning import Axis


class RBPClassifier(WithoutWeights, RivalClassifier, SupportParameters):  # type: ignore[misc]
    """Randomized budget perceptron: when the budget is full a random vector is removed (Cavallanti et al. 2007).

    Parameters
    ----------
    budget : support vectors at most.
    kernel, degree, coef0 : as in `nolana.NolanaClassifier`.
    gamma : kernel width; "variance": 4 over the mean squared distance of the first rows.
    scale : whether features are scaled robustly online, as in `nolana.StreamClassifier`; gamma is then for scaled rows.
    max_iter, shuffle, random_state : of ``fit``; random_state also chooses the vector that is removed.
    """

    _poor_score = True  # a perceptron after one pass
    _seeded = True

    def _spec(self, n_features: int) -> Spec:
        return Spec(rbp.RBP, self._support(n_features) | {"seed": self._seed()})


RBP = Method(
    "RBP",
    "Cavallanti, Cesa-Bianchi, Gentile: Tracking the Best Hyperplane with a Simple Budget Perceptron. ML 2007",
    RBPClassifier,
    sizes=supports,
    axes=(WIDTH,),
)


class ForgetronClassifier(WithoutWeights, RivalClassifier, SupportParameters):  # type: ignore[misc]
    """Self-tuned Forgetron: all coefficients shrink, then the oldest vector is removed (Dekel et al. 2005).

    Parameters are those of `RBPClassifier`.
    """

    _poor_score = True  # a perceptron after one pass

    def _spec(self, n_features: int) -> Spec:
        return Spec(forgetron.Forgetron, self._support(n_features))


FORGETRON = Method(
    "Forgetron",
    "Dekel, Shalev-Shwartz, Singer: The Forgetron. NIPS 2005, SIAM J. Computing 2008",
    ForgetronClassifier,
    sizes=supports,
    axes=(WIDTH,),
)


@parameters
class _ProjectronParameters(SupportParameters):
    eta: float = 0.1

    def _projectron(self, n_features: int) -> dict[str, object]:
        return self._support(n_features) | {"eta": number("eta", self.eta, 0.0)}


class ProjectronClassifier(WithoutWeights, RivalClassifier, _ProjectronParameters):  # type: ignore[misc]
    """Projectron: a row near the span of the support set is projected on it (Orabona et al. 2008).

    Parameters
    ----------
    eta : the distance from the span below which a row is projected instead of added.
    budget, kernel, gamma, degree, coef0, max_iter, shuffle, random_state : as in `RBPClassifier`.
    """

    def _spec(self, n_features: int) -> Spec:
        return Spec(projectron.Projectron, self._projectron(n_features))


class ProjectronPlusPlusClassifier(WithoutWeights, RivalClassifier, _ProjectronParameters):  # type: ignore[misc]
    """Projectron++, in its form of 2008: it learns from margin errors too.

    Parameters are those of `ProjectronClassifier`.
    """

    def _spec(self, n_features: int) -> Spec:
        return Spec(projectron.ProjectronPlusPlus, self._projectron(n_features))


def _sizes(budget: Budget) -> dict[str, float]:
    """B vectors of d + 1 numbers and an inverse of B x B: B^2 + (d + 1) B <= m d + m r."""
    width = budget.n_features + 1
    return {"budget": max(1, math.floor((math.sqrt(width * width + 4 * budget.numbers) - width) / 2))}


CITATION = "Orabona, Keshet, Caputo: The Projectron: a Bounded Kernel-Based Perceptron. ICML 2008"
AXES = (WIDTH, Axis("eta", 0.01, 0.7))

PROJECTRON = Method("Projectron", CITATION, ProjectronClassifier, sizes=_sizes, axes=AXES)
PROJECTRON_PLUS_PLUS = Method("ProjectronPlusPlus", CITATION, ProjectronPlusPlusClassifier, sizes=_sizes, axes=AXES)
