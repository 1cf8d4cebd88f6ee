"""The data sets of the paper, and some with drift: descriptions, files and rows.

    X, y = nolana.datasets.load("ijcnn1")

They are not part of the package. ``find`` searches for the files, ``get`` downloads them, ``load`` reads them.
"""

from nolana.datasets.collection import COLLECTION
from nolana.datasets.download import get
from nolana.datasets.places import find, places
from nolana.datasets.records import DataSet, File, Paper
from nolana.datasets.rows import load

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
