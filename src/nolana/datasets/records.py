"""What is known of a data set before any of its files is here."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["DataSet", "File", "Floats", "Paper", "Targets"]

Floats = NDArray[np.float64]
Targets = NDArray[np.float64] | NDArray[np.int64]

PACKED = re.compile(r"\.(bz2|gz|xz)$")
PACKINGS = (".bz2", ".xz", ".gz", "")


@dataclass(frozen=True)
class File:
    """A file of a data set.

    Parameters
    ----------
    name : as it is distributed.
    rows : how many it holds.
    folder : where it stands in the LIBSVM collection; None where it is not part of that.
    also : other names under which the same rows are found.
    """

    name: str
    rows: int
    folder: str | None = None
    also: tuple[str, ...] = ()

    def names(self) -> list[str]:
        """Every name that will do, the best first: whoever unpacked or repacked a file still has it."""
        given = [self.name, *self.also]
        return list(dict.fromkeys(given + [PACKED.sub("", name) + packing for name in given for packing in PACKINGS]))

    def url(self, base: str) -> str | None:
        """Where a collection at `base` has it."""
        return None if self.folder is None else f"{base.rstrip('/')}/{self.folder}/{self.name}"


@dataclass(frozen=True)
class Paper:
    """How the paper runs a data set: its m, its loss and how many rows it takes."""

    n_landmarks: int
    loss: str
    rows: int


@dataclass(frozen=True)
class DataSet:
    """A data set of the catalogue.

    Parameters
    ----------
    name : what ``load`` and ``nolana data`` call it.
    title : what it is, in a few words.
    files : the files whose rows, one file after the other, are the data set.
    features : d.
    task : "classification" or "regression".
    source : the page that has it or tells of it.
    citation : who made it.
    target : what becomes of the labels of the files; raises ValueError where they make no sense.
    labels : the classes, once `target` has made them; None for regression.
    scale : what becomes of the features of the files, in place; None where they stay as they are.
    format : "libsvm" or "csv".
    paper : how the paper runs it; None where the paper does not have it.
    drifts : whether the order of the rows is part of the data, so that it must not be shuffled.
    """

    name: str
    title: str
    files: tuple[File, ...]
    features: int
    task: Literal["classification", "regression"]
    source: str
    citation: str
    target: Callable[[Floats], Targets]
    labels: tuple[int, ...] | None = None
    scale: Callable[[Floats], None] | None = None
    format: Literal["libsvm", "csv"] = "libsvm"
    paper: Paper | None = None
    drifts: bool = False

    @property
    def rows(self) -> int:
        """N."""
        return sum(file.rows for file in self.files)
