"""The driver of the default learner: linear, landmarks, cells and neighbours behind a stack, in a fixed memory.

The engine learns. This file decides when something is re-estimated, always after a row whose number is fixed, so that a
block may be split anywhere; `rescaling`, `relevance`, `outputs` and `capacity` say what then happens to the state:

- rows are scaled by `RobustScaling`; at its anchors (2, 4, ..., 512 rows) landmarks are re-mapped, stored rows scaled
  again, and cells are cleared (up to 256 rows; at 2 rows everything starts again);
- the kernel width is 1 / median squared distance of the landmarks, taken at the anchors and once they are full;
- at 512, 1024 and 2048 rows, and at 2048 4^k rows once if few features matter: rows are scaled by the relevance of the
  features, the grids are drawn again, the cells cleared and the landmarks re-mapped;
- a new class may need memory: then tables fold, and where that is not enough, windows and landmarks become fewer; up
  to 256 rows, where every anchor clears the cells, a new class clears them too.

In a part of a merge (`frozen`) nothing is re-estimated; only a new class changes its maps.

Wide sparse rows go through a `FeatureTable`: the linear expert learns on the non-zeros, all others on the sketch of a
row, as if its 64 sums were the features.
"""

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana import engine as numpy_engine
from nolana.engine.base.bounds import Count, Seed
from nolana.engine.base.state import Field, export
from nolana.engine.base.state import check as check_field
from nolana.engine.base.threads import one_blas_thread
from nolana.engine.experts.bins.bin_map import BinMap
from nolana.engine.experts.landmarks.landmark_map import LandmarkMap
from nolana.engine.experts.linear.identity_map import IdentityMap
from nolana.engine.experts.neighbours.neighbour_map import WIDEST, NeighbourMap
from nolana.engine.experts.sparse_linear.linear_map import LinearMap
from nolana.engine.learner.learner import Learner
from nolana.engine.learner.robust_scaling import CHECK_EVERY, LAST_ANCHOR, unscaled
from nolana.experts import ExpertSet, Linear
from nolana.learner.budget import FRACTIONS, buy, counters_of, dense_features, has_linear, regrid, spec_of
from nolana.learner.capacity import fitted, padded_outputs, shrunk, smallest
from nolana.learner.driver import Array, Driver, State, part_of
from nolana.learner.expert_summary import expert_records, sizes_of
from nolana.learner.feature_slots import KEYS, SCALES, slots_of
from nolana.learner.layout import argument_of, is_unsquashed, maps_of, parts_on, probing, with_argument
from nolana.learner.merging import thawed
from nolana.learner.outputs import is_appended, rearrange
from nolana.learner.relevance import (
    FIRST_REDRAW,
    LEAST_RELEVANCE,
    is_concentrated,
    is_probed,
    metric_of,
    next_redraw,
    relevance_of,
    slope_rows,
    slopes_of,
)
from nolana.learner.rescaling import (
    RIDGE,
    change_features,
    change_unit,
    in_unit_of,
    move_range,
    move_rows,
    multiply_features,
    remap_landmarks,
    rescale_targets,
)
from nolana.learner.rows import SparseRows
from nolana.learner.weights import relative
from nolana.modelfile.specs import Spec

CHECK_FULL = 64  # rows between checks whether the landmarks have become full
LAST_CLEARING = 256  # rows up to which an anchor clears the cells
LEVELS = np.array([0.5, 0.8, 0.9, 0.95, 0.99])  # of intervals
LARGEST_RESCALING = 100.0  # of targets: beyond, one wild target had set the old unit, and nothing learned in it counts


OF_THE_STACK = ["stack_weights", "information", "calibration", "calibration_information"]
# What is learned from the experts' errors on rows that they have not seen.
JUDGEMENT = [*OF_THE_STACK, "errors", "residual_variance", "lowest", "highest", "bias"]


@dataclass(frozen=True)
class StreamOptions:
    """memory: bytes that state and scratch never exceed; experts: specs of expert sets; number: targets are numbers."""

    memory: Count
    experts: list[ExpertSet]  # as specs
    number: bool
    seed: Seed

    @property
    def sets(self) -> list[ExpertSet]:
        return [each.build(numpy_engine) for each in self.experts]  # type: ignore[attr-defined]


