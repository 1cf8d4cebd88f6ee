"""OANA after one pass: landmarks that began at the first m rows, and moved to the means of the rows nearest to them.

u_q <- (N_q u_q + x)/(N_q + 1) for the nearest landmark q of every row x at least epsilon away from it.

Si, Kumar, Li, "Nonlinear Online Learning with Adaptive Nyström Approximation".
"""

from nolana import OnlineNystroem
from nolana.paper.maps.nystroem import Nystroem
from nolana.paper.maps.protocol import Array

__all__ = ["Default", "Median", "Moving"]


class Moving:
    """Every row moves its landmark: epsilon = 0."""

    threshold: float | str = 0.0

    def __init__(self, X: Array, gamma: float) -> None:
        self.rows, self.gamma = X, gamma

    def map(self, m: int, rank: int, seed: int) -> Nystroem:
        """The map when all rows have been seen."""
        online = OnlineNystroem(
            n_landmarks=m,
            gamma=self.gamma,
            threshold=self.threshold,
            initial_landmarks=self.start(m),
            random_state=seed,
        )
        return Nystroem(online.partial_fit(self.rows).landmarks_, rank, self.gamma)

    def start(self, m: int) -> Array | None:
        """Where the landmarks begin."""
        return self.rows[:m]


class Median(Moving):
    """Epsilon is the median distance of a first landmark to its nearest: rows that are closer move nothing."""

    threshold = "median"


class Default(Median):
    """As `OnlineNystroem` does without being told: the first rows that are new enough become landmarks."""

    def start(self, m: int) -> Array | None:
        """Not given."""
        return None
