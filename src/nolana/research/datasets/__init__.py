"""The data sets of the paper, and some with drift: descriptions, files and rows.

    X, y = nolana.research.datasets.load("ijcnn1")

They are not part of the package. ``find`` searches for the files, ``get`` downloads them, ``load`` reads them.
"""

from nolana.research.datasets.collection import COLLECTION, DataSet, File, Paper
from nolana.research.datasets.download import get
from nolana.research.datasets.places import find, places
from nolana.research.datasets.rows import load

__all__ = ["DataSet", "File", "Paper", "catalogue", "find", "get", "load", "places"]


def catalogue() -> dict[str, DataSet]:
    """The data sets by name.

    Examples
    --------
    >>> import nolana
    >>> covtype = nolana.research.datasets.catalogue()["covtype"]
    >>> covtype.rows, covtype.features, covtype.paper.n_landmarks, covtype.paper.loss
    (581012, 54, 200, 'logistic')
    """
    return dict(COLLECTION)
