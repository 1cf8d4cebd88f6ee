"""The answer to a request that is refused: a status of HTTP, and an error that says why and what to do."""

from collections.abc import Iterable, Mapping
from typing import TypedDict, Unpack

from nolana.errors import Diagnostic, NolanaError, Place, Remedy, Setting, Words

__all__ = ["RETRY", "Refusal", "no_model"]

RETRY = 1  # seconds
SERVED = ("classes", "missing", "new_classes", "token_file")  # options that help if the service is started again


class Details(TypedDict, total=False):
    """What a refusal says beside its problem, as all errors do."""

    place: Place
    remedies: Iterable[Remedy]
    hint: str
    value: object
    expected: object
    facts: Mapping[str, object]


class Refusal(NolanaError):  # noqa: N818  (an answer, not a failure of the service)
    """A request that is refused; it has changed nothing.

    Parameters
    ----------
    status : of HTTP.
    problem, data : as for all errors.
    retry_after : seconds after which the client may retry; None: not at all.
    close : whether the connection is closed, because a part of the request was not read.
    """

    status = 400
    retry_after: int | None = None
    close = False

    def __init__(
        self,
        status: int,
        problem: str,
        *,
        retry_after: int | None = None,
        close: bool = False,
        **data: Unpack[Details],
    ) -> None:
        super().__init__(problem, **data)
        self.status, self.retry_after, self.close = status, retry_after, close

    def answer(self, write: Words) -> dict[str, object]:
        """The body of the answer: the message, and as fields row, column, value, expected and remedies.

        If there are several problems, ``problems`` has such fields of each.

        write : how the program that started the service writes its options.
        """

        def words(setting: Setting) -> str | None:
            return f"the option {write(setting)} of the service" if setting.option in SERVED else None

        found = _fields(self, words)
        if self.others:
            found["problems"] = [_fields(each, words) for each in (self.with_others(()), *self.others)]
        return found


def _fields(error: Diagnostic, words: Words) -> dict[str, object]:
    found: dict[str, object] = {"error": error.message(words), "value": error.value, "expected": error.expected}
    if isinstance(error.place, Place):
        found |= {"row": error.place.line, "column": error.place.name}
    found["remedies"] = [
        {"option": remedy.option, "value": None if remedy.value is ... else remedy.value}
        for remedy in error.remedies
        if words(remedy) is not None
    ]
    plain = (str, int, float, bool, list)
    return {name: value for name, value in found.items() if isinstance(value, plain) and value not in ([], "")}


def no_model() -> Refusal:
    """Nothing was learned yet."""
    return Refusal(409, "the model has learned nothing yet", retry_after=RETRY)
