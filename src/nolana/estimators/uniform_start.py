"""Probabilities that begin uniform: p_c = (t q_c + 1/c)/(t + 1) after t rows, q the model's, of c known classes.

The uniform prior counts as much as one row, so for two classes this is the estimator of Krichevsky and Trofimov with
the model's probabilities instead of shares. A class that was announced and never seen has q = 0 and 1/(c (t + 1)), and
no class less than that: the log loss of a row is at most log(c (t + 1)), and over t rows that of p exceeds that of q by
at most log(t + 1), for any number of classes (with a row for each class, as Laplace has it, it would be c log t). The
order of the classes stays; one class alone has probability 1.

R. E. Krichevsky, V. K. Trofimov. The performance of universal encoding. 1981.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def from_uniform_start(model: Array, known: NDArray[np.bool_], rows: Array | float) -> Array:
    """Probabilities (n, c) from those of the model (n, c), 0 where it has none; 0 for classes not `known` (n, c).

    rows: learned before each row, (n,) or one number.
    """
    count = known.sum(axis=1, keepdims=True)
    t = np.reshape(np.asarray(rows, dtype=np.float64), (-1, 1))
    return np.asarray((t * model + known / np.maximum(1, count)) / (t + 1))
