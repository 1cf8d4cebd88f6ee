"""Jobs of the thread that writes, and their results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from nolana.serve.model import Outcome
from nolana.serve.quarantine import HeldRow
from nolana.serve.rows import Rows

__all__ = ["Classes", "Decided", "FetchModel", "Job", "Learn", "Learned", "Store"]


@dataclass
class Job:
    """Something for the thread that writes; ``done`` is called with the result, a Refusal if it is refused."""

    done: Callable[[Any], None]
    abandoned: bool = field(default=False, init=False)  # nobody waits for it any more: it is not begun


@dataclass
class Learn(Job):
    """Rows to learn: their text, and the rows if they were read already; or labels of rows that wait."""

    text: bytes | None = None
    rows: Rows | None = None
    labels: list[bytes] | None = None
    id: str | None = None


@dataclass
class Store(Job):
    """Rows that were predicted, to be stored until their labels come."""

    text: bytes = b""
    id: str = ""


@dataclass
class FetchModel(Job):
    """The bytes of the model file as it is now."""


@dataclass
class Classes(Job):
    """The classes and the labels in quarantine, after some of them, pieces of JSON, are accepted or discarded."""

    accept: Sequence[bytes] = ()
    discard: Sequence[bytes] = ()

    @property
    def changes(self) -> bool:
        """Whether anything is accepted or discarded."""
        return bool(self.accept or self.discard)


@dataclass(frozen=True)
class Learned:
    """The result of `Learn`.

    Parameters
    ----------
    position : of the record; None if all rows are in quarantine.
    outcome : of the rows that were learned; None if none was, or if the id was known already.
    duplicate : whether the id was known already.
    held : the rows in quarantine.
    unknown_columns : keys of the rows that are not columns of the model.
    """

    position: int | None
    outcome: Outcome | None = None
    duplicate: bool = False
    held: Sequence[HeldRow] = ()
    unknown_columns: Sequence[str] = ()


@dataclass(frozen=True)
class Decided:
    """The result of `Classes`: the rows that left the quarantine, the classes, and the labels in quarantine."""

    learned: int = 0
    discarded: int = 0
    classes: Sequence[Any] = ()
    quarantine: Sequence[tuple[Any, int]] = ()
