"""Projectron and Projectron++: kernel perceptrons that project a row on the support set instead of adding it."""

import math
from typing import Any

from nolana.engine.rivals import projectron
from nolana.estimators.base import parameters
from nolana.estimators.parameters import number
from nolana.modelfile.specs import Spec
from nolana.research.rivals.base import RivalClassifier, WithoutWeights
from nolana.research.rivals.expansion import SupportParameters
from nolana.research.rivals.method import WIDTH, Budget, Method
from nolana.research.tuning import Axis


@parameters
class ProjectronParameters(SupportParameters):
    """Parameters of both Projectrons."""

    eta: float = 0.1

    def _projectron(self, n_features: int) -> dict[str, Any]:
        return self._support(n_features) | {"eta": number("eta", self.eta, 0.0)}


class ProjectronClassifier(WithoutWeights, RivalClassifier, ProjectronParameters):  # type: ignore[misc]
    """Projectron: a row near the span of the support set is projected on it (Orabona et al. 2008).

    Parameters
    ----------
    eta : the distance from the span below which a row is projected instead of added.
    budget, kernel, gamma, degree, coef0, max_iter, shuffle, random_state : as in `RBPClassifier`.
    """

    def _spec(self, n_features: int) -> Spec:
        return Spec(projectron.Projectron, self._projectron(n_features))


class ProjectronPlusPlusClassifier(WithoutWeights, RivalClassifier, ProjectronParameters):  # type: ignore[misc]
    """Projectron++, in its form of 2008: it learns from margin errors too.

    Parameters are those of `ProjectronClassifier`.
    """

    def _spec(self, n_features: int) -> Spec:
        return Spec(projectron.ProjectronPlusPlus, self._projectron(n_features))


def sizes(budget: Budget) -> dict[str, Any]:
    """B vectors of d + 1 numbers and an inverse of B x B: B^2 + (d + 1) B <= m d + m r."""
    width = budget.n_features + 1
    return {"budget": max(1, math.floor((math.sqrt(width * width + 4 * budget.numbers) - width) / 2))}


CITATION = "Orabona, Keshet, Caputo: The Projectron: a Bounded Kernel-Based Perceptron. ICML 2008"
AXES = (WIDTH, Axis("eta", 0.01, 0.7))

PROJECTRON = Method("Projectron", CITATION, ProjectronClassifier, sizes=sizes, axes=AXES)
PROJECTRON_PLUS_PLUS = Method("ProjectronPlusPlus", CITATION, ProjectronPlusPlusClassifier, sizes=sizes, axes=AXES)
