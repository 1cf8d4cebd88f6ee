"""The state of an object, declared once as a list of fields: export, restore, checks and byte counts follow from it."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
State = dict[str, Any]

MOST = 2**53  # of a count
POSITIVE = 5e-324  # the smallest number above 0


@dataclass(frozen=True)
class Size:
    """A side of an array that the state itself decides: landmarks, outputs, supports."""

    name: str
    most: float = np.inf
    owner: str = "part"  # whose size it is if a learner has several parts: part, map or learner


OUTPUTS = Size("outputs", 2**24, owner="learner")
Shape = tuple[Size | int, ...]


@dataclass(frozen=True)
class Field:
    """An attribute of an object that is part of its state."""

    owner: Any
    attribute: str
    shape: Shape = ()  # () is one number
    name: str = ""  # in the state; empty: that of the attribute
    packed: bool = False  # a symmetric matrix as its lower triangle, row by row; shape is (side,)
    whole: bool = False
    low: float = -np.inf
    high: float = np.inf
    below: str = ""  # a size that every value must stay below
    dtype: Any = np.float64
    steps: float = 0.0  # of the value 1, if the attribute is an array of integers that count steps
    table: bool = True  # an array in steps is large, and empty after `clear`: a state may leave it out
    unit: bool = False  # of the units of a learner: a state may be exported without them, and restored in those in use

    @property
    def key(self) -> str:
        """The name in the state."""
        return self.name or self.attribute

    @property
    def is_table(self) -> bool:
        """Whether a state may be exported and restored without it."""
        return self.steps > 0 and self.table

    def get(self) -> Any:
        """The value to export."""
        value = getattr(self.owner, self.attribute)
        if not self.shape:
            return float(value)
        if self.steps:
            return (value / self.steps).astype(self.dtype)
        return pack(value) if self.packed else np.array(value, dtype=self.dtype)

    def set(self, value: Any) -> None:
        """Take an exported value."""
        if not self.shape:
            setattr(self.owner, self.attribute, int(value) if self.whole else float(value))
        elif self.steps:
            setattr(self.owner, self.attribute, self.in_steps(np.asarray(value)))
        elif self.packed:
            setattr(self.owner, self.attribute, unpack(np.asarray(value)))
        else:
            setattr(self.owner, self.attribute, np.array(value, dtype=self.dtype))

    def in_steps(self, value: NDArray[Any]) -> NDArray[Any]:
        """The nearest integers, in steps: from 1 on if no value is below 0, otherwise in a symmetric range."""
        stored = getattr(self.owner, self.attribute).dtype
        most = self.dtype(np.iinfo(stored).max)
        least = -most if np.iinfo(stored).min < 0 else self.dtype(1)
        steps = np.rint(np.clip(value * self.dtype(self.steps), least, most))
        return np.asarray(steps, dtype=stored)


def count(owner: Any, attribute: str) -> Field:
    """A number of rows or moves."""
    return Field(owner, attribute, whole=True, low=0.0)


def pack(matrix: Array) -> Array:
    """The lower triangle, row by row."""
    return np.asarray(matrix[np.tri(len(matrix), dtype=bool)])


def unpack(triangle: Array) -> Array:
    """The symmetric matrix of a lower triangle."""
    n = round((np.sqrt(8 * len(triangle) + 1) - 1) / 2)
    matrix = np.zeros((n, n))
    matrix[np.tri(n, dtype=bool)] = triangle
    return matrix + np.tril(matrix, -1).T


def export(fields: Iterable[Field]) -> State:
    """Named arrays and numbers."""
    return {field.key: field.get() for field in fields}


def restore(fields: Iterable[Field], state: Mapping[str, Any]) -> dict[str, int]:
    """Restore a state, transactionally: all is checked before anything changes. Returns the sizes that it has."""
    fields = list(fields)
    sizes = check_all(fields, state)
    for field in fields:
        field.set(state[field.key])
    return sizes


def check_all(fields: Iterable[Field], state: Mapping[str, Any]) -> dict[str, int]:
    """All fields of a state; returns the sizes that it has."""
    sizes: dict[str, int] = {}
    for field in sorted(fields, key=lambda field: field.packed):
        check(field, state, sizes)
    return sizes


def some_of(fields: Iterable[Field], tables: bool, units: bool) -> list[Field]:
    """All fields, or all but tables, units or both."""
    return [field for field in fields if (tables or not field.is_table) and (units or not field.unit)]


def check_part(fields: Iterable[Field], state: Mapping[str, Any]) -> None:
    """Some fields of a state, which may change no size."""
    fields = list(fields)
    sizes = check_all(fields, export(fields))
    some = [field for field in fields if field.key in state]
    if len(some) < len(state):
        raise ValueError("state: a field that this object does not have")
    for field in some:
        check(field, state, sizes)


def check(field: Field, state: Mapping[str, Any], sizes: dict[str, int]) -> None:
    """One value of a state; notes the sizes that it decides."""
    if field.key not in state:
        raise ValueError(f"state: {field.key} is missing")
    value = np.asarray(state[field.key])
    if value.dtype.kind not in "fiu":
        raise ValueError(f"state: {field.key} is neither a number nor an array of numbers")
    if (value.dtype == np.float32) != (field.dtype == np.float32):
        raise ValueError(f"state: {field.key} is not an array of {np.dtype(field.dtype)}")
    if value.ndim != len(field.shape):
        raise ValueError(f"state: {field.key} has {value.ndim} dimensions, expected {len(field.shape)}")
    expected = []
    for side, length in zip(field.shape, value.shape, strict=True):
        if isinstance(side, Size) and side.name not in sizes:
            if length > side.most:
                raise ValueError(f"state: {field.key} has {length} {side.name}, but there is room for {side.most:.0f}")
            sizes[side.name] = length
        n = side if isinstance(side, int) else sizes[side.name]
        expected.append(n * (n + 1) // 2 if field.packed else n)
    if value.shape != tuple(expected):
        raise ValueError(f"state: {field.key} has shape {value.shape}, expected {tuple(expected)}")
    high = sizes[field.below] - 1 if field.below else min(field.high, MOST) if field.whole else field.high
    legal = (value >= field.low) & (value <= high)
    if field.whole:
        legal &= value == np.floor(value)
    elif field.low == -np.inf and field.high == np.inf and not field.below:
        legal |= np.isnan(value)  # a diverged model can be copied
    if not legal.all():
        kind = "not an integer in its range" if field.whole else "out of range"
        raise ValueError(f"state: {field.key} holds {value[~legal].flat[0]}, which is {kind}")


def part(fields: Iterable[Field], prefix: str, map_prefix: str) -> list[Field]:
    """The fields of one of several parts of a learner: names and sizes of its own begin with the prefix."""
    owners = {"part": prefix, "map": map_prefix, "learner": ""}

    def renamed(side: Size | int) -> Size | int:
        return side if isinstance(side, int) else replace(side, name=owners[side.owner] + side.name)

    return [replace(field, name=prefix + field.key, shape=tuple(map(renamed, field.shape))) for field in fields]


def side_name(side: Size | int) -> str:
    """The name of a side without that of its owner."""
    return "" if isinstance(side, int) else side.name.rpartition("/")[2]


def nbytes(fields: Iterable[Field]) -> int:
    """Bytes of all arrays."""
    return sum(np.asarray(getattr(field.owner, field.attribute)).nbytes for field in fields if field.shape)


class Stateful(ABC):
    """Something with a state."""

    @abstractmethod
    def fields(self) -> list[Field]:
        """The state."""

    def state(self, beginnings: Iterable[str] = ("",), tables: bool = True, units: bool = True) -> State:
        """Everything that outlives a call, as named arrays and numbers; only names that begin with one of these."""
        wanted = tuple(beginnings)
        return export(field for field in some_of(self.fields(), tables, units) if field.key.startswith(wanted))

    def restore(self, state: State, tables: bool = True, units: bool = True) -> None:
        """Continue from an exported state; without `tables` or `units` those are not read."""
        restore(some_of(self.fields(), tables, units), state)

    def restore_part(self, state: State) -> None:
        """Take some fields of a state; the others stay, and every size stays what it is."""
        check_part(self.fields(), state)
        self.restore(self.state() | state)

    def axes(self) -> dict[str, list[str]]:
        """The names of the sides of each array; empty for a side whose length does not depend on the state."""
        return {field.key: [side_name(side) for side in field.shape] for field in self.fields()}

    @property
    def memory_bytes(self) -> int:
        return nbytes(self.fields())
