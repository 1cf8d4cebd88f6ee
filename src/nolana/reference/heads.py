"""What is learned on top of the landmarks: f_o(x) = alpha_o . k_x for c outputs, with P = (E + delta I)^-1.

SGD       alpha <- (1 - eta lambda) alpha - eta loss'(y, f) P k_x: the gradient step in w, written in alpha.
Newton    R, the covariance of alpha, starts at tau P. With h = R k_x and kappa = k_x.h:
          alpha_o += pull_o h,  R -= g h h'/(1 + g kappa),  g the mean of the outputs' curvatures;
          when landmark q moves, R <- T R T' + tau (s + nu) v v', v = P'[:,q], with nu (process noise) only as
          far as R_qq stays below its prior tau P'_qq.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from nolana.reference.checks import count_of
from nolana.reference.inverse import grown, inverted, moved
from nolana.reference.losses import CurvedLoss, Loss

Array = NDArray[np.float64]
State = dict[str, Any]


MOST_VARIANCE = 4  # of a prediction, times the prior's; process noise alone stays below 3


def triangle(n: int) -> int:
    """Numbers in the lower triangle of an (n, n) matrix."""
    return n * (n + 1) // 2


def pack(matrix: Array) -> Array:
    """The lower triangle, row by row."""
    return matrix[np.tril_indices(len(matrix))]


def unpack(triangle: Array, n: int) -> Array:
    """The symmetric matrix of a lower triangle."""
    matrix = np.zeros((n, n))
    matrix[np.tril_indices(n)] = triangle
    return matrix + np.tril(matrix, -1).T


class InverseModel:
    """The landmarks' inverse P and the outputs' alpha; learning is the subclasses'."""

    needs_ridge = True

    def __init__(self) -> None:
        self.inverse: Array = np.zeros((0, 0))  # P (m, m)
        self.alpha: Array = np.zeros((0, 0))  # (c, m)
        self.since_refresh = 0

    @property
    def outputs(self) -> int:
        return len(self.alpha)

    def scores(self, k: Array) -> Array:
        return self.alpha @ k

    def novelty(self, k: Array, self_value: float) -> float:
        """k(x,x) - k.P k: the part of x that the landmarks do not explain."""
        return float(self_value - k @ (self.inverse @ k))

    def grow(self, k: Array, self_value: float, delta: float, gram: Callable[[], Array]) -> None:
        self.inverse, z, g = grown(self.inverse, k, self_value, delta)
        self.alpha = np.column_stack([self.alpha, np.zeros(self.outputs)])
        self.add_variance(z, g)

    def move(
        self, q: int, new_values: Array, old_values: Array, new_self: float, old_self: float, delta: float
    ) -> bool:
        """Carry everything to the new place of landmark q; False where P should be refreshed."""
        move = moved(self.inverse, q, new_values, old_values, new_self, old_self, delta)
        self.inverse = move.inverse
        self.alpha = self.alpha + np.outer(self.alpha[:, q], move.carry)
        self.carry_variance(q, move.s, move.carry)
        self.since_refresh += 1
        return move.trusted and self.since_refresh < len(self.inverse)

    def refresh(self, gram: Array, delta: float) -> float:
        """P from the kernel matrix alone; returns the ridge it took."""
        self.inverse, delta = inverted(gram, delta)
        self.since_refresh = 0
        return delta

    def learn(self, k: Array, self_value: float, y: Array, f: Array, weight: float, step: float) -> None:
        raise NotImplementedError

    def add_variance(self, z: Array, g: float) -> None:
        """A landmark was added."""

    def carry_variance(self, q: int, s: float, carry: Array) -> None:
        """Landmark q has moved."""

    def shapes(self, landmarks: int, outputs: int) -> dict[str, tuple[int, ...]]:
        """The arrays of a state with so many landmarks and outputs."""
        return {"inverse": (triangle(landmarks),), "weights": (outputs, landmarks)}

    def state(self) -> State:
        return {
            "inverse": pack(self.inverse),
            "weights": self.alpha.copy(),
            "since_refresh": float(self.since_refresh),
        }

    def restore(self, state: State) -> None:
        self.inverse = unpack(state["inverse"], len(state["landmarks"]))
        self.alpha = np.array(state["weights"])
        self.since_refresh = count_of(state, "since_refresh")

    @property
    def memory_bytes(self) -> int:
        return self.inverse.nbytes + self.alpha.nbytes


