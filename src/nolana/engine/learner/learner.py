"""A learner: maps, experts on them (a map and a head each), and a combiner where there is more than one expert.

For each row: every map gives its features, every expert its scores, the combiner the score of the row. Then the maps
may grow, the experts learn, and the maps may move. Experts on one map share its features. Where targets are numbers,
experts learn with the variance of the residuals: of the combiner, or `noise` where there is none. Rows, targets and
scores are in the units of the input where the learner has them (`units`).
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Index
from nolana.engine.base.state import Array, Field, part
from nolana.engine.experts.head import Head
from nolana.engine.experts.map import Map
from nolana.engine.experts.neighbours.neighbour_map import NeighbourMap
from nolana.engine.experts.sparse_linear.feature_table import FeatureTable
from nolana.engine.learner.combiner import Combiner
from nolana.engine.learner.growth import GrowthWatch
from nolana.engine.learner.interval_width import IntervalWidth
from nolana.engine.learner.label_sets import LabelSets
from nolana.engine.learner.lags import KNOWN, Lags
from nolana.engine.learner.online import Online
from nolana.engine.learner.residual_variance import Noise, NoiseLevel
from nolana.engine.learner.robust_scaling import RobustScaling
from nolana.engine.learner.units import SparseRow, Units


class Expert:
    """A head on the map of this index."""

    def __init__(self, map: Index, head: Head) -> None:
        self.map, self.head = map, head


class Learner(Online):
    """The NumPy twin of the compiled learner: same constructor, same verbs, same state."""

    def __init__(
        self,
        maps: list[Map],
        experts: list[Expert],
        combiner: Combiner | None = None,
        noise: NoiseLevel | None = None,
        scaling: RobustScaling | None = None,
        target_scaling: RobustScaling | None = None,
        interval: IntervalWidth | None = None,
        feature_table: FeatureTable | None = None,
        lags: Lags | None = None,
        label_sets: LabelSets | None = None,
        growth: GrowthWatch | None = None,
    ) -> None:
        if not maps or not experts:
            raise ValueError("a learner needs a map and an expert")
        if len(experts) > 1 and combiner is None:
            raise ValueError("several experts need a combiner")
        if combiner is not None and noise is not None:
            raise ValueError("a combiner estimates the noise itself")
        widths = [{m.features for m in maps if m.takes_sparse_rows == sparse} for sparse in (False, True)]
        if max(map(len, widths)) > 1:
            raise ValueError("the maps differ in their number of features")
        dense, places = (min(width, default=0) for width in widths)
        super().__init__(dense)
        self.units = Units(scaling, target_scaling, interval, feature_table, lags, label_sets, growth, dense, places)
        # The places that the non-zeros of a sparse row may have; 0 where rows are dense.
        self.sparse_features = places if feature_table is None else feature_table.features
        self.reserved = 0
        self.remembered: Array | None = None  # the scores that the experts had at the moment of the row
        self.maps, self.experts, self.combiner, self.noise = maps, experts, combiner, noise
        for expert in experts:
            if expert.map >= len(maps):
                raise ValueError("an expert names a map that does not exist")
            expert.head.attach(maps[expert.map])
        for expert in experts:
            expert.head.connect([each.head for each in experts])
        # What categories are to the other experts.
        self.encoder = next((each.head for each in experts if each.head.encodes), None)
        self.clear(self.units.outputs or 1)

    @property
    def scaling(self) -> RobustScaling | None:
        return self.units.scaling

    @property
    def target_scaling(self) -> RobustScaling | None:
        return self.units.target_scaling

    @property
    def interval(self) -> IntervalWidth | None:
        return self.units.interval

    @property
    def feature_table(self) -> FeatureTable | None:
        return self.units.feature_table

    @property
    def lags(self) -> Lags | None:
        return self.units.lags

    @property
    def label_sets(self) -> LabelSets | None:
        return self.units.label_sets

    @property
    def growth(self) -> GrowthWatch | None:
        return self.units.growth

    @property
    def alarms(self) -> list[float]:
        """Rows (from 1) at which the experts' error rose suddenly, the last ones."""
        return [] if self.combiner is None else self.combiner.alarms

    def reserve(self, outputs: int) -> None:
        """Back to before the first row, in the same units; from now on there is room for so many outputs.

        One output has no room for more.
        """
        self.reserved = outputs
        self.clear(self.outputs)

    @property
    def room(self) -> int:
        """Outputs that there is room for."""
        return max(self.outputs, self.reserved) if self.outputs > 1 else self.outputs

    def append_output(self) -> None:
        """One output more: a class that no row had so far."""
        if self.outputs >= self.room:
            raise ValueError("there is no room for another output")
        self.check_outputs(self.outputs + 1)
        self.outputs += 1
        for expert in self.experts:
            expert.head.append_output(self.rows)

    def check_outputs(self, outputs: int) -> None:
        if self.units.outputs and outputs != self.units.outputs:
            raise ValueError("there are more or fewer outputs than targets that are scaled")

    def reset(self) -> None:
        for map in self.maps:
            map.clear()
        for expert in self.experts:
            expert.head.clear(self.outputs)
        if self.combiner is not None:
            self.combiner.clear(len(self.experts), self.outputs)
        if self.noise is not None:
            self.noise.clear()

    def learn(
        self,
        x: Array,
        y: Array | None,
        weight: Array | None = None,
        frozen: bool = False,
        repeats: bool = False,
        late_anchors: bool = True,
    ) -> Array:
        """What each row scored before it was learned; a row of weight 0 is scored only.

        y is None for rows without labels: units and what needs no labels learn them.
        frozen: this is a part of a merge: features keep their slots and their late anchors.
        repeats: rows were learned before, so their scores say nothing about the experts and the interval.
        late_anchors: those after row 512 are set on the way; if not, by the caller, who carries weights over.
        """
        self._check_dense()
        return self._learn(x, y, weight, frozen, repeats, late_anchors)

    def scores(self, x: Array) -> Array:
        self._check_dense()
        return self._scores(x)

    def moments(self, x: Array) -> Array:  # (n, d) -> (n, k)
        """What is known if these rows are scored now, and the scores of the experts: see `lags`."""
        if self.lags is None:
            raise ValueError("this learner has no lags")
        experts = 0 if self.lags.classes else len(self.experts)
        out = np.empty((len(x), self.lags.columns + KNOWN + experts))
        for row, to in zip(x, out, strict=True):
            self._scores(row[None])
            scores = [self.units.leave(own)[0] for own in self.expert_scores[:experts]]
            to[:] = self.lags.look(row, False).moment(np.array(scores))
        return out

    def learn_sparse(
        self,
        x: Array | None,
        starts: NDArray[np.int64],
        places: NDArray[np.int32],
        values: Array,
        y: Array | None,
        weight: Array | None = None,
        frozen: bool = False,
        repeats: bool = False,
        late_anchors: bool = True,
    ) -> Array:
        """`learn` for rows whose non-zeros are places and values from starts[i] up to starts[i + 1].

        x is their dense part; None where a feature table has the sketch in its place.
        """
        return self._learn(self._sparse_rows(x, starts, places, values), y, weight, frozen, repeats, late_anchors)

    def scores_sparse(
        self, x: Array | None, starts: NDArray[np.int64], places: NDArray[np.int32], values: Array
    ) -> Array:
        """The scores of such rows that are not learned."""
        return self._scores(self._sparse_rows(x, starts, places, values))

    def distances(self, x: Array, window: int) -> Array:  # (n, d) -> (n,)
        """How far rows that are not learned are from the nearest of the last `window` rows."""
        self._check_dense()
        return self._distances(x, window)

    def distances_sparse(
        self, x: Array | None, starts: NDArray[np.int64], places: NDArray[np.int32], values: Array, window: int
    ) -> Array:
        """The same for rows with non-zeros."""
        return self._distances(self._sparse_rows(x, starts, places, values), window)

    def _distances(self, rows: Iterable[Array | SparseRow], window: int) -> Array:
        recent = next((map for map in self.maps if isinstance(map, NeighbourMap)), None)
        if recent is None:
            raise ValueError("no map of this learner stores rows")
        found = []
        for row in rows:
            x = self.units.enter(self.see(self.with_lags(row, False)), False, True, False)
            recent.evaluate(x.dense if isinstance(x, SparseRow) else x)
            found.append(recent.distance(window))
        return np.array(found)

    def _check_dense(self) -> None:
        if self.sparse_features:
            raise ValueError("this learner takes sparse rows")

    def _sparse_rows(
        self, x: Array | None, starts: NDArray[np.int64], places: NDArray[np.int32], values: Array
    ) -> list[SparseRow]:
        if not self.sparse_features:
            raise ValueError("this learner takes dense rows")
        if (x is None) != (self.feature_table is not None):
            raise ValueError("x is None for a learner with a feature table, and for no other")
        x = np.zeros((len(starts) - 1, 0)) if x is None else x
        own = [slice(int(a), int(b)) for a, b in pairwise(starts)]
        return [SparseRow(dense, places[at], values[at]) for dense, at in zip(x, own, strict=True)]

    def _learn(
        self,
        rows: Sequence[Array | SparseRow] | Array,
        y: Array | None,
        weight: Array | None,
        frozen: bool,
        repeats: bool,
        late_anchors: bool,
    ) -> Array:
        judgement: list[tuple[Field, Any]] = []
        if repeats and self.combiner is not None:
            names = self.combiner.judgement
            judgement = [(field, field.get()) for field in self.combiner.fields() if field.key in names]
        if y is None and self.lags is not None:
            raise ValueError("lags need labels")
        if y is None and weight is not None:
            raise ValueError("weights need labels")
        scores = np.empty((len(rows), self.outputs))
        if self.encoder is not None:
            self.encoder.judging = not repeats
        try:
            for i, row in enumerate(rows):
                w = 1.0 if weight is None else weight[i]
                seen = self.units.enter(self.see(self.with_lags(row, w > 0)), w > 0, frozen, late_anchors)
                f = self.score(seen)
                spread = self.spread(f)
                scores[i] = self.units.leave(f)
                if y is None:
                    self.observe()
                elif w > 0:
                    self.rows += 1
                    self.update(seen, self.units.target(y[i]), w, f)
                    self.observe_lag(row, y[i], f)
                    self.units.observe(y[i], f, spread, repeats)
        finally:
            for field, value in judgement:
                field.set(value)
        return scores

    def intervals(self, x: Array, level: float) -> Array:  # (n, d) -> (n, 2)
        """The score of each row, and the half-width of its interval of this level; of a learner with an interval."""
        self._check_dense()
        return self._intervals(x, level)

    def intervals_sparse(
        self, x: Array | None, starts: NDArray[np.int64], places: NDArray[np.int32], values: Array, level: float
    ) -> Array:
        """`intervals` of such rows."""
        return self._intervals(self._sparse_rows(x, starts, places, values), level)

    def _intervals(self, rows: Iterable[Array | SparseRow], level: float) -> Array:
        if self.interval is None:
            raise ValueError("this learner has no interval")
        if not 0 < level < 1:
            raise ValueError("level is not between 0 and 1")
        found = []
        for row in rows:
            f = self.score(self.units.enter(self.see(self.with_lags(row, False)), False, True, False))
            found.append((float(self.units.leave(f)[0]), self.units.half_width(level, f, self.spread(f))))
        return np.array(found).reshape(len(found), 2)

    def spread(self, f: Array) -> float:
        """Of the experts' scores of the row at hand, around f; 0 without an interval or several experts."""
        return 0.0 if self.interval is None or self.combiner is None else self.combiner.spread(self.expert_scores, f)

    def _scores(self, rows: Iterable[Array | SparseRow]) -> Array:
        seen = (self.units.enter(self.see(self.with_lags(row, False)), False, True, False) for row in rows)
        scores = [self.units.leave(self.score(x)) for x in seen]
        return np.array(scores).reshape(len(scores), self.outputs)

    def observe(self) -> None:
        """The row at hand has no label."""
        for map in self.maps:
            map.observe()
        for expert in self.experts:
            expert.head.observe()

    def with_lags(self, x: Array | SparseRow, learned: bool) -> Array | SparseRow:
        """The row with what is known of earlier targets, which the combiner is told too."""
        if self.lags is None or isinstance(x, SparseRow):
            return x
        own = self.units.width - self.lags.columns
        moment = x[own:]
        found = self.lags.remembered(moment)
        self.remembered = None if found is None or self.lags.classes else moment[self.lags.columns + KNOWN :]
        known = self.lags.look(x, learned) if found is None else found
        if self.combiner is not None:
            error = known.error if self.lags.classes else float(self.units.target(np.array([known.error]))[0])
            self.combiner.know(known.target, error)
        return np.append(x[:own], known.columns)

    def observe_lag(self, x: Array | SparseRow, y: Array, f: Array) -> None:
        """A learned row: what experts did not explain, in the units of the target, or whether f is another class."""
        if self.lags is None or isinstance(x, SparseRow):
            return
        if self.lags.classes:
            self.lags.observe(x, label(y), float(label(f) != label(y)))
        else:
            unexplained = 0.0 if self.combiner is None else self.combiner.unexplained
            self.lags.observe(x, float(y[0]), float(self.units.leave(np.array([unexplained]))[0]))

    def see(self, x: Array | SparseRow) -> Array | SparseRow:
        """Show the maps a row with categories or missing values; returns it with numbers in place of categories."""
        if isinstance(x, SparseRow):
            return x
        special = self.encoder is not None or bool(np.isnan(x).any())
        for map in self.maps:
            map.see(x if special else None)
        return x if self.encoder is None else self.encoder.encode(x)

    def score(self, x: Array | SparseRow) -> Array:
        for map in self.maps:
            if isinstance(x, SparseRow) and map.takes_sparse_rows:
                map.evaluate_sparse(x.places, x.values)
            else:
                map.evaluate(x.dense if isinstance(x, SparseRow) else x)
        self.expert_scores: Array = np.array([expert.head.scores() for expert in self.experts])
        self.stack_scores: Array = self.expert_scores
        if self.combiner is None:
            return np.asarray(self.expert_scores[0])
        if self.remembered is not None:
            self.stack_scores = np.array([self.units.target(np.array([score])) for score in self.remembered])
        self.combiner.set_unknown(self.encoder is not None and self.encoder.has_unknown())
        return self.combiner.combine(self.stack_scores)

    def update(self, x: Array | SparseRow, y: Array, weight: float, f: Array) -> None:
        for map in self.maps:
            map.before(self.rows)
        noise = Noise() if self.noise is None else self.noise.noise
        if self.combiner is not None:
            noise = self.combiner.noise
            self.combiner.learn(self.stack_scores, y, f, weight)
            for map in self.maps if self.combiner.alarmed else []:
                map.drifted()
        target = y if self.combiner is None else self.combiner.target(y)
        for expert, own in zip(self.experts, self.expert_scores, strict=True):
            expert.head.learn(target, own, weight, self.rows, noise)
        if self.noise is not None:
            self.noise.observe_row(float(np.mean((y - f) ** 2)) if len(y) else 0.0, self.rows)
        for map in self.maps:
            map.after(self.rows)

    def fields(self) -> list[Field]:
        """One map and one expert without a combiner: their fields have no prefix."""
        single = len(self.maps) == len(self.experts) == 1 and self.combiner is None
        own = super().fields()
        for i, map in enumerate(self.maps):
            prefix = "" if single else f"map{i}/"
            own += part(map.fields(), prefix, prefix)
        for i, expert in enumerate(self.experts):
            prefixes = ("", "") if single else (f"expert{i}/", f"map{expert.map}/")
            own += part(expert.head.fields(), *prefixes)
        own += self.noise.fields() if self.noise is not None else []
        own += self.units.fields()
        return own + (self.combiner.fields() if self.combiner is not None else [])

    def restored(self) -> None:
        for map in self.maps:
            map.restored()
        for expert in self.experts:
            expert.head.restored()


def label(y: Array) -> float:
    """The index of the class of targets or scores (c,)."""
    return float(y[0] > 0) if len(y) == 1 else float(np.argmax(y))
