"""A tree that was read from a file, taken apart with a check at every step."""

import math
from collections.abc import Collection
from typing import TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from nolana.errors import ModelFileError
from nolana.modelfile.tree import Tree

LARGEST_COUNT = 1 << 53  # integers that floats hold exactly
Number = TypeVar("Number", bound=np.generic)


class Node:
    """A value and its place in the file; every reader says what it expected if it found something else."""

    def __init__(self, value: Tree, place: str) -> None:
        self.value, self.place = value, place

    def wrong(self, expected: str) -> ModelFileError:
        """The error for this value."""
        text = self.value
        if isinstance(text, np.ndarray):
            text = f"an array of {text.dtype}, shape {text.shape}"
        elif isinstance(text, dict | list):
            text = f"a {type(text).__name__} of {len(text)}"
        else:
            text = repr(text) if len(repr(text)) < 60 else repr(text)[:57] + "..."
        return ModelFileError(f"{self.place}: expected {expected}, got {text}")

    @property
    def is_none(self) -> bool:
        """Whether there is nothing here."""
        return self.value is None

    def fields(self, *names: str, optional: Collection[str] = ()) -> dict[str, "Node"]:
        """The entries of a dict with these keys and no others."""
        if not isinstance(self.value, dict):
            raise self.wrong(f"a dict with {', '.join(names)}")
        missing = [name for name in names if name not in self.value]
        unknown = [name for name in self.value if name not in names and name not in optional]
        if missing:
            raise ModelFileError(f"{self.place}: {', '.join(missing)} is missing")
        if unknown:
            raise ModelFileError(f"{self.place}: {unknown[0]!r} is unknown; was it made by a newer nolana?")
        return self.entries()

    def __getitem__(self, name: str) -> "Node":
        """One entry of a dict."""
        entries = self.entries()
        if name not in entries:
            raise ModelFileError(f"{self.place}: {name} is missing")
        return entries[name]

    def entries(self) -> dict[str, "Node"]:
        """The entries of a dict."""
        if not isinstance(self.value, dict):
            raise self.wrong("a dict")
        return {key: Node(value, f"{self.place}/{key}") for key, value in self.value.items()}

    def items(self) -> list["Node"]:
        """The entries of a list."""
        if not isinstance(self.value, list):
            raise self.wrong("a list")
        return [Node(value, f"{self.place}/{i}") for i, value in enumerate(self.value)]

    def flag(self) -> bool:
        """True or False."""
        if not isinstance(self.value, bool):
            raise self.wrong("true or false")
        return self.value

    def integer(self, low: int = 0, high: int = LARGEST_COUNT) -> int:
        """An integer in [low, high]."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or not low <= self.value <= high:
            raise self.wrong(f"an integer in [{low}, {high}]")
        return self.value

    def number(
        self, low: float = -math.inf, high: float = math.inf, *, open_low: bool = False, unbounded: bool = False
    ) -> float:
        """A number in [low, high], finite unless ``unbounded``."""
        value = self.value
        right = isinstance(value, float | int) and not isinstance(value, bool) and low <= value <= high
        right = right and (isinstance(value, float) or abs(value) <= LARGEST_COUNT)
        if not right or (open_low and value == low) or (math.isinf(value) and not unbounded):
            raise self.wrong(f"a number {'above' if open_low else 'of at least'} {low:g} and at most {high:g}")
        return float(value)

    def text(self, legal: Collection[str] | None = None) -> str:
        """A string; one of `legal` unless that is None."""
        if not isinstance(self.value, str) or (legal is not None and self.value not in legal):
            raise self.wrong("a string" if legal is None else f"one of {', '.join(legal)}")
        return self.value

    @overload
    def array(self, shape: tuple[int | None, ...]) -> NDArray[np.float64]: ...

    @overload
    def array(self, shape: tuple[int | None, ...], dtype: type[Number]) -> NDArray[Number]: ...

    def array(self, shape: tuple[int | None, ...], dtype: type[np.generic] = np.float64) -> NDArray[np.generic]:
        """A finite array of this dtype and shape; None stands for any length."""
        value = self.value
        fits = (
            isinstance(value, np.ndarray)
            and value.dtype == dtype
            and value.ndim == len(shape)
            and all(wanted in (None, side) for wanted, side in zip(shape, value.shape, strict=True))
        )
        if not fits:
            sides = ", ".join("any" if side is None else str(side) for side in shape)
            raise self.wrong(f"an array of {np.dtype(dtype)}, shape ({sides})")
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ModelFileError(f"{self.place}: expected finite numbers, got {value[~np.isfinite(value)].flat[0]}")
        return np.asarray(value)
