"""Kernel online gradient descent without a budget (NORMA)."""

from nolana.engine.rivals import kernel_ogd
from nolana.estimators.base import parameters
from nolana.estimators.parameters import POWERS, choice, number
from nolana.modelfile.specs import Spec
from nolana.research.rivals.base import (
    FIRST_CAPACITY,
    KernelParameters,
    LossParameters,
    RivalClassifier,
    RivalRegressor,
)
from nolana.research.rivals.method import RATE, WIDTH, Method


@parameters
class KernelOGDParameters(KernelParameters, LossParameters):
    """Parameters of both forms."""

    learning_rate: float = 0.2
    schedule: str = "constant"
    regularization: float = 0.0

    def _spec(self, n_features: int) -> Spec:
        return Spec(
            kernel_ogd.KernelOGD,
            {
                "features": n_features,
                "budget": FIRST_CAPACITY,
                "kernel": self._kernel(),
                "loss": self._loss(),
                "rate": number("learning_rate", self.learning_rate, 0.0, open_low=True),
                "power": POWERS[choice("schedule", self.schedule, POWERS)],
                "decay": number("regularization", self.regularization, 0.0),
            },
        )


class KernelOGDClassifier(RivalClassifier, KernelOGDParameters):
    """Kernel online gradient descent without a budget; with ``regularization`` NORMA (Kivinen et al. 2004).

    It grows with the stream: the reference that the budgeted methods approximate. A sample weight multiplies the
    row's loss; a row of weight 0 is scored and not learned.

    Parameters are those of `BOGDClassifier` without the budget, and ``schedule``.
    """


class KernelOGDRegressor(RivalRegressor, KernelOGDParameters):
    """Kernel online gradient descent for a number; parameters as in `KernelOGDClassifier`.

    A sample weight multiplies the row's loss, and the row's part in the running mean.
    """


KERNEL_OGD = Method(
    "KernelOGD",
    "Kivinen, Smola, Williamson: Online Learning with Kernels. IEEE Trans. Signal Processing 2004",
    KernelOGDClassifier,
    KernelOGDRegressor,
    axes=(WIDTH, RATE),
)
