"""What the rivals on a kernel expansion f = sum_i alpha_i k(x_i, .) share: the kernel and the support set."""

from typing import Any

from nolana import engine as numpy_engine
from nolana.engine.experts.landmarks.kernels import Kernel
from nolana.estimators.base import parameters
from nolana.estimators.parameters import choice, integer, kernel_of
from nolana.modelfile.specs import Spec, labels
from nolana.research.rivals.base import RivalParameters

FIRST_CAPACITY = 64  # support vectors that a method without a budget allocates at the start


@parameters
class KernelParameters(RivalParameters):
    """Parameters of a method with a kernel of the user's choice."""

    kernel: str = "rbf"
    degree: int = 3
    coef0: float = 1.0

    _width = 4.0  # few vectors, each for its own neighbourhood, need a narrow kernel

    def _largest(self) -> float:
        return float(self._kernel().build(numpy_engine).largest_value)

    def _kernel(self) -> Spec:
        choice("kernel", self.kernel, labels(Kernel))
        return kernel_of(self.kernel, self.degree, self.coef0)


@parameters
class SupportParameters(KernelParameters):
    """Parameters of a method on a support set of limited size."""

    budget: int = 100

    def _support(self, n_features: int) -> dict[str, Any]:
        """The arguments that all of these learners take."""
        return {"features": n_features, "budget": integer("budget", self.budget, 1), "kernel": self._kernel()}
