"""How much memory a record may ask for: a small file must not make a large learner.

A learner takes its memory when it is made, for all landmarks it may ever have. A record with arrays of b bytes may make
one of at most FREE + RATIO b bytes. A learner that needs more than its record so far accounts for, as while its
landmarks are not full, adds the difference as zeros.
"""

from typing import Any

import numpy as np

from nolana.engine.experts.landmarks.newton import Newton
from nolana.engine.experts.linear.identity_map import IdentityMap
from nolana.errors import ModelFileError
from nolana.modelfile.specs import Spec
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


def bytes_needed(spec: Spec, features: int, outputs: int) -> int:
    """Bytes that a learner of this spec takes, roughly; not more than format version 1 allowed for."""
    numbers, covariances = 0, sum(part.kind is Newton for part in spec.parts())
    for part in spec.parts():
        arguments, wide = part.arguments, features + outputs + 16
        if "capacity" in arguments:
            m = arguments["capacity"] + 8
            numbers += m * (features + outputs + 64) + m * m * max(1, covariances) + 8 * features
        if part.kind is IdentityMap:
            numbers += wide * (features + 64)
        if "budget" in arguments:
            b = arguments["budget"] + 9
            numbers += b * wide + (b * b if part.kind.matrix else 0)
        if "projections" in arguments:
            draws = len(arguments["projections"]) + 8
            numbers += 4 * draws * wide + 4 * draws * draws * covariances
        if "table" in arguments:
            numbers += arguments["table"] * (outputs + 3) + arguments.get("grids", 0) * (2 * min(features, 64) + 16)
        if "windows" in arguments:
            numbers += arguments["windows"][-1] * (features + 16) / 8
        if "trees" in arguments:
            numbers += arguments["trees"] * 2 ** arguments["depth"] * (outputs + 1) + arguments["rows"] * wide / 4
    return int(8 * numbers)


def room_for(needed: int, present: int) -> dict[str, Any]:
    """The zeros that a record lacks, if it lacks any."""
    lacking = needed - FREE - RATIO * present
    return {"room": np.zeros(-(-lacking // RATIO), np.uint8)} if lacking > 0 else {}


def check_room(place: str, needed: int, present: int) -> None:
    """Refuse what the record is too small for."""
    if needed > FREE + RATIO * present:
        raise ModelFileError(
            f"{place}: a learner of {needed:.3g} bytes in a record of {present} bytes; nolana writes none so small"
        )
