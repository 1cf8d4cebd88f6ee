"""The driver of the default learner: landmarks, cells and neighbours behind one stack, in a fixed number of bytes.

The engine learns. This file decides what the engine does not, always after a row whose number is fixed, so that a block
may be split anywhere:

- rows are scaled by `RobustScaling`; at its anchors (2, 4, ..., 512 rows) landmarks are re-mapped, stored rows scaled
  again, and cells are cleared (up to 256 rows; at 2 rows everything starts again);
- the kernel width is 1 / median squared distance of the landmarks, taken at the anchors and once they are full;
- at 2048 4^k rows, once, if few features matter: rows are scaled by the relevance of the features, the grids are drawn
  again, the cells cleared and the landmarks re-mapped;
- a new class may need memory: then tables fold, and where that is not enough, windows and landmarks become fewer.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nolana import reference
from nolana._threads import one_blas_thread
from nolana.experts import ExpertSet
from nolana.learners.budget import FRACTIONS, SLOTS, buy, spec_of, with_argument
from nolana.learners.driver import Array, Driver, State, part_of
from nolana.maps.remap import relocate, remap
from nolana.reference.bounds import Count, Seed
from nolana.reference.combiners.stack import START_NOISE
from nolana.reference.heads.cells import FOLD, ConstantCells, DiagonalCells
from nolana.reference.heads.lms import LMS
from nolana.reference.heads.newton import Newton
from nolana.reference.heads.vote import LARGEST_NUMBER, Vote
from nolana.reference.kernels import Kernel
from nolana.reference.learner import Learner
from nolana.reference.maps.cell_map import CellMap
from nolana.reference.maps.landmark_map import LandmarkMap
from nolana.reference.maps.neighbour_map import LARGEST, STEPS, NeighbourMap
from nolana.reference.robust_scaling import LARGEST as LARGEST_Z
from nolana.reference.robust_scaling import LAST_ANCHOR
from nolana.reference.state import Field, export, unpack
from nolana.reference.state import check as check_field
from nolana.specs import Spec

CHECK_TARGETS = 1024  # rows between late checks of the scale of the targets
CHECK_FULL = 64  # rows between checks whether the landmarks have become full
SMALLEST_TABLE = 8  # slots; a multiple of it can be halved, with the table of the constant cells
LAST_CLEARING = 256  # rows up to which an anchor clears the cells
FIRST_REDRAW, REDRAW_FACTOR = 2048, 4
CONCENTRATED = 0.3  # share of the features that effectively matter, below which the grids are drawn again
LEAST_RELEVANCE = 0.1
METRIC_POWER, SMALLEST_METRIC, LARGEST_METRIC = 0.25, 0.1, 2.0
LARGEST_WEIGHT = 10.0  # times the running mean of the weights
WEIGHT_GAIN = 0.001
RIDGE = 1e-3
BY_LANDMARK = {"counts", "last_nearest", "placed"}  # of the map and its policies: one number for each landmark
LEVELS = np.array([0.5, 0.8, 0.9, 0.95, 0.99])  # of intervals
NOISE_RANGE = 1e-3, 1.0
SMALLEST_RANGE = 0.5  # of standardised targets
LARGEST_RESCALING = 100.0  # of targets: beyond, one wild target had set the old unit, and nothing learned in it counts


@dataclass(frozen=True)
class StreamOptions:
    """memory: bytes that state and scratch never exceed; experts: specs of expert sets; number: targets are numbers."""

    memory: Count
    experts: list[ExpertSet]  # as specs
    number: bool
    seed: Seed

    @property
    def sets(self) -> list[ExpertSet]:
        return [each.build(reference) for each in self.experts]  # type: ignore[attr-defined]


class StreamLearner(Driver):
    """Several experts; rows in the units of the input, targets of one number in theirs."""

    options_class = StreamOptions
    options: StreamOptions

    def __init__(self, spec: Spec, options: StreamOptions, features: int, outputs: int) -> None:
        super().__init__(spec, options, features, outputs)
        self._scaling: Any = self._module.RobustScaling(features)
        self._parts: dict[str, Any] = {"scaling": self._scaling}
        if options.number:
            self._target_scaling: Any = self._module.RobustScaling(1)
            self._interval: Any = self._module.IntervalWidth(LEVELS)
            self._parts |= {"target_scaling": self._target_scaling, "interval": self._interval}
        self.mean_weight, self.redrawn = 0.0, 0.0
        # For each map 1 where its width is that of full landmarks, or where it has none.
        self.widened: Array = np.array([float(map.kind is not LandmarkMap) for map in spec.arguments["maps"]])
        self._reported = 0  # the last row whose alarm was asked for
        self._prepare()

    @classmethod
    def check(cls, spec: Spec, options: StreamOptions) -> None:
        if spec.kind is not Learner or spec.arguments["combiner"] is None:
            raise ValueError("this driver runs a learner with a combiner")

    def _prepare(self) -> None:
        """What follows from the state of the engine and of the scaling."""
        self._maps: list[Any] = list(self._engine.maps)
        for i in self._indices(LandmarkMap):
            if not self._maps[i].size:
                self._maps[i].gamma = 1 / (2 * self.n_features)  # about right for standardised features
                self._maps[i].ridge = RIDGE
        self._can_redraw = bool(self._probing())
        self._target_center, self._target_factor = 0.0, 0.0
        if self.options.number:
            state = self._target_scaling.state()
            self._target_center, self._target_factor = float(state["center"][0]), float(state["factor"][0])
        self._next_event = self.rows + self._rows_to_event()  # the row after which something may be re-estimated

    # Reading

    @property
    def rows(self) -> int:
        return int(self._scaling.rows)

    @property
    def memory_bytes(self) -> int:
        return super().memory_bytes + sum(int(part.memory_bytes) for part in self._parts.values())

    def scores(self, x: Array) -> Array:
        return self._from_engine(super().scores(self._scaling.apply(x)))

    def half_width(self, level: float) -> float:
        """Of the interval that covers this share of the targets, in their units."""
        return float(self._interval.half_width(level)) / self._target_factor if self._target_factor > 0 else 0.0

    def experts(self) -> list[dict[str, Any]]:
        """For each expert its name, its weight in the stack, its recent score and its bytes."""
        state, spec = self._engine.state(), self.spec.arguments
        records = []
        for e, expert in enumerate(spec["experts"]):
            i, head = expert.arguments["map"], expert.arguments["head"]
            map = spec["maps"][i]
            error = float(state["errors"][e])
            shared = len(self._experts_on(i))
            nbytes = sum(np.asarray(v).nbytes for v in part_of(state, f"expert{e}/").values())
            nbytes += sum(np.asarray(v).nbytes for v in part_of(state, f"map{i}/").values()) // shared
            score = math.sqrt(error) / (self._target_factor or 1.0) if self.options.number else 1 - error
            records.append(
                {
                    "name": expert_name(map, head),
                    "weight": float(state["stack_weights"][e]),
                    "score": score,
                    "bytes": nbytes,
                }
            )
        return records

    def sizes(self) -> dict[str, int]:
        """What the memory bought."""
        names = {"capacity": "landmarks", "table": "slots", "grids": "grids"}
        bought: dict[str, int] = {}
        for map in self.spec.arguments["maps"]:
            for argument, name in names.items():
                if argument in map.arguments:
                    bought[name] = bought.get(name, 0) + int(map.arguments[argument])
            if "windows" in map.arguments:
                bought["recent rows"] = int(map.arguments["windows"][-1])
        return bought

    @property
    def alarms(self) -> list[int]:
        """Rows (from 0) at which the drift alarm was raised, the last 100 of them."""
        return [int(row) - 1 for row in self._engine.alarms]

    def take_alarms(self) -> list[int]:
        """Those since the last call."""
        new = [row for row in self.alarms if row >= self._reported]
        self._reported = self.rows
        return new

    def _from_engine(self, f: Array) -> Array:
        """Predictions in the units of the targets."""
        if not self.options.number:
            return f
        return f / self._target_factor + self._target_center if self._target_factor > 0 else f * 0 + self._target_center

    def _to_engine(self, y: Array) -> Array:
        return (y - self._target_center) * self._target_factor if self.options.number else y

    # Learning

    def learn(self, x: Array, y: Array, weight: Array | None = None, class_weight: Array | None = None) -> Array:
        """What each row scored before it was learned; (n,) weights of the rows and of their classes, mean 1."""
        return super().learn(x, y, self._normalised(len(x), weight, class_weight))

    def _learn(self, x: Array, y: Array, weight: Array | None) -> Array:
        scores = np.empty(y.shape)
        start = 0
        while start < len(x):
            # At least one row: a user may have interrupted an event.
            stop = min(len(x), start + max(1, self._next_event - self.rows))
            scores[start:stop] = self._learn_part(
                x[start:stop], y[start:stop], None if weight is None else weight[start:stop]
            )
            start = stop
        return scores

    def _learn_part(self, x: Array, y: Array, weight: Array | None) -> Array:
        """Rows between two events."""
        targets = self._to_engine(y)
        scores: Array = self._engine.learn(self._scaling.advance(x, weight), targets, weight)
        if self.options.number:
            learned = slice(None) if weight is None else weight > 0
            self._interval.observe(np.ascontiguousarray((targets - scores)[learned, 0]))
            self._target_scaling.observe(np.ascontiguousarray(y[learned]))
            scores = self._from_engine(scores)
        if self.rows >= self._next_event:
            self._after()
            self._next_event = self.rows + self._rows_to_event()
        return scores

    def _normalised(self, rows: int, weight: Array | None, class_weight: Array | None) -> Array | None:
        """c min(w, 10 wbar)/wbar, wbar the running mean of the weights w of rows; c, of classes, is not capped."""
        mean = self.mean_weight
        if weight is None and mean in (0.0, 1.0):
            self.mean_weight = 1.0
            return class_weight
        t = self.rows
        w = np.ones(rows) if weight is None else weight
        c = np.ones(rows) if class_weight is None else class_weight
        out = np.zeros(rows)
        for i in np.flatnonzero((w > 0) & (c > 0)).tolist():
            t += 1
            capped = min(float(w[i]), LARGEST_WEIGHT * mean) if mean > 0 else float(w[i])
            mean += (capped - mean) * max(1 / t, WEIGHT_GAIN)
            out[i] = c[i] * (capped / mean)
        self.mean_weight = mean
        return out

    def _rows_to_event(self) -> int:
        """Rows until something may have to be re-estimated."""
        t = self.rows
        if t < LAST_ANCHOR:
            due = int(self._scaling.rows_to_anchor())
        elif self.options.number:
            due = CHECK_TARGETS - t % CHECK_TARGETS
        else:
            due = 1 << 62
        if self._can_redraw and not self.redrawn:
            due = min(due, next_redraw(t) - t)
        if not self.widened.all():
            due = min(due, CHECK_FULL - t % CHECK_FULL)
        return due

    def _after(self) -> None:
        """What is due now that rows have been learned."""
        t = self.rows
        if self._can_redraw and not self.redrawn and t >= FIRST_REDRAW and next_redraw(t - 1) == t:
            with one_blas_thread():
                self._redraw()
        if t <= LAST_ANCHOR and t & (t - 1) == 0:
            anchors = self._scaling.state()
            if self._scaling.anchor().any():
                with one_blas_thread():
                    self._follow_anchors(t, anchors)
        elif t % CHECK_FULL == 0:
            self._widen_full_maps()
        if self.options.number and (t <= LAST_ANCHOR or t % CHECK_TARGETS == 0) and self._target_scaling.anchor().any():
            self._follow_target_anchor()

    # Maps and experts by their kind

    def _indices(self, kind: type) -> list[int]:
        return [i for i, map in enumerate(self.spec.arguments["maps"]) if map.kind is kind]

    def _capacity(self, map: int) -> int:
        return int(self.spec.arguments["maps"][map].arguments["capacity"])

    def _experts_on(self, map: int) -> list[int]:
        return [i for i, each in enumerate(self.spec.arguments["experts"]) if each.arguments["map"] == map]

    def _head(self, expert: int) -> Spec:
        head: Spec = self.spec.arguments["experts"][expert].arguments["head"]
        return head

    def _experts_with(self, kind: type) -> list[int]:
        return [i for i in range(len(self.spec.arguments["experts"])) if self._head(i).kind is kind]

    def _probing(self) -> list[int]:
        """Experts that measure the relevance of the features."""
        return [e for e in self._experts_with(DiagonalCells) if self._head(e).arguments["probes"]]

    # Events

    def _follow_anchors(self, t: int, before: State) -> None:
        """The features have another scale; `before` is the state of the scaling with the anchors so far."""
        if t == 2:
            self.widened[self._indices(LandmarkMap)] = 0.0
            self._engine.clear(self.outputs)
            self._engine.restore(self._engine.state() | {"rows": float(t), "stacked": float(t)})
            self._prepare()
            return
        state = self._engine.state()
        self._remap(state, lambda z: np.asarray(self._scaling.apply(unscaled(z, before))))
        if t <= LAST_CLEARING:
            self._clear_cells(state)
        self._engine.restore(state)
        if t <= LAST_CLEARING:
            self._fit_tables()

    def _widen_full_maps(self) -> None:
        """A landmark map that has just become full takes the width of all its landmarks."""
        full = [
            i for i in self._indices(LandmarkMap) if not self.widened[i] and self._maps[i].size == self._capacity(i)
        ]
        if full:
            with one_blas_thread():
                state = self._engine.state()
                self._remap(state, lambda z: z, full)
                self._engine.restore(state)

    def _remap(self, state: State, moved: Callable[[Array], Array], maps: list[int] | None = None) -> None:
        """Landmarks and stored rows go to other places; widths are taken again. Changes the state."""
        for i in self._indices(LandmarkMap) if maps is None else maps:
            self._remap_landmarks(state, i, moved)
        for i in self._indices(NeighbourMap) if maps is None else []:
            if state[f"map{i}/recent"].shape[1] < self.n_features:  # sketches cannot be scaled
                state[f"map{i}/recent"] = np.zeros((0, state[f"map{i}/recent"].shape[1]), dtype=np.float32)
                continue
            rows = moved(state[f"map{i}/recent"].astype(np.float64) / STEPS)
            steps = np.clip(np.rint(rows * STEPS), -LARGEST, LARGEST)
            state[f"map{i}/recent"] = np.ascontiguousarray(steps, dtype=np.float32)

    def _remap_landmarks(self, state: State, i: int, moved: Callable[[Array], Array]) -> None:
        kernel: Kernel = self.spec.arguments["maps"][i].arguments["kernel"].build(reference)
        own = part_of(state, f"map{i}/")
        old = own["landmarks"]
        if not len(old):
            return
        places = np.ascontiguousarray(moved(old))
        gamma = kernel.width_of(places) or own["gamma"]
        self.widened[i] = float(len(places) == self._capacity(i))
        for e in self._experts_on(i):
            mapped = remap(
                own | part_of(state, f"expert{e}/"),
                before=lambda x, z: kernel.gram(x, z, own["gamma"]),
                after=lambda x, z: kernel.gram(x, z, gamma),
                coordinates=places,
                ridge=RIDGE,
                prior=self._head(e).arguments.get("prior", 1.0),
            )
            _update(state, f"map{i}/", own.keys(), mapped | {"gamma": gamma})
            _update(state, f"expert{e}/", part_of(state, f"expert{e}/").keys(), mapped)

    def _clear_cells(self, state: State) -> None:
        """Forget the tables; the linear part stays."""
        for e in self._experts_with(DiagonalCells):
            state[f"expert{e}/cells"][:] = 0
            state[f"expert{e}/variances"][:] = self._head(e).arguments["variance"]
        for e in self._experts_with(ConstantCells):
            state[f"expert{e}/cells"][:] = 0

    def relevance(self) -> Array:
        """The relevance of each feature, 1 on average: its share of the increases of the loss (d,)."""
        probing = self._probing()
        if not probing:
            return np.ones(self.n_features)
        state = self._engine.state()
        increase = np.maximum(0.0, np.mean([state[f"expert{e}/relevance"] for e in probing], axis=0))
        total = float(increase.sum())
        if total <= 0:
            return np.ones(self.n_features)
        return np.asarray(LEAST_RELEVANCE + (1 - LEAST_RELEVANCE) * self.n_features * increase / total)

    def _redraw(self) -> None:
        """Once, where few features matter: measure distances by relevance and draw the grids again."""
        relevance = self.relevance()
        share = np.maximum(0.0, relevance - LEAST_RELEVANCE)
        if share.sum() <= 0 or share.sum() ** 2 / (share**2).sum() >= CONCENTRATED * self.n_features:
            return
        self.redrawn = 1.0
        metric = np.clip(relevance**METRIC_POWER, SMALLEST_METRIC, LARGEST_METRIC)
        state = self._engine.state()
        self._remap(state, lambda z: z * metric)
        self._clear_cells(state)
        for e in self._experts_with(DiagonalCells):
            state[f"expert{e}/linear"][:, :-1] /= metric
            state[f"expert{e}/linear_variances"][:-1] /= metric**2
        for e in self._probing():
            steps = np.rint(state[f"expert{e}/sample"] * metric)
            state[f"expert{e}/sample"] = np.clip(steps, -LARGEST, LARGEST).astype(np.float32)
        spec = self.spec
        for i in self._indices(CellMap):
            spec = with_argument(spec, i, relevance=relevance)
        self._rebuild(spec, state, self.outputs)
        self._scaling.restore(self._scaling.state() | {"metric": metric})

    def _rebuild(self, spec: Spec, state: State, outputs: int) -> None:
        """Continue with an engine of another spec."""
        engine = spec.build(self._module)
        engine.clear(outputs)
        engine.restore(state)
        self.spec, self._engine, self._maps = spec, engine, list(engine.maps)

    def _follow_target_anchor(self) -> None:
        """Targets have another unit: y' = g y + shift in the engine."""
        center, factor = self._target_center, self._target_factor
        state = self._target_scaling.state()
        self._target_center, self._target_factor = float(state["center"][0]), float(state["factor"][0])
        g = self._target_factor / factor if factor > 0 else 0.0
        g = g if g <= LARGEST_RESCALING else 0.0
        if g > 0:
            self._interval.rescale(g)
        shift = (center - self._target_center) * self._target_factor if g > 0 else 0.0
        state = self._engine.state()
        for i in self._indices(LandmarkMap):
            ones = unpack(state[f"map{i}/inverse"]).sum(axis=1)  # P 1
            for e in self._experts_on(i):
                state[f"expert{e}/weights"] = g * state[f"expert{e}/weights"] + shift * ones
        for e in [*self._experts_with(DiagonalCells), *self._experts_with(ConstantCells)]:
            state[f"expert{e}/cells"] *= np.float32(g)
        for e in self._experts_with(DiagonalCells):
            state[f"expert{e}/linear"] *= g
            state[f"expert{e}/linear"][:, -1] += shift
        for e in self._experts_with(Vote):
            targets = np.clip(g * state[f"expert{e}/targets"] + shift, -LARGEST_NUMBER, LARGEST_NUMBER)
            state[f"expert{e}/targets"] = targets.astype(np.float32)
        low, high = NOISE_RANGE
        state["residual_variance"] = min(high, max(low, state["residual_variance"] * g * g)) if g > 0 else START_NOISE
        state["errors"] = state["errors"] * g * g
        state["lowest"] = min(-SMALLEST_RANGE, g * state["lowest"] + shift)
        state["highest"] = max(SMALLEST_RANGE, g * state["highest"] + shift)
        self._engine.restore(state)

    # Classes and memory

    def rearrange_outputs(self, sources: list[int], signs: list[float]) -> None:
        """Output o becomes signs[o] times the old output sources[o]; sign 0 is a class not seen so far."""
        state, sign = self._engine.state(), np.array(signs)
        new, old = sign == 0, self.outputs
        for i in self._indices(LandmarkMap):
            ones = unpack(state[f"map{i}/inverse"]).sum(axis=1) if len(state[f"map{i}/landmarks"]) else np.zeros(0)
            for e in self._experts_on(i):
                weights = sign[:, None] * state[f"expert{e}/weights"][sources]
                weights[new] = -ones  # an output that has been -1 so far
                state[f"expert{e}/weights"] = np.ascontiguousarray(weights)
        logit = sign / 2 if old == 1 else sign  # one output is the difference of two
        for e in [*self._experts_with(DiagonalCells), *self._experts_with(ConstantCells)]:
            cells = state[f"expert{e}/cells"][:, sources] * logit.astype(np.float32)
            state[f"expert{e}/cells"] = np.ascontiguousarray(cells)
        for e in self._experts_with(DiagonalCells):
            linear = logit[:, None] * state[f"expert{e}/linear"][sources]
            linear[new, -1] = -math.log(self.rows + 1)
            state[f"expert{e}/linear"] = np.ascontiguousarray(linear)
        for e in self._experts_with(Vote):
            counts = state[f"expert{e}/counts"]
            state[f"expert{e}/counts"] = np.where(new, 0.0, counts[sources] if old > 1 else 0.0)
            if old == 1:
                state[f"expert{e}/targets"] = (state[f"expert{e}/targets"] > 0).astype(np.float32)
        self._change_outputs(state, len(signs))

    def _change_outputs(self, state: State, outputs: int) -> None:
        """Restore a state with more outputs, in no more memory than there is."""
        for fraction in FRACTIONS:
            sizes = buy(self.options.memory, self.options.sets, self.n_features, outputs, fraction).sizes
            for i in self._indices(LandmarkMap):
                if sizes[i] < self._capacity(i):
                    self._drop_landmarks(state, i, sizes[i])
            for i in self._indices(NeighbourMap):
                if sizes[i] < self.spec.arguments["maps"][i].arguments["windows"][-1]:
                    self._shorten_windows(state, i, sizes[i])
            while (excess := self.bytes_with(self.spec, outputs) - self.options.memory) > 0:
                if not self._fold_tables(state):
                    break
            if excess <= 0:
                break
        self._rebuild(self.spec, state, outputs)

    def check_outputs(self, outputs: int) -> None:
        """ValueError where so many outputs do not fit into the memory, however small the maps become."""
        spec, sizes = self.spec, buy(self.options.memory, self.options.sets, self.n_features, outputs, 0.0).sizes
        for i in self._indices(LandmarkMap):
            spec = with_argument(spec, i, capacity=min(sizes[i], self._capacity(i)))
        for i in self._indices(NeighbourMap):
            spec = with_argument(spec, i, windows=self._shorter_windows(i, sizes[i]))
        for i in self._indices(CellMap):
            spec = with_argument(spec, i, table=SMALLEST_TABLE)
        needed = self.bytes_with(spec, outputs)
        if needed > self.options.memory:
            raise ValueError(
                f"memory={self.options.memory} bytes is too little for {outputs} classes of {self.n_features} "
                f"features, which need {needed} bytes; choose a larger memory"
            )

    def bytes_with(self, spec: Spec, outputs: int | None = None) -> int:
        """Bytes of a learner of this spec with so many outputs; None: as many as now."""
        engine = spec.build(self._module)
        engine.clear(self.outputs if outputs is None else outputs)
        return int(engine.memory_bytes) + self.memory_bytes - int(self._engine.memory_bytes)

    def _fold_tables(self, state: State) -> bool:
        """Slots 2i and 2i + 1 become one, weighted by precision. An odd table begins again, half as large."""
        small = True
        for i in self._indices(CellMap):
            table = self.spec.arguments["maps"][i].arguments["table"]
            if table <= SMALLEST_TABLE:
                continue
            small = False
            if table % SMALLEST_TABLE:
                smaller = max(SMALLEST_TABLE, table // 2 // SMALLEST_TABLE * SMALLEST_TABLE)
                self.spec = with_argument(self.spec, i, table=smaller)
                self._empty_table(state, i, smaller)
                continue
            self.spec = with_argument(self.spec, i, table=table // 2)
            for e in self._experts_on(i):
                name = f"expert{e}/cells"
                if self._head(e).kind is DiagonalCells:
                    start = self._head(e).arguments["variance"]
                    pairs = state[f"expert{e}/variances"].astype(np.float64).reshape(-1, 2)
                    precision = 1 / pairs - 1 / start + 1e-3
                    total = precision.sum(axis=1)
                    cells = state[name].reshape(table // 2, 2, -1)
                    folded = (cells * precision[:, :, None]).sum(axis=1) / total[:, None]
                    state[f"expert{e}/variances"] = (1 / (total + 1 / start)).astype(np.float32)
                else:
                    folded = state[name].reshape(len(state[name]) // 2, 2, -1).mean(axis=1)
                state[name] = np.ascontiguousarray(folded, dtype=np.float32)
        return not small

    def _shorter_windows(self, i: int, rows: int) -> Array:
        """Windows of at most so many rows; as many of them as before."""
        windows: Array = self.spec.arguments["maps"][i].arguments["windows"]
        order = np.arange(len(windows))
        least = self.spec.arguments["maps"][i].arguments["neighbours"] + order
        shorter = np.maximum(np.floor(windows * min(1.0, rows / windows[-1])), least)
        return np.asarray(np.maximum.accumulate(shorter - order) + order)  # ascending

    def _shorten_windows(self, state: State, i: int, rows: int) -> None:
        windows = self._shorter_windows(i, rows)
        self.spec = with_argument(self.spec, i, windows=windows)
        state[f"map{i}/recent"] = np.ascontiguousarray(state[f"map{i}/recent"][-int(windows[-1]) :])
        for e in self._experts_on(i):
            size = int(windows[self._head(e).arguments["window"]])
            state[f"expert{e}/targets"] = np.ascontiguousarray(state[f"expert{e}/targets"][-size:])

    def _drop_landmarks(self, state: State, i: int, m: int) -> None:
        """The first m landmarks stay; the model becomes what it is given them."""
        self.spec = with_argument(self.spec, i, capacity=m)
        own = part_of(state, f"map{i}/")
        if len(own["landmarks"]) <= m:
            return
        kernel: Kernel = self.spec.arguments["maps"][i].arguments["kernel"].build(reference)
        places = np.ascontiguousarray(own["landmarks"][:m])
        gram = kernel.gram(places, places, own["gamma"])
        cross = kernel.gram(places, own["landmarks"], own["gamma"])
        for e in self._experts_on(i):
            prior = self._head(e).arguments.get("prior", 1.0)
            mapped = relocate(own | part_of(state, f"expert{e}/"), places, gram, cross, prior)
            first = {name: np.ascontiguousarray(own[name][:m]) for name in BY_LANDMARK & own.keys()}
            _update(state, f"map{i}/", own.keys(), mapped | first)
            _update(state, f"expert{e}/", part_of(state, f"expert{e}/").keys(), mapped)

    def _fit_tables(self) -> None:
        """Tables as large as the memory allows, while they are empty."""
        tables = self._indices(CellMap)
        if not tables:
            return
        spec = fitted(self.spec, self.bytes_with, self.options.memory)
        if spec is None or spec == self.spec:
            return
        state = self._engine.state()
        for i in tables:
            self._empty_table(state, i, spec.arguments["maps"][i].arguments["table"])
        self._rebuild(spec, state, self.outputs)

    def _empty_table(self, state: State, i: int, table: int) -> None:
        """Cells of another number, with nothing learned in them."""
        for e in self._experts_on(i):
            slow = self._head(e).kind is DiagonalCells
            slots, outputs = table if slow else -(-table // FOLD), state[f"expert{e}/cells"].shape[1]
            state[f"expert{e}/cells"] = np.zeros((slots, outputs), dtype=np.float32)
            if slow:
                state[f"expert{e}/variances"] = np.full(slots, self._head(e).arguments["variance"], dtype=np.float32)

    # State

    def _fields(self) -> list[Field]:
        shape = (len(self.widened),)
        return [
            Field(self, "mean_weight", low=0.0),
            Field(self, "redrawn", whole=True, low=0.0),
            Field(self, "widened", shape, whole=True, low=0.0, high=1.0),
        ]

    def state(self) -> State:
        state = super().state() | export(self._fields())
        for name, part in self._parts.items():
            state |= {f"{name}/{key}": value for key, value in part.state().items()}
        return state

    def restore(self, state: State) -> None:
        for field in self._fields():
            check_field(field, state, {})
        before = {name: part.state() for name, part in self._parts.items()}
        try:
            for name, part in self._parts.items():
                part.restore(part_of(state, f"{name}/"))
            super().restore(state)
        except BaseException:
            for name, part in self._parts.items():
                part.restore(before[name])
            raise
        for field in self._fields():
            field.set(state[field.key])
        self._reported = self.rows
        self._prepare()


NAMES = {
    Newton: "landmarks",
    LMS: "landmarks, fast",
    DiagonalCells: "cells",
    ConstantCells: "cells, fast",
}


def next_redraw(t: int) -> int:
    """The first row after t at which grids may be drawn again."""
    row = FIRST_REDRAW
    while row <= t:
        row *= REDRAW_FACTOR
    return row


def expert_name(map: Spec, head: Spec) -> str:
    """What an expert is called in summaries."""
    if head.kind is Vote:
        return f"neighbours, last {int(map.arguments['windows'][head.arguments['window']]):,} rows"
    return NAMES.get(head.kind, str(head.kind.__name__))


def unscaled(z: Array, anchors: State) -> Array:
    """Rows (n, d) in input units, from z and a state of `RobustScaling`; constant features have their centre."""
    center, factor = anchors["center"], anchors["factor"]
    q = z / anchors["metric"]
    size = np.abs(q)
    q = np.where(size > 1, np.copysign(np.exp(np.minimum(size, LARGEST_Z) - 1), q), q)
    return np.asarray(np.divide(q, factor, out=np.zeros_like(q), where=factor > 0) + center)


def _update(state: State, prefix: str, names: Any, values: State) -> None:
    state.update({prefix + name: values[name] for name in names})


def fitted(spec: Spec, measure: Callable[[Spec], int], memory: int) -> Spec | None:
    """The spec with tables that just fit into the memory; None where no table fits."""
    tables = [i for i, map in enumerate(spec.arguments["maps"]) if map.kind is CellMap]
    if not tables:
        return spec if measure(spec) <= memory else None
    sized = spec
    for i in tables:
        sized = with_argument(sized, i, table=SLOTS)
    smallest = measure(sized)
    for i in tables:
        sized = with_argument(sized, i, table=2 * SLOTS)
    slot = (measure(sized) - smallest) / SLOTS  # bytes of a slot in all tables
    table = SLOTS * int(1 + (memory - smallest) / (slot * SLOTS))
    while table >= SLOTS:
        for i in tables:
            sized = with_argument(sized, i, table=table)
        if measure(sized) <= memory:
            return sized
        table -= SLOTS
    return None


def stream_learner(options: StreamOptions, features: int, outputs: int) -> StreamLearner:
    """A learner whose maps are as large as the memory allows."""
    sets = options.sets
    for fraction in FRACTIONS:
        sizes = buy(options.memory, sets, features, outputs, fraction)
        spec = spec_of(sets, sizes, features, options.number, options.seed)
        learner = StreamLearner(spec, options, features, outputs)
        fits = fitted(spec, learner.bytes_with, options.memory)
        if fits is not None:
            return StreamLearner(fits, options, features, outputs)
    raise ValueError(
        f"memory={options.memory} bytes is too little for {features} features: this learner needs at least "
        f"{learner.memory_bytes} bytes; choose a larger memory"
    )
