"""All errors and warnings, in one tree.

NolanaError
├── BackendError            NOLANA_BACKEND names a backend that is not installed
│   └── MissingCoreError    reading text needs the compiled core, which is not installed
├── ConflictError           an option contradicts the model file
├── DataError               a data set is missing, cannot be downloaded, or is not what the catalogue says
├── LogError                the log of `nolana serve` cannot be opened, read or written
├── MissingExtraError       something optional is not installed; the message names the extra
├── ModelFileError          a model file cannot be written, or is invalid
│   └── LockedError         another process learns into it
└── StreamError             a source cannot be read, or a row of it is invalid
    └── OtherSourceError    a source is not the one to resume
ReferenceBackendWarning     the compiled core is missing; NumPy is used
DivergenceWarning           gradient steps were too long and the model is no longer finite
GrowthWarning               a feature of a stream grows without bound, like a row number
SketchWarning               wide sparse rows are learned as sketches; another estimator is more accurate
StreamWarning               a column of a source is not learned: it grows, or the first block did not have it
"""

__all__ = [
    "BackendError",
    "ConflictError",
    "DataError",
    "DivergenceWarning",
    "GrowthWarning",
    "LockedError",
    "LogError",
    "MissingCoreError",
    "MissingExtraError",
    "ModelFileError",
    "NolanaError",
    "OtherSourceError",
    "ReferenceBackendWarning",
    "SketchWarning",
    "StreamError",
    "StreamWarning",
]


class NolanaError(Exception):
    """The base class of all errors of nolana."""


class BackendError(NolanaError, ValueError):
    """NOLANA_BACKEND names a backend that does not exist or cannot be loaded."""


class MissingCoreError(BackendError):
    """Reading text needs the compiled core, which is not installed or does not run on this machine."""


class ConflictError(NolanaError, ValueError):
    """An option contradicts the model file; the message names both, and what to do."""


class DataError(NolanaError):
    """A data set that is missing, cannot be downloaded, or is not what the catalogue says."""


class ModelFileError(NolanaError, ValueError):
    """A model file that cannot be written or read; says which file, where in it, and what was expected."""


class LockedError(ModelFileError):
    """Another process learns into the model file; the message names it, and what to do."""


class LogError(NolanaError):
    """The log of `nolana serve` cannot be opened, read or written; says which part of it, and what to do."""


class MissingExtraError(NolanaError, ImportError):
    """Something optional is not installed; the message names the extra that brings it."""


class StreamError(NolanaError, ValueError):
    """A place in a source that cannot be read: path, line (from 1), column (from 1) and value, None where unknown."""

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        line: int | None = None,
        column: int | None = None,
        value: str | None = None,
    ) -> None:
        super().__init__(message)
        self.path, self.line, self.column, self.value = path, line, column, value


class OtherSourceError(StreamError):
    """The source is not the one that the position to resume from belongs to."""


class ReferenceBackendWarning(UserWarning):
    """The compiled core is not installed, so the NumPy reference is used."""


class DivergenceWarning(UserWarning):
    """A learner's scores are no longer finite."""


class GrowthWarning(UserWarning):
    """A feature of a stream grows without bound, and counts little in distances."""


class SketchWarning(UserWarning):
    """Wide sparse rows are learned as sketches; another estimator is more accurate."""


class StreamWarning(UserWarning):
    """A column of a source is not learned."""
