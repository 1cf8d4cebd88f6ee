"""What an engine offers: the types of `nolana.engine` and of the compiled core, to the layers above.

Both are modules; type checkers compare them with `Engine` in tests/typing/engines.py. Drivers hold an `Engine` and an
`EngineLearner`, whichever of the two is behind them. n rows, d features, c outputs.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.state import Array, State

__all__ = [
    "CalibrationPart",
    "Engine",
    "EngineLearner",
    "EngineMap",
    "FeatureTablePart",
    "GrowthWatchPart",
    "IntervalWidthPart",
    "LabelSetsPart",
    "Part",
    "RobustScalingPart",
    "TextParsers",
]

Starts = NDArray[np.int64]
Places = NDArray[np.int32]
Integers = NDArray[np.int64]
Codes = NDArray[np.uint8]
Problem = tuple[str, int, int, int, int]  # what, and where it is
CellRows = tuple[Array, Codes, Integers, Codes, Integers, int, int, Problem | None]
LibsvmRows = tuple[Any, Integers, int, int, Problem | None]
NewKeys = list[tuple[bytes, int, int]]  # key, number of rows, first line


class Part(Protocol):
    """An object with a state, which is data."""

    def state(self, beginnings: Sequence[str] = ..., tables: bool = ..., units: bool = ...) -> State:
        """Named arrays and numbers: all, or those whose names begin with one of `beginnings`."""
        ...

    def restore(self, state: State, tables: bool = ..., units: bool = ...) -> None:
        """Continue from an exported state; unchanged if it raises."""
        ...

    def restore_part(self, state: State) -> None:
        """Take some fields of a state; no size changes."""
        ...

    def axes(self) -> dict[str, list[str]]:
        """The names of the axes of each array of the state."""
        ...

    @property
    def memory_bytes(self) -> int:
        """Bytes of state and scratch."""
        ...


class CountingPart(Part, Protocol):
    """A part that counts the rows that it observed."""

    @property
    def rows(self) -> int: ...


class CalibrationPart(CountingPart, Protocol):
    """`nolana.engine.learner.calibration`."""

    def observe(self, scores: Array, targets: Array, weight: Array | None = ...) -> Array: ...

    def logits(self, scores: Array) -> Array: ...


class RobustScalingPart(CountingPart, Protocol):
    """`nolana.engine.learner.robust_scaling`."""

    def apply(self, x: Array) -> Array: ...

    def observe(self, x: Array) -> None: ...

    def advance(self, x: Array, weight: Array | None = ..., late_anchors: bool = ...) -> Array: ...

    def anchor(self) -> NDArray[np.bool_ | np.float64]: ...


class GrowthWatchPart(CountingPart, Protocol):
    """`nolana.engine.learner.growth`."""

    def observe(self, x: Array, weight: Array | None, factor: Array) -> None: ...

    def check(self) -> bool: ...


class IntervalWidthPart(CountingPart, Protocol):
    """`nolana.engine.learner.interval_width`."""

    def observe(
        self, residuals: Array, level: int = ..., scores: Array | None = ..., spreads: Array | None = ...
    ) -> Array: ...

    def rescale(self, factor: float) -> None: ...

    def half_width(self, level: float, score: float = ..., spread: float = ...) -> float: ...


class LabelSetsPart(CountingPart, Protocol):
    """`nolana.engine.learner.label_sets`."""

    def observe(self, scores: Array, targets: Array, level: int = ...) -> Array: ...

    def threshold(self, level: float) -> float: ...


class FeatureTablePart(CountingPart, Protocol):
    """`nolana.engine.experts.sparse_linear.feature_table`."""

    def apply(self, starts: Starts, indices: Places, values: Array) -> tuple[Places, Array]: ...

    def advance(
        self, starts: Starts, indices: Places, values: Array, weight: Array | None = ...
    ) -> tuple[Places, Array]: ...


class EngineMap(Protocol):
    """A map of a learner."""

    def transform(self, x: Array) -> Array:  # (n, d) -> (n, width)
        """The features of rows."""
        ...


class EngineLearner(CountingPart, Protocol):
    """`nolana.engine.learner.learner`; a rival has the verbs of rows and of the state only."""

    def learn(
        self,
        x: Array,
        y: Array | None,
        weight: Array | None = ...,
        frozen: bool = ...,
        repeats: bool = ...,
        late_anchors: bool = ...,
    ) -> Array:  # (n, d), (n, c), (n,) -> (n, c)
        """The scores of each row before it was learned; y is None for rows without labels."""
        ...

    def scores(self, x: Any) -> Array:  # (n, d) -> (n, c); of a learner of dense rows
        """The scores of rows that are not learned."""
        ...

    def learn_sparse(
        self,
        x: Array | None,
        starts: Starts,
        places: Places,
        values: Array,
        y: Array | None,
        weight: Array | None = ...,
        frozen: bool = ...,
        repeats: bool = ...,
        late_anchors: bool = ...,
    ) -> Array:
        """`learn` for rows with non-zeros beside their dense part."""
        ...

    def scores_sparse(self, x: Array | None, starts: Starts, places: Places, values: Array) -> Array:
        """`scores` for such rows."""
        ...

    def intervals(self, x: Any, level: float) -> Array:  # (n, d) -> (n, 2); of a learner with an interval
        """The score of each row, and the half-width of its interval."""
        ...

    def intervals_sparse(self, x: Array | None, starts: Starts, places: Places, values: Array, level: float) -> Array:
        """`intervals` for rows with non-zeros."""
        ...

    def moments(self, x: Array) -> Array:
        """What is known of earlier targets if these rows are scored now, and the scores of the experts (n, k)."""
        ...

    def distances(self, x: Array, window: int) -> Array:  # (n, d) -> (n,)
        """The mean distance of rows to the nearest of the last `window` rows that a map stores."""
        ...

    def distances_sparse(self, x: Array | None, starts: Starts, places: Places, values: Array, window: int) -> Array:
        """`distances` for such rows."""
        ...

    def clear(self, outputs: int) -> None:
        """Back to before the first row, with this many outputs."""
        ...

    def reserve(self, outputs: int) -> None:
        """Back to before the first row, with room for this many outputs."""
        ...

    def append_output(self) -> None:
        """One more output: a class that no row had so far."""
        ...

    @property
    def outputs(self) -> int: ...

    @property
    def room(self) -> int: ...

    @property
    def maps(self) -> Sequence[EngineMap]: ...

    @property
    def scaling(self) -> RobustScalingPart | None: ...

    @property
    def target_scaling(self) -> RobustScalingPart | None: ...

    @property
    def interval(self) -> IntervalWidthPart | None: ...

    @property
    def label_sets(self) -> LabelSetsPart | None: ...

    @property
    def growth(self) -> GrowthWatchPart | None: ...

    @property
    def feature_table(self) -> Any: ...  # a FeatureTablePart, None unless rows are sparse

    @property
    def lags(self) -> Part | None: ...

    @property
    def alarms(self) -> list[float]: ...


class Engine(Protocol):
    """The module `nolana.engine`, or a build of the core."""

    __name__: str

    def Calibration(self) -> CalibrationPart: ...

    def RobustScaling(
        self, features: int, follows_level: bool = ..., fixed: Array | None = ..., keeps_first: bool = ...
    ) -> RobustScalingPart: ...

    def GrowthWatch(self, features: int) -> GrowthWatchPart: ...

    def IntervalWidth(self, levels: Array, by_row: bool = ...) -> IntervalWidthPart: ...

    def LabelSets(self, levels: Array) -> LabelSetsPart: ...

    def Lags(self, lag: int, rows: int, classes: bool = ..., slots: int = ..., group: int = ...) -> Part: ...

    def FeatureTable(self, features: int, table: int, counters: int, seed: int = ...) -> FeatureTablePart: ...

    def sketch_rows(self, starts: Starts, indices: Places, values: Array, width: int, seed: int) -> Array: ...

    def add_moments(self, count: float, mean: Array, squares: Array, x: Array) -> float: ...

    def first_beyond(self, x: Array, bound: float) -> int: ...


class TextParsers(Protocol):
    """The parsers of text, which the compiled core alone has."""

    def csv_fields(
        self, text: bytes, start: int, final: bool, delimiter: str
    ) -> tuple[Integers, int, int, Problem | None]: ...

    def csv_cells(
        self,
        text: bytes,
        start: int,
        final: bool,
        limit: int,
        delimiter: str,
        numbers: Integers,
        texts: Integers,
        d: int,
        t: int,
    ) -> CellRows: ...

    def json_cells(
        self,
        text: bytes,
        start: int,
        final: bool,
        limit: int,
        keys: list[bytes],
        numbers: Integers,
        texts: Integers,
        d: int,
        t: int,
    ) -> tuple[*CellRows, NewKeys]: ...

    def libsvm_rows(
        self,
        text: bytes,
        start: int,
        final: bool,
        limit: int,
        places: Integers,
        features: int,
        base: int,
        labelled: bool,
        sparse: bool = ...,
    ) -> LibsvmRows: ...

    def libsvm_extent(self, text: bytes, start: int, final: bool, limit: int) -> tuple[int, int, int]: ...

    def hash_fields(self, text: bytes, spans: Integers, json: bool = ...) -> Array: ...

    def hash_strings(self, values: list[Any]) -> Array: ...

    def integer_fields(self, text: bytes, spans: Integers) -> tuple[Integers, int]: ...

    def number_fields(self, text: bytes, spans: Integers) -> tuple[Array, int]: ...
