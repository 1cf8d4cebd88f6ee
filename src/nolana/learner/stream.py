"""The driver of the default learner: several experts behind a stack, in a fixed memory.

The engine learns. This file does what is due at events, whose rows are in `schedule`, always after a row whose number
is fixed, so that a block may be split anywhere; the experts say what then happens to their part of the state:

- rows are scaled by `RobustScaling`; at its anchors (2, 4, ..., 512 rows) experts follow the new scale, and tables are
  cleared (up to 256 rows; at 2 rows everything starts again);
- the kernel width is 1 / median squared distance of the landmarks, taken at the anchors and once they are full;
- at 512, 1024 and 2048 rows, at 2048 4^k rows once if few features matter, and at 128 and 256 rows if features act
  together: rows are scaled by the relevance of the features, the grids are drawn again, the tables cleared and the
  landmarks re-mapped;
- a new class may need memory: then tables fold, and if that is not enough, windows and landmarks become fewer; up to
  256 rows, when every anchor clears the tables, a new class clears them too.

In a part of a merge (`frozen`) nothing is re-estimated; only a new class changes its maps.

Wide sparse rows go through a `FeatureTable`: the sparse linear expert learns on the non-zeros, all others on the sketch
of a row, as if its 64 sums were the features.
"""

import functools
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
from nolana.engine.learner.robust_scaling import LAST_ANCHOR, OTHER_STEP, unscaled
from nolana.errors import OptionError, Remedy
from nolana.experts.base import (
    Anchors,
    Expert,
    ExpertState,
    Outputs,
    Sizes,
    heads_by_map,
    joined_spec,
    joined_state,
    prefixes,
    split,
)
from nolana.experts.bins import Bins
from nolana.experts.effects import Effects
from nolana.experts.landmarks import RIDGE, Landmarks
from nolana.experts.linear import Linear, has_full_covariance
from nolana.experts.sparse_linear import SparseLinear, counters, slot_features
from nolana.learner import novelty, stack
from nolana.learner.changes import CHECK_EVERY, WATCHED, Changes, compared, next_check, watched
from nolana.learner.driver import Array, Driver, State, check_units, relative
from nolana.learner.memory import (
    FRACTIONS,
    dense_features,
    fitted,
    learner_spec,
    padded_outputs,
    shrunk,
    size_for,
    size_text,
    sizes_for,
    smallest,
)
from nolana.learner.relevance import FEWEST_PROBES, is_concentrated, metric, relevance, screened
from nolana.learner.rows import SparseRows
from nolana.learner.schedule import NEVER, catch_up, next_event, run_events
from nolana.modelfile.specs import Spec

