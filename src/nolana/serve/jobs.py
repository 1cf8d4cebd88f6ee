"""Jobs of the thread that writes, and their results."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from nolana.metrics import Predictions
from nolana.serve.quarantine import HeldRow
from nolana.serve.refusal import Refusal
from nolana.serve.rows import Label, Rows

__all__ = ["AnyJob", "Classes", "Decided", "FetchModel", "Job", "Learn", "Learned", "Store"]

R = TypeVar("R")


@dataclass
class Job(Generic[R]):
    """Something for the thread that writes; when ``done`` is set, ``result`` is there, a Refusal if it is refused."""

    result: R | Refusal = field(init=False)
    done: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    abandoned: bool = field(default=False, init=False)  # nobody waits for it any more: it is not begun

    def get(self) -> R:
        """The result of a job that is done; Refusal if it was refused."""
        if isinstance(self.result, Refusal):
            raise self.result
        return self.result


@dataclass(frozen=True)
class Learned:
    """The result of `Learn`.

    Parameters
    ----------
    position : of the record; None if all rows are in quarantine.
    rows : those that were learned, with their predictions; None if none was, or if the id was known already.
    duplicate : whether the id was known already.
    held : the rows in quarantine.
    unknown_columns : keys of the rows that are not columns of the model.
    """

    position: int | None
    rows: Predictions | None = None
    duplicate: bool = False
    held: Sequence[HeldRow] = ()
    unknown_columns: Sequence[str] = ()


@dataclass
class Learn(Job[Learned]):
    """Rows to learn: their text, and the rows if they were read already; or labels of rows that wait."""

    text: bytes | None = None
    rows: Rows | None = None
    labels: Sequence[bytes] = ()
    id: str | None = None


@dataclass
class Store(Job[bool]):
    """Rows that were predicted, to be stored until their labels come; whether they wait for them now."""

    text: bytes
    id: str


@dataclass
class FetchModel(Job[bytes]):
    """The bytes of the model file as it is now."""


@dataclass(frozen=True)
class Decided:
    """The result of `Classes`: the rows that left the quarantine, the classes, and the labels in quarantine."""

    learned: int = 0
    discarded: int = 0
    classes: Sequence[Label] = ()
    quarantine: Sequence[tuple[Label, int]] = ()


@dataclass
class Classes(Job[Decided]):
    """The classes and the labels in quarantine, after some of them, pieces of JSON, are accepted or discarded."""

    accept: Sequence[bytes] = ()
    discard: Sequence[bytes] = ()
    result: Decided | Refusal = field(default=Decided(), init=False)


AnyJob = Learn | Store | FetchModel | Classes
