"""RBP: a kernel perceptron that removes a random vector when the budget is full."""

from nolana.engine.rivals import rbp
from nolana.modelfile.specs import Spec
from nolana.research.rivals.base import RivalClassifier, WithoutWeights
from nolana.research.rivals.expansion import SupportParameters
from nolana.research.rivals.method import WIDTH, Method, supports


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
