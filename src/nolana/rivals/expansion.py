"""What the rivals on a kernel expansion f = sum_i alpha_i k(x_i, .) share: the choice of the kernel."""

from typing import Any

from nolana import kernels
from nolana.estimators.parameters import choice, kernel_of
from nolana.learners.rival import Part
from nolana.rivals.base import RivalParameters

FIRST_CAPACITY = 64  # support vectors a method without a budget has room for at the start


class ExpansionParameters(RivalParameters):
    """An estimator with the parameters kernel, degree and coef0."""

    kernel: Any
    degree: Any
    coef0: Any
    _width = 4.0  # a few vectors that each speak for their own neighbourhood want a narrow kernel

    def _largest(self) -> float:
        return kernel_of(self.kernel, self.degree, self.coef0).largest_value

    def _kernel(self) -> Part:
        choice("kernel", self.kernel, kernels.CLASSES)
        choice_of = kernel_of(self.kernel, self.degree, self.coef0)
        shape = {"degree": choice_of.degree, "coef0": choice_of.coef0} if self.kernel == "polynomial" else {}
        return Part(kernels.CLASSES[self.kernel], shape)
