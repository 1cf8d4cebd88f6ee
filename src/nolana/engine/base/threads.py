"""BLAS on one thread for small matrices: more threads only wait for each other there, above all on a busy machine."""

import functools
from typing import Any

from threadpoolctl import ThreadpoolController


@functools.cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> Any:
    """A context in which the BLAS libraries of this process use one thread."""
    return _controller().limit(limits=1, user_api="blas")
