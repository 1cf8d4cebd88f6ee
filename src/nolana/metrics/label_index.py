"""Labels and their column numbers, in the order in which the labels appear on the stream."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["LabelIndex", "Labels", "State", "flat"]

Labels = NDArray[np.generic]  # of any type that NumPy has, or numeric targets
State = dict[str, Any]  # of a metric or a learner: plain data, as model files hold it


def flat(y: ArrayLike) -> Labels:
    """Labels or targets as (n,); one column (n, 1) is flattened."""
    values = np.asarray(y)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


class LabelIndex:
    """The column of each label. Labels are added and never removed, so a column never changes.

    Examples
    --------
    >>> import numpy as np
    >>> index = LabelIndex()
    >>> index.columns(np.array(["b", "a", "b"])), index.columns(np.array(["c", "a"]))
    (array([0, 1, 0]), array([2, 1]))
    >>> index.labels
    array(['b', 'a', 'c'], dtype='<U1')
    """

    def __init__(self, labels: Labels | None = None) -> None:
        self.labels: Labels = np.zeros(0) if labels is None else labels
        self._column: dict[Hashable, int] = {label: i for i, label in enumerate(self.labels.tolist())}
        self._order = np.argsort(self.labels)

    def columns(self, labels: Labels) -> NDArray[np.intp]:  # (n,) -> (n,)
        """The column of each label; a new label gets the next free column."""
        if len(self.labels) and labels.dtype.kind == self.labels.dtype.kind != "O":  # all known: without sorting them
            places = np.minimum(np.searchsorted(self.labels, labels, sorter=self._order), len(self) - 1)
            columns = self._order[places]
            if np.array_equal(self.labels[columns], labels):
                return columns
        distinct, first, codes = np.unique(labels, return_index=True, return_inverse=True)
        names = distinct.tolist()
        new = [i for i in np.argsort(first).tolist() if names[i] not in self._column]
        for i in new:
            self._column[names[i]] = len(self._column)
        if new:
            added = distinct[new]
            self.labels = np.concatenate([self.labels, added]) if len(self.labels) else added
            self._order = np.argsort(self.labels)
        return np.array([self._column[name] for name in names], dtype=np.intp)[codes]

    def __contains__(self, label: Hashable) -> bool:
        return label in self._column

    def __len__(self) -> int:
        return len(self._column)