class StreamLearner(Driver):
    """Several experts; rows in the units of the input, targets of one number in theirs."""

    options_class = StreamOptions
    options: StreamOptions
    _new_class = False  # whether the next row is the first of its class: the stack learns nothing from it

    def __init__(self, spec: Spec, options: StreamOptions, features: int, outputs: int) -> None:
        super().__init__(spec, options, features, outputs)
        self.width = self.engine_features(options, features)  # of the rows that all maps but the linear one take
        self._scaling: Any = self._module.RobustScaling(self.width)
        self._parts: dict[str, Any] = {"scaling": self._scaling}
        self.sparse = bool(maps_of(spec, LinearMap))
        if self.sparse:
            self._parts["features"] = self._feature_table(spec)
        if options.number:
            self._target_scaling: Any = self._module.RobustScaling(1, follows_level=False)
            self._interval: Any = self._module.IntervalWidth(LEVELS)
            self._parts |= {"target_scaling": self._target_scaling, "interval": self._interval}
        self.mean_weight, self.redrawn = 0.0, 0.0
        # For each map 1 where its width is that of full landmarks, or where it has none.
        self.widened: Array = np.array([float(map.kind is not LandmarkMap) for map in spec.arguments["maps"]])
        self._reported = 0  # the last row whose alarm was asked for
        self._fitted_to: tuple[int, int] | None = None  # outputs and other bytes that the tables were fitted to
        self._prepare()

    @classmethod
    def check(cls, spec: Spec, options: StreamOptions) -> None:
        if spec.kind is not Learner or spec.arguments["combiner"] is None:
            raise ValueError("this driver runs a learner with a combiner")

    @classmethod
    def engine_features(cls, options: StreamOptions, features: int) -> int:
        return dense_features(options.sets, features)

    def _feature_table(self, spec: Spec) -> Any:
        """An empty table with a slot for each place of the linear map."""
        table = argument_of(spec, maps_of(spec, LinearMap)[0], "table")
        return self._module.FeatureTable(self.n_features, table, counters_of(self.options.memory, self.n_features))

    def _sketch(self, starts: NDArray[np.int64], indices: NDArray[np.int32], values: Array) -> Array:
        sketch: Array = self._module.sketch_rows(starts, indices, values, self.width, self.options.seed)
        return sketch

    def _prepare(self) -> None:
        """What follows from the state of the engine and of the scaling."""
        self._maps: list[Any] = list(self._engine.maps)
        for i in maps_of(self.spec, LandmarkMap):
            if not self._maps[i].size:
                self._maps[i].gamma = 1 / (2 * self.width)  # about right for standardised features
                self._maps[i].ridge = RIDGE
        self._can_redraw = bool(probing(self.spec))
        self._unsquashed = is_unsquashed(self.spec)
        self._target_center, self._target_factor = 0.0, 0.0
        if self.options.number:
            state = self._target_scaling.state()
            center = state["center" if self.rows > 1 else "mean"]  # before the first anchor: the first target
            self._target_center, self._target_factor = float(center[0]), float(state["factor"][0])
        self._next_event = self.rows + self._rows_to_event()  # the row after which something may be re-estimated

    # Reading

    @property
    def rows(self) -> int:
        return int(self._scaling.rows)

    @property
    def memory_bytes(self) -> int:
        return super().memory_bytes + sum(int(part.memory_bytes) for part in self._parts.values())

    def scores(self, x: Array | SparseRows) -> Array:
        if not self.sparse:
            return self._from_engine(super().scores(self._scaling.apply(x)))
        starts, indices, values = SparseRows.of(x).parts
        slots, z = self._parts["features"].apply(starts, indices, values)
        dense = self._scaling.apply(self._sketch(starts, indices, z))
        scores: Array = self._engine.scores_sparse(dense, starts, slots, z)
        return self._from_engine(self._warn_if_diverged(scores))

    def centre(self) -> Array:
        return np.asarray(self._scaling.state()["center"])

    def half_width(self, level: float) -> float:
        """Of the interval that covers this share of the targets, in their units."""
        return float(self._interval.half_width(level)) / self._target_factor if self._target_factor > 0 else 0.0

    def experts(self) -> list[dict[str, Any]]:
        """For each expert its name, its weight in the stack, its recent score and its bytes."""
        factor = self._target_factor if self.options.number else None
        return expert_records(self.spec, self._engine.state(), factor)

    def sizes(self) -> dict[str, int]:
        """What the memory bought."""
        return sizes_of(self.spec)

    def relevance(self) -> Array:
        """The relevance of each feature, 1 on average (d,)."""
        measured = self._engine.state([f"expert{e}/relevance" for e in probing(self.spec)])
        return relevance_of(self.spec, measured, self.n_features)

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

    def remedies(self) -> list[str]:
        """Features are scaled, and there is no step to shorten."""
        return ["remove outliers from X and y"]

    # Learning

    def learn(
        self, x: Array | SparseRows, y: Array, weight: Array | None = None, class_weight: Array | None = None
    ) -> Array:
        """What each row scored before it was learned; (n,) weights of the rows and of their classes, mean 1."""
        weight, self.mean_weight = relative(weight, class_weight, len(x), self.rows, self.mean_weight)
        return super().learn(x, y, weight)

    def _learn(self, x: Array | SparseRows, y: Array, weight: Array | None) -> Array:
        x = SparseRows.of(x) if self.sparse else x
        if len(x) <= self._next_event - self.rows and not self._new_class:  # no event between the rows
            return self._learn_part(x, y, weight)
        scores = np.empty(y.shape)
        start = 0
        while start < len(x):
            # At least one row: a user may have interrupted an event.
            stop = min(len(x), start + max(1, self._next_event - self.rows))
            before = None
            if self._new_class:
                stop, before = start + 1, self._engine.state(OF_THE_STACK)
            scores[start:stop] = self._learn_part(
                x[start:stop], y[start:stop], None if weight is None else weight[start:stop]
            )
            if before is not None:
                self._engine.restore_part(before)
                self._new_class = False
            start = stop
        return scores

    def _learn_part(self, x: Array | SparseRows, y: Array, weight: Array | None) -> Array:
        """Rows between two events."""
        targets = self._to_engine(y)
        judgement = self._engine.state(JUDGEMENT) if self.repeats else {}
        if isinstance(x, SparseRows):
            starts, indices, values = x.parts
            features = self._parts["features"]
            if self.frozen:
                slots, z = features.apply(starts, indices, values)
            else:
                slots, z = features.advance(starts, indices, values, weight)
            dense = self._scaled(self._sketch(starts, indices, z), weight)
            scores: Array = self._engine.learn_sparse(dense, starts, slots, z, targets, weight)
        else:
            scores = self._engine.learn(self._scaled(x, weight), targets, weight)
        if judgement:
            self._engine.restore_part(judgement)
        if self.options.number:
            learned = slice(None) if weight is None else weight > 0
            if not self.repeats:
                self._interval.observe(np.ascontiguousarray((targets - scores)[learned, 0]))
            self._target_scaling.observe(np.ascontiguousarray(y[learned]))
            scores = self._from_engine(scores)
        if self.rows >= self._next_event:
            self._after()
            self._next_event = self.rows + self._rows_to_event()
        return scores

    def _scaled(self, x: Array, weight: Array | None) -> Array:
        """Rows as the maps see them, observed by the scaling."""
        z: Array = self._scaling.advance(x, weight, late_anchors=not self.frozen and not self._unsquashed)
        return z

    def _rows_to_event(self) -> int:
        """Rows until something may have to be re-estimated."""
        if self.frozen:
            return 1 << 62
        t = self.rows
        if t == 0 and self.options.number:
            due = 1
        elif t < LAST_ANCHOR:
            due = int(self._scaling.rows_to_anchor())
        elif self.options.number:
            due = CHECK_EVERY - t % CHECK_EVERY
        else:
            due = 1 << 62
        if self._can_redraw and not self.redrawn:
            due = min([due, next_redraw(t) - t, *(row - t for row in slope_rows(self.n_features) if row > t)])
        if not self.widened.all():
            due = min(due, CHECK_FULL - t % CHECK_FULL)
        return due

    def _after(self) -> None:
        """What is due now that rows have been learned."""
        t = self.rows
        if t == 1:  # of numbers: until the first anchor all predictions are the first target
            self._target_center = float(self._target_scaling.state()["mean"][0])
            return
        if self._can_redraw and not self.redrawn and t >= FIRST_REDRAW and next_redraw(t - 1) == t:
            with one_blas_thread():
                self._redraw_by_probes()
        if t <= LAST_ANCHOR and t & (t - 1) == 0:
            anchors = self._scaling.state()
            if self._scaling.anchor().any():
                with one_blas_thread():
                    self._follow_anchors(t, anchors)
        else:
            if t % CHECK_FULL == 0:
                self._widen_full_maps()
            if t % CHECK_EVERY == 0 and self._unsquashed:
                self._follow_late_anchors()
        if self._can_redraw and not self.redrawn and t in slope_rows(self.n_features):
            with one_blas_thread():
                self._redraw(self._slopes())
        if self.options.number and (t <= LAST_ANCHOR or t % CHECK_EVERY == 0) and self._target_scaling.anchor().any():
            self._follow_target_anchor()

    def thaw(self) -> None:
        """Forget as one process would have done; measure the relevance that was due while the maps were frozen."""
        assert self.origin is not None
        before, t = self.origin.rows, self.rows
        super().thaw()
        with one_blas_thread():
            state = self._engine.state()
            self._engine.restore(state | thawed(self.spec, state, t - before))
            self._prepare()
            if self._can_redraw and not self.redrawn and next_redraw(before) <= t:
                self._redraw_by_probes()
            if self._can_redraw and not self.redrawn and any(before < row <= t for row in slope_rows(self.n_features)):
                self._redraw(self._slopes())
        self._next_event = self.rows + self._rows_to_event()

    # Events

    def _follow_anchors(self, t: int, before: State) -> None:
        """The features have another scale; `before` is the state of the scaling with the anchors so far."""
        if t == 2:
            self.widened[maps_of(self.spec, LandmarkMap)] = 0.0
            self._engine.clear(self.outputs)
            self._engine.restore_part({"rows": float(t), "stacked": float(t)})
            self._prepare()
            return
        recent = [f"map{i}/" for i in maps_of(self.spec, NeighbourMap)]
        carried = maps_of(self.spec, LandmarkMap) + maps_of(self.spec, IdentityMap)
        own = [""] if t <= LAST_CLEARING else parts_on(self.spec, carried) + recent
        state = self._engine.state(own, tables=False)
        move_rows(self.spec, state, lambda z: np.asarray(self._scaling.apply(unscaled(z, before))))
        change_features(self.spec, state, before, self._scaling.state())
        if t <= LAST_CLEARING:
            self._engine.restore(state, tables=False)
        elif self.width > WIDEST:  # stored rows are sketches, which were forgotten
            self._engine.restore(self._engine.state() | state)
        else:
            self._engine.restore_part(state)
        self._note_widths()
        if t <= LAST_CLEARING:
            self._fit_tables()

    def _follow_late_anchors(self) -> None:
        """The linear expert follows features that have another anchor; all others learn in terms of it."""
        before = self._scaling.state()
        if not self._scaling.anchor().any():
            return
        with one_blas_thread():
            state = self._engine.state(parts_on(self.spec, maps_of(self.spec, IdentityMap)))
            after = self._scaling.state()
            change_features(self.spec, state, in_unit_of(before, after), after)
            self._engine.restore_part(state)

    def _widen_full_maps(self) -> None:
        """A landmark map that has just become full takes the width of all its landmarks."""
        full = [i for i in maps_of(self.spec, LandmarkMap) if not self.widened[i] and self._is_full(i)]
        if full:
            with one_blas_thread():
                state = self._engine.state(parts_on(self.spec, full))
                for i in full:
                    remap_landmarks(self.spec, state, i)
                self._engine.restore_part(state)
            self._note_widths()

    def _is_full(self, map: int) -> bool:
        return bool(self._maps[map].size == argument_of(self.spec, map, "capacity"))

    def _note_widths(self) -> None:
        """All landmark maps have just been re-mapped, or have the width of full landmarks already."""
        for i in maps_of(self.spec, LandmarkMap):
            self.widened[i] = float(self._is_full(i))

    def _slopes(self) -> Array | None:
        scaling = self._scaling.state()
        middle = self._scaling.apply(scaling["mean"][None])[0]
        state = self._engine.state(parts_on(self.spec, maps_of(self.spec, LandmarkMap)))
        return slopes_of(self.spec, state, scaling["metric"], middle)

    def _redraw_by_probes(self) -> None:
        """Once, where few features matter."""
        relevance = self.relevance()
        probed = self._engine.state([f"expert{e}/probed" for e in probing(self.spec)])
        if is_probed(self.spec, probed) and is_concentrated(relevance):
            self.redrawn = 1.0
            slopes = self._slopes()
            self._redraw(np.sqrt(relevance) if slopes is None else np.sqrt(relevance * slopes))

    def _redraw(self, relevance: Array | None) -> None:
        """Measure distances by relevance and draw the grids again; None: it is not known."""
        if relevance is None:
            return
        before = self._scaling.state()["metric"]
        metric, state, spec = metric_of(relevance), self._engine.state(tables=False), self.spec
        multiply_features(spec, state, metric / before)
        for i in maps_of(spec, BinMap):
            spec = with_argument(spec, i, relevance=np.maximum(LEAST_RELEVANCE, np.sqrt(relevance)))
        self._rebuild(spec, state, self.outputs)
        self._note_widths()
        self._scaling.restore(self._scaling.state() | {"metric": metric})

    def _rebuild(self, spec: Spec, state: State, outputs: int, tables: bool = False) -> None:
        """Continue with an engine of another spec; without `tables` those are empty."""
        engine = spec.build(self._module)
        engine.reserve(self._room(spec, outputs))
        engine.restore(state, tables)
        self.spec, self._engine, self._maps = spec, engine, list(engine.maps)

    def _follow_target_anchor(self) -> None:
        """Targets have another scale: y' = g y + shift in the engine."""
        center, factor = self._target_center, self._target_factor
        anchors = self._target_scaling.state()
        self._target_center, self._target_factor = float(anchors["center"][0]), float(anchors["factor"][0])
        g = self._target_factor / factor if factor > 0 else 0.0
        shift = (center - self._target_center) * self._target_factor if g > 0 else 0.0
        state = self._engine.state()
        move_range(state, g, shift)
        if self.rows > LAST_ANCHOR:
            kept = change_unit(self.spec, state, g, shift)
        else:
            kept, shift = (g, shift) if g <= LARGEST_RESCALING else (0.0, 0.0)
            rescale_targets(self.spec, state, kept, shift)
        if kept > 0:
            self._interval.rescale(kept)
        self._engine.restore(state)

    # Classes and memory

    def rearrange_outputs(self, sources: list[int], signs: list[float]) -> None:
        outputs, memory = len(signs), self.options.memory
        if outputs <= self._engine.room and is_appended(sources, signs, self.outputs):
            self._engine.append_output()
            self._new_class = True
            return
        spec = None
        if self.rows < LAST_CLEARING and not self.frozen:  # the next anchor clears the cells in any case
            spec = self._fitted(regrid(self.spec, self.options.sets, memory, self.outputs, outputs), outputs)
        tables = spec is None
        state = self._engine.state(tables=tables)
        rearrange(self.spec, state, self.outputs, sources, signs)
        features = self._parts["features"].state() if self.sparse else {}
        if self.sparse:
            state |= slots_of(self.n_features, features)
        if spec is None:
            measure = functools.partial(self.bytes_with, outputs=padded_outputs(outputs))
            smaller = (buy(memory, self.options.sets, self.n_features, outputs, fraction) for fraction in FRACTIONS)
            spec = shrunk(self.spec, state, smaller, measure, memory)
        self._rebuild(spec, state, outputs, tables)
        self._new_class = True
        self._fitted_to = None if tables else (self._engine.room, self._other_bytes)  # shrunk tables may have room
        if self.sparse:
            self._parts["features"] = self._feature_table(spec)
            self._parts["features"].restore(features | {"keys": state[KEYS], "scales": state[SCALES]})

    def check_outputs(self, outputs: int) -> None:
        """ValueError where so many outputs do not fit into the memory, however small the maps become."""
        if outputs <= self._engine.room:
            return
        needed = self.least_bytes(outputs)
        if needed > self.options.memory:
            enough = size_text(memory_for(self.options, self.n_features, outputs))
            raise ValueError(
                f"{outputs:,} classes of {self.n_features:,} features need at least {needed:,} bytes, and the memory "
                f'is {self.options.memory:,}; memory="{enough}" is enough'
            )

    def least_bytes(self, outputs: int) -> int:
        """Bytes with so many outputs and maps as small as they may be."""
        sizes = buy(self.options.memory, self.options.sets, self.n_features, outputs, 0.0)
        return self.bytes_with(smallest(self.spec, sizes), outputs)

    @property
    def _other_bytes(self) -> int:
        """What is not the engine's."""
        return self.memory_bytes - int(self._engine.memory_bytes)

    def bytes_with(self, spec: Spec, outputs: int | None = None) -> int:
        """Bytes of a learner of this spec with so many outputs; None: as many as now."""
        engine = spec.build(self._module)
        engine.clear(self.outputs if outputs is None else outputs)
        other = self._other_bytes
        if self.sparse:
            other += int(self._feature_table(spec).memory_bytes) - int(self._parts["features"].memory_bytes)
        return int(engine.memory_bytes) + other

    def _room(self, spec: Spec, outputs: int) -> int:
        """Outputs that the arrays of so many have room for: more, if the memory is enough for them."""
        room = padded_outputs(outputs)
        return room if room == outputs or self.bytes_with(spec, room) <= self.options.memory else outputs

    def _fitted(self, spec: Spec, outputs: int) -> Spec | None:
        """The spec with tables that just fit, with room for more outputs or without; None where no table fits."""
        for room in dict.fromkeys((padded_outputs(outputs), outputs)):
            sized = fitted(spec, functools.partial(self.bytes_with, outputs=room), self.options.memory)
            if sized is not None:
                return sized
        return None

    def _fit_tables(self) -> None:
        """Tables as large as the memory allows, while they are empty."""
        fits = self._engine.room, self._other_bytes
        if fits == self._fitted_to:
            return
        self._fitted_to = fits
        spec = self._fitted(self.spec, self.outputs)
        if spec is None or spec == self.spec:
            return
        self._rebuild(spec, self._engine.state(tables=False), self.outputs)

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
        room = self._room(self.spec, self.outputs)
        if room > self._engine.room:
            self._engine.reserve(room)
            super().restore(state)
        self._reported = self.rows
        self._prepare()


