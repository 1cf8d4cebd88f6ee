"""Random Fourier features in NumPy: z(x) = [cos(u'x), sin(u'x)]/sqrt(D), u_j ~ N(0, 2 gamma I).

z(x).z(x') is exp(-gamma |x - x'|^2) on average over the draws.

Rahimi, Recht, "Random Features for Large-Scale Kernel Machines", NIPS 2007.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def pairs(angles: Array) -> Array:  # (D,) -> (2D,)
    """[cos, sin] of the angles."""
    return np.concatenate([np.cos(angles), np.sin(angles)])


def fourier_features(x: Array, projections: Array, gamma: float) -> Array:  # (d,), (D, d) -> (2D,)
    """z(x) for standard normal draws; the width scales them."""
    return np.asarray(pairs(np.sqrt(2 * gamma) * (projections @ x)) / np.sqrt(len(projections)))
