"""NOLANA: nonlinear online learning on an adaptive Nyström map.

For every (x, y): score with the current map and weights; a step on the loss under the OLD map; if the row is
at least epsilon away from its nearest landmark, that landmark moves towards it, and stage two carries the
weights to the new map.

Si, Kumar, Li, "Nonlinear Online Learning with Adaptive Nyström Approximation".

This file decides what the engines do not: which engine, when the width, the scaling and the threshold are
re-estimated (at 2, 4, 8, ... rows), and who may look at the learner meanwhile.
"""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana import losses, reference
from nolana._backend import engine
from nolana._threads import one_blas_thread
from nolana.errors import DivergenceWarning
from nolana.kernels import SMALLEST_SQUARE, KernelChoice
from nolana.learners.lock import FairLock
from nolana.learners.scaling import Scaling
from nolana.nystroem import landmarks as policies
from nolana.nystroem.map import SpectralSGD
from nolana.nystroem.refit import Carry, KeepWeights, PaperInverseSGD, PaperRefit, Refit
from nolana.nystroem.remap import remap
from nolana.nystroem.spectrum import Exact, Randomized, Rank2, Solver, Spectrum
from nolana.reference.heads import pack
from nolana.reference.inverse import inverted
from nolana.reference.kernels import squared_distances

Array = NDArray[np.float64]
State = dict[str, Any]

ROWS_PER_LOCK = 4096  # rows learned or scored before other threads get their turn


@dataclass(frozen=True)
class GradientSteps:
    """Stochastic gradient: eta_t = rate t^-power, weights decay by lambda."""

    loss: str
    rate: float
    power: float
    decay: float


@dataclass(frozen=True)
class NewtonSteps:
    """Second-order steps: noise n of a target, prior variance tau of alpha, process noise nu of a move."""

    loss: str
    noise: float
    prior: float
    move_noise: float


@dataclass(frozen=True)
class Decomposition:
    """The map as the paper keeps it."""

    solver: str  # exact, rank2, randomized
    rank: int
    power_iterations: int


@dataclass(frozen=True)
class Settings:
    """Everything about a learner that does not change while it learns."""

    n_landmarks: int
    kernel: KernelChoice
    gamma: float | None  # None: from the median distance of the landmarks
    threshold: float | None  # None: the median distance of new landmarks to the nearest
    policy: Any
    initial_landmarks: Array | None
    steps: GradientSteps | NewtonSteps
    decomposition: Decomposition | None  # None: the inverse
    refit: str
    refit_penalty: float
    ridge: float  # relative to the mean of k(u, u)
    scale: bool
    novelty: float
    epsilon: float

    @property
    def prior(self) -> float:
        return self.steps.prior if isinstance(self.steps, NewtonSteps) else 1.0

    @property
    def runs_user_code(self) -> bool:
        """Whether a kernel or a policy of the user's own runs inside the loop."""
        return self.kernel.needs_reference or not isinstance(self.policy, str)

    @property
    def needs_reference(self) -> bool:
        return self.decomposition is not None or self.runs_user_code or self.refit == "paper"

    @property
    def adapts_metric(self) -> bool:
        """Whether the width or the ridge follow the landmarks while they fill up."""
        return (self.gamma is None and self.kernel.uses_gamma) or not self.kernel.stationary

    def optimizer(self, module: Any) -> Any:
        """The head of an engine that learns as these settings say."""
        steps = self.steps
        loss = losses.build(steps.loss, module, self.epsilon)
        if isinstance(steps, NewtonSteps):
            return module.Newton(loss, noise=steps.noise, prior=steps.prior, move_noise=steps.move_noise)
        gradient = {"rate": steps.rate, "power": steps.power, "decay": steps.decay}
        if self.decomposition is None:
            if self.refit == "paper":
                return PaperInverseSGD(loss, penalty=self.refit_penalty, **gradient)
            return module.SGD(loss, **gradient)
        solvers: dict[str, Solver] = {
            "exact": Exact(),
            "rank2": Rank2(),
            "randomized": Randomized(self.decomposition.power_iterations),
        }
        refits: dict[str, Refit] = {"carry": Carry(), "paper": PaperRefit(self.refit_penalty), "none": KeepWeights()}
        solver, refit = solvers[self.decomposition.solver], refits[self.refit]
        return SpectralSGD(loss, solver=solver, rank=self.decomposition.rank, refit=refit, **gradient)