def size_for(needed: int) -> int:
    """A round number of bytes with room to spare.

    >>> size_for(40_000) // 1024, size_for(4_271_184) / 2**20
    (64, 5.0)
    """
    kilobytes = -(-needed // 1024)
    return 1024 << (kilobytes - 1).bit_length() if kilobytes <= 512 else -(-needed // 2**20) << 20


def size_text(memory: int) -> str:
    """A round number of bytes, as users write it.

    >>> size_text(64 << 10), size_text(5 << 20)
    ('64KB', '5MB')
    """
    return f"{memory >> 10}KB" if memory < 1 << 20 else f"{memory >> 20}MB"


def memory_for(options: StreamOptions, features: int, outputs: int) -> int:
    """A round number of bytes that is enough for so many classes.

    A larger memory may have sets that a smaller one has not, and finer grids, so it is measured.
    """
    memory, needed = options.memory, options.memory + 1
    while needed > memory:
        memory = size_for(needed)
        sets: list[Any] = list(options.experts)
        if has_linear(memory, features) and not any(isinstance(each, Linear) for each in options.sets):
            sets.append(Spec(Linear))
        needed = stream_learner(replace(options, memory=memory, experts=sets), features, 1).least_bytes(outputs)
    return memory


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
        f"{features:,} features need at least {learner.memory_bytes:,} bytes, and the memory is {options.memory:,}; "
        f'memory="{size_text(size_for(learner.memory_bytes))}" is enough'
    )
