"""The data sets by name: those of the paper, as the LIBSVM collection distributes them, and three with drift.

C.-C. Chang, C.-J. Lin: LIBSVM: a library for support vector machines. ACM TIST 2, 2011, with the data sets at
https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/.
"""

import os

import numpy as np
from numpy.typing import NDArray

from nolana.errors import DataError
from nolana.research.datasets.records import DataSet, File, Floats, Paper

__all__ = ["BASE_URL", "COLLECTION", "base_url", "record_of"]

BASE_URL = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"

USPS = (File("usps.bz2", 7_291, "multiclass"), File("usps.t.bz2", 2_007, "multiclass"))
HULL = "J. J. Hull: A database for handwritten text recognition research. IEEE TPAMI 16, 1994"
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
        DataSet(
            name="usps",
            title="Handwritten digits of 16 x 16 pixels; a label is digit + 1",
            files=USPS,
            features=256,
            task="classification",
            source=f"{BASE_URL}/multiclass.html#usps",
            citation=HULL,
            target=whole,
            labels=tuple(range(1, 11)),
            paper=Paper(100, "hinge", 9_298),
        ),
        DataSet(
            name="usps_halves",
            title="The same digits in two classes: 0 to 4 are -1, 5 to 9 are +1",
            files=USPS,
            features=256,
            task="classification",
            source=f"{BASE_URL}/multiclass.html#usps",
            citation=HULL,
            target=halves,
            labels=(-1, 1),
            paper=Paper(100, "hinge", 9_298),
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
