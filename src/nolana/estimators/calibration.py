"""From scores to probabilities: calibration if scores are no log-odds, and a uniform start.

Probabilities begin uniform: p_c = (t q_c + 1/c)/(t + 1) after t rows, q the model's, of c known classes.

The uniform prior counts as much as one row, so for two classes this is the estimator of Krichevsky and Trofimov with
the model's probabilities instead of shares. A class that was announced and never seen has q = 0 and 1/(c (t + 1)), and
no class less than that: the log loss of a row is at most log(c (t + 1)), and over t rows that of p exceeds that of q by
at most log(t + 1), for any number of classes (with a row for each class, as Laplace has it, it would be c log t). The
order of the classes stays; one class alone has probability 1.

R. E. Krichevsky, V. K. Trofimov. The performance of universal encoding. 1981.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.backend import backend
from nolana.engine.base.state import State
from nolana.learner.stack import merge_calibration
from nolana.modelfile.node import Node
from nolana.modelfile.tree import Tree

Array = NDArray[np.float64]


def softmax(scores: Array) -> Array:  # (n, c) -> (n, c)
    """Probabilities of log-odds; 0 where a score is NaN or -inf, and rows without any score are all 0."""
    if len(scores) == 1 and np.isfinite(scores).all():  # the same steps without the search for unknown classes
        odds = np.exp(scores - scores.max())
        return np.asarray(odds / np.add.accumulate(odds, axis=1)[0, -1])
    known = ~(np.isnan(scores) | np.isneginf(scores))
    top = np.max(np.where(known, scores, -np.inf), axis=1, keepdims=True)
    odds = np.where(known, np.exp(np.where(known, scores - np.where(np.isfinite(top), top, 0.0), 0.0)), 0.0)
    return shares(odds)


def sigmoid(z: Array) -> Array:
    """1 / (1 + exp(-z)); 1/2 if z is NaN."""
    return np.asarray(np.where(np.isnan(z), 0.5, 0.5 * (1 + np.tanh(0.5 * z))))


def one_against_rest(scores: Array) -> Array:  # (n, c) -> (n, c)
    """Sigmoids over their sum; 0 where a score is NaN or -inf, and rows without any score are all 0."""
    known = ~(np.isnan(scores) | np.isneginf(scores))
    even = known / np.maximum(1, known.sum(axis=1, keepdims=True))
    return shares(np.where(known, sigmoid(scores), 0.0), even)


def shares(odds: Array, otherwise: Array | float = 0.0) -> Array:  # (n, c) -> (n, c)
    """Odds over their sum; `otherwise` where that is 0."""
    total = np.add.accumulate(odds, axis=1)[:, -1:]  # in order: a class yet to come changes no bit of it
    return np.where(total > 0, odds / np.where(total > 0, total, 1.0), otherwise)


def log_odds_of(logits: Array) -> Array:  # (n, c) -> (n, c)
    """Log-odds whose softmax are probabilities; 0 where the score was NaN. One output f stands for -f and f."""
    known = np.where(np.isnan(logits), 0.0, logits)
    return known / 2 if logits.shape[1] == 1 else known


def from_uniform_start(model: Array, known: NDArray[np.bool_], rows: Array | float) -> Array:
    """Probabilities (n, c) from those of the model (n, c), 0 where it has none; 0 for classes not `known` (n, c).

    rows: learned before each row, (n,) or one number.
    """
    count = known.sum(axis=1, keepdims=True)
    t = np.reshape(np.asarray(rows, dtype=np.float64), (-1, 1))
    return np.asarray((t * model + known / np.maximum(1, count)) / (t + 1))


def from_half(model: Array, rows: Array | float) -> Array:
    """`from_uniform_start` for one label of 0 or 1: its probability of 1, which is 1/2 before the first row."""
    return np.asarray((rows * model + 0.5) / (rows + 1))


class OnlineCalibration:
    """`nolana.engine.Calibration` of the engine in use; a copy has its own."""

    def __init__(self) -> None:
        self._part = backend().Calibration()
        self.observe = self._part.observe

    def log_odds(self, scores: Array) -> Array:  # (n, c) -> (n, c)
        """Scores whose softmax are probabilities; one output f stands for the columns -f and f."""
        return log_odds_of(self._part.logits(np.ascontiguousarray(np.clip(scores, -1e300, 1e300))))

    def record(self) -> dict[str, Tree]:
        """Plain data."""
        return dict(self._part.state())

    @classmethod
    def of_record(cls, node: Node) -> "OnlineCalibration":
        """A calibration from `record`."""
        new = cls()
        wanted = new.record()
        fields = node.fields(*wanted)
        try:
            new._part.restore(
                {
                    name: entry.array(wanted[name].shape) if np.ndim(wanted[name]) else entry.number()
                    for name, entry in fields.items()
                }
            )
        except ValueError as error:
            raise node.wrong(f"a calibration ({error})") from error
        return new

    @classmethod
    def merged(
        cls, base: "OnlineCalibration", parts: list["OnlineCalibration"], rows: list[int]
    ) -> "OnlineCalibration":
        """The calibration of all parts, each of which observed so many rows after the base."""
        new = cls()
        states = [part._part.state() for part in parts]
        new._part.restore(merge_calibration(base._part.state(), states, np.array(rows, dtype=np.float64)))
        return new

    def __getstate__(self) -> State:
        return {"learned": self.record()}

    def __setstate__(self, saved: State) -> None:
        OnlineCalibration.__init__(self)
        self._part.restore(saved["learned"])
