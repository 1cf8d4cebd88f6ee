"""Rows with text, sparse: numbers in the first columns, categories and words in one of the others, by their keys.

    category   1 in column p + (key of "name=value") mod (w - p)
    word       its count, with the sign of another bit of the key, in column p + (key of "name word") mod (w - p)
    missing    1 in column p + (key of "name") mod (w - p); a missing number is 0 otherwise

p columns of numbers, w = 2^20 in all. Weinberger, Dasgupta, Langford, Smola, Attenberg: Feature hashing for large scale
multitask learning, ICML 2009.
"""

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nolana.columns.keys import keys
from nolana.columns.schema import HASHED_COLUMNS

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["SparseBuilder", "words"]

Array = NDArray[np.float64]
WORD = re.compile(r"\w+")
SIGN = 1 << 51  # the upper bit of a key; its column is in the lower ones


def words(text: str) -> list[str]:
    """Letters and digits of any script, in lower case.

    Examples
    --------
    >>> words("The film's 2nd half: Très bien!")
    ['the', 'film', 's', '2nd', 'half', 'très', 'bien']
    """
    return WORD.findall(text.lower())


class SparseBuilder:
    """Collects the entries of n rows whose first columns are p numbers."""

    def __init__(self, rows: int, numbers: int) -> None:
        self._rows, self._numbers = rows, numbers
        self._entries: list[tuple[NDArray[np.int64], NDArray[np.int64], Array]] = []

    def add_numbers(self, name: str, first: int, values: Array) -> None:  # (n, k)
        """Numbers in the columns from `first` on."""
        present = ~np.isnan(values)
        rows, places = np.nonzero(present & (values != 0))
        self._entries.append((rows, places + first, values[rows, places]))
        self._add_hashed(np.flatnonzero(~present.all(axis=1)), [name] * int((~present.all(axis=1)).sum()))

    def add_categories(self, name: str, texts: list[str | None]) -> None:
        """A category for each row, as its string."""
        self._add_hashed(np.arange(len(texts)), [name if text is None else f"{name}={text}" for text in texts])

    def add_texts(self, name: str, texts: list[str | None]) -> None:
        """The words of each row."""
        rows, tokens, counts = [], [], []
        for row, text in enumerate(texts):
            for token, count in ({name: 1} if text is None else Counter(f"{name} {w}" for w in words(text))).items():
                rows.append(row)
                tokens.append(token)
                counts.append(float(count))
        self._add_hashed(np.array(rows, dtype=np.int64), tokens, np.array(counts))

    def _add_hashed(self, rows: NDArray[np.int64], names: list[str], counts: Array | None = None) -> None:
        hashed = keys(names).astype(np.int64)
        places = self._numbers + (hashed & (SIGN - 1)) % (HASHED_COLUMNS - self._numbers)
        signs = np.ones(len(names)) if counts is None else np.where(hashed & SIGN, counts, -counts)
        self._entries.append((rows.astype(np.int64), places, signs))

    def matrix(self) -> "csr_matrix":
        """The rows as a CSR matrix of SciPy; what falls into one column is summed."""
        from scipy.sparse import csr_matrix

        rows, places, values = (np.concatenate(each) for each in zip(*self._entries, strict=True))
        matrix = csr_matrix((values, (rows, places)), shape=(self._rows, HASHED_COLUMNS))
        matrix.sum_duplicates()
        return matrix
