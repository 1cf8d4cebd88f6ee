"""A hash table of bins in int16, with stochastic rounding. A bucket, a row of `cells`, is what a bin has in the table.

Weights are in steps of 1/8192 up to 4, variances in steps of 1/65535 of the variance at the start:

    weight += floor(s delta + u),   s <- max(floor, s + floor(u - s^2 e)),   in steps

u in [0, 1) is a hash of row and grid, so that on average no step is lost to rounding (stochastic rounding). With one
output all buckets of a row are read before the first of them is written (in a collision of two grids the second one
counts), otherwise one after the other. All operations are in single precision, each one rounded, so that the core
computes the same numbers.
"""

import numpy as np
from numpy.typing import NDArray

Halves = NDArray[np.int16]
Slots = NDArray[np.int64]
Single = NDArray[np.float32]
Steps = NDArray[np.uint16]

WEIGHT_STEPS = 8192.0  # of the weight 1
VARIANCE_STEPS = 65535.0  # of the variance at the start
LARGEST = np.float32(32767)  # of a weight, in steps


def draws(step: int, grids: int) -> Single:
    """u of each grid for the row with this number (grids,)."""
    h = np.arange(grids, dtype=np.uint32) * np.uint32(0x85EBCA77) + np.uint32(step * 0x9E3779B1 & 0xFFFFFFFF)
    mixed = (h ^ (h >> np.uint32(15))) * np.uint32(0xC2B2AE3D)
    return (mixed >> np.uint32(16)).astype(np.float32) * np.float32(2.0**-16)


def in_turn(slots: Slots, outputs: int) -> list[Slots | slice]:
    """The grids whose buckets are read before one of them is written."""
    return [slice(None)] if outputs == 1 else [np.array([g]) for g in range(len(slots))]


def add_steps(cells: Halves, slots: Slots, change: Single, u: Single, variances: Steps | None = None) -> None:
    """Change the weights at some slots by ``change`` (c,) in steps, times their variance if they have one."""
    s = np.float32(1) if variances is None else variances[:, None].astype(np.float32)
    after = cells[slots].astype(np.float32) + np.floor(s * change + u[:, None])
    cells[slots] = np.clip(after, -LARGEST, LARGEST).astype(np.int16)


def shrink(variances: Steps, slots: Slots, curvature: np.float32, floor: np.float32, u: Single) -> None:
    """s <- max(floor, s + floor(u - s^2 e)), in steps."""
    s = variances[slots].astype(np.float32)
    variances[slots] = np.maximum(floor, s + np.floor(s * -(s * curvature) + u)).astype(np.uint16)
