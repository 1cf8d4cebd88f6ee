"""All errors and warnings, in one tree. An error is data, which each surface writes in its own words.

NolanaError
├── BackendError            NOLANA_BACKEND names a backend that is not installed
│   └── MissingCoreError    reading text needs the compiled core, which is not installed
├── ColumnsError            columns of a table have values that cannot be learned; all of them at once
├── ConflictError           an option contradicts the model file
├── DataError               a data set is missing, cannot be downloaded, or is not what the catalogue says
├── LogError                the log of `nolana serve` cannot be opened, read or written
├── MissingExtraError       something optional is not installed; the message names the extra
├── ModelFileError          a model file cannot be written, or is invalid
│   └── LockedError         it is locked by another process
├── OptionError             an option has an invalid value, or does not fit another one
└── StreamError             a source cannot be read, or a row of it is invalid
    └── OtherSourceError    a source is not the one to resume
ColumnsWarning              a column of a table is not learned, or is not learned as what it looks like
ReferenceBackendWarning     the compiled core is missing; NumPy is used
DivergenceWarning           gradient steps were too long and the model is no longer finite
GrowthWarning               a feature of a stream grows without bound, like a row number
SketchWarning               wide sparse rows are learned as sketches; another estimator is more accurate
StreamWarning               a column of a source is not learned: it grows, or the first block did not have it
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

__all__ = [
    "BackendError", "ColumnsError", "ColumnsWarning", "ConflictError", "DataError", "Diagnostic", "DivergenceWarning",
    "GrowthWarning", "LockedError", "LogError", "MissingCoreError", "MissingExtraError", "ModelFileError",
    "NolanaError", "OptionError", "OtherSourceError", "Place", "ReferenceBackendWarning", "Remedy", "Setting",
    "SketchWarning", "StreamError", "StreamWarning",
]  # fmt: skip

LONGEST_VALUE = 40  # characters of a value in a message
MOST_PROBLEMS = 10  # of one error; the others are counted
SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Setting:
    """An option with a value, ``...`` if the user must choose one.

    >>> str(Setting("missing", "mean")), str(Setting("n_features"))
    ("missing='mean'", 'n_features=...')
    """

    option: str
    value: object = ...

    def __str__(self) -> str:
        return f"{self.option}={'...' if self.value is ... else repr(self.value)}"


@dataclass(frozen=True)
class Remedy(Setting):
    """A setting that helps, and what it does: "fills it in". Without an effect it is an alternative to the next one."""

    effect: str = ""


@dataclass(frozen=True)
class Place:
    """A place in a source: path, line and column from 1 and the name of the column, None if unknown.

    unit : what a line is: "line" or "row".
    keyed : whether columns are known by their names alone, as in JSON.
    last_line : the last one of several lines.
    message : of a source of messages: names and values of a place in it, partition and offset.

    >>> str(Place("s.csv", 3, 2, "b")), str(Place("s.jsonl", 3, 2, "b", keyed=True))
    ('s.csv, line 3, column 2 ("b")', 's.jsonl, line 3, key "b"')
    """

    path: str | None = None
    line: int | None = None
    column: int | None = None
    name: str | None = None
    unit: str = "line"
    keyed: bool = False
    last_line: int | None = None
    message: tuple[tuple[str, object], ...] = ()

    def __str__(self) -> str:
        parts = [] if self.path is None else [self.path]
        if self.message:
            parts += [f"{name} {value}" for name, value in self.message]
        elif self.last_line is not None:
            parts.append(f"{self.unit}s {self.line:,} to {self.last_line:,}")
        elif self.line is not None:
            parts.append(f"{self.unit} {self.line}")
        if self.keyed and self.name is not None:
            parts.append(f'key "{self.name}"')
        elif self.column is not None:
            parts.append(f"column {self.column}" + ("" if self.name is None else f' ("{self.name}")'))
        return ", ".join(parts)


Words = Callable[[Setting], str | None]  # how a surface writes a setting; None: it does not have the option


def shown(value: object) -> str:
    """A value in quotes, shortened."""
    text = str(value)
    return repr(text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…")


class Diagnostic:
    """What an error or a warning says, as data; ``str`` writes it for Python, ``message(words)`` for another surface.

    Parameters
    ----------
    problem : a sentence with names of facts in braces: "{value} is not a number".
    place : where.
    remedies : settings that help, alternatives to each other.
    hint : another remedy, that is not a setting.
    note : a sentence about what happened because of it.
    value, expected : what was found, and what would be valid, if the sentence or a program needs them.
    facts : other facts of the sentence. Facts may be settings.

    Examples
    --------
    >>> skip = Remedy("on_bad_row", "skip", "leaves it out")
    >>> error = StreamError("{value} is not a number", line=3, value="x", remedies=[skip])
    >>> str(error), error.value, error.remedies[0].option
    ("line 3: 'x' is not a number; on_bad_row='skip' leaves it out", 'x', 'on_bad_row')
    """

    def __init__(
        self,
        problem: str = "",
        *,
        place: Place | str | None = None,
        remedies: Iterable[Remedy] = (),
        hint: str = "",
        note: str = "",
        value: object = None,
        expected: object = None,
        facts: Mapping[str, object] | None = None,
    ) -> None:
        self.problem, self.place, self.value, self.expected = problem, place, value, expected
        self.remedies, self.hint, self.note, self.facts = tuple(remedies), hint, note, dict(facts or {})
        self.args = (self.message(),)

    args: tuple[object, ...]
    others: tuple["Diagnostic", ...] = ()  # further problems of the same rows
    more: int = 0  # and so many that are only counted

    def __reduce__(self) -> Any:
        return _restored, (type(self), self.__dict__)

    @property
    def settings(self) -> list[Setting]:
        """All settings that the message names."""
        facts = (self.expected, *self.facts.values())
        others = [setting for other in self.others for setting in other.settings]
        return [*(fact for fact in facts if isinstance(fact, Setting)), *self.remedies, *others]

    def changed(
        self, *, place: Place | str | None = None, remedies: Iterable[Remedy] = (), hint: str = "", note: str = ""
    ) -> Self:
        """The same at another place, with more remedies, a hint or a note."""
        data = self.__dict__ | {
            "place": self.place if place is None else place,
            "remedies": (*self.remedies, *remedies),
            "hint": hint or self.hint,
            "note": ". ".join(filter(None, [self.note, note])),
        }
        return _restored(type(self), data)

    def with_others(self, others: Iterable["Diagnostic"], more: int = 0) -> Self:
        """The same with further problems: one error for all, not one by one.

        Of the same problem of the same column the first place is listed, the others are counted.

        >>> first, *others = (StreamError("{value} is odd", line=8, column=i, value=f"x{i}") for i in (3, 5, 5, 6))
        >>> print(first.with_others(others, more=12))
        line 8, column 3: 'x3' is odd
        - line 8, column 5: 'x5' is odd
        - line 8, column 6: 'x6' is odd
        - and 13 more
        """
        listed: dict[object, Diagnostic] = {self._kind: self}
        count = more
        for each in (each for other in others for each in (other, *other.others)):
            if each._kind in listed or len(listed) == MOST_PROBLEMS:
                count += 1
            else:
                listed[each._kind] = _restored(type(each), each.__dict__ | {"others": (), "more": 0})
        data = {"others": tuple(listed.values())[1:], "more": count}
        return _restored(type(self), self.__dict__ | data)

    @property
    def _kind(self) -> tuple[object, ...]:
        """What is wrong, wherever it is."""
        place = self.place if isinstance(self.place, Place) else Place()
        return place.column, place.name, self.problem

    def message(self, words: Words = str) -> str:
        """The message of a surface."""

        facts = self.facts | {"value": shown(self.value), "expected": self.expected}

        def fact(slot: re.Match[str]) -> str:
            found = facts.get(slot[1], slot[0])
            return (words(found) or str(found)) if isinstance(found, Setting) else str(found)

        place, problem = str(self.place or ""), SLOT.sub(fact, self.problem)
        if self.more and not self.others:
            problem += f" (and in {self.more:,} more place{'s' * (self.more > 1)})"
        text = "; ".join(filter(None, [problem, self._alternatives(words)]))
        listed = self._listed(words)
        between = "\n" if listed else ". "
        return between.join(filter(None, [(f"{place}: {text}" if place else text) + listed, self.note]))

    def _listed(self, words: Words) -> str:
        """The other problems, a line each; a source and a remedy are named once."""
        if not self.others:
            return ""
        known = list(self.remedies)
        lines = []
        for other in self.others:
            place = replace(other.place, path=None) if isinstance(other.place, Place) else other.place
            remedies = tuple(remedy for remedy in other.remedies if remedy not in known)
            known += remedies
            lines.append(_restored(type(other), other.__dict__ | {"place": place, "remedies": remedies, "note": ""}))
        told = [line.message(words) for line in lines] + [f"and {self.more:,} more"] * bool(self.more)
        return "".join(f"\n- {text}" for text in told)

    def _alternatives(self, words: Words) -> str:
        found, pending = [self.hint] if self.hint else [], ""
        for remedy in self.remedies:
            text = words(remedy)
            if text is None:
                continue
            pending += text
            if remedy.effect:
                found.append(f"{pending} {remedy.effect}")
            pending = "" if remedy.effect else f"{pending} or "
        return ", or ".join([*found, pending.removesuffix(" or ")] if pending else found)

    def __str__(self) -> str:
        return self.message()


D = TypeVar("D", bound=Diagnostic)


def joined_problems(errors: Sequence[D]) -> D:
    """Errors about several rows as one: the first, with those of all others."""
    first, *others = errors
    return first.with_others([*first.others, *others], sum(error.more for error in errors))


def _restored(kind: type[D], data: dict[str, object]) -> D:
    """A diagnostic with this data."""
    made = kind.__new__(kind)
    made.__dict__.update(data)
    made.args = (made.message(),)
    return made


class NolanaError(Diagnostic, Exception):
    """The base class of all errors of nolana."""

    @classmethod
    def of(cls, error: Exception, place: Place | str | None = None, *, before: str = "", **data: object) -> Self:
        """An error of this class that says what another one says: at a place, after some words, with other data."""
        found = error if isinstance(error, Diagnostic) else NolanaError(str(error))
        if place is not None and found.place is not None:
            place = f"{place}: {found.place}"
        problem = f"{before}: {found.problem}" if before else found.problem
        return _restored(cls, found.__dict__ | {"problem": problem, "place": place or found.place} | data)


class BackendError(NolanaError, ValueError):
    """NOLANA_BACKEND names a backend that does not exist or cannot be loaded."""


class MissingCoreError(BackendError):
    """Reading text needs the compiled core, which is not installed or does not run on this machine."""


class ColumnsError(NolanaError, ValueError, TypeError):
    """Columns of a table have values that cannot be learned; ``problems`` has column, row, value, expected of each."""

    def __init__(self, problem: str = "", *, problems: tuple[Any, ...] = (), **data: Any) -> None:
        self.problems = problems
        super().__init__(problem, **data)


class ConflictError(NolanaError, ValueError):
    """An option contradicts the model file; it has both, and what to do."""

    @classmethod
    def differs(cls, option: str, value: object, made: object) -> Self:
        """The option has another value than the model was made with; None: it was made without the option.

        >>> str(ConflictError.differs("missing", "mean", "error"))
        "missing='mean' differs from the model, which was made with missing='error'; leave it out"
        """
        how, saved = ("without it", None) if made is None else ("with {expected}", Setting(option, made))
        problem = f"{{setting}} differs from the model, which was made {how}"
        return cls(problem, value=value, expected=saved, facts={"setting": Setting(option, value)}, hint="leave it out")


class DataError(NolanaError):
    """A data set that is missing, cannot be downloaded, or is not what the catalogue says."""


class ModelFileError(NolanaError, ValueError):
    """A model file that cannot be written or read; says which file, where in it, and what was expected."""


class LockedError(ModelFileError):
    """The model file is locked by another process; the message names it, and what to do."""


class LogError(NolanaError):
    """The log of `nolana serve` cannot be opened, read or written; says which part of it, and what to do."""


class MissingExtraError(NolanaError, ImportError):
    """Something optional is not installed; the message names the extra that brings it, ``name`` the package."""

    def __init__(self, problem: str = "", *, name: str | None = None, **data: Any) -> None:
        super().__init__(problem, **data)
        self.name = name


class OptionError(NolanaError, ValueError):
    """An option has an invalid value, or does not fit another one.

    >>> str(OptionError("rows", 0, "is not an integer of at least {expected}", expected=1))
    'rows=0 is not an integer of at least 1'
    """

    def __init__(
        self, option: str, value: Any, problem: str, *, facts: Mapping[str, Any] | None = None, **data: Any
    ) -> None:
        setting = Setting(option, value)
        super().__init__("{setting} " + problem, value=value, facts={"setting": setting} | dict(facts or {}), **data)


class StreamError(NolanaError, ValueError):
    """A place in a source that cannot be read: path, line (from 1), column (from 1) and value, None if unknown."""

    def __init__(
        self,
        problem: str = "",
        *,
        path: str | None = None,
        line: int | None = None,
        column: int | None = None,
        **data: Any,
    ) -> None:
        super().__init__(problem, **({"place": Place(path, line, column)} | data))

    @property
    def path(self) -> str | None:
        """The source."""
        return self.place.path if isinstance(self.place, Place) else None

    @property
    def line(self) -> int | None:
        """The line, or the row of a table."""
        return self.place.line if isinstance(self.place, Place) else None

    @property
    def column(self) -> int | None:
        """The number of the column."""
        return self.place.column if isinstance(self.place, Place) else None


class OtherSourceError(StreamError):
    """The source is not the one that the position to resume from belongs to."""


class ReferenceBackendWarning(UserWarning):
    """The compiled core is not installed, so the NumPy reference is used."""


class DivergenceWarning(Diagnostic, UserWarning):
    """A learner's scores are no longer finite."""


class ColumnsWarning(Diagnostic, UserWarning):
    """A column of a table is not learned, or is not learned as what it looks like."""


class GrowthWarning(Diagnostic, UserWarning):
    """A feature of a stream grows without bound, and counts little in distances."""


class SketchWarning(Diagnostic, UserWarning):
    """Wide sparse rows are learned as sketches; another estimator is more accurate."""


class StreamWarning(Diagnostic, UserWarning):
    """A column of a source is not learned."""
