"""The default data: scikit-learn's handwritten digits."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

LARGEST_PIXEL = 16.0


def digits() -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Pixels from 0 to 1 (1797, 64) and labels (1797,)."""
    pixels, labels = load_digits(return_X_y=True)
    return pixels / LARGEST_PIXEL, labels
