"""The cells of the regret experiment: streams of one length, with different numbers of landmark moves."""

import math

import numpy as np

from nolana import OnlineNystroem
from nolana.research.paper.experiments.regret.descent import Setting, descend, images, spectral_error
from nolana.research.paper.experiments.regret.hindsight import best_model
from nolana.research.paper.harness import Array, Result, Results, Source
from nolana.research.paper.harness.data import shuffled, width_of
from nolana.research.paper.maps import rbf

DECAY = 1e-3  # lambda
RATE = 10.0  # eta = RATE / sqrt(T); about |f*|, which makes the first two terms of the bound equal
MAIN = "√T moves"
# By name: how often landmarks move, and how the weights are refitted after a move.
ARMS = {
    "no moves": ("never", "carry"),
    MAIN: ("sometimes", "carry"),
    "√T moves, the paper's stage two": ("sometimes", "paper"),
    "every row moves": ("always", "carry"),
}


def key_of(data: str, rows: int, draw: int) -> str:
    """The key of a cell."""
    return f"regret/{data}/{rows} rows/draw {draw}"


def threshold_for(X: Array, start: Array, gamma: float, moves: int) -> float:
    """The epsilon for which one pass makes `moves` moves, or the closest number that bisection finds."""

    def count(threshold: float) -> int:
        online = OnlineNystroem(
            n_landmarks=len(start), gamma=gamma, threshold=threshold, initial_landmarks=start, scale=False
        ).partial_fit(X)
        return int(online.n_moves_)

    low, high = 0.0, float(((X.max(axis=0) - X.min(axis=0)) ** 2).sum()) + 1.0
    best = (abs(count(high) - moves), high)
    for _ in range(40):
        middle = (low + high) / 2
        made = count(middle)
        best = min(best, (abs(made - moves), middle))
        if made == moves:
            break
        low, high = (middle, high) if made > moves else (low, middle)
    return best[1]


def measured(source: Source, _: Results, *, data: str, limit: int, rows: int, draw: int) -> Result:
    """The best model for the first rows of a shuffle, and one pass over them for each of `ARMS`.

    The initial landmarks are the last rows of the shuffle, which are not part of the stream.
    """
    everything, labels = shuffled(source, data, limit, draw)
    m = round(math.sqrt(rows))
    X, y = np.ascontiguousarray(everything[:rows]), labels[:rows].astype(np.float64)
    start = np.ascontiguousarray(everything[-m:])
    gamma, eta = width_of(source, data, limit), RATE / math.sqrt(rows)
    gram = rbf(X, X, gamma)
    best = best_model(gram, y, DECAY * rows)
    thresholds = {"never": math.inf, "sometimes": threshold_for(X, start, gamma, m), "always": 0.0}
    result: Result = {"gamma": gamma, "m": m, "eta": eta, "threshold": thresholds["sometimes"], "arms": {}}
    result |= {"objective": best.objective, "squared_norm": best.squared_norm, "gap": best.gap}
    for arm, (often, refit) in ARMS.items():
        setting = Setting(start, gamma, thresholds[often], eta, DECAY, refit)
        result["arms"][arm] = descend(X, y, best, setting).plain()
        if arm == MAIN and draw == 0:
            result |= _spectral_errors(gram, X, setting)
    return result


def _spectral_errors(gram: Array, X: Array, setting: Setting) -> Result:
    """|K - K_s|_2 of the maps between moves: the mean over the rows, and a bound on the cost of the maps.

    f* has coefficients of at most 1/(lambda T) and the loss a slope of at most 1, so on the T_s rows of a segment the
    image w* loses sqrt(T_s) |(K - K_s) a|_2 <= sqrt(T_s / T) |K - K_s|_2 / lambda at most; its penalty is no larger.
    """
    guess, mean, bound = None, 0.0, 0.0
    for rows, image in images(X, setting):
        error, guess = spectral_error(gram, image, guess)
        mean += rows / len(X) * error
        bound += math.sqrt(rows / len(X)) * error / DECAY
    return {"spectral": mean, "spectral_bound": bound}
