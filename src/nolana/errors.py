"""What can go wrong, in one tree.

NolanaError
└── BackendError            NOLANA_BACKEND asks for something that is not there
ReferenceBackendWarning     the compiled core is missing; NumPy serves
"""

__all__ = ["BackendError", "NolanaError", "ReferenceBackendWarning"]


class NolanaError(Exception):
    """The root of everything nolana raises on its own account."""


class BackendError(NolanaError, ValueError):
    """NOLANA_BACKEND names a backend that does not exist or cannot be loaded."""


class ReferenceBackendWarning(UserWarning):
    """The compiled core is not installed, so the NumPy reference does the work."""
