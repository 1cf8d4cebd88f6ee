"""The data sets of the paper, and some that drift: what they are, where they stand, their rows.

    X, y = nolana.datasets.load("ijcnn1")

None of them is part of the package. ``find`` looks for the files, ``get`` downloads them, ``load`` reads them.
"""

from nolana.datasets.collection import COLLECTION
from nolana.datasets.fetching import get
from nolana.datasets.places import find, places
from nolana.datasets.reading import load
from nolana.datasets.records import DataSet, File, Paper

__all__ = ["DataSet", "File", "Paper", "catalogue", "find", "get", "load", "places"]


def catalogue() -> dict[str, DataSet]:
    """The data sets by name.

    Examples
    --------
    >>> import nolana
    >>> covtype = nolana.datasets.catalogue()["covtype"]
    >>> covtype.rows, covtype.features, covtype.paper.n_landmarks, covtype.paper.loss
    (581012, 54, 200, 'logistic')
    """
    return dict(COLLECTION)
