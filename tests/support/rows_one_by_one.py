"""Models of River on a stream of dicts."""

import numpy as np


def accuracy(model, stream, last):
    """Prequential, over the last rows."""
    right = []
    for x, y in stream:
        right.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    return float(np.mean(right[-last:]))
