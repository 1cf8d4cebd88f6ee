"""What an expert is: a feature map with its heads, the sizes it takes, and how its state follows every change.

A learner exports its state as named arrays. `split` cuts spec and state into one `ExpertState` for each expert, in
which names have no prefix; the methods of an expert change it, and `joined_spec` and `joined_state`
put all together again. Which axis of an
array means outputs or landmarks is said by the engine (`axes`), so that adding, permuting and dropping is written once.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.state import State as State
from nolana.engine.learner import learner as engine_learner
from nolana.engine.learner.losses import Logistic, Squared, SquaredHinge
from nolana.experts.parts import Parts
from nolana.modelfile.specs import Spec

__all__ = [
    "Anchors",
    "Budget",
    "Expert",
    "ExpertState",
    "HeadEntry",
    "Outputs",
    "joined_spec",
    "joined_state",
    "prefixes",
    "split",
]

Array = NDArray[np.float64]
Axes = Mapping[str, Sequence[str]]  # of each array of a state, by its name
Sizes = dict[str, Any]  # arguments of a map that say how large it is

T = TypeVar("T")

KB = 1024
OUTPUTS, LANDMARKS = "outputs", "landmarks"  # names of axes


@dataclass(frozen=True)
class Budget:
    """What the sizes of an expert may depend on.

    memory : bytes that the expert shares with the others.
    features, all_features : of the rows that it learns on, and of the rows before they are sketched.
    outputs : of the learner.
    fraction : of the usual sizes, at most 1.
    full_linear : whether a linear expert with a full covariance needs its share.
    small : whether the memory is too small for the usual shares.
    """

    memory: int
    features: int
    all_features: int
    outputs: int
    fraction: float = 1.0
    full_linear: bool = False
    small: bool = False


@dataclass(frozen=True)
class HeadEntry:
    """A head, and how the stack sees its scores: times `factor`, within +-`limit`; `speed` decides its first weight."""

    head: Spec
    factor: float
    limit: float
    speed: str  # slow, fast, vote or late


@dataclass(frozen=True)
class Anchors:
    """Features have another scale: `moved` takes rows (n, d) to it; `before` and `after` are states of the scaling."""

    moved: Callable[[Array], Array]
    before: State
    after: State


@dataclass(frozen=True)
class Outputs:
    """Output o becomes signs[o] times the old output sources[o] of `old`; sign 0 is a class not seen in `rows` rows."""

    sources: list[int]
    signs: list[float]
    old: int
    rows: int

    @property
    def sign(self) -> Array:  # (c,)
        return np.array(self.signs)

    @property
    def logit(self) -> Array:  # (c,)
        """The factors of logits: one output is the difference of two."""
        return self.sign / 2 if self.old == 1 else self.sign

    @property
    def new(self) -> NDArray[np.bool_]:  # (c,)
        return np.asarray(self.sign == 0)


@dataclass
class ExpertState:
    """One expert in a learner: the specs of its map and heads, and their entries of an exported state.

    `map_state` and `head_states` may hold some entries only: those that were exported.
    """

    map: Spec
    heads: list[Spec]
    map_state: State
    head_states: list[State]
    axes: Mapping[str, Axes] = field(default_factory=dict)  # of the arrays, by the names of map and heads
    names: Sequence[str] = ()  # of map and heads in `axes`

    def resize(self, **arguments: object) -> None:
        """Other arguments for the map."""
        self.map = replace(self.map, arguments={**self.map.arguments, **arguments})

    def rearrange(self, outputs: Outputs, factors: Array) -> None:
        """All arrays of the heads with an axis of outputs: factors[o] times the old output sources[o]."""
        for name, state in zip(self.names[1:], self.head_states, strict=True):
            rearrange(state, self.axes[name], outputs.sources, factors)

    def along(self, axis: str) -> list[str]:
        """The names of the vectors of the map that have this axis."""
        own = self.axes[self.names[0]]
        return [name for name in self.map_state if list(own[name]) == [axis]]


def rearrange(state: State, axes: Axes, sources: list[int], factors: Array) -> None:
    """All arrays of a state with an axis of outputs: factors[o] times the old output sources[o]."""
    for name in state:
        if OUTPUTS not in axes.get(name, ()):
            continue
        axis = list(axes[name]).index(OUTPUTS)
        taken = np.ascontiguousarray(state[name].take(sources, axis=axis))
        taken *= factors.astype(taken.dtype).reshape([-1 if i == axis else 1 for i in range(taken.ndim)])
        state[name] = taken


@dataclass(frozen=True, kw_only=True)
class Expert(ABC):
    """A feature map with its heads.

    Parameters are fields of a frozen dataclass. The methods are called by the learner; those with an
    `ExpertState` change it in place.
    """

    elastic: ClassVar[bool] = False  # whether its table takes the memory that the others leave
    sized_by_outputs: ClassVar[bool] = False  # whether it becomes smaller with each output
    stores_rows: ClassVar[bool] = False  # whether it has `recent_rows` and `recent_targets`
    number_bytes: ClassVar[Mapping[str, int]] = {}  # of fields that are exported wider than the engine stores them

    def for_rows(self, features: int) -> "Expert":
        """The expert for rows of so many features."""
        return self

    # Specs and sizes

    @abstractmethod
    def sizes(self, budget: Budget) -> Sizes:
        """How large the map becomes."""

    @abstractmethod
    def map_spec(self, sizes: Sizes, features: int, task: str, seed: int) -> Spec:
        """The map."""

    def with_categories(self, map: Spec, categories: Array) -> Spec:
        """The map for rows whose columns of these indices are categories; there is at least one."""
        return map

    @abstractmethod
    def heads(self, map: Spec, task: str, first: int) -> list[HeadEntry]:
        """The heads on a map; `first` is the index of the first of them in the learner."""

    @abstractmethod
    def shrink(self, own: ExpertState, sizes: Sizes) -> None:
        """At most these sizes."""

    def smallest_sizes(self, states: Sequence[ExpertState]) -> Sizes:
        """The smallest sizes that one of these has."""
        return {}

    def with_table(self, map: Spec, slots: int) -> Spec:
        """An elastic expert's map with a table of so many slots."""
        return map

    def fold(self, own: ExpertState) -> bool:
        """Make the table half as large; False if it cannot become smaller."""
        return False

    # Changes of the features, of the targets and of the outputs

    @abstractmethod
    def follow_anchors(self, own: ExpertState, anchors: Anchors) -> None:
        """Features have another scale, from row 4 to row 512. Tables are cleared by the learner up to row 256."""

    def follow_late_anchors(self, own: ExpertState, anchors: Anchors) -> None:  # noqa: B027
        """One feature has another scale, later. By default an expert learns in terms of it."""

    def follows_late_anchors(self, map: Spec) -> bool:
        """Whether `follow_late_anchors` does anything."""
        return False

    @abstractmethod
    def multiply_features(self, own: ExpertState, metric: Array) -> None:
        """Each feature is multiplied by a number of its own (d,), in a state without tables."""

    @abstractmethod
    def rescale_targets(self, own: ExpertState, g: float, shift: float) -> None:
        """Targets y become g y + shift; g = 0 forgets what was learned."""

    @abstractmethod
    def rearrange_outputs(self, own: ExpertState, outputs: Outputs) -> None:
        """Outputs are rearranged, some of them new."""

    def permute_outputs(self, own: ExpertState, order: list[int]) -> None:
        """Output o of at least three becomes the old output order[o]."""
        outputs = Outputs(order, [1.0] * len(order), len(order), 0)
        own.rearrange(outputs, outputs.sign)

    # Relevance of the features

    def probes(self, own: ExpertState) -> tuple[Array, Array] | None:
        """How much the loss increases without each feature (d,), and how often that was measured (d,)."""
        return None

    def recent_rows(self, own: ExpertState) -> tuple[Array, Array] | None:
        """The rows that it stores (n, d), the oldest first, and their targets (n,): y, or the number of the class."""
        return None

    def recent_targets(self, own: ExpertState) -> Array:
        """The targets alone, also if rows are stored as sketches."""
        return np.zeros(0)

    def redrawn(self, map: Spec, relevance: Array) -> Spec:
        """The map for features of this relevance (d,)."""
        return map

    # Merging

    def freeze(self, own: ExpertState) -> None:  # noqa: B027
        """The specs of a part of a merge: its map stays as it is, and its heads forget nothing."""

    @abstractmethod
    def merge(self, own: ExpertState, map: Parts, heads: Sequence[Parts]) -> None:
        """`own` is that of the base; map and heads are what the parts of a merge learned after it."""

    def thaw(self, own: ExpertState, rows: int) -> None:  # noqa: B027
        """A merge learns again: forget as one process would have done, after so many rows in frozen parts."""

    # Reports

    @abstractmethod
    def names(self, own: ExpertState) -> list[str]:
        """What each head is called in summaries."""

    @abstractmethod
    def size_summary(self, map: Spec) -> dict[str, int]:
        """Sizes by the names that summaries use."""

    def stored_bytes(self, state: State) -> int:
        """Bytes of the exported entries of a map or a head as the engine stores them."""
        arrays = {name: np.asarray(value) for name, value in state.items()}
        return sum(array.size * self.number_bytes.get(name, array.itemsize) for name, array in arrays.items())


