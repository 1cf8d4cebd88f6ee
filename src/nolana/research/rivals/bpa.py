"""BPA: passive-aggressive steps on a budget."""

from nolana.engine.rivals import bpa
from nolana.estimators.base import parameters
from nolana.estimators.parameters import choice, number
from nolana.modelfile.specs import Spec
from nolana.research.rivals.base import RivalClassifier, WithoutWeights
from nolana.research.rivals.expansion import SupportParameters
from nolana.research.rivals.method import WIDTH, Method, supports
from nolana.research.tuning import Axis, Choice

PROJECTIONS = {"simple": bpa.BPASimple, "nearest": bpa.BPANearest}


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
