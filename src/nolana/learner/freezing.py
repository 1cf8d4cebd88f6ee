"""Frozen copies of a learner: the parts of a merge.

Nothing that a map is made of changes in a part: landmarks are as many as they are and stay (a fixed policy), scaling
has no new anchors, width, grids and slots of features stay, relevance is not measured. Only a new class may make
tables and maps smaller, as in any learner.

Heads of a part forget nothing, and their variances have no floor: what a part learned is then a sum over its rows,
which can be added up. The merged learner forgets for all rows when it learns again.
"""

from dataclasses import replace
from typing import Any

from nolana.engine.experts.bins.heads import DiagonalBins
from nolana.engine.experts.landmarks.landmark_map import LandmarkMap
from nolana.engine.experts.landmarks.newton import Newton
from nolana.engine.experts.landmarks.policies.fixed import Fixed
from nolana.engine.experts.linear.full_linear import FullLinear
from nolana.engine.experts.sparse_linear.diagonal_linear import DiagonalLinear
from nolana.learner.driver import Driver, Origin, State
from nolana.learner.landmark import LandmarkLearner
from nolana.learner.merging import can_merge
from nolana.learner.sketched import SketchedLearner
from nolana.learner.stream import StreamLearner
from nolana.learner.targets import TargetsLearner
from nolana.modelfile.specs import Spec

UNFORGETTING: dict[Any, dict[str, Any]] = {
    Newton: {"forgetting": 1.0},
    DiagonalBins: {"floor": 0.0, "probes": False},
    DiagonalLinear: {"floor": 0.0},
    FullLinear: {"forgetting": 1.0},
}
FEWEST_ROWS = 2  # of a base: the first anchors of the scaling
OF_PROBES = ("relevance", "probed", "sample")
OF_POLICIES = ("last_nearest", "placed", "tolerance", "count_unit")


def frozen_spec(spec: Spec, state: State) -> Spec:
    """The learner of a part: as many landmarks as there are, which stay; heads that forget nothing."""
    single = spec.arguments["combiner"] is None
    maps, experts = list(spec.arguments["maps"]), list(spec.arguments["experts"])
    for i, map in enumerate(maps):
        if map.kind is LandmarkMap:
            size = len(state["landmarks" if single else f"map{i}/landmarks"])
            if not size:
                raise ValueError("this learner has no landmarks yet; learn more rows before you split it")
            policy = Spec(Fixed, {"novelty": map.arguments["policy"].arguments.get("novelty", 0.03)})
            maps[i] = replace(map, arguments={**map.arguments, "capacity": size, "policy": policy})
    for e, expert in enumerate(experts):
        head = expert.arguments["head"]
        changed = {**head.arguments, **UNFORGETTING.get(head.kind, {})}
        experts[e] = replace(expert, arguments={**expert.arguments, "head": replace(head, arguments=changed)})
    return replace(spec, arguments={**spec.arguments, "maps": maps, "experts": experts})


def frozen_state(state: State) -> State:
    """The state without what only moving maps have."""
    left_out = (*OF_PROBES, *OF_POLICIES)
    return {name: value for name, value in state.items() if name.rpartition("/")[2] not in left_out}


def mergeable(learner: Any) -> bool:
    """Whether parts of this learner can be merged."""
    if isinstance(learner, SketchedLearner):
        return mergeable(learner.inner)
    if isinstance(learner, TargetsLearner):
        return True
    return type(learner) in (LandmarkLearner, StreamLearner) and can_merge(learner.spec)


def frozen_copy(learner: Any, origin: Origin) -> Any:
    """A part of this learner; the caller holds the lock."""
    if isinstance(learner, SketchedLearner):
        return SketchedLearner(frozen_copy(learner.inner, origin), learner.n_features)
    if isinstance(learner, TargetsLearner):
        return TargetsLearner([frozen_copy(part, origin) for part in learner.parts])
    if learner.rows < FEWEST_ROWS:
        raise ValueError(f"this learner has learned {learner.rows} row; learn more rows before you split it")
    state = learner.state()
    return with_state(learner, frozen_spec(learner.spec, state), frozen_state(state), origin)


def with_state(like: Driver, spec: Spec, state: State, origin: Origin | None) -> Any:
    """A learner of this spec in this state."""
    outputs = len(state["weights"]) if "weights" in state else like.outputs
    new = type(like)(spec, like.options, like.n_features, outputs)
    new.origin = origin
    new.restore(state)
    new.diverged = like.diverged
    return new