def losses(task: str) -> tuple[Spec, Spec]:
    """The losses of heads on landmarks and of all other heads."""
    return (Spec(Squared), Spec(Squared)) if task == "regression" else (Spec(SquaredHinge), Spec(Logistic))


def heads_by_map(spec: Spec) -> list[list[int]]:
    """For each map the indices of the heads that share it."""
    heads: list[list[int]] = [[] for _ in spec.arguments["maps"]]
    for e, each in enumerate(spec.arguments["experts"]):
        heads[each.arguments["map"]].append(e)
    return heads


def is_single(spec: Spec) -> bool:
    """Whether a learner has one map and one head, whose entries then have no prefix."""
    return spec.arguments["combiner"] is None


def prefixes(spec: Spec, map: int) -> list[str]:
    """Beginnings of the names of a map and of its heads."""
    return part_prefixes(map, heads_by_map(spec)[map])


def part_prefixes(map: int, heads: Sequence[int]) -> list[str]:
    """The same, if the indices of its heads are known."""
    return [f"map{map}/", *(f"expert{e}/" for e in heads)]


def by_part(named: Mapping[str, T]) -> dict[str, dict[str, T]]:
    """Entries map0/gamma, expert1/weights, ... by map0, expert1, ..."""
    parts: dict[str, dict[str, T]] = {}
    for name, value in named.items():
        part, _, own = name.rpartition("/")
        parts.setdefault(part, {})[own] = value
    return parts