LAST_CLEARING = 256  # rows up to which an anchor clears the tables
LEVELS = np.array([0.5, 0.8, 0.9, 0.95, 0.99])  # of intervals and label sets
ROWS_PER_BYTE, RING_ROWS = 1 / 512, (64, 4096)  # of the ring of targets in which seasons are found
SERIES_SHARE = 1 / 2  # of the memory, for the table of series
LARGEST_RESCALING = 100.0  # of targets: beyond, one wild target had set the old unit, and nothing learned in it counts


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
    options: StreamOptions
    regression: bool
    extrapolates: bool  # whether an expert follows late anchors
    _past: tuple[Any, int, Array] | None  # engine, row, distances of stored rows (`novelty`), until the next row
    has_labels = True  # whether the last row had a label
    _new_class = False  # whether the next row is the first of its class: the stack learns nothing from it

    def __init__(self, spec: Spec, options: StreamOptions, features: int, outputs: int) -> None:
        self._experts = options.built(features)
        self.regression = options.number
        self.width = self.engine_features(options, features)  # of the rows that all maps but the linear one take
        self.sparse = any(isinstance(each, SparseLinear) for each in self._experts)
        self._units: dict[str, Any] = {}
        super().__init__(spec, options, features, outputs)
        self._scaling: Any = self._engine.scaling
        self._target_scaling: Any = self._engine.target_scaling
        self._interval: Any = self._engine.interval
        self.mean_weight, self.redrawn = 0.0, 0.0
        # For each map 1 if its width is that of full landmarks, or if it has none.
        self.widened: Array = np.array([float(not isinstance(each, Landmarks)) for each in self._experts])
        self._reported = 0  # the last row whose alarm was asked for
        self._changes = Changes()
        self._fitted_to: tuple[int, int] | None = None  # outputs and other bytes that the tables were fitted to
        self._prepare()

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

    def _build(self, spec: Spec) -> Any:
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
        i = next(i for i, each in enumerate(self._experts) if isinstance(each, SparseLinear))
        return int(spec.arguments["maps"][i].arguments["table"])

    def _use(self, spec: Spec, engine: Any) -> None:
        """Continue with this engine, which `_build` made of the spec."""
        self.spec, self._engine, self._maps = spec, engine, list(engine.maps)
        if self.sparse:
            self._units["feature_table"] = engine.feature_table

    def _prepare(self) -> None:
        """What follows from the state of the engine and of the scaling."""
        self._past = None
        self._use(self.spec, self._engine)
        for i in self._landmarks:
            if not self._maps[i].size:
                self._maps[i].gamma = 1 / (2 * self.width)  # about right for standardised features
                self._maps[i].ridge = RIDGE
        maps = self.spec.arguments["maps"]
        self.extrapolates = any(each.follows_late_anchors(map) for each, map in zip(self._experts, maps, strict=True))
        self._can_redraw = bool(self._probes())
        self._next_event = next_event(self)  # the row after which something may be re-estimated
        self._plan()

    @property
    def _features(self) -> int:
        """Of a row with what is known of earlier targets."""
        return self.options.width(self.n_features)

    @property
    def _landmarks(self) -> list[int]:
        """Indices of the landmark experts."""
        return [i for i, each in enumerate(self._experts) if isinstance(each, Landmarks)]

    # Reading

    @property
    def rows(self) -> int:
        return int(self._scaling.rows)

    @property
    def labelled(self) -> int:
        return int(self._engine.rows)

    def scores(self, x: Array | SparseRows) -> Array:
        scores = self._engine.scores_sparse(None, *SparseRows.of(x).parts) if self.sparse else self._engine.scores(x)
        return self._warn_if_diverged(np.asarray(scores))

    def centre(self) -> Array:
        centre = np.asarray(self._scaling.state()["center"])
        return centre[: self.n_features] if self.options.lag else centre

    def intervals(self, x: Array | SparseRows, level: float) -> Array:  # (n, d) -> (n, 2)
        """The score of each row, and the half-width of the interval that covers this share of the targets."""
        if self.sparse:
            return self._warn_if_diverged(self._engine.intervals_sparse(None, *SparseRows.of(x).parts, level))
        return self._warn_if_diverged(self._engine.intervals(x, level))

    def set_threshold(self, level: float) -> float | None:
        """The probability from which on a class is in the set of this level; None for a learner without label sets."""
        sets = self._engine.label_sets
        return None if sets is None else math.exp(-sets.threshold(level))

    def novelty(self, x: Array | SparseRows) -> Array:  # (n, d) -> (n,)
        """How odd rows are among those that were learned last, as p-values (`nolana.learner.novelty`)."""
        recent = next((i for i, each in enumerate(self._experts) if each.stores_rows), None)
        if recent is None:
            raise OptionError("experts", None, "has no Neighbours, whose rows novelty compares with")
        map = self._maps[recent]
        window, calibrating = novelty.windows(int(map.stored))
        if not calibrating:
            return np.ones(len(x))
        if self._past is None or self._past[:2] != (self._engine, self.rows):
            self._past = self._engine, self.rows, np.sort(map.past_distances(calibrating, window))
        if isinstance(x, SparseRows) or self.sparse:
            distances = self._engine.distances_sparse(None, *SparseRows.of(x).parts, window)
            return novelty.p_values(distances, self._past[2], np.full(len(x), 0.5))
        return novelty.p_values(self._engine.distances(x, window), self._past[2], novelty.hashes(x))

    def expert_records(self) -> list[dict[str, Any]]:
        """For each head its name, its weight in the stack, its recent score and its bytes."""
        state = self._engine.state(units=False)
        unit = self._target_unit()[1] or 1.0 if self.regression else 1.0
        records = []
        for i, (expert, own) in enumerate(zip(self._experts, self._split(state), strict=True)):
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
        for expert, map in zip(self._experts, self.spec.arguments["maps"], strict=True):
            for name, size in expert.size_summary(map).items():
                sizes[name] = sizes.get(name, 0) + size
        return sizes

    def category_effects(self, column: int, keys: Array) -> Array:  # (k,) -> (k, c)
        """The effects of these categories of a column, in the unit of the targets; NaN for one that has no slot."""
        unit = self._target_unit()[1] or 1.0 if self.regression else 1.0
        found = [each.effects_of(own, column, keys) / unit for each, own in self._effects()]
        return np.sum(found, axis=0) if found else np.full((len(keys), self.outputs), np.nan)

    def category_facts(self) -> dict[str, Any]:
        """The pairs of columns whose effects count, and how many categories were evicted from the hash table."""
        effects = self._effects()
        pairs = [pair for each, own in effects for pair in each.open_pairs(own)]
        return {"pairs": pairs, "evicted": int(sum(own.map_state["evicted"] for _, own in effects))}

    def _effects(self) -> list[tuple[Effects, ExpertState]]:
        found = self._export([i for i, each in enumerate(self._experts) if isinstance(each, Effects)])
        return [(each, own) for each, own in found if isinstance(each, Effects)]

    def relevance(self) -> Array:
        """The relevance of each feature, 1 on average (d,)."""
        found = relevance([increase for increase, _ in self._probes()], self._features)
        if not self.options.lag:
            return found
        own = found[: self.n_features]  # without the columns that lags add
        return own / own.mean() if own.any() else np.ones(self.n_features)

    def _probes(self) -> list[tuple[Array, Array]]:
        """What the probes of the experts measured, and how often."""
        elastic = [i for i, each in enumerate(self._experts) if each.elastic]
        states = self._export(elastic, tables=False)
        found = [expert.probes(own) for expert, own in states]
        return [each for each in found if each is not None]

    @property
    def alarms(self) -> list[int]:
        """Rows (from 0) at which the drift alarm was raised, the last 100 of them."""
        return [int(row) - 1 for row in self._engine.alarms]

    def take_alarms(self) -> list[int]:
        """Those since the last call."""
        new = [row for row in self.alarms if row >= self._reported]
        self._reported = self.labelled
        return new

    def changes(self) -> list[dict[str, Any]]:
        """A record for each of the alarms, with numbers of columns and classes (`nolana.learner.changes`)."""
        return self._changes.listed(self.alarms)

    def _target_unit(self) -> tuple[float, float]:
        """Centre and factor of the targets by their last anchor."""
        anchors = self._target_scaling.state(["center", "factor"])
        return float(anchors["center"][0]), float(anchors["factor"][0])

    def remedies(self) -> list[str]:
        """Features are scaled, and there is no step to shorten."""
        return ["remove outliers from X and y"]

    # Learning

    def moments(self, x: Array) -> Array:  # (n, d) -> (n, k)
        """What is known of earlier targets if these rows are scored now, and the scores of the experts."""
        return np.asarray(self._engine.moments(x))

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
        x = SparseRows.of(x) if self.sparse else x
        if len(x) <= self._next_stop - self.rows and not self._new_class:  # no event between the rows
            return self._learn_part(x, y, weight)
        scores = np.empty((len(x), self.outputs))
        start = 0
        while start < len(x):
            # At least one row: a user may have interrupted an event.
            stop = min(len(x), start + max(1, self._next_stop - self.rows))
            before = None
            if self._new_class and y is not None:
                stop, before = start + 1, self._engine.state(stack.OF_THE_STACK)
            scores[start:stop] = self._learn_part(
                x[start:stop],
                None if y is None else y[start:stop],
                None if weight is None else weight[start:stop],
            )
            if before is not None:
                self._engine.restore_part(before)
                self._new_class = False
            start = stop
        return scores

    def _learn_part(self, x: Array | SparseRows, y: Array | None, weight: Array | None) -> Array:
        """Rows between two events."""
        how = self.frozen, self.repeats, not self.extrapolates
        if isinstance(x, SparseRows):
            scores: Array = self._engine.learn_sparse(None, *x.parts, y, weight, *how)
        else:
            scores = self._engine.learn(x, y, weight, *how)
        if self.rows >= self._next_stop:
            self._stop(y is not None)
        return scores

    def _stop(self, has_labels: bool) -> None:
        """Events, and a look for drift alarms, which is cheap and needs no search in the schedule."""
        if self.rows >= self._next_event:
            self.has_labels = has_labels
            run_events(self)
            self._next_event = next_event(self)
        if not self.frozen and self.rows % CHECK_EVERY == 0:
            self.note_changes()
        self._plan()

    def _plan(self) -> None:
        """The row after which a block is cut."""
        self._next_stop = min(self._next_event, NEVER if self.frozen else next_check(self.rows))

    def thaw(self) -> None:
        """Forget as one process would have done; measure the relevance that was due while the maps were frozen."""
        assert self.origin is not None
        before, t = self.origin.rows, self.rows
        super().thaw()
        with one_blas_thread():
            state = self._engine.state(units=False)
            states = self._split(state)
            for expert, own in zip(self._experts, states, strict=True):
                expert.thaw(own, t - before)
            self._engine.restore(state | joined_state(self.spec, states), units=False)
            self._prepare()
            catch_up(self, before)
        self._next_event = next_event(self)
        self._plan()

    # Exporting and restoring parts of the state

    def _split(self, state: State) -> list[ExpertState]:
        return split(self.spec, state, self.axes)

    def _export(self, indices: Iterable[int], tables: bool = True) -> list[tuple[Expert, ExpertState]]:
        """Some of the experts with their part of the state."""
        wanted = list(indices)
        names = [name for i in wanted for name in prefixes(self.spec, i)]
        states = self._split(self._engine.state(names, tables)) if names else []
        return [(self._experts[i], states[i]) for i in wanted]

    def _change(self, indices: Iterable[int], change: Callable[[Expert, ExpertState], None]) -> None:
        """Change the part of some of the experts; sizes stay."""
        wanted = list(indices)
        with one_blas_thread():
            states = self._split(self._engine.state([name for i in wanted for name in prefixes(self.spec, i)]))
            for i in wanted:
                change(self._experts[i], states[i])
            self._engine.restore_part(joined_state(self.spec, states))

    # Events

    @property
    def may_redraw(self) -> bool:
        """Whether relevance is measured and has not settled."""
        return self._can_redraw and not self.redrawn

    @property
    def stores_sketches(self) -> bool:
        """Whether neighbours store sketches of rows, which cannot be scaled again."""
        return self.width > WIDEST

    def follow_anchors(self) -> None:
        """The features have another scale."""
        before, t = self._scaling.state(), self.rows
        if not self._scaling.anchor().any():
            return
        if t == 2:
            self.widened[self._landmarks] = 0.0
            labelled = float(self.labelled)
            self._engine.clear(self.outputs)
            self._engine.restore_part({"rows": labelled, "stacked": labelled})
            self._prepare()
            return
        anchors = Anchors(lambda z: np.asarray(self._scaling.apply(unscaled(z, before))), before, self._scaling.state())
        if t > LAST_CLEARING and not self.stores_sketches:
            solid = [i for i, each in enumerate(self._experts) if not each.elastic]
            self._change(solid, lambda expert, own: expert.follow_anchors(own, anchors))
        else:
            with one_blas_thread():
                state = self._engine.state(tables=t > LAST_CLEARING, units=False)
                states = self._split(state)
                for expert, own in zip(self._experts, states, strict=True):
                    expert.follow_anchors(own, anchors)
                state |= joined_state(self.spec, states)
                self._engine.restore(state, tables=t > LAST_CLEARING, units=False)
        self._note_widths()
        if t <= LAST_CLEARING:
            self._fit_tables()

    def follow_late_anchors(self) -> None:
        """Experts that extrapolate follow features that have another anchor; all others learn in terms of it."""
        before = self._scaling.state()
        if not self._scaling.anchor().any():
            return
        after = self._scaling.state()
        anchors = Anchors(lambda z: z, in_unit_of(before, after), after)
        maps = self.spec.arguments["maps"]
        following = [i for i, each in enumerate(self._experts) if each.follows_late_anchors(maps[i])]
        self._change(following, lambda expert, own: expert.follow_late_anchors(own, anchors))

    def widen_full_maps(self) -> None:
        """A landmark map that has just become full takes the width of all its landmarks."""
        full = [i for i in self._landmarks if not self.widened[i] and self._is_full(i)]
        if full:
            self._change(full, lambda expert, own: expert.multiply_features(own, np.ones(self.width)))  # only the width
            self._note_widths()

    def _is_full(self, map: int) -> bool:
        return bool(self._maps[map].size == self.spec.arguments["maps"][map].arguments["capacity"])

    def _note_widths(self) -> None:
        """All landmark maps have just been re-mapped, or have the width of full landmarks already."""
        for i in self._landmarks:
            self.widened[i] = float(self._is_full(i))

    def _slopes(self) -> Array | None:
        scaling = self._scaling.state()
        middle = self._scaling.apply(scaling["mean"][None])[0]
        slow = [i for i in self._landmarks if self._experts[i].slow]  # type: ignore[attr-defined]
        for expert, own in self._export(slow[:1]):
            assert isinstance(expert, Landmarks)
            return expert.slopes(own, scaling["metric"], middle)
        return None

    def redraw_by_screen(self) -> None:
        """If features act together, before there are slopes."""
        with one_blas_thread():
            self._redraw(None)

    def redraw_by_slopes(self) -> None:
        with one_blas_thread():
            self._redraw(self._slopes())

    def redraw_by_probes(self) -> None:
        """Once, if few features matter."""
        probed = self._probes()
        relevances = relevance([increase for increase, _ in probed], self._features)
        if all(bool((count >= FEWEST_PROBES).all()) for _, count in probed) and is_concentrated(relevances):
            self.redrawn = 1.0
            with one_blas_thread():
                slopes = self._slopes()
                self._redraw(np.sqrt(relevances) if slopes is None else np.sqrt(relevances * slopes))

    def _redraw(self, relevances: Array | None) -> None:
        """Measure distances by relevance, that of pairs of features included, and draw the grids again."""
        before = self._scaling.state()["metric"]
        for rows, targets in self._recent_rows():
            relevances = screened(relevances, rows / before, targets, self.options.task)
        if relevances is None:
            return
        after, state = metric(relevances), self._engine.state(tables=False, units=False)
        states = self._split(state)
        for expert, own in zip(self._experts, states, strict=True):
            expert.multiply_features(own, after / before)
            own.map = expert.redrawn(own.map, relevances)
        self._rebuild(joined_spec(self.spec, states), state | joined_state(self.spec, states), self.outputs)
        self._note_widths()
        self._scaling.restore(self._scaling.state() | {"metric": after})

    def _recent_rows(self) -> list[tuple[Array, Array]]:
        """The rows that the first expert stores which stores any, and their targets."""
        storing = [i for i, each in enumerate(self._experts) if each.stores_rows]
        found = [expert.recent_rows(own) for expert, own in self._export(storing)]
        return [each for each in found if each is not None][:1]

    def _rebuild(self, spec: Spec, state: State, outputs: int, tables: bool = False) -> None:
        """Continue with an engine of another spec; without `tables` those are empty."""
        engine = self._build(spec)
        engine.reserve(self._room(spec, outputs))
        engine.restore(state, tables, units=False)
        self._use(spec, engine)

    def note_changes(self) -> None:
        """Details of the drift alarms."""
        alarms = self.alarms
        if self._changes.is_due(self.rows, self.labelled, alarms):
            self._changes.check(alarms, watched(self._engine.state(WATCHED)), self._compared)

    def _compared(self, since: int) -> dict[str, Array]:
        """The stored rows since an alarm with those before it, in the units of the input."""
        for expert, own in self._export([i for i, each in enumerate(self._experts) if each.stores_rows]):
            targets = expert.recent_targets(own)
            if not self.regression and self.outputs == 1:
                targets = (targets > 0).astype(np.float64)
            recent = None if self.sparse else expert.recent_rows(own)
            rows = None if recent is None else recent[0][:, : self.n_features]
            found = compared(rows, targets, self.options.task, since, self.options.categories)
            if "moved" in found:
                scaling = {name: np.asarray(value) for name, value in self._scaling.state().items()}
                columns = found["moved"][:, 0].astype(np.intp)
                anchors = {name: scaling[name][columns] for name in ("center", "factor", "metric")}
                found["moved"][:, 2:] = unscaled(found["moved"][:, 2:].T, anchors).T
            return found
        return {}

    def follow_target_anchor(self) -> None:
        """Targets have another scale: y' = g y + shift in the engine."""
        center, factor = self._target_unit()
        if not self._target_scaling.anchor().any():
            return
        new_center, new_factor = self._target_unit()
        g = new_factor / factor if factor > 0 else 0.0
        shift = (center - new_center) * new_factor if g > 0 else 0.0
        tables = self.rows > LAST_CLEARING  # before, an anchor of the features has just cleared them
        state = self._engine.state(tables=tables, units=False)
        states = self._split(state)
        stack.move_range(state, g, shift)
        if self.labelled > LAST_ANCHOR:
            kept = stack.change_unit(state, g, shift, lambda kept: self._rescale_experts(states, kept, 0.0))
        else:
            kept, shift = (g, shift) if g <= LARGEST_RESCALING else (0.0, 0.0)
            self._rescale_experts(states, kept, shift)
            stack.rescale(state, kept, shift)
        if kept > 0:
            self._interval.rescale(kept)
        self._engine.restore(state | joined_state(self.spec, states), tables, units=False)

    def _rescale_experts(self, states: list[ExpertState], g: float, shift: float) -> None:
        for expert, own in zip(self._experts, states, strict=True):
            expert.rescale_targets(own, g, shift)

    # Classes and memory

    def rearrange_outputs(self, sources: list[int], signs: list[float]) -> None:
        if len(signs) <= self._engine.room and is_appended(sources, signs, self.outputs):
            self._engine.append_output()
        else:
            with one_blas_thread():
                self._rebuild_for(sources, signs)
        self._new_class = True

    def _rebuild_for(self, sources: list[int], signs: list[float]) -> None:
        """With arrays of other outputs, and tables and maps that fit into the memory with them."""
        outputs, memory = len(signs), self.options.memory
        spec = None
        sizes = sizes_for(self._experts, memory, self.n_features, outputs)
        if self.rows < LAST_CLEARING and not self.frozen:  # the next anchor clears the tables in any case
            spec = self._fitted(self._regridded(outputs, sizes), outputs)
        tables = spec is None
        state = self.rearranged(
            self._engine.state(tables=tables, units=False),
            Outputs(sources, signs, self.outputs, int(self._engine.rows)),
        )
        table = self._engine.feature_table.state() if self.sparse else {}
        states = self._split(state)
        if spec is not None:
            self._shrink_by_outputs(states, sizes)
            state |= joined_state(self.spec, states)
        else:
            self._add_slots(states, table)
            measure = functools.partial(self.bytes_with, outputs=padded_outputs(outputs))
            smaller = (sizes_for(self._experts, memory, self._features, outputs, each) for each in FRACTIONS)
            shrunk(self._experts, self.spec, states, smaller, measure, memory)
            table |= self._take_slots(states)
            spec, state = joined_spec(self.spec, states), state | joined_state(self.spec, states)
        self._rebuild(spec, state, outputs, tables)
        self._fitted_to = None if tables else (self._engine.room, self._unit_bytes)  # shrunk tables may have room
        if self.sparse:
            self._engine.feature_table.restore(table)

    def rearranged(self, state: State, outputs: Outputs) -> State:
        states = self._split(state)
        for expert, own in zip(self._experts, states, strict=True):
            expert.rearrange_outputs(own, outputs)
        return state | joined_state(self.spec, states)

    def _add_slots(self, states: list[ExpertState], table: State) -> None:
        """What the sparse linear expert needs to know of the table of features."""
        for expert, own in zip(self._experts, states, strict=True):
            if isinstance(expert, SparseLinear):
                own.map_state |= slot_features(self.n_features, table)

    def _take_slots(self, states: list[ExpertState]) -> State:
        """The features and scales of the slots that stayed."""
        for expert, own in zip(self._experts, states, strict=True):
            if isinstance(expert, SparseLinear):
                own.map_state.pop("frequencies")
                return {name: own.map_state.pop(name) for name in ("keys", "scales")}
        return {}

    def _shrink_by_outputs(self, states: list[ExpertState], sizes: list[Sizes]) -> None:
        for expert, own, size in zip(self._experts, states, sizes, strict=True):
            if expert.sized_by_outputs:
                expert.shrink(own, size)

    def _regridded(self, outputs: int, sizes: list[Sizes]) -> Spec:
        """The spec with the grids of so many outputs, and other experts of at most these sizes if outputs decide."""
        states = split(self.spec, {}, {})
        self._shrink_by_outputs(states, sizes)
        for i, (expert, own) in enumerate(zip(self._experts, states, strict=True)):
            if isinstance(expert, Bins):
                expert.regrid(own, self.options.memory, self.outputs, outputs, heads_by_map(self.spec)[i][0])
        return joined_spec(self.spec, states)

    def check_outputs(self, outputs: int) -> None:
        """ValueError if so many outputs do not fit into the memory, however small the maps become."""
        if outputs <= self._engine.room:
            return
        needed = self.least_bytes(outputs)
        if needed > self.options.memory:
            enough = size_text(memory_for(self.options, self.n_features, outputs))
            what = f"is too small: {outputs:,} classes of {self.n_features:,} features need at least {needed:,} bytes"
            raise OptionError("memory", self.options.memory, what, remedies=[Remedy("memory", enough, "is enough")])

    def least_bytes(self, outputs: int) -> int:
        """Bytes with so many outputs and maps as small as they may be."""
        sizes = sizes_for(self._experts, self.options.memory, self._features, outputs, 0.0)
        return self.bytes_with(smallest(self._experts, self.spec, sizes), outputs)

    @property
    def _unit_bytes(self) -> int:
        """Of scaling, intervals and the table of features."""
        return sum(int(unit.memory_bytes) for unit in self._units.values())

    def bytes_with(self, spec: Spec, outputs: int | None = None) -> int:
        """Bytes of a learner of this spec with so many outputs; None: as many as now."""
        engine = self._build(spec)
        engine.clear(self.outputs if outputs is None else outputs)
        return int(engine.memory_bytes)

    def _room(self, spec: Spec, outputs: int) -> int:
        """Outputs that the arrays of so many have room for: more, if the memory is enough for them."""
        room = padded_outputs(outputs)
        return room if room == outputs or self.bytes_with(spec, room) <= self.options.memory else outputs

    def _fitted(self, spec: Spec, outputs: int) -> Spec | None:
        """The spec with tables that just fit, with room for more outputs or without; None if no table fits."""
        for room in dict.fromkeys((padded_outputs(outputs), outputs)):
            measure = functools.partial(self.bytes_with, outputs=room)
            sized = fitted(self._experts, spec, measure, self.options.memory)
            if sized is not None:
                return sized
        return None

    def _fit_tables(self) -> None:
        """Tables as large as the memory allows, while they are empty."""
        fits = self._engine.room, self._unit_bytes
        if fits == self._fitted_to:
            return
        self._fitted_to = fits
        spec = self._fitted(self.spec, self.outputs)
        if spec is None or spec == self.spec:
            return
        self._rebuild(spec, self._engine.state(tables=False, units=False), self.outputs)

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
        room = self._room(self.spec, self.outputs)
        if room > self._engine.room:
            self._engine.reserve(room)
            super().restore(state)
        self._reported = self.labelled
        self._prepare()


def is_appended(sources: list[int], signs: list[float], old: int) -> bool:
    """Whether all `old` outputs stay what they are, and one of a new class follows."""
    return sources[:-1] == list(range(old)) and signs == [1.0] * old + [0.0]


def in_unit_of(before: State, after: State) -> State:
    """The anchors `before`, as if a feature whose steps have another size had always had its new unit."""
    other = (
        (np.abs(before["step"] - before["usual_step"]) > OTHER_STEP) & (before["factor"] > 0) & (after["factor"] > 0)
    )
    ratio = np.divide(before["factor"], after["factor"], out=np.ones_like(before["factor"]), where=other)
    return before | {"center": before["center"] * ratio, "factor": before["factor"] / ratio}


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
