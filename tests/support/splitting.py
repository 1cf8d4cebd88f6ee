"""Contract 2: splitting a block anywhere changes no bit."""

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from conftest import same_state


def check_split(
    make: Callable[[], Any], x: np.ndarray, y: np.ndarray, weight: np.ndarray, cuts: Iterable[int], *, restored: bool
) -> tuple[Any, Any]:
    """Learn the rows at once and in parts; `restored`: each part by a new learner from the state of the one before.

    Returns both learners.
    """
    whole, parts = make(), make()
    expected, found = whole.learn(x, y, weight), []
    for i, j in itertools.pairwise(sorted({0, *cuts, len(x)})):
        if restored:
            again = make()
            again.restore(parts.state())
            parts = again
        found.append(parts.learn(x[i:j], y[i:j], weight[i:j]))
    assert np.array_equal(np.concatenate(found), expected)
    assert same_state(whole.state(), parts.state())
    return whole, parts
