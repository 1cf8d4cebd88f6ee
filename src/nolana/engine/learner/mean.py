"""The mean of the experts' scores."""

import numpy as np

from nolana.engine.learner.combiner import Array, Combiner


class Mean(Combiner):
    """The mean of the experts' scores."""

    def combine(self, scores: Array) -> Array:
        return np.asarray(scores.mean(axis=0))
