"""OANA after one pass: landmarks start at the first m rows and move towards the means of their nearest rows.

u_q <- (N_q u_q + x)/(N_q + 1) for the nearest landmark q of every row x at least epsilon away from it.

Si, Kumar, Li, "Nonlinear Online Learning with Adaptive Nyström Approximation".
"""

from nolana import OnlineNystroem
from nolana.research.paper.maps.nystroem import Nystroem
from nolana.research.paper.maps.protocol import Array

__all__ = ["Default", "Median", "Moving"]


class Moving:
    """Every row moves its landmark: epsilon = 0."""

    threshold: float | str = 0.0

    def __init__(self, X: Array, gamma: float) -> None:
        self.rows, self.gamma = X, gamma

    def map(self, m: int, rank: int, seed: int) -> Nystroem:
        """The map after all rows."""
        online = OnlineNystroem(
            n_landmarks=m,
            gamma=self.gamma,
            threshold=self.threshold,
            initial_landmarks=self.start(m),
            scale=False,
            random_state=seed,
        )
        return Nystroem(online.partial_fit(self.rows).landmarks_, rank, self.gamma)

    def start(self, m: int) -> Array | None:
        """The initial landmarks."""
        return self.rows[:m]


class Median(Moving):
    """Epsilon is the median distance of a first landmark to its nearest neighbour: closer rows move no landmark."""

    threshold = "median"


class Default(Moving):
    """The defaults of `OnlineNystroem`, unscaled: epsilon = 0, and the first rows that differ enough are landmarks."""

    def start(self, m: int) -> Array | None:
        """None: chosen by `OnlineNystroem`."""
        return None
