"""A model of River around an estimator of nolana: dicts in, one row at a time or a frame of them.

The number of slots is open for 64 rows. Until then the rows are stored and learned again when there are more features
than slots: afterwards the model is as if all of them had been known from the first row. Features of which most are
absent in most rows, as words in texts, are learned as sparse rows if they would need more than 256 slots. These rows
also decide which features are categories and dates (`nolana.river.mixed`).
"""

import copy
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from river import base

from nolana.estimators.base import OnlinePredictor
from nolana.estimators.edge import check_weights
from nolana.learner.rows import WIDE, Matrix
from nolana.river.frames import Frame, FrameRows, Series
from nolana.river.mixed import MixedFeatures
from nolana.river.slots import COLUMNS, Array, Features, FeatureSlots, HashedFeatures, Seen, width_for
from nolana.sources.blocks import joined

Target = Any  # a label, or a number for regression
Example = tuple[dict[Hashable, object], Target, float]  # features, label or target, weight

OPEN = 64  # rows after which the number of slots is decided
MOST_SLOTS = 1024  # more features are learned as sparse rows
LAST_REGULAR_ANCHOR, CHECK_EVERY = 512, 64  # rows at which `centre` of a learner may change


class RiverModel(base.Estimator):
    """What the classifiers and the regressors share."""

    n_slots: int | None

    _estimator_class: ClassVar[type[OnlinePredictor]]
    _estimator: OnlinePredictor | None  # None before the first row
    _mixed: MixedFeatures | None  # what the features are; None: before the first row, or numbers alone
    _features: FeatureSlots | HashedFeatures | None
    _first_rows: list[Example] | None  # while the number of slots is open
    _centre: tuple[int, Array] | None

    def __post_init__(self) -> None:
        self._estimator, self._features, self._first_rows, self._centre, self._mixed = None, None, [], None, None

    @property
    def _model(self) -> OnlinePredictor:
        """The estimator, after the first row."""
        assert self._estimator is not None
        return self._estimator

    @property
    def _slots(self) -> FeatureSlots | HashedFeatures:
        """The features, after the first row."""
        assert self._features is not None
        return self._features

    def _make_estimator(self) -> OnlinePredictor:
        """The estimator of these parameters."""
        own = self._get_params()
        for name in ("n_slots", "categorical_features", "text_features"):  # the estimator sees slots and keys
            own.pop(name, None)
        if "seed" in own:
            own["random_state"] = own.pop("seed")
        return self._estimator_class(**own)

    def _learn_rows(self, rows: Matrix, targets: list[Target], weights: list[float] | None) -> None:
        """Learn rows of slots; a refused call changes nothing."""
        raise NotImplementedError

    def _check_targets(self, targets: list[Target]) -> None:
        """ValueError for what `_learn_rows` would refuse."""
        raise NotImplementedError

    # Learning

    def learn_one(self, x: Features, y: Target, w: float = 1.0) -> None:
        """Learn one row.

        Parameters
        ----------
        x
            Features: a dict from names to numbers, strings, booleans or dates. An absent feature, None and NaN are
            missing values.
        y
            The label or the target.
        w
            The weight of the row.
        """
        if self._first_rows is not None:
            self._learn_first((dict(x), y, w))
            return
        self._learn_example(x, y, w)

    def _learn_first(self, example: Example) -> None:
        """A row while the number of slots is open."""
        assert self._first_rows is not None
        before = dict(self.__dict__)
        self._first_rows = [*self._first_rows, example]
        try:
            if self._features is None or self._must_begin_again(self._features, example[0]):
                self._learn_again()
            else:
                self._learn_example(*example)
            self._decide_width()
        except BaseException:
            self.__dict__.update(before)
            raise

    def _learn_example(self, x: Features, y: Target, w: float) -> None:
        row, keys, seen = self._read(x)
        self._learn_rows(self._joined(row, [keys]), [y], None if w == 1.0 else [w])
        self._slots.learned(seen)

    def _read(self, x: Features) -> tuple[Matrix, list[float], Seen | None]:
        """The slots (1, d) of a dict, its keys, and what it changes."""
        features = self._slots
        numbers, keys = (x, []) if self._mixed is None else self._mixed.read(x, features)
        row, seen = features.read(numbers, self._centre_now)
        return row, keys, seen

    def _joined(self, slots: Matrix, keys: Sequence[Sequence[float]]) -> Matrix:
        return slots if self._mixed is None else self._mixed.rows(slots, keys)

    def _must_begin_again(self, features: FeatureSlots | HashedFeatures, x: Features) -> bool:
        """Whether there are too few slots, or a feature is not what it was."""
        if isinstance(features, HashedFeatures):
            return False
        if self._mixed is not None:
            if not self._mixed.fits(x, features):
                return True
            x, _ = self._mixed.read(x, features)
        return self.n_slots is None and len(features.new_names(x)) > features.free

    def _decide_width(self) -> None:
        """After 64 rows there is a spare slot for every fourth feature; wide rows need no further look."""
        features, rows = self._features, self._first_rows
        assert rows is not None
        if isinstance(features, FeatureSlots):
            if len(rows) < OPEN:
                return
            if self.n_slots is None and features.width < width_for(len(features.names)):
                self._learn_again()
        self._first_rows = None

    def _learn_again(self) -> None:
        """The stored rows, with as many slots as they need."""
        rows = self._first_rows
        assert rows is not None
        self._estimator, self._centre = self._make_estimator(), None
        dicts: list[Features] = [x for x, _, _ in rows]
        if self._estimator_class._takes_tables:
            options = self._get_params()
            self._mixed = MixedFeatures.infer(dicts, options["categorical_features"], options["text_features"])
            dicts = [self._mixed.read(x, ())[0] for x in dicts]
        self._features = self._slots_for(dicts)
        if self._mixed is not None and isinstance(self._features, HashedFeatures):
            self._mixed = self._mixed.without_keys()
        for example in rows:
            self._learn_example(*example)

    def _slots_for(self, rows: list[Features]) -> FeatureSlots | HashedFeatures:
        present = [FeatureSlots(1).new_names(x) for x in rows]
        names = {name for each in present for name in each}
        width = width_for(len(names)) if self.n_slots is None else self.n_slots
        if not isinstance(width, int | np.integer) or not 1 <= width <= COLUMNS:
            raise ValueError(f"n_slots={width!r} is out of range: an integer from 1 to {COLUMNS}, or None")
        if self._mixed is not None and self._mixed.has_text and self.n_slots is None:
            return HashedFeatures()
        sparse = self.n_slots is None and 2 * sum(len(each) for each in present) < len(rows) * len(names)
        return HashedFeatures() if width > (WIDE if sparse else MOST_SLOTS) else FeatureSlots(int(width))

    def _centre_now(self) -> Array:
        """What the learner scales the slots around; it may change after 2, 4, ..., 512 rows, then every 64 rows."""
        learner, width = self._model.__dict__.get("_learner"), self._slots.width
        if learner is None:
            return np.zeros(width)
        period = period_of(learner.rows)
        if self._centre is None or self._centre[0] != period:
            self._centre = period, learner.centre()[:width]
        return self._centre[1]

    def learn_many(self, X: Frame, y: Series | Sequence[Target], w: ArrayLike | None = None) -> None:
        """Learn the rows of a frame; the same as `learn_one` for each of them, bit for bit.

        Parameters
        ----------
        X
            A frame whose columns are features; NaN is a missing value.
        y
            Labels or targets, one for each row.
        w
            Weights, one for each row; None: all rows count the same.
        """
        frame = FrameRows(X, mixed=self._estimator_class._takes_tables)
        targets = list(y.to_list() if hasattr(y, "to_list") else y)
        if len(frame) != len(targets):
            raise ValueError(f"X has {len(frame)} rows, y {len(targets)}; expected as many of each")
        if not targets:
            return
        checked = check_weights(w, len(targets))
        weights = [1.0] * len(targets) if checked is None else checked.tolist()
        self._check_targets(targets)
        # Numbers were all checked. Whether other values fit is known when the rows before were learned.
        simple = frame.numbers is not None and (self._mixed is None or self._mixed.simple)
        before = None if simple else copy.deepcopy(self.__dict__)
        try:
            self._learn_frame(frame, targets, weights)
        except BaseException:
            self.__dict__.update(before or {})
            raise

    def _learn_frame(self, frame: FrameRows, targets: list[Target], weights: list[float]) -> None:
        start = 0
        while self._first_rows is not None and start < len(targets):
            self.learn_one(frame.row(start), targets[start], weights[start])
            start += 1
        for stop, rows in self._blocks(frame, weights, start):
            own = weights[start:stop]
            self._learn_rows(rows, targets[start:stop], None if set(own) == {1.0} else own)
            start = stop

    def _blocks(self, frame: FrameRows, weights: list[float], start: int) -> Iterator[tuple[int, Matrix]]:
        """Rows from `start` on, each block with the number of the row behind it; it is learned before the next."""
        features = self._features
        if start == len(frame):
            return
        if isinstance(features, HashedFeatures):
            yield len(frame), self._hashed(frame, start)
            return
        assert features is not None
        complete = self._complete(frame, start)
        if complete is not None:
            yield len(frame), complete
            features.rows += len(complete)
            return
        learner, rows, keys, counted = self._model._learner, list[Matrix](), list[list[float]](), 0
        for i in range(start, len(frame)):
            row, own, seen = self._read(frame.row(i))
            features.learned(seen)
            rows.append(row)
            keys.append(own)
            counted += weights[i] > 0
            if period_of(learner.rows + counted) != period_of(learner.rows):  # the next row may have another centre
                yield i + 1, self._joined(joined(rows), keys)
                rows, keys, counted = [], [], 0
        if rows:
            yield len(frame), self._joined(joined(rows), keys)

    def _hashed(self, frame: FrameRows, start: int = 0) -> Matrix:
        features, mixed = self._features, self._mixed
        assert isinstance(features, HashedFeatures)
        dicts = (frame.row(i) for i in range(start, len(frame)))
        return features.rows_of([x if mixed is None else mixed.read(x, ())[0] for x in dicts])

    def _complete(self, frame: FrameRows, start: int = 0) -> Array | None:
        """The rows of a frame of numbers that change nothing but the number of rows; None if there may be others."""
        assert isinstance(self._features, FeatureSlots)
        if frame.numbers is None or not (self._mixed is None or self._mixed.simple):
            return None
        return self._features.read_all(frame.names, frame.numbers[start:])

    # Reading

    @property
    def _ready(self) -> bool:
        """Whether a row of positive weight was learned."""
        return self._estimator is not None and self._estimator._learner.rows > 0

    def _row(self, x: Features) -> Matrix:
        row, keys, _ = self._read(x)
        return self._joined(row, [keys])

    def _rows(self, X: Frame) -> Matrix:
        """The rows of a frame, nothing of which is learned."""
        frame = FrameRows(X, mixed=self._mixed is not None)
        if isinstance(self._features, HashedFeatures):
            return self._hashed(frame)
        complete = self._complete(frame)
        if complete is not None:
            return complete
        rows, keys, _ = zip(*(self._read(frame.row(i)) for i in range(len(frame))), strict=True)
        return self._joined(joined(list(rows)), keys)

    @property
    def estimator(self) -> OnlinePredictor | None:
        """The estimator of nolana inside, for ``drift_``, ``experts_``, ``landmarks_``; None before the first row."""
        return self._estimator

    @property
    def memory_bytes_(self) -> int:
        """Bytes of the learner, of the slots and, in the first 64 rows, of the stored rows."""
        learner = 0 if self._estimator is None else int(self._estimator._learner.memory_bytes)
        values = [value for x, _, _ in self._first_rows or () for value in x.values()]
        stored = sum(100 + (len(value) if isinstance(value, str | bytes) else 0) for value in values)
        return learner + stored + (0 if self._features is None else self._features.bytes)

    @property
    def _raw_memory_usage(self) -> int:
        """River's own count does not see the compiled core."""
        return self.memory_bytes_


def period_of(rows: int) -> int:
    """Learners scale around the same centre in one period: it may change after 2, 4, ..., 512 rows, then every 64."""
    return rows.bit_length() if rows <= LAST_REGULAR_ANCHOR else LAST_REGULAR_ANCHOR + rows // CHECK_EVERY
