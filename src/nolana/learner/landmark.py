"""The driver of NOLANA: nonlinear online learning on an adaptive Nyström map.

For every (x, y): score with the current map and weights; a step on the loss under the OLD map; if the row is
at least epsilon away from its nearest landmark, that landmark moves towards it, and stage two carries the
weights to the new map.

Si, Kumar, Li, "Nonlinear Online Learning with Adaptive Nyström Approximation".

The engine does that. This file decides what the engine does not: when the width, the scaling and the threshold are
re-estimated (at 2, 4, 8, ... rows), width and scaling each time through a re-mapping of all that was learned.
"""

import warnings
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from nolana import engine as numpy_engine
from nolana.engine.base.bounds import Count, Share, Threshold, Width
from nolana.engine.base.state import Field, Size, pack, unpack
from nolana.engine.base.state import check as check_field
from nolana.engine.base.threads import one_blas_thread
from nolana.engine.experts.landmarks.inverse import inverted
from nolana.engine.experts.landmarks.kernels import SMALLEST_SQUARE, Kernel, squared_distances
from nolana.engine.experts.landmarks.landmark_map import LandmarkMap, MovingLandmarks
from nolana.engine.experts.landmarks.lms import LMS
from nolana.engine.experts.landmarks.newton import Newton
from nolana.engine.experts.sgd import SGD
from nolana.engine.learner.learner import Learner
from nolana.engine.learner.residual_variance import START as START_NOISE
from nolana.engine.learner.robust_scaling import FIRST_ROWS
from nolana.errors import GrowthWarning, Remedy
from nolana.experts.base import joined_state, split
from nolana.experts.landmarks import Landmarks
from nolana.experts.remap import remap, reweight, with_matrices
from nolana.experts.spectral.refit import inverse_roots
from nolana.experts.spectral.spectral_map import SpectralMap
from nolana.experts.spectral.spectrum import Spectrum
from nolana.learner.driver import Array, Driver, State, relative, user_stacklevel
from nolana.learner.scaling import AnchoredScaling, Change, Rescaling, TargetScaling
from nolana.learner.version1 import Scaling
from nolana.modelfile.specs import Spec

ROWS_PER_LOCK = 4096  # rows learned or scored before other threads get their turn
# Landmarks that are not full after LATE m rows, with novelty relaxed since row m, may never be: few features need few.
# From then on the threshold is estimated from those in use.
LATE = 4
NOISE_RANGE = 1e-3, 1.0  # of standardised targets
SMALLEST_SIGNAL = 0.1  # share of the variance of the targets that the prior expects to explain, at least


@dataclass(frozen=True)
class LandmarkOptions:
    """What is re-estimated while a landmark map learns.

    gamma: None takes it from the median distance of the landmarks; threshold: None takes the median distance of new
    landmarks to the nearest; ridge: relative to the mean of k(u, u); rank: P is cut to this rank once the landmarks
    are full; number: targets are numbers, which the learner standardises; relative_weights: sample weights count
    relative to their running mean; watch_growth: a scaled feature that grows without bound counts little.
    """

    gamma: Width | None
    threshold: Threshold | None
    ridge: Share
    scale: bool
    rank: Count | None = None
    number: bool = False
    relative_weights: bool = False
    watch_growth: bool = False


