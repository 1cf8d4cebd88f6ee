"""What surrounds an engine's learner: the engine that runs it, the lock, copies, divergence, changes of its outputs.

Blocks are cut at events. After which row an event is due does not depend on the blocks, so that they may be split
anywhere. The events of a driver are one table, in the order in which they happen; `learn` cuts blocks at `next_event`
and runs what is due, and a merge of parts that learns again catches up on what fell into frozen rows.
"""

import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from nolana import engine as numpy_engine
from nolana.backend import backend
from nolana.engine.base.state import State as State
from nolana.engine.base.threads import one_blas_thread
from nolana.engine.experts.landmarks.kernels import LARGEST_VALUE
from nolana.engine.learner.learner import Expert as EngineExpert
from nolana.engine.learner.learner import Learner
from nolana.engine.protocol import Engine, EngineLearner
from nolana.errors import DivergenceWarning, Setting
from nolana.experts.base import Axes, Expert, ExpertState, Outputs, by_part, joined_state, rearrange, split
from nolana.modelfile.specs import Spec

Array = NDArray[np.float64]
D = TypeVar("D", bound="Driver")

NEVER = 1 << 62
# Of a learner of the engine.
UNITS = ("scaling", "target_scaling", "interval", "feature_table", "lags", "label_sets", "growth")
LARGEST_FLOAT = sys.float_info.max
LARGEST_WEIGHT = 10.0  # times the running mean of the weights
WEIGHT_GAIN = 0.001
SMALLEST_WEIGHT = sys.float_info.min  # a positive weight stays positive, however large the others were
# How to take shorter steps, by the argument of an engine object. The text names parameters of the estimators.
INSTEAD = {"scale": Setting("scale", True), "newton": Setting("optimizer", "newton")}  # what remedies name
SHORTER_STEPS = {
    "rate": "choose a smaller learning_rate",
    "width_rate": "choose a smaller width_rate",
    "decay": "choose a smaller regularization",
    "regularization": "choose a larger regularization",
    "noise": "choose a larger regularization",
    "c": "choose a smaller C",
}


def learner_spec(map: Spec, head: Spec, noise: Spec | None = None) -> Spec:
    """A learner with one expert; `noise` estimates the variance of scalar targets."""
    own = {"maps": [map], "experts": [Spec(EngineExpert, {"map": 0, "head": head})], "combiner": None}
    return Spec(Learner, own | ({} if noise is None else {"noise": noise}))


def check_units(spec: Spec) -> None:
    """ValueError for a spec with units: those are the driver's."""
    if any(spec.arguments.get(name) is not None for name in UNITS):
        raise ValueError(f"expected a learner without {', '.join(UNITS)}: they follow from the options")


@dataclass(frozen=True)
class Origin:
    """Where a part of a merge comes from: the fingerprint and the rows of its base.

    A part is frozen: its maps do not change. A merge of parts has the same origin until it learns again. `base` is
    there as long as nobody saves or copies the part.
    """

    fingerprint: str
    rows: int
    frozen: bool = True
    base: Any = field(default=None, compare=False, repr=False)


class FairLock:
    """One for each learner, fair enough that a reader gets in while another thread learns without a pause.

    A mutex behind a gate: who waits for the mutex holds the gate, so nobody can overtake twice in a row.
    """

    def __init__(self) -> None:
        self._gate, self._mutex = threading.Lock(), threading.Lock()

    def __enter__(self) -> None:
        with self._gate:
            self._mutex.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._mutex.release()


class Event(NamedTuple, Generic[D]):
    """`next_row(t)` is the first row after t at which the event may be due."""

    next_row: Callable[[int], int]
    condition: Callable[[D], bool]
    action: Callable[[D], None]
    catches_up: bool = False  # whether a merge of parts makes up for it
    of_labels: bool = False  # whether rows without labels do not count
    wait: Callable[[D], int] | None = None  # so many rows come before it in any case


def next_event(driver: "Driver") -> int:
    """The row after which something may be re-estimated."""
    if driver.frozen:
        return NEVER
    rows, labelled = driver.rows, driver.labelled
    left = NEVER
    for event in driver.events:
        if event.condition(driver):
            seen = labelled if event.of_labels else rows
            to_go = event.next_row(seen) - seen
            left = min(left, to_go if event.wait is None else max(to_go, event.wait(driver)))
    return rows + left


def run_events(driver: "Driver", has_labels: bool) -> None:
    """What is due now that rows have been learned, with labels or without."""
    rows, labelled = driver.rows, driver.labelled if has_labels else 0
    for event in driver.events:
        seen = labelled if event.of_labels else rows
        is_event_row = seen > 0 and event.next_row(seen - 1) == seen
        if is_event_row and event.condition(driver) and (event.wait is None or event.wait(driver) <= 0):
            event.action(driver)


def catch_up(driver: "Driver", before: int) -> None:
    """What was due after row `before` while the maps were frozen."""
    for event in driver.events:
        if event.catches_up and event.next_row(before) <= driver.rows and event.condition(driver):
            event.action(driver)


