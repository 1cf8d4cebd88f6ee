"""Which engine does the work: the compiled core in its best build for this machine, or the NumPy reference.

``NOLANA_BACKEND=core`` insists on the core, ``NOLANA_BACKEND=reference`` takes NumPy; unset, the core is
taken where it is installed, and a warning says so once where it is not.
"""

import functools
import importlib
import os
import warnings
from typing import Any

from nolana.errors import BackendError, ReferenceBackendWarning

CHOICES = ("core", "reference")


def _load_core() -> Any:
    baseline = importlib.import_module("nolana._core")
    build = baseline.best_build()
    return baseline if build == "baseline" else importlib.import_module(f"nolana._core_{build}")


def _load_reference() -> Any:
    return importlib.import_module("nolana.reference")


@functools.cache
def engine() -> Any:
    """The module whose Learner, kernels and losses are in use: nolana._core* or nolana.reference."""
    wanted = os.environ.get("NOLANA_BACKEND", "")
    if wanted and wanted not in CHOICES:
        raise BackendError(f"NOLANA_BACKEND={wanted!r} is not a backend; choose one of: {', '.join(CHOICES)}")
    if wanted == "reference":
        return _load_reference()
    try:
        return _load_core()
    except ModuleNotFoundError as missing:
        if wanted == "core":
            raise BackendError(
                "NOLANA_BACKEND=core, but the compiled core is not installed; "
                "reinstall nolana on a machine with a C++20 compiler, or choose NOLANA_BACKEND=reference"
            ) from missing
    warnings.warn(
        "nolana was installed without its compiled core, so NumPy does the work, many times slower; "
        "reinstall where a C++20 compiler works, or set NOLANA_BACKEND=reference to accept this silently",
        ReferenceBackendWarning,
        stacklevel=2,
    )
    return _load_reference()


def backend_name() -> str:
    """``"core"`` or ``"reference"``."""
    return "reference" if engine().__name__ == "nolana.reference" else "core"


def build_name() -> str:
    """The build in use: ``"avx512"``, ``"avx2"``, ``"baseline"``, or ``"numpy"`` for the reference."""
    if backend_name() == "reference":
        return "numpy"
    return str(engine().__name__).removeprefix("nolana._core").lstrip("_") or "baseline"
