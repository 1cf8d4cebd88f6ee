"""One pass of gradient steps on a map with moving landmarks, with every term of the regret measured.

Row t costs L_t(w) = log(1 + exp(-y w.phi(x))) + lambda/2 |w|^2; w <- w - eta g_t. Let f* be a fixed model on the exact
kernel and w* its image under the current map, so that w*.phi(x) = f*(U) A^-1 k_x. With D = |w - w*|, convexity
and the step give, summed over the rows,

    sum_t L_t(w_t) - L_t(w*)  =  (D_0^2 - D_T^2)/(2 eta) + eta/2 sum_t |g_t|^2 + J/(2 eta) - slack,   slack >= 0,

where J is the sum over the moves of the change of D^2: D'^2 after the move minus D^2 before, both after the step of
that row. The paper bounds J by tau (R + C) for tau moves and prints it without the factor 1/(2 eta). The rest of the
regret against f* itself is the cost of the map, sum_t L_t(w*) - L_t(f*).

In kernel coordinates, f(x) = alpha.k_x and A = E + delta I: |w|^2 = alpha.A alpha, w.w* = alpha.f*(U).
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, eigsh
from scipy.special import expit

from nolana.engine.base.state import State
from nolana.engine.experts.landmarks.kernels import RBF
from nolana.engine.experts.landmarks.landmark_map import LandmarkMap
from nolana.engine.experts.landmarks.policies import KMeans
from nolana.engine.experts.sgd import SGD
from nolana.engine.learner.losses import Logistic
from nolana.experts.spectral.refit import PaperLandmarkMap
from nolana.learner.driver import learner_spec
from nolana.learner.landmark import LandmarkLearner, LandmarkOptions
from nolana.modelfile.specs import Spec
from nolana.research.paper.experiments.regret.hindsight import Best
from nolana.research.paper.harness import Array
from nolana.research.paper.maps import rbf

RIDGE = 1e-3
THETA = 1e-3  # the penalty of the paper's stage two


@dataclass(frozen=True)
class Setting:
    """Gradient steps of constant length on the logistic loss, with all landmarks set before the first row."""

    start: Array  # (m, d)
    gamma: float
    threshold: float
    rate: float
    decay: float
    refit: str

    def learner(self, outputs: int) -> LandmarkLearner:
        """A learner that has not seen any row."""
        m, d = self.start.shape
        map = {"features": d, "capacity": m, "kernel": Spec(RBF), "policy": Spec(KMeans, {"novelty": 0.0})}
        kinds = {"carry": Spec(LandmarkMap, map), "paper": Spec(PaperLandmarkMap, map | {"penalty": THETA})}
        head = Spec(SGD, {"loss": Spec(Logistic), "rate": self.rate, "power": 0.0, "decay": self.decay})
        options = LandmarkOptions(self.gamma, self.threshold, RIDGE, scale=False)
        return LandmarkLearner(learner_spec(kinds[self.refit], head), options, d, outputs, self.start)


class Image:
    """A fixed model f* = sum_t a_t k(x_t, .) under the map of one set of landmarks."""

    def __init__(self, X: Array, a: Array, state: State, before: "Image | None" = None) -> None:
        self.landmarks, gamma = state["landmarks"], state["gamma"]
        if before is None:
            self.kernel = np.asarray(rbf(X, self.landmarks, gamma))  # C (T, m)
        else:
            moved = (self.landmarks != before.landmarks).any(axis=1)
            self.kernel = before.kernel  # reused: the previous image is not needed any more
            self.kernel[:, moved] = rbf(X, self.landmarks[moved], gamma)
        self.matrix = rbf(self.landmarks, self.landmarks, gamma) + state["ridge"] * np.eye(len(self.landmarks))
        self.factor = cho_factor(self.matrix, lower=True)
        self.values = self.kernel.T @ a  # f*(U)
        self.alpha = self.solve(self.values)
        self.squared_norm = float(self.values @ self.alpha)

    def solve(self, b: Array) -> Array:
        """A^-1 b."""
        return np.asarray(cho_solve(self.factor, b, check_finite=False))

    def squared_norm_of(self, alpha: Array) -> float:
        """|w|^2 of a model on this map."""
        return float(alpha @ self.matrix @ alpha)

    def squared_distance(self, alpha: Array) -> float:
        """|w - w*|^2."""
        off = alpha - self.alpha
        return float(off @ self.matrix @ off)


@dataclass
class Terms:
    """Sums over one pass."""

    cost: float = 0.0  # sum L_t(w_t)
    loss: float = 0.0  # of it, without the penalty
    image_cost: float = 0.0  # sum L_t(w*)
    inner: float = 0.0  # sum g_t.(w_t - w*)
    squared_steps: float = 0.0  # sum |g_t|^2
    largest_step: float = 0.0  # max |g_t|^2
    jumps: float = 0.0  # J
    rising_jumps: float = 0.0  # of it, those that are positive
    norm_changes: float = 0.0  # sum over moves of | |w'|^2 - |w|^2 |
    start: float = 0.0  # D_0^2
    end: float = 0.0  # D_T^2
    largest_norm: float = 0.0  # max |w_t|^2
    largest_image: float = 0.0  # max |w*|^2
    moves: int = 0

    def plain(self) -> dict[str, float]:
        return {field.name: float(getattr(self, field.name)) for field in fields(self)}


def descend(X: Array, y: Array, best: Best, setting: Setting) -> Terms:  # (T, d), (T,) of -1 and 1
    """Learn the rows one by one and measure the effect of each."""
    eta, decay = setting.rate, setting.decay
    learner = setting.learner(1)
    state = learner.state()
    image, alpha = Image(X, best.coefficients, state), state["weights"][0]
    terms = Terms(start=image.squared_distance(alpha))
    for t in range(len(X)):
        f = float(learner.learn(X[t : t + 1], y[t : t + 1, None])[0, 0])
        k = image.kernel[t].copy()  # before a move changes it
        slope, norm, shadow = -y[t] * float(expit(-y[t] * f)), image.squared_norm_of(alpha), float(k @ image.alpha)
        inner = slope * (f - shadow) + decay * (norm - float(alpha @ image.values))
        step = slope**2 * float(k @ image.solve(k)) + 2 * decay * slope * f + decay**2 * norm
        distance = image.squared_distance(alpha) - 2 * eta * inner + eta**2 * step  # after the step
        stepped = norm - 2 * eta * (slope * f + decay * norm) + eta**2 * step
        loss = float(np.logaddexp(0.0, -y[t] * f))
        terms.loss += loss
        terms.cost += loss + decay / 2 * norm
        terms.image_cost += float(np.logaddexp(0.0, -y[t] * shadow)) + decay / 2 * image.squared_norm
        terms.inner += inner
        terms.squared_steps += step
        terms.largest_step = max(terms.largest_step, step)
        terms.largest_norm = max(terms.largest_norm, norm)
        terms.largest_image = max(terms.largest_image, image.squared_norm)
        state = learner.state()
        alpha = state["weights"][0]
        if learner.moves > terms.moves:
            terms.moves = learner.moves
            image = Image(X, best.coefficients, state, image)
            jump = image.squared_distance(alpha) - distance
            terms.jumps += jump
            terms.rising_jumps += max(0.0, jump)
            terms.norm_changes += abs(image.squared_norm_of(alpha) - stepped)
    terms.end = image.squared_distance(alpha)
    return terms


def images(X: Array, setting: Setting) -> Iterator[tuple[int, Image]]:
    """For every segment between two moves: its number of rows and its map."""
    learner = setting.learner(0)
    nothing = np.zeros(len(X))
    image, since = Image(X, nothing, learner.state()), 0
    for t in range(len(X)):
        moves = learner.moves
        learner.learn(X[t : t + 1], np.zeros((1, 0)))
        if learner.moves > moves:
            yield t + 1 - since, image
            image, since = Image(X, nothing, learner.state(), image), t + 1
    if since < len(X):
        yield len(X) - since, image


def spectral_error(gram: Array, image: Image, guess: Array | None = None) -> tuple[float, Array]:
    """|K - C A^-1 C'|_2 over all rows by Lanczos' method, and its vector, a good guess for the next map."""
    kernel, n = image.kernel, len(gram)

    def off(v: Array) -> Array:
        flat = v.ravel()
        return np.asarray(gram @ flat - kernel @ image.solve(kernel.T @ flat))

    start = np.ones(n) if guess is None else guess
    values, vectors = eigsh(LinearOperator((n, n), matvec=off, dtype=np.float64), k=1, which="LA", v0=start, tol=1e-3)
    return float(values[0]), vectors[:, 0]
