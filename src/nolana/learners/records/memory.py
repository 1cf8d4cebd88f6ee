"""How much memory a record may ask for: a small file must not make a large learner.

A learner takes its memory when it is made, for all landmarks it may ever have. A record with arrays of b bytes may make
one of at most FREE + RATIO b bytes. A learner that has more room than its record so far accounts for, as while its
landmarks still come in, carries the difference as zeros.
"""

from typing import Any

import numpy as np

from nolana.errors import ModelFileError
from nolana.modelfile.tree import Tree

FREE = 1 << 26
RATIO = 64


def bytes_of(tree: Tree) -> int:
    """Bytes of all arrays in a tree."""
    if isinstance(tree, np.ndarray):
        return tree.nbytes
    if isinstance(tree, dict):
        return sum(bytes_of(value) for value in tree.values())
    return sum(bytes_of(value) for value in tree) if isinstance(tree, list) else 0


def room_for(needed: int, there: int) -> dict[str, Any]:
    """The zeros that a record lacks, if it lacks any."""
    lacking = needed - FREE - RATIO * there
    return {"room": np.zeros(-(-lacking // RATIO), np.uint8)} if lacking > 0 else {}


def check_room(place: str, needed: int, there: int) -> None:
    """Refuse what the record is too small for."""
    if needed > FREE + RATIO * there:
        raise ModelFileError(
            f"{place}: a learner of {needed:.3g} bytes in a record of {there} bytes; nolana writes none so small"
        )
