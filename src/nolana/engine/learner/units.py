"""The units of a learner: rows and targets come in those of the input, and scores leave in them.

Each part may be missing:

    scaling         z = scaling(x), which every learned row advances
    growth          watches which features grow in every learned row, by the scaling
    target_scaling  y' = (y - m0) i0 is learned, and f/i0 + m0 is the score; before the first anchor i0 is 0 and m0 the
                    first target
    interval        follows the residuals y' - f of learned rows
    label_sets      follow the scores of learned rows of classes
    feature_table   slots and values of the non-zeros of wide sparse rows; their sketch takes the place of x
    lags            columns behind those of x: what is known of earlier targets

When anchors are set, what was learned has to be carried over, so they are for the caller to set; late ones are set on
the way if nothing has to be carried over.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.state import Array, Field, Stateful, part
from nolana.engine.experts.sparse_linear.feature_table import FeatureTable
from nolana.engine.experts.sparse_linear.sketch import sketch_rows
from nolana.engine.learner.growth import GrowthWatch
from nolana.engine.learner.interval_width import IntervalWidth
from nolana.engine.learner.label_sets import LabelSets
from nolana.engine.learner.lags import Lags
from nolana.engine.learner.robust_scaling import RobustScaling


class SparseRow(NamedTuple):
    """A row of which some maps read the non-zeros, others the dense part (d,)."""

    dense: Array
    places: NDArray[np.int32]
    values: Array


class Units:
    """Any of the seven parts; `features` and `places` are those of the maps of dense and of sparse rows."""

    def __init__(
        self,
        scaling: RobustScaling | None,
        target_scaling: RobustScaling | None,
        interval: IntervalWidth | None,
        feature_table: FeatureTable | None,
        lags: Lags | None,
        label_sets: LabelSets | None,
        growth: GrowthWatch | None,
        features: int,
        places: int,
    ) -> None:
        self.scaling, self.growth, self.target_scaling = scaling, growth, target_scaling
        self.interval, self.feature_table, self.lags, self.label_sets = interval, feature_table, lags, label_sets
        if scaling is not None and scaling.features != features and features > 0:
            raise ValueError("the scaling has another number of features than the maps")
        if growth is not None and (scaling is None or growth.features != scaling.features):
            raise ValueError("what grows is watched by a scaling of as many features")
        if feature_table is not None and feature_table.table > places:
            raise ValueError("the feature table has more slots than the map of sparse rows has places")
        if interval is not None and target_scaling is None:
            raise ValueError("an interval needs the scaling of targets")
        if interval is not None and self.outputs != 1:
            raise ValueError("an interval needs a single target")
        if label_sets is not None and target_scaling is not None:
            raise ValueError("label sets need classes")
        self.width = features if scaling is None else scaling.features  # of the dense part of a row
        if feature_table is not None and self.width & (self.width - 1):
            raise ValueError("the width of a sketch is a power of 2")
        if lags is not None:
            if places > 0 or feature_table is not None:
                raise ValueError("lags need dense rows")
            if self.width <= lags.columns:
                raise ValueError("lags have more columns than the rows")
            if lags.slots and lags.group >= self.width - lags.columns:
                raise ValueError("the group names a column that does not exist")
            if not lags.classes and self.outputs != 1:
                raise ValueError("lags need a single target")

    @property
    def outputs(self) -> int:
        """Targets that the scaling is made for; 0: any number of them."""
        return 0 if self.target_scaling is None else self.target_scaling.features

    def enter(self, x: Array | SparseRow, learned: bool, frozen: bool, late_anchors: bool) -> Array | SparseRow:
        """A row that is about to be scored, as the maps take it; observed if it is learned afterwards.

        frozen: features keep their slots and their late anchors.
        """
        if self.feature_table is not None:
            assert isinstance(x, SparseRow)
            x = self._looked_up(x, learned and not frozen)
        if self.scaling is None:
            return x
        dense = x.dense if isinstance(x, SparseRow) else x
        weight = np.array([float(learned)])
        z = self.scaling.advance(dense[None], weight, late_anchors and not frozen)[0]
        if self.growth is not None:
            self.growth.observe(dense[None], weight, self.scaling.factor)
        return x._replace(dense=z) if isinstance(x, SparseRow) else z

    def _looked_up(self, x: SparseRow, learned: bool) -> SparseRow:
        assert self.feature_table is not None
        starts = np.array([0, len(x.places)])
        slots, z = self.feature_table.advance(starts, x.places, x.values, np.array([float(learned)]))
        if not self.width:
            return SparseRow(x.dense, slots, z)
        return SparseRow(sketch_rows(starts, x.places, z, self.width, self.feature_table.seed)[0], slots, z)

    @property
    def center(self) -> Array:
        """Of the targets (c,)."""
        assert self.target_scaling is not None
        return self.target_scaling.center if self.target_scaling.rows > 1 else self.target_scaling.mean

    def target(self, y: Array) -> Array:  # (c,) -> (c,)
        """As it is learned."""
        return y if self.target_scaling is None else (y - self.center) * self.target_scaling.factor

    def leave(self, f: Array) -> Array:  # (c,) -> (c,)
        """Scores in the units of the targets."""
        if self.target_scaling is None:
            return f
        factor = self.target_scaling.factor
        return np.asarray(np.where(factor > 0, f / np.where(factor > 0, factor, 1.0), f * 0) + self.center)

    def half_width(self, level: float, f: Array, spread: float) -> float:
        """Of the interval of a row, in the unit of the target; f before it leaves."""
        assert self.interval is not None
        assert self.target_scaling is not None
        factor = float(self.target_scaling.factor[0])
        return self.interval.half_width(level, float(f[0]), spread) / factor if factor > 0 else 0.0

    def observe(self, y: Array, f: Array, spread: float, repeats: bool) -> None:
        """A learned row: its target in its own unit, its scores before they leave, the spread of the experts' scores.

        Repeated rows say nothing about the scores.
        """
        if self.interval is not None and not repeats:
            self.interval.observe((self.target(y) - f)[:1], scores=f[:1], spreads=np.array([spread]))
        if self.label_sets is not None and not repeats:
            self.label_sets.observe(f[None], y[None])
        if self.target_scaling is not None:
            self.target_scaling.observe_row(y)

    def fields(self) -> list[Field]:
        parts: dict[str, Stateful | None] = {
            "scaling/": self.scaling,
            "scaling_growth/": self.growth,
            "target_scaling/": self.target_scaling,
            "interval/": self.interval,
            "features/": self.feature_table,
            "lags/": self.lags,
            "label_sets/": self.label_sets,
        }
        named = [(prefix, each) for prefix, each in parts.items() if each is not None]
        return [replace(field, unit=True) for prefix, each in named for field in part(each.fields(), prefix, prefix)]
