"""The data sets by name: those of the paper, as the LIBSVM collection distributes them, and three with drift.

A record describes a data set and needs none of its files.

C.-C. Chang, C.-J. Lin: LIBSVM: a library for support vector machines. ACM TIST 2, 2011, with the data sets at
https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nolana.errors import DataError

BASE_URL = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"

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


LODGEPOLE_PINES = 283_301  # rows of cover type 2, a count that no other class of covtype has


def measured(y: Floats) -> Floats:
    """Targets of a regression, unchanged."""
    return y


def whole(y: Floats) -> NDArray[np.int64]:
    """Labels that are integers."""
    classes = np.rint(y)
    odd = np.flatnonzero(classes != y)
    if len(odd):
        raise ValueError(f"row {odd[0] + 1} has the label {y[odd[0]]:g}, which is not an integer")
    return classes.astype(np.int64)


def halves(y: Floats) -> NDArray[np.int64]:
    """-1 for the digits 0 to 4 and +1 for 5 to 9; the files have digit + 1."""
    return np.where(whole(y) > 5, 1, -1)


def cover_type_two(y: Floats) -> NDArray[np.int64]:
    """+1 for cover type 2 and -1 for the rest.

    Copies of covtype label the two classes 1 and 2 or -1 and +1; the number of rows identifies the class.
    """
    labels, counts = np.unique(y, return_counts=True)
    if len(labels) != 2 or LODGEPOLE_PINES not in counts:
        found = ", ".join(f"{label:g}: {count:,}" for label, count in zip(labels[:10], counts, strict=False))
        raise ValueError(f"expected two labels, one of them on {LODGEPOLE_PINES:,} rows; rows by label are {found}")
    return np.where(y == labels[counts == LODGEPOLE_PINES], 1, -1)


def unit_range(X: Floats) -> None:
    """Each feature to [0, 1], in place: (x - least) / (greatest - least).

    Features that already range from 0 to 1 are not changed.
    """
    low, high = X.min(axis=0), X.max(axis=0)
    if low.any() or (high != 1).any():
        X -= low
        X /= np.where(high > low, high - low, 1.0)


USPS = DataSet(
    name="usps",
    title="Handwritten digits of 16 x 16 pixels; a label is digit + 1",
    files=(File("usps.bz2", 7_291, "multiclass"), File("usps.t.bz2", 2_007, "multiclass")),
    features=256,
    task="classification",
    source=f"{BASE_URL}/multiclass.html#usps",
    citation="J. J. Hull: A database for handwritten text recognition research. IEEE TPAMI 16, 1994",
    target=whole,
    labels=tuple(range(1, 11)),
    paper=Paper(100, "hinge", 9_298),
)
COLLECTION: dict[str, DataSet] = {
    record.name: record
    for record in (
        DataSet(
            name="cpusmall",
            title="CPU activity of a computer, from 12 of its counters",
            files=(File("cpusmall_scale", 8_192, "regression"),),
            features=12,
            task="regression",
            source=f"{BASE_URL}/regression.html#cpusmall",
            citation="Delve, data for evaluating learning in valid experiments: comp-activ. University of Toronto",
            target=measured,
            paper=Paper(20, "squared", 8_192),
        ),
        USPS,
        replace(
            USPS,
            name="usps_halves",
            title="The same digits in two classes: 0 to 4 are -1, 5 to 9 are +1",
            target=halves,
            labels=(-1, 1),
        ),
        DataSet(
            name="ijcnn1",
            title="Misfires of a combustion engine",
            files=(File("ijcnn1.bz2", 49_990, "binary"), File("ijcnn1.t.bz2", 91_701, "binary")),
            features=22,
            task="classification",
            source=f"{BASE_URL}/binary.html#ijcnn1",
            citation="D. Prokhorov: IJCNN 2001 neural network competition. Ford Research Laboratory, 2001",
            target=whole,
            labels=(-1, 1),
            paper=Paper(100, "hinge", 141_691),
        ),
        DataSet(
            name="webspam",
            title="Web pages that are spam or not, from the frequencies of single characters",
            files=(File("webspam_wc_normalized_unigram.svm.xz", 350_000, "binary"),),
            features=254,
            task="classification",
            source=f"{BASE_URL}/binary.html#webspam",
            citation="S. Webb, J. Caverlee, C. Pu: Introducing the Webb spam corpus. CEAS, 2006",
            target=whole,
            labels=(-1, 1),
            paper=Paper(100, "hinge", 280_000),
        ),
        DataSet(
            name="covtype",
            title="Forest cover type 2 against the rest; features in [0, 1]",
            files=(
                File(
                    "covtype.libsvm.binary.scale.bz2",
                    581_012,
                    "binary",
                    also=("covtype.binary.scale01.bz2", "covtype.libsvm.binary.bz2"),
                ),
            ),
            features=54,
            task="classification",
            source=f"{BASE_URL}/binary.html#covtype.binary",
            citation="J. A. Blackard, D. J. Dean: Comparative accuracies of neural networks and discriminant analysis "
            "in predicting forest cover types. Computers and Electronics in Agriculture 24, 1999",
            target=cover_type_two,
            labels=(-1, 1),
            scale=unit_range,
            paper=Paper(200, "logistic", 581_012),
        ),
        DataSet(
            name="elec2",
            title="Whether the price of electricity in New South Wales rises",
            files=(File("elec2.csv.gz", 45_312),),
            features=8,
            task="classification",
            source="https://www.openml.org/d/151",
            citation="M. Harries: Splice-2 comparative evaluation: electricity pricing. UNSW, 1999",
            target=whole,
            labels=(0, 1),
            format="csv",
            drifts=True,
        ),
        DataSet(
            name="insects",
            title="Six kinds of flying insects at rising temperature (gradual, balanced)",
            files=(File("insects_gradual_balanced.csv.gz", 24_150),),
            features=33,
            task="classification",
            source="https://sites.google.com/view/uspdsrepository",
            citation="V. M. A. Souza et al.: Challenges in benchmarking stream learning algorithms with real-world "
            "data. Data Mining and Knowledge Discovery 34, 2020",
            target=whole,
            labels=(2, 3, 4, 5, 11, 12),
            format="csv",
            drifts=True,
        ),
        DataSet(
            name="interchanging_rbf",
            title="Fifteen Gaussians that exchange positions",
            files=(File("drift_interchangingRBF.csv.gz", 200_000),),
            features=2,
            task="classification",
            source="https://github.com/vlosing/driftDatasets",
            citation="V. Losing, B. Hammer, H. Wersing: KNN classifier with self adjusting memory for heterogeneous "
            "concept drift. ICDM, 2016",
            target=whole,
            labels=tuple(range(15)),
            format="csv",
            drifts=True,
        ),
    )
}


def record_of(which: str | DataSet) -> DataSet:
    """The record of a name; a record is returned as it is."""
    if isinstance(which, DataSet):
        return which
    if which not in COLLECTION:
        raise DataError(f"there is no data set {which!r}; choose one of: {', '.join(COLLECTION)}")
    return COLLECTION[which]


def base_url(url: str | None = None) -> str:
    """The address of the collection: `url`, else NOLANA_DATA_URL, else the LIBSVM site."""
    return url or os.environ.get("NOLANA_DATA_URL") or BASE_URL
