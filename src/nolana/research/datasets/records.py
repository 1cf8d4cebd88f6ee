"""The description of a data set, which needs none of its files."""

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
    rows : number of rows.
    folder : its folder in the LIBSVM collection; None if it is not part of it.
    also : other names of files with the same rows.
    """

    name: str
    rows: int
    folder: str | None = None
    also: tuple[str, ...] = ()

    def names(self) -> list[str]:
        """Every accepted name, the preferred first; an unpacked or repacked file is accepted too."""
        names = [self.name, *self.also]
        return list(dict.fromkeys(names + [PACKED.sub("", name) + packing for name in names for packing in PACKINGS]))

    def url(self, base: str) -> str | None:
        """The address in a collection at `base`; None if the collection does not have it."""
        return None if self.folder is None else f"{base.rstrip('/')}/{self.folder}/{self.name}"


@dataclass(frozen=True)
class Paper:
    """How the paper runs a data set: m, the loss and the number of rows."""

    n_landmarks: int
    loss: str
    rows: int


@dataclass(frozen=True)
class DataSet:
    """A data set of the catalogue.

    Parameters
    ----------
    name : its name for ``load`` and ``nolana data``.
    title : a short description.
    files : the files whose rows, one file after the other, are the data set.
    features : d.
    task : "classification" or "regression".
    source : the page that has or describes it.
    citation : its authors.
    target : converts the labels of the files; raises ValueError for invalid ones.
    labels : the classes after `target`; None for regression.
    scale : scales the features in place; None: they stay unchanged.
    format : "libsvm" or "csv".
    paper : how the paper runs it; None if it is not in the paper.
    drifts : whether the order of the rows matters, so that they must not be shuffled.
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
