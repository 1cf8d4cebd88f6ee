"""The answer to a request that is refused: a status of HTTP, and a sentence that says why and what to do."""

__all__ = ["RETRY", "Refusal", "no_model"]

RETRY = 1  # seconds


class Refusal(Exception):  # noqa: N818  (an answer, not a failure of the service)
    """A request that is refused; it has changed nothing.

    Parameters
    ----------
    status : of HTTP.
    message : what was expected, what came, and what to do.
    retry_after : seconds after which the client may try again; None: not at all.
    close : whether the connection is closed, because a part of the request was not read.
    """

    def __init__(self, status: int, message: str, *, retry_after: int | None = None, close: bool = False) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after, self.close = status, message, retry_after, close


def no_model() -> Refusal:
    """Nothing was learned yet."""
    return Refusal(409, "the model has learned nothing yet", retry_after=RETRY)