class LandmarkLearner(Driver):
    """One expert on a map over landmarks."""

    options_class = LandmarkOptions
    options: LandmarkOptions

    def __init__(
        self,
        spec: Spec,
        options: LandmarkOptions,
        features: int,
        outputs: int,
        initial_landmarks: Array | None = None,
    ) -> None:
        super().__init__(spec, options, features, outputs)
        self._map = cast(MovingLandmarks, self.engine.maps[0])
        map_spec, head_spec = spec.arguments["maps"][0], spec.arguments["experts"][0].arguments["head"]
        self.capacity: int = map_spec.arguments["capacity"]
        self.kernel: Kernel = map_spec.arguments["kernel"].build(numpy_engine)
        self.decomposed = map_spec.kind is SpectralMap
        self._prior: float = head_spec.arguments.get("prior", 1.0)
        self._scaling: AnchoredScaling | Scaling | None = None
        if options.scale:
            self._scaling = AnchoredScaling(features, self._module, options.watch_growth)
        self._targets = TargetScaling(outputs, self._module) if options.number else None
        self.mean_weight = 0.0  # running mean of the sample weights
        self.largest = self.kernel.largest_value
        self._map.ridge = options.ridge
        if options.gamma is not None:
            self._map.gamma = options.gamma
        if options.threshold is not None:
            self._map.threshold = options.threshold
        self._growing: list[int] = []  # features that have begun to grow since the last call
        self._warned: set[int] = set()
        self._filling = True  # until the landmarks are full, and what depends on that is done
        if initial_landmarks is not None:
            self._start_from(initial_landmarks, outputs)
        self._due = self._rows_to_event()

    @classmethod
    def check(cls, spec: Spec, options: LandmarkOptions) -> None:
        super().check(spec, options)
        map = spec.arguments["maps"][0] if spec.kind is Learner else spec
        if not issubclass(map.kind, MovingLandmarks):
            raise ValueError(f"this driver runs a map over landmarks, not {map.kind.__name__}")
        if options.rank is not None and not issubclass(map.kind, LandmarkMap):
            raise ValueError(f"rank cuts the inverse of a LandmarkMap, which {map.kind.__name__} does not have")
        if options.number and not issubclass(map.kind, LandmarkMap):
            raise ValueError(f"targets are standardised for a LandmarkMap, not for {map.kind.__name__}")

    # Reading

    @property
    def experts(self) -> list[Landmarks]:
        return mergeable_experts(self.spec)

    @property
    def rank(self) -> int:
        """Of the decomposition."""
        return int(self.spec.arguments["maps"][0].arguments["rank"])

    @property
    def moves(self) -> int:
        return int(self._map.moves)

    @property
    def size(self) -> int:
        return int(self._map.size)

    @property
    def gamma(self) -> float:
        return float(self._map.gamma)

    @property
    def threshold(self) -> float:
        return float(self._map.threshold)

    @property
    def memory_bytes(self) -> int:
        """State and scratch; constant once the landmarks are full and the classes known."""
        return super().memory_bytes + sum(part.memory_bytes for part in (self._scaling, self._targets) if part)

    def centre(self) -> Array:
        return self._scaling.centre() if isinstance(self._scaling, AnchoredScaling) else super().centre()

    def landmarks(self) -> Array:
        """The landmarks (m, d) in the units of the input."""
        places: Array = self.engine.state()["landmarks"]
        return np.ascontiguousarray(self._scaling.undo(places)) if self._scaling else places

    def counts(self) -> Array:
        """Points counted into each landmark (m,); decayed counts are stored in a unit of their own."""
        state = self.engine.state()
        return np.array(state["counts"] * state.get("count_unit", 1.0))

    def spectrum(self, rank: int) -> Spectrum:
        """The decomposition of the landmarks' kernel matrix."""
        state = self.engine.state()
        if self.decomposed:
            return Spectrum(state["vectors"], state["values"])
        places = state["landmarks"]
        return Spectrum.of(self.kernel.gram(places, places, self.gamma), min(rank, len(places)))

    def mean_diagonal(self) -> float:
        """The mean of k(u, u)."""
        diagonal = self.kernel.diagonal(self.engine.state()["landmarks"], self.gamma)
        return float(diagonal.mean()) if len(diagonal) else 0.0

    def scores(self, x: Array) -> Array:
        scores = super().scores(self.features(x))
        return self._targets.undo(scores) if self._targets else scores

    def kernel_rows(self, x: Array) -> Array:  # (n, d) -> (n, m)
        """k(x_i, u_j)."""
        seen, places = self.features(x), self.engine.state()["landmarks"]
        if self.decomposed:
            return self.kernel.gram(seen, places, self.gamma)
        return np.asarray(self._map.transform(seen))

    def features(self, x: Array) -> Array:
        """Rows (n, d) as the kernel sees them."""
        return self._scaling.apply(x) if self._scaling else x

    # Learning

    def learn(self, x: Array, y: Array, weight: Array | None = None, class_weight: Array | None = None) -> Array:
        """What each row scored before it was learned; (n,) weights of the rows and of their classes."""
        if self.options.relative_weights:
            weight, self.mean_weight = relative(weight, class_weight, len(x), self.rows, self.mean_weight)
        elif class_weight is not None:
            weight = class_weight if weight is None else weight * class_weight
        scores = super().learn(x, y, weight)
        if self._growing:
            self._warn_of_growth()
        return scores

    def take_any_order(self) -> None:
        """Rows may be sorted, so that a feature that grows says nothing. Called before the first row."""
        self.options = replace(self.options, watch_growth=False)
        if self.options.scale:
            self._scaling = AnchoredScaling(self.n_features, self._module, False)

    def _warn_of_growth(self) -> None:
        """Each feature once."""
        new = [j for j in self._growing if j not in self._warned]
        self._warned |= set(new)
        self._growing = []
        if new:
            what = (
                f"X grows or falls all the time in feature {', '.join(map(str, new))} (the first is 0), as a row "
                "number or a time does. Such a feature counts a tenth in distances"
            )
            remedies = [Remedy("keep_growing", True, "learns from it")]
            warnings.warn(GrowthWarning(what, hint="leave it out", remedies=remedies), stacklevel=user_stacklevel())

    def _learn(self, x: Array, y: Array, weight: Array | None) -> Array:
        if not self.decomposed:
            return self._learn_rows(x, y, weight)
        with one_blas_thread():
            return self._learn_rows(x, y, weight)

    def _learn_rows(self, x: Array, y: Array, weight: Array | None) -> Array:
        if self.frozen:
            return self._learn_part(x, y, weight)
        if len(x) < self._due and not self._can_be_outgrown:  # nothing is re-estimated
            scores = self._learn_part(x, y, weight)
            self._due -= len(x)
            return scores
        scores = np.empty(y.shape)
        start = 0
        while start < len(x):
            before, stop = self.rows, min(len(x), start + self._rows_to_event())
            if self.size and self._can_be_outgrown:
                large = ~self.kernel.fits(self.features(x[start:stop]), self.gamma)
                if weight is not None:
                    large &= weight[start:stop] > 0
                if large[0]:
                    self._restart()
                elif large.any():
                    stop = start + int(large.argmax())
            if self.size == 0:
                stop = start + 1
                self._prepare_first(x[start])
            rows = slice(start, stop)
            weights = None if weight is None else weight[rows]
            scores[rows] = self._learn_part(x[rows], y[rows], weights)
            self._after(before)
            start = stop
        self._due = self._rows_to_event()
        return scores

    def _learn_part(self, x: Array, y: Array, weight: Array | None) -> Array:
        """Rows between which nothing is re-estimated."""
        seen = self._scaling.advance(x, weight) if self._scaling else x
        if self._targets is None:
            return np.asarray(self.engine.learn(seen, y, weight))
        scores = self._targets.undo(self.engine.learn(seen, self._targets.apply(y), weight))
        self._targets.observe(y, weight)
        return scores

    @property
    def _can_be_outgrown(self) -> bool:
        """Whether rows may be so much larger than the landmarks that the width does not fit them at all."""
        return self.options.gamma is None and self.kernel.uses_gamma and not self.kernel.stationary

    def _restart(self) -> None:
        """Forget the landmarks: a kernel matrix that has both them and this row has no inverse in double precision."""
        state = self.engine.state()
        self.engine.clear(self.outputs)
        self.engine.restore(self.engine.state() | {name: state[name] for name in ("rows", "moves")})
        self._filling = True
        if self.options.threshold is None:
            self._map.threshold = np.inf

    def remedies(self) -> list[str]:
        found = super().remedies()
        if self.options.rank is not None:  # NOGD, which has neither of these parameters
            return found
        found.remove("scale the features")
        if not self.options.scale:
            found.append("scale the features ({scale})")
        map_spec, expert = self.spec.arguments["maps"][0], self.spec.arguments["experts"][0]
        if map_spec.kind is LandmarkMap and expert.arguments["head"].kind is SGD:
            found.append("use {newton}")
        return found

    def state(self) -> State:
        state = super().state()
        for part in (self._scaling, self._targets):
            state |= part.state() if part else {}
        return state | ({"mean_weight": self.mean_weight} if self.options.relative_weights else {})

    def restore(self, state: State) -> None:
        scaling: AnchoredScaling | Scaling | None = None
        if self.options.scale:  # the state says by which scaling it was learned
            if "scaling_mean" in state:
                scaling = Scaling(self.n_features, self._module)
            else:
                scaling = AnchoredScaling(self.n_features, self._module, self.options.watch_growth)
            scaling.restore(state)
        targets = TargetScaling(len(state["weights"]), self._module) if self.options.number else None
        if targets:
            targets.restore(state)
        mean_weight = Field(self, "mean_weight", low=0.0)
        if self.options.relative_weights:
            check_field(mean_weight, state, {})
        own = {name: value for name, value in state.items() if not name.startswith(("scaling", "target_scaling/"))}
        super().restore({name: value for name, value in own.items() if name != "mean_weight"})
        self._scaling, self._targets = scaling, targets
        if self.options.relative_weights:
            mean_weight.set(state["mean_weight"])
        self._filling = not self._full
        self._due = self._rows_to_event()

    # When things are re-estimated.

    @property
    def _full(self) -> bool:
        return self.size == self.capacity

    @property
    def _estimates_width(self) -> bool:
        """Whether the width or the ridge is re-estimated at 2, 4, 8, ... rows now."""
        return not self.kernel.stationary or (self._filling and self.options.gamma is None and self.kernel.uses_gamma)

    @property
    def _estimates_threshold(self) -> bool:
        """Whether the threshold is still that of landmarks that are not full."""
        return self._filling and self.options.threshold is None

    def _rows_to_event(self) -> int:
        if self.size == 0:
            return 1
        rows = 1 << 62
        if self._estimates_width or self._estimates_threshold:
            rows = (1 << max(1, self.rows.bit_length())) - self.rows
        if self._scaling:
            rows = min(rows, self._scaling.rows_to_update(self.rows))
        if self._targets:
            rows = min(rows, self._targets.rows_to_update())
        # The landmarks can be full after this many rows at the earliest, and only at the last of them.
        return rows if self._full else min(rows, self.capacity - self.size)

    def _prepare_first(self, x: Array) -> None:
        kernel = self.kernel
        first = self.features(x[None])[0]
        if self.options.gamma is None:
            self._map.gamma = kernel.first_width(first)
        self._set_ridge(kernel.diagonal(first[None], self._map.gamma))

    def _set_ridge(self, diagonal: Array) -> float:
        """delta = ridge times the mean of k(u, u)."""
        mean = float(diagonal.mean()) if len(diagonal) else 0.0
        ridge = self.options.ridge * (mean if mean > SMALLEST_SQUARE else 1.0)
        self._map.ridge = ridge
        return ridge

    def _after(self, rows_before: int) -> None:
        """What is due now that rows have been learned."""
        rows = self.rows
        self._reestimate_all(rows_before, rows != rows_before and rows >= 2 and rows & (rows - 1) == 0)

    def thaw(self) -> None:
        """Forget as one process would have done; re-estimate what was due while the map was frozen."""
        assert self.origin is not None
        before = self.origin.rows
        super().thaw()
        with one_blas_thread():
            states = split(self.spec, self.engine.state(), self.axes)
            self.experts[0].thaw(states[0], self.rows - before)
            self.engine.restore(joined_state(self.spec, states))
            self._reestimate_all(before, before.bit_length() < self.rows.bit_length())
        self._due = self._rows_to_event()

    def _reestimate_all(self, rows_before: int, doubled: bool) -> None:
        """What follows the rows learned; `doubled` at 2, 4, 8, ... rows."""
        rows = self.rows
        filled = self._filling and self._full
        change = self._scaling.update(doubled or filled) if self._scaling and rows != rows_before else None
        if change is not None and isinstance(self._scaling, AnchoredScaling):
            self._growing = self._scaling.growing.tolist()
        if change is not None or (self._estimates_width and (doubled or filled)):
            self._reestimate(change)
        rescaling = self._targets.update() if self._targets and rows != rows_before else None
        if rescaling is not None:
            self._rescale_targets(rescaling)
        if doubled and "noise" in self.spec.arguments:
            self._reestimate_noise()
        self._filling = not self._full
        late = self._estimates_threshold and doubled and rows >= LATE * self.capacity and self.size > 1
        if late or (filled and self.options.threshold is None):
            self._map.threshold = spacing(self.engine.state()["landmarks"])
        if filled and self.options.rank is not None:
            self._cut_to_rank(self.options.rank)

    def _rescale_targets(self, change: Rescaling) -> None:
        """Targets have another unit: alpha <- g alpha + shift P1. Where nothing learned counts, back to the prior."""
        state = self.engine.state()
        ones = unpack(state["inverse"]).sum(axis=1)  # P 1
        state["weights"] = change.g[:, None] * state["weights"] + change.shift[:, None] * ones
        g = float(change.g.max())
        if g == 0 and "covariance" in state:
            state = with_matrices(state, unpack(state["inverse"]), self._prior * unpack(state["inverse"]))
        if "residual_variance" in state:
            low, high = NOISE_RANGE if self.rows > FIRST_ROWS else (START_NOISE, 1.0)
            variance = min(high, max(low, state["residual_variance"] * g * g)) if g > 0 else START_NOISE
            state |= {"residual_variance": variance}  # n/tau has no unit
        self.engine.restore(state)

    def _reestimate_noise(self) -> None:
        """The noise level follows the residuals; what was learned with the old one is weighed by the new one."""
        state = self.engine.state()
        level = noise_level(state["residual_variance"])
        if "covariance" in state:
            with one_blas_thread():
                gram = self.kernel.gram(state["landmarks"], state["landmarks"], self.gamma)
                state = reweight(state, gram, state["noise_level"] / level, self._prior)
        self.engine.restore(state | {"noise_level": level})

    def _cut_to_rank(self, rank: int) -> None:
        """P = U_r S_r^-1 U_r'; the model becomes the projection of what it was."""
        state = self.engine.state()
        gram = self.kernel.gram(state["landmarks"], state["landmarks"], self.gamma)
        spectrum = Spectrum.of(gram, rank)
        half = spectrum.vectors * inverse_roots(spectrum.values, 0.0)
        inverse = half @ half.T
        weights = np.ascontiguousarray(state["weights"] @ (gram @ inverse))
        self.engine.restore(state | {"inverse": pack((inverse + inverse.T) / 2), "weights": weights})

    def _reestimate(self, change: Change | None) -> None:
        """Width and ridge from what was seen so far; the model is re-mapped, also to another scaling."""
        with one_blas_thread():
            self._remap_to_what_was_seen(change)

    def _remap_to_what_was_seen(self, change: Change | None) -> None:
        kernel, state = self.kernel, self.engine.state()
        old, old_gamma = state["landmarks"], self.gamma
        places = old if change is None else np.ascontiguousarray(change(old))
        gamma = old_gamma
        if self.options.gamma is None and kernel.uses_gamma:
            now, then = kernel.width_of(places), kernel.width_of(old)
            if self._filling or not kernel.stationary:  # dot products have no other way to follow the rows' size
                gamma = now or (old_gamma if not self._full else 1.0)
            elif now and then:  # other units, same width
                gamma = old_gamma * now / then
        ridge = self.options.ridge
        if not kernel.stationary:
            ridge = self._set_ridge(kernel.diagonal(places, gamma))

        def before(x: Array, z: Array) -> Array:
            return kernel.gram(x, z, old_gamma)

        def after(x: Array, z: Array) -> Array:
            return kernel.gram(x, z, gamma)

        if self.options.threshold is None and np.isfinite(self.threshold):
            state["threshold"] *= spread(places) / spread(old)
        if isinstance(self._map, SpectralMap):
            self.engine.restore(state | {"landmarks": places, "gamma": gamma})
            self._map.rekernel(before(old, old), self._map.coefficients(), after(places, places), ridge)
        else:
            mapped = remap(state, before=before, after=after, coordinates=places, ridge=ridge, prior=self._prior)
            if "gram" in state:
                mapped["gram"] = pack(after(places, places))
            self.engine.restore(mapped | {"gamma": gamma})

    def _start_from(self, landmarks: Array, outputs: int) -> None:
        """Begin with all landmarks in place, N_q = 1."""
        if self.options.gamma is None:
            self._map.gamma = self.kernel.width_of(landmarks) or 1.0
        gram = self.kernel.gram(landmarks, landmarks, self.gamma)
        ridge = self._set_ridge(np.diag(gram))
        n = len(landmarks)
        policy = self.spec.arguments["maps"][0].arguments["policy"].build(numpy_engine)
        state = self.engine.state() | {"landmarks": landmarks, "counts": np.ones(n), "ridge": ridge}
        state |= {field.key: np.zeros(n) for field in policy.fields(Size("landmarks")) if field.shape}
        if isinstance(self._map, SpectralMap):
            spectrum = Spectrum.of(gram, self._map.rank)
            state |= {"vectors": spectrum.vectors, "values": spectrum.values}
            state |= {"weights": np.zeros((outputs, len(spectrum.values))), "gram": pack(gram)}
        else:
            inverse, state["ridge"] = inverted(gram, ridge)
            nothing = np.zeros((0, n))
            state |= {"inverse": pack(inverse), "weights": np.zeros((outputs, n)), "gram": pack(gram)}
            state |= {"covariance": self._prior * pack(inverse)}
            state |= {"waiting_left": nothing, "waiting_right": nothing.copy()}
        self.engine.restore(state)
        self._filling = False
        if self.options.threshold is None:
            self._map.threshold = spacing(landmarks)


def spacing(landmarks: Array) -> float:
    """The median over landmarks of the squared distance to the nearest that came before."""
    nearest = [squared_distances(landmarks[i], landmarks[:i]).min() for i in range(1, len(landmarks))]
    return float(np.median(nearest)) if nearest else 0.0


def noise_level(variance: float) -> float:
    """n/tau from the variance nu of the residuals of standardised targets: nu/(1 - nu), the rest being signal."""
    return max(NOISE_RANGE[0], variance) / max(SMALLEST_SIGNAL, 1 - variance)


def spread(landmarks: Array) -> float:
    """The mean squared distance between landmarks."""
    total = float(((landmarks - landmarks.mean(axis=0)) ** 2).sum())
    return total if total > 0 else 1.0


def mergeable_experts(spec: Spec) -> list[Landmarks]:
    """The expert of a landmark learner; none if its parts cannot be merged."""
    map, expert = spec.arguments["maps"][0], spec.arguments["experts"][0]
    return [Landmarks()] if map.kind is LandmarkMap and expert.arguments["head"].kind in (Newton, LMS) else []
