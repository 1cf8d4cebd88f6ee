"""BLAS on one thread for small matrices: more threads only wait for each other there, above all on a busy machine."""

import functools
import sys
from contextlib import AbstractContextManager

from threadpoolctl import ThreadpoolController


@functools.cache
def _controller(scipy_is_loaded: bool) -> ThreadpoolController:  # noqa: ARG001
    """Of the libraries that are loaded now: SciPy, which is loaded late, has a BLAS of its own."""
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[object]:
    """A context in which the BLAS libraries of this process use one thread."""
    limit: AbstractContextManager[object] = _controller("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas")
    return limit
