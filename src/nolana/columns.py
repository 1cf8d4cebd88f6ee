"""Labels and their columns, in the order in which they appear on the stream."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Columns", "flat"]


def flat(y: Any) -> NDArray[Any]:
    """Labels or targets as (n,), also where they came as one column (n, 1)."""
    values = np.asarray(y)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


class Columns:
    """A column for each label; labels are only ever added, so a column never moves.

    Examples
    --------
    >>> import numpy as np
    >>> columns = Columns()
    >>> columns.of(np.array(["b", "a", "b"])), columns.of(np.array(["c", "a"]))
    (array([0, 1, 0]), array([2, 1]))
    >>> columns.labels
    array(['b', 'a', 'c'], dtype='<U1')
    """

    def __init__(self, labels: NDArray[Any] | None = None) -> None:
        self.labels: NDArray[Any] = np.zeros(0) if labels is None else labels
        self._column: dict[Hashable, int] = {label: i for i, label in enumerate(self.labels.tolist())}

    def of(self, labels: NDArray[Any]) -> NDArray[np.intp]:  # (n,) -> (n,)
        """The column of each label; those not seen before get the next ones."""
        distinct, first, codes = np.unique(labels, return_index=True, return_inverse=True)
        names = distinct.tolist()
        fresh = [i for i in np.argsort(first).tolist() if names[i] not in self._column]
        for i in fresh:
            self._column[names[i]] = len(self._column)
        if fresh:
            added = distinct[fresh]
            self.labels = np.concatenate([self.labels, added]) if len(self.labels) else added
        return np.array([self._column[name] for name in names], dtype=np.intp)[codes]

    def __len__(self) -> int:
        return len(self._column)
