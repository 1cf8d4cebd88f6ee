"""The driver of the default learner: several experts behind a stack, in a fixed memory.

The engine learns rows. The driver cuts blocks at events, always after a row whose number is fixed, so that a block may
be split anywhere: `schedule` says when, `events` what then happens, and the experts how their part of the state
follows. In a part of a merge (`frozen`) nothing is re-estimated; only a new class changes its maps (`fitting`).

Wide sparse rows go through a `FeatureTable`: the sparse linear expert learns on the non-zeros, all others on the sketch
of a row, as if its 64 sums were the features.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from typing import Annotated, Any

import numpy as np

from nolana import engine as numpy_engine
from nolana.engine.base.bounds import Count, Range, Seed
from nolana.engine.base.state import Field, export
from nolana.engine.base.state import check as check_field
from nolana.engine.base.threads import one_blas_thread
from nolana.engine.experts.neighbours.neighbour_map import WIDEST
from nolana.engine.learner.lags import COLUMNS, KNOWN, MOST, WAYS
from nolana.engine.learner.learner import Learner
from nolana.engine.learner.robust_scaling import unscaled
from nolana.errors import OptionError, Remedy
from nolana.experts.base import (
    Expert,
    ExpertState,
    Outputs,
    heads_by_map,
    joined_state,
    prefixes,
)
from nolana.experts.effects import Effects
from nolana.experts.landmarks import RIDGE, Landmarks
from nolana.experts.linear import Linear, has_full_covariance
from nolana.experts.sparse_linear import SparseLinear, counters
from nolana.learner import novelty, stack
from nolana.learner.changes import CHECK_EVERY, WATCHED, Changes, compared, next_check, watched
from nolana.learner.driver import NEVER, Array, Driver, State, check_units, relative
from nolana.learner.fitting import rebuild_for, room_for
from nolana.learner.memory import (
    FRACTIONS,
    dense_features,
    fitted,
    learner_spec,
    size_for,
    size_text,
    sizes_for,
    smallest,
)
from nolana.learner.relevance import relevance
from nolana.learner.rows import SparseRows
from nolana.learner.schedule import EVENTS
from nolana.modelfile.specs import Spec

LEVELS = np.array([0.5, 0.8, 0.9, 0.95, 0.99])  # of intervals and label sets
ROWS_PER_BYTE, RING_ROWS = 1 / 512, (64, 4096)  # of the ring of targets in which seasons are found
SERIES_SHARE = 1 / 2  # of the memory, for the table of series


@dataclass(frozen=True)
class StreamOptions:
    """memory: bytes that state and scratch never exceed; experts: specs of experts; number: targets are numbers.

    lag: the target of a row is known when the row so many rows later is scored; 0: targets are no input. group: the
    column that names the series of a row; -1: there is one. conformal: whether classes have label sets, and intervals a
    width for each row; learners of files before 0.3 have neither.
    """

    memory: Count
    experts: list[Expert]  # as specs
    number: bool
    seed: Seed
    categories: list[int] = dataclass_field(default_factory=list)  # columns that hold keys of categories
    lag: Annotated[int, Range(0, MOST)] = 0
    group: Annotated[int, Range(-1, 2**31)] = -1
    conformal: bool = False

    @property
    def task(self) -> str:
        return "regression" if self.number else "classification"

    def width(self, features: int) -> int:
        """Features of rows with what is known of earlier targets."""
        return features + (COLUMNS if self.lag and self.number else 0)

    def built(self, features: int) -> list[Expert]:
        """The experts for rows of so many features."""
        width = self.width(features)
        return [each.build(numpy_engine).for_rows(width) for each in self.experts]  # type: ignore[attr-defined]

    def lags(self, module: Any) -> Any:
        """The unit that knows earlier targets."""
        slots = 0
        if self.group >= 0:
            slots = max(1, int(SERIES_SHARE * self.memory) // (4 * (2 * self.lag + 4) * WAYS)) * WAYS
        least, most = RING_ROWS
        rows = 1 << int(min(most, max(least, self.memory * ROWS_PER_BYTE))).bit_length() - 1
        rows = max(2 * self.lag, rows if self.number and not slots else 2)
        return module.Lags(self.lag, rows, not self.number, slots, max(0, self.group))


class StreamLearner(Driver):
    """Several experts; rows in the units of the input, targets of one number in theirs."""

    options_class = StreamOptions
    events = EVENTS
    options: StreamOptions
    regression: bool
    extrapolates: bool  # whether an expert follows late anchors
    _past: tuple[Any, int, Array] | None  # engine, row, distances of stored rows (`novelty`), until the next row

    def __init__(self, spec: Spec, options: StreamOptions, features: int, outputs: int) -> None:
        self._experts = options.built(features)
        self.regression = options.number
        self.width = self.engine_features(options, features)  # of the rows that all maps but the linear one take
        self.sparse = any(isinstance(each, SparseLinear) for each in self.experts)
        self._units: dict[str, Any] = {}
        super().__init__(spec, options, features, outputs)
        self.scaling: Any = self.engine.scaling
        self.target_scaling: Any = self.engine.target_scaling
        self.interval: Any = self.engine.interval
        self.mean_weight, self.redrawn = 0.0, 0.0
        # For each map 1 if its width is that of full landmarks, or if it has none.
        self.widened: Array = np.array([float(not isinstance(each, Landmarks)) for each in self.experts])
        self._reported = 0  # the last row whose alarm was asked for
        self._changes = Changes()
        self.fitted_to: tuple[int, int] | None = None  # outputs and other bytes that the tables were fitted to
        self.prepare()

    @classmethod
    def check(cls, spec: Spec, options: StreamOptions) -> None:
        check_units(spec)
        if spec.kind is not Learner or spec.arguments["combiner"] is None:
            raise ValueError("this driver runs a learner with a combiner")

    @classmethod
    def engine_features(cls, options: StreamOptions, features: int) -> int:
        return dense_features(options.built(features), options.width(features))

    @property
    def experts(self) -> list[Expert]:
        return self._experts

    def build(self, spec: Spec) -> Any:
        """An engine of this spec, in the units of this learner; a feature table of another size is empty."""
        if not self._units:
            fixed = np.array(self.options.categories, dtype=float) if self.options.categories else None
            self._units = {"scaling": self._module.RobustScaling(self.width, fixed=fixed)}
            if self.regression:
                self._units["target_scaling"] = self._module.RobustScaling(1, follows_level=False)
                self._units["interval"] = self._module.IntervalWidth(LEVELS, self.options.conformal)
            elif self.options.conformal:
                self._units["label_sets"] = self._module.LabelSets(LEVELS)
            if self.options.lag:
                self._units["lags"] = self.options.lags(self._module)
        units = dict(self._units)
        if self.sparse and ("feature_table" not in units or self._slots(spec) != self._slots(self.spec)):
            counts = counters(self.options.memory, self.n_features)
            table = self._module.FeatureTable(self.n_features, self._slots(spec), counts, self.options.seed)
            units["feature_table"] = table
        return replace(spec, arguments={**spec.arguments, **units}).build(self._module)

    def _slots(self, spec: Spec) -> int:
        """Of the table of features: one for each place of the sparse linear map."""
        i = next(i for i, each in enumerate(self.experts) if isinstance(each, SparseLinear))
        return int(spec.arguments["maps"][i].arguments["table"])

    def use(self, spec: Spec, engine: Any) -> None:
        """Continue with this engine, which `_build` made of the spec."""
        self.spec, self.engine, self.maps = spec, engine, list(engine.maps)
        if self.sparse:
            self._units["feature_table"] = engine.feature_table

    def prepare(self) -> None:
        self._past = None
        self.use(self.spec, self.engine)
        for i in self.landmarks:
            if not self.maps[i].size:
                self.maps[i].gamma = 1 / (2 * self.width)  # about right for standardised features
                self.maps[i].ridge = RIDGE
        maps = self.spec.arguments["maps"]
        self.extrapolates = any(each.follows_late_anchors(map) for each, map in zip(self.experts, maps, strict=True))
        self._can_redraw = bool(self.probes())
        super().prepare()

    @property
    def row_features(self) -> int:
        """Of a row with what is known of earlier targets."""
        return self.options.width(self.n_features)

    @property
    def landmarks(self) -> list[int]:
        """Indices of the landmark experts."""
        return [i for i, each in enumerate(self.experts) if isinstance(each, Landmarks)]

    # Reading

    @property
    def rows(self) -> int:
        return int(self.scaling.rows)

    @property
    def labelled(self) -> int:
        return int(self.engine.rows)

    def scores(self, x: Array | SparseRows) -> Array:
        scores = self.engine.scores_sparse(None, *SparseRows.of(x).parts) if self.sparse else self.engine.scores(x)
        return self._warn_if_diverged(np.asarray(scores))

    def centre(self) -> Array:
        centre = np.asarray(self.scaling.state()["center"])
        return centre[: self.n_features] if self.options.lag else centre

    def intervals(self, x: Array | SparseRows, level: float) -> Array:  # (n, d) -> (n, 2)
        """The score of each row, and the half-width of the interval that covers this share of the targets."""
        if self.sparse:
            return self._warn_if_diverged(self.engine.intervals_sparse(None, *SparseRows.of(x).parts, level))
        return self._warn_if_diverged(self.engine.intervals(x, level))

    def set_threshold(self, level: float) -> float | None:
        """The probability from which on a class is in the set of this level; None for a learner without label sets."""
        sets = self.engine.label_sets
        return None if sets is None else math.exp(-sets.threshold(level))

    def novelty(self, x: Array | SparseRows) -> Array:  # (n, d) -> (n,)
        """How odd rows are among those that were learned last, as p-values (`nolana.learner.novelty`)."""
        recent = next((i for i, each in enumerate(self.experts) if each.stores_rows), None)
        if recent is None:
            raise OptionError("experts", None, "has no Neighbours, whose rows novelty compares with")
        map = self.maps[recent]
        window, calibrating = novelty.windows(int(map.stored))
        if not calibrating:
            return np.ones(len(x))
        if self._past is None or self._past[:2] != (self.engine, self.rows):
            self._past = self.engine, self.rows, np.sort(map.past_distances(calibrating, window))
        if isinstance(x, SparseRows) or self.sparse:
            distances = self.engine.distances_sparse(None, *SparseRows.of(x).parts, window)
            return novelty.p_values(distances, self._past[2], np.full(len(x), 0.5))
        return novelty.p_values(self.engine.distances(x, window), self._past[2], novelty.hashes(x))

    def expert_records(self) -> list[dict[str, Any]]:
        """For each head its name, its weight in the stack, its recent score and its bytes."""
        state = self.engine.state(units=False)
        unit = self.target_unit()[1] or 1.0 if self.regression else 1.0
        records = []
        for i, (expert, own) in enumerate(zip(self.experts, self.split(state), strict=True)):
            shared = expert.stored_bytes(own.map_state) // len(own.heads)
            for e, name, learned in zip(heads_by_map(self.spec)[i], expert.names(own), own.head_states, strict=True):
                error = float(state["errors"][e])
                score = math.sqrt(error) / unit if self.regression else 1 - error
                nbytes = expert.stored_bytes(learned) + shared
                weight = float(state["stack_weights"][e])
                records.append({"name": name, "weight": weight, "score": score, "bytes": nbytes})
        return records

    def sizes(self) -> dict[str, int]:
        """Sizes for the memory, by their names in summaries."""
        sizes: dict[str, int] = {}
        for expert, map in zip(self.experts, self.spec.arguments["maps"], strict=True):
            for name, size in expert.size_summary(map).items():
                sizes[name] = sizes.get(name, 0) + size
        return sizes

    def category_effects(self, column: int, keys: Array) -> Array:  # (k,) -> (k, c)
        """The effects of these categories of a column, in the unit of the targets; NaN for one that has no slot."""
        unit = self.target_unit()[1] or 1.0 if self.regression else 1.0
        found = [each.effects_of(own, column, keys) / unit for each, own in self._effects()]
        return np.sum(found, axis=0) if found else np.full((len(keys), self.outputs), np.nan)

    def category_facts(self) -> dict[str, Any]:
        """The pairs of columns whose effects count, and how many categories were evicted from the hash table."""
        effects = self._effects()
        pairs = [pair for each, own in effects for pair in each.open_pairs(own)]
        return {"pairs": pairs, "evicted": int(sum(own.map_state["evicted"] for _, own in effects))}

    def _effects(self) -> list[tuple[Effects, ExpertState]]:
        found = self.export([i for i, each in enumerate(self.experts) if isinstance(each, Effects)])
        return [(each, own) for each, own in found if isinstance(each, Effects)]

    def relevance(self) -> Array:
        """The relevance of each feature, 1 on average (d,)."""
        found = relevance([increase for increase, _ in self.probes()], self.row_features)
        if not self.options.lag:
            return found
        own = found[: self.n_features]  # without the columns that lags add
        return own / own.mean() if own.any() else np.ones(self.n_features)

    def probes(self) -> list[tuple[Array, Array]]:
        """What the probes of the experts measured, and how often."""
        elastic = [i for i, each in enumerate(self.experts) if each.elastic]
        states = self.export(elastic, tables=False)
        found = [expert.probes(own) for expert, own in states]
        return [each for each in found if each is not None]

    @property
    def alarms(self) -> list[int]:
        """Rows (from 0) at which the drift alarm was raised, the last 100 of them."""
        return [int(row) - 1 for row in self.engine.alarms]

    def take_alarms(self) -> list[int]:
        """Those since the last call."""
        new = [row for row in self.alarms if row >= self._reported]
        self._reported = self.labelled
        return new

    def changes(self) -> list[dict[str, Any]]:
        """A record for each of the alarms, with numbers of columns and classes (`nolana.learner.changes`)."""
        return self._changes.listed(self.alarms)

    def target_unit(self) -> tuple[float, float]:
        """Centre and factor of the targets by their last anchor."""
        anchors = self.target_scaling.state(["center", "factor"])
        return float(anchors["center"][0]), float(anchors["factor"][0])

    def remedies(self) -> list[str]:
        """Features are scaled, and there is no step to shorten."""
        return ["remove outliers from X and y"]

    # Learning

    def moments(self, x: Array) -> Array:  # (n, d) -> (n, k)
        """What is known of earlier targets if these rows are scored now, and the scores of the experts."""
        return np.asarray(self.engine.moments(x))

    @property
    def moment_size(self) -> int:
        """Numbers of the moment of a row."""
        return self.options.width(self.n_features) - self.n_features + KNOWN + self.experts_remembered

    @property
    def experts_remembered(self) -> int:
        """How many of them are scores of experts."""
        return len(self.spec.arguments["experts"]) if self.regression else 0

    def learn(
        self, x: Array | SparseRows, y: Array | None, weight: Array | None = None, class_weight: Array | None = None
    ) -> Array:
        """What each row scored before it was learned; (n,) weights of the rows and of their classes, mean 1.

        Rows without labels (y is None) have no weights.
        """
        if y is not None:
            weight, self.mean_weight = relative(weight, class_weight, len(x), self.labelled, self.mean_weight)
        return super().learn(x, y, weight)

    def _learn(self, x: Array | SparseRows, y: Array | None, weight: Array | None) -> Array:
        return super()._learn(SparseRows.of(x) if self.sparse else x, y, weight)

    def _look_ahead(self, x: Array | SparseRows, weight: Array | None, has_labels: bool) -> int:
        """The first row of a class, from which the stack learns nothing, comes alone."""
        return 1 if has_labels else len(x)

    def _learn_part(self, x: Array | SparseRows, y: Array | None, weight: Array | None) -> Array:
        if not self._looks_ahead or y is None:
            return super()._learn_part(x, y, weight)
        before = self.engine.state(stack.OF_THE_STACK)
        scores = super()._learn_part(x, y, weight)
        self.engine.restore_part(before)
        self._looks_ahead = False
        return scores

    def _learn_rows(self, x: Array | SparseRows, y: Array | None, weight: Array | None) -> Array:
        how = self.frozen, self.repeats, not self.extrapolates
        if isinstance(x, SparseRows):
            return np.asarray(self.engine.learn_sparse(None, *x.parts, y, weight, *how))
        return np.asarray(self.engine.learn(x, y, weight, *how))

    def _stop(self, has_labels: bool) -> None:
        """Events, and a look for drift alarms, which is cheap and needs no search in the schedule."""
        if self.rows >= self._next_event:
            super()._stop(has_labels)
        if not self.frozen and self.rows % CHECK_EVERY == 0:
            self.note_changes()
        self._plan_check()

    def plan(self) -> None:
        super().plan()
        self._plan_check()

    def _plan_check(self) -> None:
        self._next_stop = min(self._next_event, NEVER if self.frozen else next_check(self.rows))

    # Parts of the state

    def export(self, indices: Iterable[int], tables: bool = True) -> list[tuple[Expert, ExpertState]]:
        """Some of the experts with their part of the state."""
        wanted = list(indices)
        names = [name for i in wanted for name in prefixes(self.spec, i)]
        states = self.split(self.engine.state(names, tables)) if names else []
        return [(self.experts[i], states[i]) for i in wanted]

    def change(self, indices: Iterable[int], change: Callable[[Expert, ExpertState], None]) -> None:
        """Change the part of some of the experts; sizes stay."""
        wanted = list(indices)
        with one_blas_thread():
            states = self.split(self.engine.state([name for i in wanted for name in prefixes(self.spec, i)]))
            for i in wanted:
                change(self.experts[i], states[i])
            self.engine.restore_part(joined_state(self.spec, states))

    # Events

    @property
    def may_redraw(self) -> bool:
        """Whether relevance is measured and has not settled."""
        return self._can_redraw and not self.redrawn

    @property
    def stores_sketches(self) -> bool:
        """Whether neighbours store sketches of rows, which cannot be scaled again."""
        return self.width > WIDEST

    def note_changes(self) -> None:
        """Details of the drift alarms."""
        alarms = self.alarms
        if self._changes.is_due(self.rows, self.labelled, alarms):
            self._changes.check(alarms, watched(self.engine.state(WATCHED)), self._compared)

    def _compared(self, since: int) -> dict[str, Array]:
        """The stored rows since an alarm with those before it, in the units of the input."""
        for expert, own in self.export([i for i, each in enumerate(self.experts) if each.stores_rows]):
            targets = expert.recent_targets(own)
            if not self.regression and self.outputs == 1:
                targets = (targets > 0).astype(np.float64)
            recent = None if self.sparse else expert.recent_rows(own)
            rows = None if recent is None else recent[0][:, : self.n_features]
            found = compared(rows, targets, self.options.task, since, self.options.categories)
            if "moved" in found:
                scaling = {name: np.asarray(value) for name, value in self.scaling.state().items()}
                columns = found["moved"][:, 0].astype(np.intp)
                anchors = {name: scaling[name][columns] for name in ("center", "factor", "metric")}
                found["moved"][:, 2:] = unscaled(found["moved"][:, 2:].T, anchors).T
            return found
        return {}

    # Classes and memory

    def rearrange_outputs(self, sources: list[int], signs: list[float]) -> None:
        if len(signs) <= self.engine.room and is_appended(sources, signs, self.outputs):
            self.engine.append_output()
        else:
            with one_blas_thread():
                rebuild_for(self, sources, signs)
        self._looks_ahead = True

    def rearranged(self, state: State, outputs: Outputs) -> State:
        states = self.split(state)
        for expert, own in zip(self.experts, states, strict=True):
            expert.rearrange_outputs(own, outputs)
        return state | joined_state(self.spec, states)

    def check_outputs(self, outputs: int) -> None:
        """ValueError if so many outputs do not fit into the memory, however small the maps become."""
        if outputs <= self.engine.room:
            return
        needed = self.least_bytes(outputs)
        if needed > self.options.memory:
            enough = size_text(memory_for(self.options, self.n_features, outputs))
            what = f"is too small: {outputs:,} classes of {self.n_features:,} features need at least {needed:,} bytes"
            raise OptionError("memory", self.options.memory, what, remedies=[Remedy("memory", enough, "is enough")])

    def least_bytes(self, outputs: int) -> int:
        """Bytes with so many outputs and maps as small as they may be."""
        sizes = sizes_for(self.experts, self.options.memory, self.row_features, outputs, 0.0)
        return self.bytes_with(smallest(self.experts, self.spec, sizes), outputs)

    @property
    def unit_bytes(self) -> int:
        """Of scaling, intervals and the table of features."""
        return sum(int(unit.memory_bytes) for unit in self._units.values())

    def bytes_with(self, spec: Spec, outputs: int | None = None) -> int:
        """Bytes of a learner of this spec with so many outputs; None: as many as now."""
        engine = self.build(spec)
        engine.clear(self.outputs if outputs is None else outputs)
        return int(engine.memory_bytes)

    # State

    def _fields(self) -> list[Field]:
        shape = (len(self.widened),)
        return [
            Field(self, "mean_weight", low=0.0),
            Field(self, "redrawn", whole=True, low=0.0),
            Field(self, "widened", shape, whole=True, low=0.0, high=1.0),
            *self._changes.fields(),
        ]

    def state(self) -> State:
        return super().state() | export(self._fields())

    def restore(self, state: State) -> None:
        for field in self._fields():
            check_field(field, state, {})
        super().restore(state)
        for field in self._fields():
            field.set(state[field.key])
        room = room_for(self, self.spec, self.outputs)
        if room > self.engine.room:
            self.engine.reserve(room)
            super().restore(state)
        self._reported = self.labelled
        self.prepare()


def is_appended(sources: list[int], signs: list[float], old: int) -> bool:
    """Whether all `old` outputs stay what they are, and one of a new class follows."""
    return sources[:-1] == list(range(old)) and signs == [1.0] * old + [0.0]


def memory_for(options: StreamOptions, features: int, outputs: int) -> int:
    """A round number of bytes that is enough for so many classes.

    A larger memory may have experts that a smaller one has not, and finer grids, so it is measured.
    """
    memory, needed = options.memory, options.memory + 1
    while needed > memory:
        memory = size_for(needed)
        experts: list[Any] = list(options.experts)
        linear = any(isinstance(each, Linear | SparseLinear) for each in options.built(features))
        if has_full_covariance(memory, options.width(features)) and not linear:
            experts.append(Spec(Linear))
        needed = stream_learner(replace(options, memory=memory, experts=experts), features, 1).least_bytes(outputs)
    return memory


def stream_learner(options: StreamOptions, features: int, outputs: int) -> StreamLearner:
    """A learner whose maps are as large as the memory allows."""
    experts = options.built(features)
    for fraction in FRACTIONS:
        spec = sized_spec(options, experts, features, outputs, fraction)
        learner = StreamLearner(spec, options, features, outputs)
        fits = fitted(experts, spec, learner.bytes_with, options.memory)
        if fits is not None:
            return StreamLearner(fits, options, features, outputs)
    needed = learner.memory_bytes
    enough = Remedy("memory", size_text(size_for(needed)), "is enough")
    what = f"is too small: {features:,} features need at least {needed:,} bytes"
    raise OptionError("memory", options.memory, what, remedies=[enough])


def sized_spec(options: StreamOptions, experts: list[Expert], features: int, outputs: int, fraction: float) -> Spec:
    """The spec of a learner before its tables are fitted."""
    width = options.width(features)
    sizes = sizes_for(experts, options.memory, width, outputs, fraction)
    return learner_spec(experts, sizes, width, options.task, options.seed, options.categories, bool(options.lag))


def least_memory(options: StreamOptions, features: int) -> int:
    """Bytes of a learner of one target whose maps are as small as they may be."""
    spec = sized_spec(options, options.built(features), features, 1, FRACTIONS[-1])
    return StreamLearner(spec, options, features, 1).memory_bytes