def split(spec: Spec, state: State, axes: Mapping[str, Axes]) -> list[ExpertState]:
    """Spec and state of a learner, expert by expert; axes by part."""
    if is_single(spec):
        head = spec.arguments["experts"][0].arguments["head"]
        return [ExpertState(spec.arguments["maps"][0], [head], state, [state], axes, ("", ""))]
    parts, states = by_part(state), []
    for i, (map, indices) in enumerate(zip(spec.arguments["maps"], heads_by_map(spec), strict=True)):
        heads = [spec.arguments["experts"][e].arguments["head"] for e in indices]
        names = [name.removesuffix("/") for name in part_prefixes(i, indices)]
        own, *learned = (parts.get(name, {}) for name in names)
        states.append(ExpertState(map, heads, own, learned, axes, names))
    return states


def joined_spec(spec: Spec, states: Sequence[ExpertState]) -> Spec:
    """The spec with these specs of maps and heads."""
    experts = list(spec.arguments["experts"])
    for i, (own, indices) in enumerate(zip(states, heads_by_map(spec), strict=True)):
        for e, head in zip(indices, own.heads, strict=True):
            experts[e] = Spec(engine_learner.Expert, {"map": i, "head": head})
    maps = [own.map for own in states]
    return replace(spec, arguments={**spec.arguments, "maps": maps, "experts": experts})


def joined_state(spec: Spec, states: Sequence[ExpertState]) -> State:
    """All entries of maps and heads in the state of a learner."""
    if is_single(spec):
        return states[0].map_state
    state: State = {}
    for i, (own, indices) in enumerate(zip(states, heads_by_map(spec), strict=True)):
        for name, learned in zip(part_prefixes(i, indices), [own.map_state, *own.head_states], strict=True):
            state |= {name + key: value for key, value in learned.items()}
    return state