class Driver:
    """A learner of c outputs: ``learn(X, Y) -> scores``; the caller holds the lock.

    `options` say what the engine does not decide; each driver has a class of its own for them.
    """

    options_class: ClassVar[type]
    events: ClassVar[tuple[Event[Any], ...]] = ()
    largest = LARGEST_VALUE  # features beyond this overflow
    sparse = False  # whether rows are `SparseRows`
    repeats = False  # whether rows were learned before, in an earlier pass of `fit`: their scores say nothing
    origin: Origin | None = None  # of a part, and of a merge of parts that has learned nothing since
    loaded: tuple[str, int] | None = None  # the fingerprint and the rows of the file that it was read from

    _named: tuple[EngineLearner, Mapping[str, Axes]] | None = None  # axes of an engine
    _next_event = _next_stop = 0  # the rows after which something may be re-estimated, and a block is cut
    _looks_ahead = False  # whether something depends on the next rows before they are learned

    def __init__(self, spec: Spec, options: Any, features: int, outputs: int) -> None:
        self.check(spec, options)
        self.spec, self.options, self.n_features = spec, options, features
        self.lock = FairLock()
        self.runs_user_code = spec.runs_user_code
        self._module: Engine = backend() if spec.is_compiled(backend()) else numpy_engine
        self.engine: EngineLearner = self.build(spec)
        self.engine.clear(outputs)
        self.diverged = False  # whether a score was not finite

    @classmethod
    def engine_features(cls, options: Any, features: int) -> int:
        """Features of the dense rows that the engine takes, for rows of so many features."""
        return features

    @classmethod
    def check(cls, spec: Spec, options: Any) -> None:
        """ValueError for a spec that this driver cannot run, before anything is built."""
        check_units(spec)
        if spec.kind is Learner and not len(spec.arguments["maps"]) == len(spec.arguments["experts"]) == 1:
            raise ValueError("this driver runs a learner with one map and one expert")

    def build(self, spec: Spec) -> Any:
        """An engine of this spec."""
        return spec.build(self._module)

    @property
    def rows(self) -> int:
        return int(self.engine.rows)

    @property
    def labelled(self) -> int:
        """Rows that had a label."""
        return self.rows

    @property
    def experts(self) -> Sequence[Expert]:
        """The experts of its maps; none if its parts cannot be merged."""
        return ()

    @property
    def axes(self) -> Mapping[str, Axes]:
        """The names of the axes of each array of the engine's state, by part."""
        if self._named is None or self._named[0] is not self.engine:
            self._named = self.engine, by_part(self.engine.axes())
        return self._named[1]

    @property
    def outputs(self) -> int:
        return int(self.engine.outputs)

    @property
    def memory_bytes(self) -> int:
        """State and scratch."""
        return int(self.engine.memory_bytes)

    def centre(self) -> Array:  # (d,)
        """What the features of dense rows are scaled around; it changes at anchors only. 0 without scaling."""
        return np.zeros(self.n_features)

    def learn(self, x: Any, y: Any, weight: Array | None = None) -> Array:  # (n, d), (n, c), (n,) -> (n, c)
        """What each row scored before it was learned; y is None for rows without labels, where they can be learned."""
        if self.origin is not None and not self.origin.frozen:
            self.thaw()
        return self._warn_if_diverged(self._learn(x, y, weight))

    def scores(self, x: Array) -> Array:  # (n, d) -> (n, c)
        """Scores of rows that are not learned."""
        return self._warn_if_diverged(np.asarray(self.engine.scores(x)))

    def _learn(self, x: Any, y: Any, weight: Array | None) -> Array:
        if not self._looks_ahead and len(x) < self._next_stop - self.rows:  # no event among the rows or after them
            return self._learn_rows(x, y, weight)
        scores, start = np.empty((len(x), self.outputs)), 0
        while start < len(x):
            # At least one row: a user may have interrupted an event.
            stop = min(len(x), start + max(1, self._next_stop - self.rows))
            if self._looks_ahead:
                own = None if weight is None else weight[start:stop]
                stop = start + self._look_ahead(x[start:stop], own, y is not None)
            scores[start:stop] = self._learn_part(
                x[start:stop],
                None if y is None else y[start:stop],
                None if weight is None else weight[start:stop],
            )
            start = stop
        return scores

    def _look_ahead(self, x: Any, weight: Array | None, has_labels: bool) -> int:
        """Do what the first of these rows needs; how many of them may then be learned at once."""
        return len(x)

    def _learn_part(self, x: Any, y: Any, weight: Array | None) -> Array:
        """Rows between two events."""
        scores = self._learn_rows(x, y, weight)
        if self.rows >= self._next_stop:
            self._stop(y is not None)
        return scores

    def _learn_rows(self, x: Any, y: Any, weight: Array | None) -> Array:
        """Rows between which nothing is re-estimated."""
        return np.asarray(self.engine.learn(x, y, weight))

    def _stop(self, has_labels: bool) -> None:
        """Run the events that are due."""
        run_events(self, has_labels)
        self.plan()

    def plan(self) -> None:
        """Find the row after which a block is cut."""
        self._next_stop = self._next_event = next_event(self)

    def prepare(self) -> None:
        """What follows from the state."""
        self.plan()

    @property
    def frozen(self) -> bool:
        """Whether its maps do not change: it is a part of a merge."""
        return self.origin is not None and self.origin.frozen

    def thaw(self) -> None:
        """A merge of parts learns again: forget as one process would have done; make up for what its parts left out."""
        assert self.origin is not None
        before, self.origin = self.origin.rows, None
        with one_blas_thread():
            state = self.engine.state(units=False)
            states = self.split(state)
            for expert, own in zip(self.experts, states, strict=True):
                expert.thaw(own, self.rows - before)
            self.engine.restore(state | joined_state(self.spec, states), units=False)
            self.prepare()
            catch_up(self, before)
        self.plan()

    def split(self, state: State) -> list[ExpertState]:
        """Spec and state, expert by expert."""
        return split(self.spec, state, self.axes)

    def _warn_if_diverged(self, scores: Array) -> Array:
        """The scores; the first one of this learner that is not finite is reported."""
        if not self.diverged and self._module.first_beyond(scores, LARGEST_FLOAT) >= 0:
            self.diverged = True
            text = f"the model has diverged: its scores are no longer finite. Remedies: {'; '.join(self.remedies())}"
            warnings.warn(DivergenceWarning(text, facts=INSTEAD), stacklevel=user_stacklevel())
        return scores

    def remedies(self) -> list[str]:
        """What a user can do about divergence, with the parameters of this method that are in use."""
        steps = [
            SHORTER_STEPS[name]
            for part in self.spec.parts()
            for name, value in part.arguments.items()
            if name in SHORTER_STEPS and isinstance(value, float) and value > 0
        ]
        return [*dict.fromkeys(steps), "remove outliers from X and y", "scale the features"]

    def take_any_order(self) -> None:
        """The order of the rows says nothing: `fit` calls this before the first row."""

    def check_outputs(self, outputs: int) -> None:
        """ValueError where this learner cannot have so many outputs; nothing is changed."""

    def rearrange_outputs(self, sources: list[int], signs: list[float]) -> None:
        """Output o becomes signs[o] times the old output sources[o]; sign 0 is a class not seen so far."""
        state = self.engine.state()
        self.engine.restore(self.rearranged(state, Outputs(sources, signs, self.outputs, self.rows)))

    def rearranged(self, state: State, outputs: Outputs) -> State:
        """An exported state with other outputs."""
        rearrange(state, self.axes[""], outputs.sources, outputs.sign)
        return state

    def state(self) -> State:
        """Everything that was learned, as named arrays and numbers."""
        return dict(self.engine.state())

    def restore(self, state: State) -> None:
        """Continue from an exported state; one that is refused changes nothing."""
        self.engine.restore(state)

    def copy(self) -> Self:
        """A learner of its own in the same state."""
        copied = type(self).__new__(type(self))
        copied.__setstate__(self.__getstate__())
        return copied

    def __getstate__(self) -> State:
        arguments = (self.spec, self.options, self.n_features, self.outputs)
        origin = None if self.origin is None else replace(self.origin, base=None)
        return {"arguments": arguments, "state": self.state(), "diverged": self.diverged, "origin": origin}

    def __setstate__(self, saved: State) -> None:
        type(self).__init__(self, *saved["arguments"])
        self.origin = saved.get("origin")
        self.restore(saved["state"])
        self.diverged = saved["diverged"]


def user_stacklevel() -> int:
    """The stacklevel at which a warning of the calling function names the first line outside nolana."""
    level, frame = 0, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("nolana."):
        level, frame = level + 1, frame.f_back
    return level + 1


def relative(
    weight: Array | None, class_weight: Array | None, rows: int, learned: int, mean: float
) -> tuple[Array | None, float]:
    """c min(w, 10 wbar)/wbar of so many rows after `learned` rows of mean weight `mean` (0: none), and the new mean.

    A common factor of all weights changes nothing, and no single row can outweigh all others.
    w are weights of rows (None: 1), c of their classes (None: 1), which are not capped.
    """
    if weight is None and mean in (0.0, 1.0):
        return class_weight, 1.0
    w = np.ones(rows) if weight is None else weight
    c = np.ones(rows) if class_weight is None else class_weight
    out = np.zeros(rows)
    for i in np.flatnonzero((w > 0) & (c > 0)).tolist():
        learned += 1
        capped = min(float(w[i]), LARGEST_WEIGHT * mean) if mean > 0 else float(w[i])
        mean += (capped - mean) * max(1 / learned, WEIGHT_GAIN)
        out[i] = max(c[i] * (capped / mean), SMALLEST_WEIGHT)
    return out, mean
