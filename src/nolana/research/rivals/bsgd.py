"""BSGD: Pegasos with a kernel on a budget."""

from nolana.engine.learner.losses import CLASSIFICATION
from nolana.engine.rivals import bsgd
from nolana.estimators.base import parameters
from nolana.estimators.parameters import choice, loss_of, number
from nolana.modelfile.specs import Spec
from nolana.research.rivals.base import RivalClassifier, SupportParameters
from nolana.research.rivals.method import PENALTY, WIDTH, Method, supports

MAINTENANCE = {"merge": bsgd.BSGDMerge, "project": bsgd.BSGDProject, "remove": bsgd.BSGDRemove}


@parameters
class BSGDClassifier(RivalClassifier, SupportParameters):
    """Budgeted stochastic gradient descent: Pegasos on a set that removes, projects or merges (Wang et al. 2012).

    A sample weight multiplies the row's loss; a row of weight 0 is scored and not learned.

    Parameters
    ----------
    maintenance : "merge" (RBF kernel only), "project" or "remove".
    regularization : lambda; the step at row t is 1/(lambda t).
    loss : "hinge" by default, or "squared_hinge", "logistic", "squared".
    budget, kernel, gamma, degree, coef0, max_iter, shuffle, random_state : as in `RBPClassifier`.
    """

    maintenance: str = "merge"
    regularization: float = 1e-4
    loss: str | None = None

    def _spec(self, n_features: int) -> Spec:
        kind = MAINTENANCE[choice("maintenance", self.maintenance, MAINTENANCE)]
        if self.maintenance == "merge" and self.kernel != "rbf":
            raise ValueError(
                f"maintenance='merge' cannot be combined with kernel={self.kernel!r}: merging needs kernel='rbf'; "
                "use maintenance='project' or 'remove'"
            )
        loss = loss_of(self.loss or "hinge", CLASSIFICATION)
        regularization = number("regularization", self.regularization, 0.0, open_low=True)
        return Spec(kind, self._support(n_features) | {"loss": loss, "regularization": regularization})


BSGD = Method(
    "BSGD",
    "Wang, Crammer, Vucetic: Breaking the Curse of Kernelization: Budgeted Stochastic Gradient Descent for "
    "Large-Scale SVM Training. JMLR 2012",
    BSGDClassifier,
    sizes=supports,
    axes=(WIDTH, PENALTY),
)
