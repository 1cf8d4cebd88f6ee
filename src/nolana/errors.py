"""What can go wrong, in one tree.

NolanaError
├── BackendError            NOLANA_BACKEND asks for something that is not there
├── ConflictError           what is asked contradicts what a model file says
├── DataError               a data set is missing, cannot be downloaded, or is not what the catalogue says
├── MissingExtraError       something optional is not installed; the message names the extra
├── ModelFileError          a model file cannot be written, or what is in it makes no sense
└── StreamError             a source cannot be read, or a row of it makes no sense
    └── OtherSourceError    a source is not the one whose place is known
ReferenceBackendWarning     the compiled core is missing; NumPy serves
DivergenceWarning           gradient steps were too long and the model is no longer finite
"""

__all__ = [
    "BackendError",
    "ConflictError",
    "DataError",
    "DivergenceWarning",
    "MissingExtraError",
    "ModelFileError",
    "NolanaError",
    "OtherSourceError",
    "ReferenceBackendWarning",
    "StreamError",
]


class NolanaError(Exception):
    """The root of everything nolana raises on its own account."""


class BackendError(NolanaError, ValueError):
    """NOLANA_BACKEND names a backend that does not exist or cannot be loaded."""


class ConflictError(NolanaError, ValueError):
    """What is asked contradicts what a model file says; names both, and what to do."""


class DataError(NolanaError):
    """A data set that is missing, cannot be downloaded, or is not what the catalogue says."""


class ModelFileError(NolanaError, ValueError):
    """A model file that cannot be written or read; says which file, where in it, and what was expected."""


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
    """A place to go on from, and a source that is not the one it was in."""


class ReferenceBackendWarning(UserWarning):
    """The compiled core is not installed, so the NumPy reference does the work."""


class DivergenceWarning(UserWarning):
    """A learner's scores are no longer finite."""
