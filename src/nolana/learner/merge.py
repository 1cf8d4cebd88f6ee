"""The learner of all parts: states are aligned, checked, merged and restored."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nolana.engine.base.threads import one_blas_thread
from nolana.learner.alignment import Alignment, align, resize, smallest_sizes
from nolana.learner.driver import Driver, Origin, State
from nolana.learner.freezing import with_state
from nolana.learner.merging import Parts, merged
from nolana.learner.sketched import SketchedLearner
from nolana.learner.stream import StreamLearner
from nolana.learner.targets import TargetsLearner
from nolana.modelfile.specs import Spec

OF_MAPS = ("landmarks", "gamma", "ridge", "inverse", "scaling_offset", "scaling_factor", "keys")
OF_SCALING = ("center", "factor", "metric")


def merged_learner(base: Any, parts: Sequence[Any], origin: Origin, alignments: Sequence[Alignment]) -> Any:
    """A learner that is as if the base had learned the rows of all parts; none of them changes.

    alignments: for the base, then for each part.
    """
    if isinstance(base, SketchedLearner):
        inner = merged_learner(base.inner, [part.inner for part in parts], origin, alignments)
        return SketchedLearner(inner, base.n_features)
    if isinstance(base, TargetsLearner):
        columns = zip(base.parts, *(part.parts for part in parts), strict=True)
        return TargetsLearner([merged_learner(first, rest, origin, alignments) for first, *rest in columns])
    with one_blas_thread():
        return _merged(base, parts, origin, alignments)


def _merged(base: Driver, parts: Sequence[Driver], origin: Origin, alignments: Sequence[Alignment]) -> Any:
    own, *others = alignments
    before, rows = base.rows, np.array([part.rows - base.rows for part in parts], dtype=np.float64)
    if own.changes:
        base = base.copy()
        base.origin = replace(origin, frozen=True)  # a new class changes no more of it than of a part
        for change in own.changes:
            base.rearrange_outputs(*change)
    spec, state = base.spec, base.state()
    specs, states = [part.spec for part in parts], [dict(part.state()) for part in parts]
    for part, each, how in zip(parts, states, others, strict=True):
        align(part.spec, each, part.outputs, how)
    if isinstance(base, StreamLearner) and any(how.changes or how.order for how in alignments):
        sizes = smallest_sizes([spec, *specs], [state, *states])
        spec = resize(spec, state, sizes, base.n_features)
        for i, each in enumerate(states):
            specs[i] = resize(specs[i], each, sizes, base.n_features)
    for part_spec, each in zip(specs, states, strict=True):
        check_maps(spec, state, part_spec, each)
    absent = tuple(how.absent for how in others)
    after = merged(spec, Parts(state, states, rows, before, absent))
    return with_state(base, spec, after, replace(origin, frozen=False))


def check_maps(spec: Spec, state: State, part_spec: Spec, part_state: State) -> None:
    """ValueError where the maps of a part are not those of the base."""
    for name, value in state.items():
        last = name.rpartition("/")[2]
        is_map = last in OF_MAPS or (last in OF_SCALING and "scaling" in name)
        if is_map and not np.array_equal(value, part_state[name]):
            raise ValueError(f"the parts cannot be merged: {name} of a part differs from that of its base")
    for mine, theirs in zip(spec.arguments["maps"], part_spec.arguments["maps"], strict=True):
        for name in ("grids", "seed", "relevance", "features", "neighbours", "windows", "table"):
            first, second = mine.arguments.get(name), theirs.arguments.get(name)
            if mine.kind is not theirs.kind or not np.array_equal(np.asarray(first), np.asarray(second)):
                raise ValueError(f"the parts cannot be merged: {name}={second} of a part, its base has {first}")
