"""Who may use the service: a token, or programs of this machine alone."""

import hmac

from nolana.errors import Remedy
from nolana.serve.options import is_loopback
from nolana.serve.refusal import Refusal

__all__ = ["Guard"]

OPEN = ("/", "/healthz")  # without a token: they have nothing of the model


class Guard:
    """Checks each request before anything else is done with it.

    Without a token the service listens on an address of this machine. A page of another site must not use it through
    the browser, so the header Host must name this machine, and Origin must be the same.

    Parameters
    ----------
    token : that a request must have; None: no token is needed.
    host : the address on which the service listens.
    """

    def __init__(self, token: bytes | None, host: str) -> None:
        self._expected = None if token is None else b"Bearer " + token
        self._local = token is None and is_loopback(host)

    def check(self, path: str, headers: dict[bytes, bytes]) -> None:
        """Refusal if the request is not allowed."""
        if self._local:
            self._check_local(headers)
        if self._expected is None or path in OPEN:
            return
        # Takes the same time wherever the first difference is.
        if not hmac.compare_digest(headers.get(b"authorization", b"").strip(), self._expected):
            raise Refusal(401, "the token is missing or wrong; send the header Authorization: Bearer TOKEN")

    def _check_local(self, headers: dict[bytes, bytes]) -> None:
        host = headers.get(b"host", b"").decode("latin-1")
        name = host.rpartition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
        if not is_loopback(name):
            raise Refusal(
                403,
                "the header Host names {value}",
                value=host[:100],
                hint="use 127.0.0.1",
                remedies=[Remedy("token_file", ..., "allows other names")],
            )
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").partition("://")[2] != host:
            remedies = [Remedy("token_file", ..., "allows them")]
            raise Refusal(403, "pages of other sites may not use this service", remedies=remedies)
