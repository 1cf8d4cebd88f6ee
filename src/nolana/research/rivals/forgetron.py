"""Forgetron: a kernel perceptron that shrinks all coefficients and removes the oldest vector."""

from nolana.engine.rivals import forgetron
from nolana.modelfile.specs import Spec
from nolana.research.rivals.base import RivalClassifier, WithoutWeights
from nolana.research.rivals.expansion import SupportParameters
from nolana.research.rivals.method import WIDTH, Method, supports


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