class Nolana:
    """A learner of c outputs: ``learn(X, Y) -> scores``, all of it under one lock."""

    def __init__(self, settings: Settings, features: int, outputs: int) -> None:
        self.settings, self._features = settings, features
        self.lock = FairLock()
        self._module: Any = reference if settings.needs_reference else engine()
        self._learner = self._module.Learner(
            capacity=settings.n_landmarks,
            features=features,
            kernel=settings.kernel.build(self._module),
            optimizer=settings.optimizer(self._module),
            policy=policies.build(settings.policy, self._module),
            novelty=settings.novelty,
        )
        self._scaling = Scaling(features) if settings.scale else None
        self.largest = settings.kernel.largest_value  # features beyond this overflow
        self._learner.ridge = settings.ridge
        if settings.gamma is not None:
            self._learner.gamma = settings.gamma
        if settings.threshold is not None:
            self._learner.threshold = settings.threshold
        self._learner.restore(self._learner.state() | {"weights": np.zeros((outputs, 0))})
        self._healthy = True
        self._filling = True  # until the landmarks are full, and what depends on that is done
        if settings.initial_landmarks is not None:
            self._start_from(settings.initial_landmarks, outputs)
        self._due = self._rows_to_event()

    # Reading; the caller holds the lock where it reads more than one thing.

    @property
    def n_features(self) -> int:
        return self._features

    @property
    def rows(self) -> int:
        return int(self._learner.rows)

    @property
    def moves(self) -> int:
        return int(self._learner.moves)

    @property
    def size(self) -> int:
        return int(self._learner.size)

    @property
    def outputs(self) -> int:
        return int(self._learner.outputs)

    @property
    def runs_user_code(self) -> bool:
        return self.settings.runs_user_code

    @property
    def gamma(self) -> float:
        return float(self._learner.gamma)

    @property
    def threshold(self) -> float:
        return float(self._learner.threshold)

    @property
    def memory_bytes(self) -> int:
        """State and scratch; constant once the landmarks and the classes are there."""
        scaling = self._scaling.memory_bytes if self._scaling else 0
        return int(self._learner.memory_bytes) + scaling

    def landmarks(self) -> Array:
        """The landmarks (m, d) in the units of the input."""
        places: Array = self._learner.state()["landmarks"]
        return self._scaling.undo(places) if self._scaling else places

    def counts(self) -> Array:
        """Points counted into each landmark (m,)."""
        return np.array(self._learner.state()["counts"])

    def scores(self, x: Array) -> Array:  # (n, d) -> (n, c)
        """Scores of rows that are not learned; the caller holds the lock."""
        return np.asarray(self._learner.scores(self.features(x)))

    def kernel_rows(self, x: Array) -> Array:  # (n, d) -> (n, m)
        """k(x_i, u_j); the caller holds the lock."""
        return np.asarray(self._learner.kernel_rows(self.features(x)))

    def features(self, x: Array) -> Array:
        """Rows (n, d) as the kernel sees them."""
        return self._scaling.apply(x) if self._scaling else x

    # Learning; the caller holds the lock.

    def learn(self, x: Array, y: Array, weight: Array | None = None) -> Array:  # (n, d), (n, c), (n,) -> (n, c)
        """What each row scored before it was learned."""
        if self.settings.decomposition is None:
            return self._learn(x, y, weight)
        with one_blas_thread():
            return self._learn(x, y, weight)

    def _learn(self, x: Array, y: Array, weight: Array | None) -> Array:
        if len(x) < self._due and self._scaling is None:  # nothing is re-estimated within this block
            scores: Array = self._learner.learn(x, y, weight)
            self._due -= len(x)
            self._check_health(scores)
            return scores
        scores = np.empty(y.shape)
        start = 0
        while start < len(x):
            if self.size == 0:
                self._prepare_first(x[start])
            before = self.rows
            stop = min(len(x), start + self._rows_to_event())
            rows = slice(start, stop)
            weights = None if weight is None else weight[rows]
            scores[rows] = self._learner.learn(self.features(x[rows]), y[rows], weights)
            if self._scaling:
                self._scaling.observe(x[rows] if weights is None else x[rows][weights > 0], self._module)
            self._after(before)
            start = stop
        self._due = self._rows_to_event()
        self._check_health(scores)
        return scores

    def _check_health(self, scores: Array) -> None:
        """Say once that gradient steps were too long for these features."""
        if self._healthy and scores.size and not math.isfinite(scores[-1, 0]):
            self._healthy = False
            warnings.warn(
                "the model has diverged: its scores are no longer finite. Choose a smaller learning_rate or "
                "regularization, scale the features (scale=True), or use optimizer='newton'",
                DivergenceWarning,
                stacklevel=5,
            )

    def rearrange_outputs(self, sources: list[int], signs: list[float]) -> None:
        """Output o becomes signs[o] times the old output sources[o]; sign 0 is a class not seen so far."""
        state = self._learner.state()
        self._learner.restore(state | {"weights": np.array(signs)[:, None] * state["weights"][sources]})

    def state(self) -> State:
        """Everything that was learned, as named arrays and numbers."""
        own: State = self._learner.state()
        return own | self._scaling.state() if self._scaling else own

    def restore(self, state: State) -> None:
        """Continue from an exported state."""
        self._learner.restore(state)
        if self._scaling:
            self._scaling.restore(state)
        self._filling = not self._full
        self._due = self._rows_to_event()

    def twin(self) -> "Nolana":
        """A learner of its own in the same state; the caller holds the lock."""
        copied = type(self).__new__(type(self))
        copied.__setstate__(self.__getstate__())
        return copied

    def __getstate__(self) -> State:
        return {
            "settings": self.settings,
            "features": self._features,
            "outputs": self.outputs,
            "learned": self.state(),
        }

    def __setstate__(self, saved: State) -> None:
        self.__init__(saved["settings"], saved["features"], saved["outputs"])  # type: ignore[misc]
        self.restore(saved["learned"])

    # When things are re-estimated.

    @property
    def _full(self) -> bool:
        return self.size == self.settings.n_landmarks

    @property
    def _estimates_metric(self) -> bool:
        """Whether 2, 4, 8, ... rows mean anything now."""
        return (
            self.settings.scale
            or not self.settings.kernel.stationary
            or (self._filling and self.settings.adapts_metric)
        )

    def _rows_to_event(self) -> int:
        if self.size == 0:
            return 1
        rows = 1 << 62
        if self._estimates_metric:
            rows = (1 << max(1, self.rows.bit_length())) - self.rows
        # The landmarks can be full after this many rows at the earliest, and only at the last of them.
        return rows if self._full else min(rows, self.settings.n_landmarks - self.size)

    def _prepare_first(self, x: Array) -> None:
        kernel = self.settings.kernel
        first = self.features(x[None])[0]
        if self.settings.gamma is None:
            self._learner.gamma = kernel.first_width(first)
        self._set_ridge(kernel.diagonal(first[None], self._learner.gamma))

    def _set_ridge(self, diagonal: Array) -> float:
        """delta = ridge times the mean of k(u, u)."""
        mean = float(diagonal.mean()) if len(diagonal) else 0.0
        ridge = self.settings.ridge * (mean if mean > SMALLEST_SQUARE else 1.0)
        self._learner.ridge = ridge
        return ridge

    def _after(self, rows_before: int) -> None:
        """What is due now that rows have been learned."""
        rows = self.rows
        doubled = rows != rows_before and rows >= 2 and rows & (rows - 1) == 0
        filled = self._filling and self._full
        if self._estimates_metric and (doubled or filled):
            self._reestimate()
        self._filling = not self._full
        if filled and self.settings.threshold is None:
            self._learner.threshold = spacing(self._learner.state()["landmarks"])

    def _reestimate(self) -> None:
        """Width, scaling and ridge from what was seen so far; the model is re-mapped."""
        with one_blas_thread():
            self._remap_to_what_was_seen()

    def _remap_to_what_was_seen(self) -> None:
        kernel, learner = self.settings.kernel, self._learner
        state = learner.state()
        old, old_gamma = state["landmarks"], learner.gamma
        places = old
        if self._scaling:
            raw = self._scaling.undo(old)
            self._scaling.update()
            places = self._scaling.apply(raw)
        gamma = old_gamma
        if self.settings.gamma is None and kernel.uses_gamma:
            now, then = kernel.width_of(places), kernel.width_of(old)
            if self._filling or not kernel.stationary:  # dot products have no other way to follow the rows' size
                gamma = now or (old_gamma if not self._full else 1.0)
            elif now and then:  # other units, same width
                gamma = old_gamma * now / then
        ridge = self.settings.ridge
        if not kernel.stationary:
            ridge = self._set_ridge(kernel.diagonal(places, gamma))

        def before(x: Array, z: Array) -> Array:
            return kernel.gram(x, z, old_gamma)

        def after(x: Array, z: Array) -> Array:
            return kernel.gram(x, z, gamma)

        if self.settings.threshold is None and np.isfinite(learner.threshold):
            state["threshold"] *= spread(places) / spread(old)
        if self.settings.decomposition is not None:
            learner.restore(state | {"landmarks": places, "gamma": gamma})
            learner.model.rekernel(before(old, old), after(places, places), ridge)
            learner.ridge = ridge
        else:
            mapped = remap(
                state, before=before, after=after, coordinates=places, ridge=ridge, prior=self.settings.prior
            )
            if "gram" in state:
                mapped["gram"] = pack(after(places, places))
            learner.restore(mapped | {"gamma": gamma})

    def _start_from(self, landmarks: Array, outputs: int) -> None:
        """Begin with all landmarks in place, N_q = 1."""
        kernel, learner = self.settings.kernel, self._learner
        if self.settings.gamma is None:
            learner.gamma = kernel.width_of(landmarks) or 1.0
        gram = kernel.gram(landmarks, landmarks, learner.gamma)
        ridge = self._set_ridge(np.diag(gram))
        n = len(landmarks)
        state = learner.state() | {"landmarks": landmarks, "counts": np.ones(n), "ridge": ridge}
        if self.settings.decomposition is not None:
            spectrum = Spectrum.of(gram, self.settings.decomposition.rank)
            state |= {"vectors": spectrum.vectors, "values": spectrum.values}
            state |= {"weights": np.zeros((outputs, len(spectrum.values))), "gram": pack(gram)}
        else:
            inverse, state["ridge"] = inverted(gram, ridge)
            nothing = np.zeros((0, n))
            state |= {"inverse": pack(inverse), "weights": np.zeros((outputs, n)), "gram": pack(gram)}
            state |= {"covariance": self.settings.prior * pack(inverse)}
            state |= {"waiting_left": nothing, "waiting_right": nothing.copy()}
        learner.restore(state)
        self._filling = False
        if self.settings.threshold is None:
            learner.threshold = spacing(landmarks)


def spacing(landmarks: Array) -> float:
    """The median over landmarks of the squared distance to the nearest that came before."""
    nearest = [squared_distances(landmarks[i], landmarks[:i]).min() for i in range(1, len(landmarks))]
    return float(np.median(nearest)) if nearest else 0.0


def spread(landmarks: Array) -> float:
    """The mean squared distance between landmarks."""
    total = float(((landmarks - landmarks.mean(axis=0)) ** 2).sum())
    return total if total > 0 else 1.0
