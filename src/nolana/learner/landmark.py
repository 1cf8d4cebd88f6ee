"""The driver of NOLANA: nonlinear online learning on an adaptive Nyström map.

For every (x, y): score with the current map and weights; a step on the loss under the OLD map; if the row is
at least epsilon away from its nearest landmark, that landmark moves towards it, and stage two carries the
weights to the new map.

Si, Kumar, Li, "Nonlinear Online Learning with Adaptive Nyström Approximation".

The engine does that. What it does not, `landmark_events` does after rows that `schedule` names: the width, the scaling
and the threshold are re-estimated, width and scaling each time through a re-mapping of all that was learned.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from nolana import engine as numpy_engine
from nolana.engine.base.bounds import Count, Share, Threshold, Width
from nolana.engine.base.state import Field, Size, export, pack
from nolana.engine.base.state import check as check_field
from nolana.engine.base.threads import one_blas_thread
from nolana.engine.experts.landmarks.inverse import inverted
from nolana.engine.experts.landmarks.kernels import SMALLEST_SQUARE, Kernel
from nolana.engine.experts.landmarks.landmark_map import LandmarkMap, MovingLandmarks
from nolana.engine.experts.landmarks.lms import LMS
from nolana.engine.experts.landmarks.newton import Newton
from nolana.engine.experts.sgd import SGD
from nolana.engine.learner.learner import Learner
from nolana.engine.learner.robust_scaling import unscaled
from nolana.engine.protocol import EngineLearner, GrowthWatchPart, RobustScalingPart
from nolana.errors import GrowthWarning, Remedy
from nolana.experts.landmarks import Landmarks
from nolana.experts.spectral.spectral_map import SpectralMap
from nolana.experts.spectral.spectrum import Spectrum
from nolana.learner.driver import Array, Driver, State, relative, user_stacklevel
from nolana.learner.landmark_events import ANCHORS, spacing
from nolana.learner.schedule import LANDMARK_EVENTS
from nolana.modelfile.specs import Spec

ROWS_PER_LOCK = 4096  # rows learned or scored before other threads get their turn


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
    events = LANDMARK_EVENTS
    options: LandmarkOptions
    map: MovingLandmarks
    scaling: RobustScalingPart | None
    target_scaling: RobustScalingPart | None
    growth: GrowthWatchPart | None
    anchors: State | None  # of the scaling; None before the first
    target_anchors: State | None
    filling: bool  # until the landmarks are full, and what depends on that is done
    remapped: int  # the row after which all was re-mapped

    def __init__(
        self,
        spec: Spec,
        options: LandmarkOptions,
        features: int,
        outputs: int,
        initial_landmarks: Array | None = None,
    ) -> None:
        self._targets = outputs if options.number else 0  # that are standardised
        super().__init__(spec, options, features, outputs)
        map_spec, head_spec = spec.arguments["maps"][0], spec.arguments["experts"][0].arguments["head"]
        self.capacity: int = map_spec.arguments["capacity"]
        self.kernel: Kernel = map_spec.arguments["kernel"].build(numpy_engine)
        self.decomposed = map_spec.kind is SpectralMap
        self.prior: float = head_spec.arguments.get("prior", 1.0)
        self._can_be_outgrown = options.gamma is None and self.kernel.uses_gamma and not self.kernel.stationary
        self.mean_weight = 0.0  # running mean of the sample weights
        self.largest = self.kernel.largest_value
        self._use(self.engine)
        self.map.ridge = options.ridge
        if options.gamma is not None:
            self.map.gamma = options.gamma
        if options.threshold is not None:
            self.map.threshold = options.threshold
        self.growing: list[int] = []  # features that have begun to grow since the last call
        self._warned: set[int] = set()
        self.filling, self.remapped = True, 0
        self.anchors = self.target_anchors = None
        if initial_landmarks is not None:
            self._start_from(initial_landmarks, outputs)
        self.plan()

    def units(self) -> dict[str, Any]:
        """In which the engine learns: rows before the first anchor, and so the first landmarks, are as they came."""
        units: dict[str, Any] = {}
        if self.options.scale:
            units["scaling"] = self._module.RobustScaling(self.n_features, keeps_first=True)
            if self.options.watch_growth:
                units["growth"] = self._module.GrowthWatch(self.n_features)
        if self._targets:
            units["target_scaling"] = self._module.RobustScaling(self._targets)
        return units

    def build(self, spec: Spec) -> Any:
        return replace(spec, arguments={**spec.arguments, **self.units()}).build(self._module)

    def _use(self, engine: EngineLearner) -> None:
        self.engine, self.map = engine, cast(MovingLandmarks, engine.maps[0])
        self.scaling, self.target_scaling, self.growth = engine.scaling, engine.target_scaling, engine.growth

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
        return int(self.map.moves)

    @property
    def size(self) -> int:
        return int(self.map.size)

    @property
    def gamma(self) -> float:
        return float(self.map.gamma)

    @property
    def threshold(self) -> float:
        return float(self.map.threshold)

    def centre(self) -> Array:
        return super().centre() if self.anchors is None else np.array(self.anchors["center"])

    def landmarks(self) -> Array:
        """The landmarks (m, d) in the units of the input."""
        places: Array = self.engine.state(["landmarks"])["landmarks"]
        return places if self.anchors is None else np.ascontiguousarray(unscaled(places, self.anchors))

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
        diagonal = self.kernel.diagonal(self.engine.state(["landmarks"])["landmarks"], self.gamma)
        return float(diagonal.mean()) if len(diagonal) else 0.0

    def kernel_rows(self, x: Array) -> Array:  # (n, d) -> (n, m)
        """k(x_i, u_j)."""
        seen, places = self.features(x), self.engine.state(["landmarks"])["landmarks"]
        if self.decomposed:
            return self.kernel.gram(seen, places, self.gamma)
        return np.asarray(self.map.transform(seen))

    def features(self, x: Array) -> Array:
        """Rows (n, d) as the kernel sees them."""
        return np.asarray(self.scaling.apply(x)) if self.scaling else x

    # Learning

    def learn(self, x: Array, y: Array, weight: Array | None = None, class_weight: Array | None = None) -> Array:
        """What each row scored before it was learned; (n,) weights of the rows and of their classes."""
        if self.options.relative_weights:
            weight, self.mean_weight = relative(weight, class_weight, len(x), self.rows, self.mean_weight)
        elif class_weight is not None:
            weight = class_weight if weight is None else weight * class_weight
        scores = super().learn(x, y, weight)
        if self.growing:
            self._warn_of_growth()
        return scores

    def take_any_order(self) -> None:
        """Rows may be sorted, so that a feature that grows says nothing. Called before the first row."""
        if self.growth is None:
            return
        state, self.options = self.state(), replace(self.options, watch_growth=False)
        self._use(self.build(self.spec))
        self.restore(state)

    def _warn_of_growth(self) -> None:
        """Each feature once."""
        new = [j for j in self.growing if j not in self._warned]
        self._warned |= set(new)
        self.growing = []
        if new:
            what = (
                f"X grows or falls all the time in feature {', '.join(map(str, new))} (the first is 0), as a row "
                "number or a time does. Such a feature counts a tenth in distances"
            )
            remedies = [Remedy("keep_growing", True, "learns from it")]
            warnings.warn(GrowthWarning(what, hint="leave it out", remedies=remedies), stacklevel=user_stacklevel())

    def _learn(self, x: Array, y: Array, weight: Array | None) -> Array:
        if not self.decomposed:
            return super()._learn(x, y, weight)
        with one_blas_thread():
            return super()._learn(x, y, weight)

    def _look_ahead(self, x: Array, weight: Array | None, has_labels: bool) -> int:
        count = len(x)
        if self._can_be_outgrown and self.size:  # rows so much larger that the width does not fit them at all
            large = ~self.kernel.fits(self.features(x), self.gamma)
            if weight is not None:
                large &= weight > 0
            if large[0]:
                self._restart()
            elif large.any():
                count = int(large.argmax())
        if not self.size:
            count = 1
            self._prepare_first(x[0])
        return count

    def _learn_rows(self, x: Array, y: Array, weight: Array | None) -> Array:
        return np.asarray(self.engine.learn(x, y, weight, late_anchors=False))

    def _restart(self) -> None:
        """Forget the landmarks: a kernel matrix that has both them and this row has no inverse in double precision."""
        counts = self.engine.state(["rows", "moves"])
        self.engine.clear(self.outputs)
        self.engine.restore_part(counts)
        self.filling = True
        if self.options.threshold is None:
            self.map.threshold = np.inf
        self.plan()

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
        return super().state() | export(self._fields())

    def _fields(self) -> list[Field]:
        return [Field(self, "mean_weight", low=0.0)] if self.options.relative_weights else []

    def restore(self, state: State) -> None:
        for name in state:
            if name.endswith("/rows") and state[name] != state["rows"]:
                raise ValueError(f"state: {name} differs from rows")
        for field in self._fields():
            check_field(field, state, {})
        super().restore(state)
        for field in self._fields():
            field.set(state[field.key])
        self.prepare()

    def prepare(self) -> None:
        self.filling, self.remapped = not self.full, 0
        units = (self.scaling, self.target_scaling)
        self.anchors, self.target_anchors = (unit.state(ANCHORS) if unit and self.rows > 1 else None for unit in units)
        super().prepare()

    def plan(self) -> None:
        super().plan()
        self._looks_ahead = not self.frozen and (self._can_be_outgrown or not self.size)

    # Events

    @property
    def full(self) -> bool:
        """Whether there are as many landmarks as may be."""
        return self.size == self.capacity

    @property
    def estimates_width(self) -> bool:
        """Whether the width or the ridge is re-estimated at 2, 4, 8, ... rows now."""
        return not self.kernel.stationary or (self.filling and self.options.gamma is None and self.kernel.uses_gamma)

    @property
    def estimates_threshold(self) -> bool:
        """Whether the threshold is still that of landmarks that are not full."""
        return self.filling and self.options.threshold is None

    @property
    def estimates_noise(self) -> bool:
        """Whether the noise level follows the residuals."""
        return "noise" in self.spec.arguments

    def _prepare_first(self, x: Array) -> None:
        kernel = self.kernel
        first = self.features(x[None])[0]
        if self.options.gamma is None:
            self.map.gamma = kernel.first_width(first)
        self.set_ridge(kernel.diagonal(first[None], self.map.gamma))

    def set_ridge(self, diagonal: Array) -> float:
        """delta = ridge times the mean of k(u, u)."""
        mean = float(diagonal.mean()) if len(diagonal) else 0.0
        ridge = self.options.ridge * (mean if mean > SMALLEST_SQUARE else 1.0)
        self.map.ridge = ridge
        return ridge

    def _start_from(self, landmarks: Array, outputs: int) -> None:
        """Begin with all landmarks in place, N_q = 1."""
        if self.options.gamma is None:
            self.map.gamma = self.kernel.width_of(landmarks) or 1.0
        gram = self.kernel.gram(landmarks, landmarks, self.gamma)
        ridge = self.set_ridge(np.diag(gram))
        n = len(landmarks)
        policy = self.spec.arguments["maps"][0].arguments["policy"].build(numpy_engine)
        state = self.engine.state(units=False) | {"landmarks": landmarks, "counts": np.ones(n), "ridge": ridge}
        state |= {field.key: np.zeros(n) for field in policy.fields(Size("landmarks")) if field.shape}
        if isinstance(self.map, SpectralMap):
            spectrum = Spectrum.of(gram, self.map.rank)
            state |= {"vectors": spectrum.vectors, "values": spectrum.values}
            state |= {"weights": np.zeros((outputs, len(spectrum.values))), "gram": pack(gram)}
        else:
            inverse, state["ridge"] = inverted(gram, ridge)
            nothing = np.zeros((0, n))
            state |= {"inverse": pack(inverse), "weights": np.zeros((outputs, n)), "gram": pack(gram)}
            state |= {"covariance": self.prior * pack(inverse)}
            state |= {"waiting_left": nothing, "waiting_right": nothing.copy()}
        self.engine.restore(state, units=False)
        self.filling = False
        if self.options.threshold is None:
            self.map.threshold = spacing(landmarks)


def mergeable_experts(spec: Spec) -> list[Landmarks]:
    """The expert of a landmark learner; none if its parts cannot be merged."""
    map, expert = spec.arguments["maps"][0], spec.arguments["experts"][0]
    return [Landmarks()] if map.kind is LandmarkMap and expert.arguments["head"].kind in (Newton, LMS) else []
