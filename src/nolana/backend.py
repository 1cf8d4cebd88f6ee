"""Which engine does the work: the compiled core in its best build for this machine, or the NumPy reference.

An install from source has the build for its own machine, a wheel has all of them. ``NOLANA_BACKEND=core`` insists on
the core, ``NOLANA_BACKEND=reference`` takes NumPy; unset, the core is taken if it runs here, and otherwise a warning
says once why it does not.
"""

import functools
import importlib
import importlib.util
import os
import warnings
from typing import TYPE_CHECKING, cast

from nolana.errors import BackendError, MissingCoreError, ReferenceBackendWarning

if TYPE_CHECKING:  # the NumPy engine is loaded when it is needed
    from nolana.engine.protocol import Engine, TextParsers

CHOICES = ("core", "reference")
BUILDS = ("avx512", "avx2", "baseline")  # a machine that runs one runs all that follow
PREFIX = "nolana._core_"


def core_builds() -> list[str]:
    """The builds of the core that are installed and run on this machine, best first; BackendError if there is none."""
    try:
        best = str(importlib.import_module("nolana._cpu").best_build())
    except ModuleNotFoundError as missing:
        raise BackendError("nolana was installed without its compiled core") from missing
    installed = [build for build in BUILDS if importlib.util.find_spec(PREFIX + build)]
    runnable = [build for build in installed if BUILDS.index(build) >= BUILDS.index(best)]
    if not runnable:
        raise BackendError(
            f"the compiled core of nolana was built for {' and '.join(installed) or 'no machine'}, "
            f"and this machine can run the build {best}"
        )
    return runnable


@functools.cache
def backend() -> "Engine":
    """The module whose Learner, kernels and losses are in use: nolana._core_* or nolana.engine."""
    wanted = os.environ.get("NOLANA_BACKEND", "")
    if wanted and wanted not in CHOICES:
        raise BackendError(f"NOLANA_BACKEND={wanted!r} is not a backend; choose one of: {', '.join(CHOICES)}")
    if wanted != "reference":
        try:
            return cast("Engine", importlib.import_module(PREFIX + core_builds()[0]))
        except BackendError as error:
            if wanted == "core":
                raise BackendError(
                    f"NOLANA_BACKEND=core, but {error}; reinstall nolana on this machine, with a C++20 compiler, "
                    "or choose NOLANA_BACKEND=reference"
                ) from error
            warnings.warn(
                f"{error}, so NumPy does the work, many times slower; reinstall nolana on this machine, with a C++20 "
                "compiler, or set NOLANA_BACKEND=reference to accept this silently",
                ReferenceBackendWarning,
                stacklevel=2,
            )
    return cast("Engine", importlib.import_module("nolana.engine"))


@functools.cache
def text_parsers() -> "TextParsers":
    """The compiled core, which alone parses CSV, JSON lines and LIBSVM text, whatever engine learns the rows."""
    try:
        return cast("TextParsers", importlib.import_module(PREFIX + core_builds()[0]))
    except BackendError as error:
        raise MissingCoreError(
            f"reading text needs the compiled core, but {error}; reinstall nolana on this machine, with a C++20 "
            "compiler. Without it the estimators learn arrays, and tables of Parquet and Arrow can be read"
        ) from error


def backend_name() -> str:
    """``"core"`` or ``"reference"``."""
    return "reference" if backend().__name__ == "nolana.engine" else "core"


def build_name() -> str:
    """The build in use: ``"avx512"``, ``"avx2"``, ``"baseline"``, or ``"numpy"`` for the reference."""
    return "numpy" if backend_name() == "reference" else backend().__name__.removeprefix(PREFIX)