class SGDModel(InverseModel):
    """Gradient steps."""

    def __init__(self, loss: Loss, rate: float, power: float, decay: float) -> None:
        super().__init__()
        self.loss, self.rate, self.power, self.decay = loss, rate, power, decay

    def learn(self, k: Array, self_value: float, y: Array, f: Array, weight: float, step: float) -> None:
        eta = self.rate * step**-self.power
        slopes = np.array([self.loss.slope(*pair) for pair in zip(y, f, strict=True)])
        self.alpha = max(0.0, 1 - eta * self.decay) * self.alpha
        if slopes.any():
            self.alpha -= np.outer(eta * weight * slopes, self.inverse @ k)


class NewtonModel(InverseModel):
    """Second-order steps."""

    def __init__(self, loss: CurvedLoss, noise: float, prior: float, move_noise: float) -> None:
        super().__init__()
        self.loss, self.noise, self.prior, self.move_noise = loss, noise, prior, move_noise
        self.covariance: Array = np.zeros((0, 0))  # R (m, m)

    def learn(self, k: Array, self_value: float, y: Array, f: Array, weight: float, step: float) -> None:
        active = [self.loss.active(*pair) for pair in zip(y, f, strict=True)]
        if not any(active):
            return
        h = self.covariance @ k
        kappa = float(k @ h)
        if not kappa > 0:  # rounding ate the variance in this direction: lift it towards the prior
            self.lift(k, self_value, kappa)
            h = self.covariance @ k
            kappa = float(k @ h)
            if not kappa > 0:
                return
        if kappa > MOST_VARIANCE * self.prior * self_value:  # far beyond the prior: the kernel has outgrown it
            self.covariance = self.covariance * (self.prior * self_value / kappa)
            h = self.covariance @ k
            kappa = float(k @ h)
        curvature = 0.0
        for o in np.flatnonzero(active):
            pull, g = self.loss.proximal(y[o], f[o], kappa, weight, self.noise)
            self.alpha[o] += pull * h
            curvature += g / self.outputs
        self.covariance = self.covariance - curvature / (1 + curvature * kappa) * np.outer(h, h)

    def lift(self, k: Array, self_value: float, kappa: float) -> None:
        """R + e tau P with e just large enough that k.R k is again a small positive part of the prior's."""
        explained = self.prior * (self_value - self.novelty(k, self_value))
        if explained > 0:
            self.covariance = self.covariance + (1e-9 - kappa / explained) * self.prior * self.inverse

    def add_variance(self, z: Array, g: float) -> None:
        larger = np.zeros((len(z), len(z)))
        larger[:-1, :-1] = self.covariance
        self.covariance = larger + self.prior / g * np.outer(z, z)

    def carry_variance(self, q: int, s: float, carry: Array) -> None:
        transport = np.eye(len(carry))
        transport[:, q] += carry
        v = self.inverse[:, q]
        after = transport @ self.covariance @ transport.T + self.prior * s * np.outer(v, v)
        room = max(0.0, (self.prior * v[q] - after[q, q]) / v[q] ** 2)
        after += min(self.prior * self.move_noise, room) * np.outer(v, v)
        self.covariance = (after + after.T) / 2

    def shapes(self, landmarks: int, outputs: int) -> dict[str, tuple[int, ...]]:
        return super().shapes(landmarks, outputs) | {"covariance": (triangle(landmarks),)}

    def state(self) -> State:
        nothing = np.zeros((0, len(self.covariance)))
        return super().state() | {
            "covariance": pack(self.covariance),
            "waiting_left": nothing,
            "waiting_right": nothing.copy(),
        }

    def restore(self, state: State) -> None:
        super().restore(state)
        n = len(state["landmarks"])
        left, right = state["waiting_left"], state["waiting_right"]
        if np.shape(left) != np.shape(right) or (len(left) and np.shape(left) != (len(left), n)):
            raise ValueError(f"state: waiting updates are {np.shape(left)} and {np.shape(right)}, expected (p, {n})")
        self.covariance = unpack(state["covariance"] + pack(np.reshape(left.T @ right, (n, n))), n)

    @property
    def memory_bytes(self) -> int:
        return super().memory_bytes + self.covariance.nbytes


class SGD:
    """How a head learns by gradient steps, before it is known on what."""

    def __init__(self, loss: Loss, *, rate: float, power: float, decay: float) -> None:
        self.parameters = (loss, rate, power, decay)

    def model(self) -> SGDModel:
        return SGDModel(*self.parameters)


class Newton:
    """How a head learns by second-order steps, before it is known on what."""

    def __init__(self, loss: Loss, *, noise: float, prior: float, move_noise: float) -> None:
        if not hasattr(loss, "proximal"):
            raise ValueError("Newton steps need a loss with curvature")
        self.parameters = (cast(CurvedLoss, loss), noise, prior, move_noise)

    def model(self) -> NewtonModel:
        return NewtonModel(*self.parameters)
