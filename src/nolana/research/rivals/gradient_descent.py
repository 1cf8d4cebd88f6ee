"""Gradient descent on a support set: kernel OGD (NORMA) without a budget, BOGD and BSGD with one.

When the support set is full, BOGD removes a random vector; BSGD (Pegasos with a kernel) removes, projects or merges.
"""

from nolana.engine.learner.losses import CLASSIFICATION
from nolana.engine.rivals import bogd, bsgd, kernel_ogd
from nolana.estimators.base import parameters
from nolana.estimators.parameters import POWERS, choice, loss_of, number
from nolana.modelfile.specs import Spec
from nolana.research.rivals.base import (
    FIRST_CAPACITY,
    KernelParameters,
    RivalClassifier,
    RivalRegressor,
    StepParameters,
    SupportParameters,
)
from nolana.research.rivals.method import DECAY, PENALTY, RATE, WIDTH, Method, supports

MAINTENANCE = {"merge": bsgd.BSGDMerge, "project": bsgd.BSGDProject, "remove": bsgd.BSGDRemove}


@parameters
class _KernelOGDParameters(KernelParameters, StepParameters):
    learning_rate: float = 0.2
    schedule: str = "constant"

    def _spec(self, n_features: int) -> Spec:
        support = {"features": n_features, "budget": FIRST_CAPACITY, "kernel": self._kernel()}
        power = POWERS[choice("schedule", self.schedule, POWERS)]
        return Spec(kernel_ogd.KernelOGD, support | self._steps() | {"power": power, "decay": self._decay()})


class KernelOGDClassifier(RivalClassifier, _KernelOGDParameters):
    """Kernel online gradient descent without a budget; with ``regularization`` NORMA (Kivinen et al. 2004).

    It grows with the stream: the reference that the budgeted methods approximate. A sample weight multiplies the
    row's loss; a row of weight 0 is scored and not learned.

    Parameters are those of `BOGDClassifier` without the budget, and ``schedule``.
    """


class KernelOGDRegressor(RivalRegressor, _KernelOGDParameters):
    """Kernel online gradient descent for regression; parameters as in `KernelOGDClassifier`.

    A sample weight multiplies the row's loss, and the row's part in the running mean.
    """


KERNEL_OGD = Method(
    "KernelOGD",
    "Kivinen, Smola, Williamson: Online Learning with Kernels. IEEE Trans. Signal Processing 2004",
    KernelOGDClassifier,
    KernelOGDRegressor,
    axes=(WIDTH, RATE),
)


@parameters
class _BOGDParameters(SupportParameters, StepParameters):
    regularization: float = 0.01

    _default_rate = 1.0
    _seeded = True

    def _spec(self, n_features: int) -> Spec:
        steps = self._steps(self._default_rate) | {"decay": self._decay(), "cap": 10.0, "seed": self._seed()}
        return Spec(bogd.BOGD, self._support(n_features) | steps)


class BOGDClassifier(RivalClassifier, _BOGDParameters):
    """Bounded online gradient descent: a random vector is removed, the rest is scaled up (Zhao et al. 2012).

    A sample weight multiplies the row's loss; a row of weight 0 is scored and not learned.

    Parameters
    ----------
    budget, kernel, gamma, degree, coef0, max_iter, shuffle, random_state : as in `RBPClassifier`.
    loss : "hinge" (default), "squared_hinge", "logistic", "squared"; for regression "squared" (default),
        "epsilon_insensitive".
    epsilon, center : of the regressor.
    learning_rate, regularization : eta (None: 1, and 0.1 for regression) and lambda.
    """


class BOGDRegressor(RivalRegressor, _BOGDParameters):
    """Bounded online gradient descent for regression; parameters as in `BOGDClassifier`.

    A sample weight multiplies the row's loss, and the row's part in the running mean.
    """

    _default_rate = 0.1
    _poor_score = True  # it removes learned vectors at random


BOGD = Method(
    "BOGD",
    "Zhao, Wang, Wu, Jin, Hoi: Fast Bounded Online Gradient Descent Algorithms for Scalable Kernel-Based Online "
    "Learning. ICML 2012",
    BOGDClassifier,
    BOGDRegressor,
    supports,
    (WIDTH, RATE, DECAY),
)


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
