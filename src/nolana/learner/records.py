"""Learners as plain data, and back: their spec and options, and what they learned.

A record holds nothing that a learner could not have reached by learning: names, types, shapes, ranges and the memory it
would take are checked before a learner is made of it.
"""

from collections.abc import Mapping

import numpy as np

from nolana.engine.base.state import State
from nolana.engine.learner.online import Online
from nolana.errors import ModelFileError
from nolana.experts import Trees, draw_0_2
from nolana.experts.base import Expert, ExpertState
from nolana.learner import version1
from nolana.learner.driver import INSTEAD, Driver, Origin
from nolana.learner.landmark import LandmarkLearner
from nolana.learner.merge import mergeable
from nolana.learner.room import bytes_needed, bytes_of, check_room, room_for
from nolana.learner.scaled import ScaledLearner
from nolana.learner.sketched import SKETCH, SketchedLearner
from nolana.learner.stream import StreamLearner
from nolana.learner.targets import TargetsLearner
from nolana.learner.warmup import WarmupLearner
from nolana.modelfile import specs
from nolana.modelfile.node import Node
from nolana.modelfile.tree import Tree

__all__ = ["learner_of", "record_of"]

DRIVERS: dict[str, type[Driver]] = {"landmark": LandmarkLearner, "stream": StreamLearner, "warmup": WarmupLearner}
MOST_FEATURES = 1 << 40
# Fields of a state that came after 0.2, by a field beside them that files of 0.2 have.
ADDED_AFTER_0_2 = {
    "redrawn": ["changes", "changes_noted"],
    "lowest": [
        *("level", "level_rows", "last_excess", "trial", "level_squares", "level_steps", "range_lows", "range_highs"),
        *("skew", "agreement", "relative_step", "last_score", "last_target"),
    ],
    "metric": ["previous", "step", "usual_step", "stepped"],
    "grown": ["stale"],
}


def record_of(learner: Driver | SketchedLearner) -> Tree:
    """Everything about a learner; the caller holds the lock."""
    if isinstance(learner, TargetsLearner):
        return {"targets": [record_of(part) for part in learner.parts]}
    learned = learner.state()
    for name, value in learned.items():
        if isinstance(value, np.ndarray) and not np.isfinite(value).all():
            raise ModelFileError(
                f"the model has diverged ({name} holds numbers that are not finite) and was not written. Remedies: "
                + "; ".join(learner.remedies()),
                facts=INSTEAD,
            )
    scaled, sketched = isinstance(learner, ScaledLearner), isinstance(learner, SketchedLearner)
    inner = learner.inner if isinstance(learner, ScaledLearner | SketchedLearner) else learner
    driver = next(name for name, kind in DRIVERS.items() if isinstance(inner, kind))
    record: dict[str, Tree] = {
        "driver": driver,
        "spec": specs.record_of(learner.spec),
        "options": {name: specs.tree_of(value) for name, value in vars(learner.options).items()},
        "features": learner.n_features,
        "outputs": learner.outputs,
        "learned": learned,
    }
    if learner.origin is not None:
        origin = learner.origin
        record["origin"] = {"fingerprint": origin.fingerprint, "rows": origin.rows, "frozen": origin.frozen}
    record |= {name: True for name, value in {"scaled": scaled, "sketched": sketched}.items() if value}
    width = inner.engine_features(learner.options, inner.n_features)
    return record | room_for(bytes_needed(learner.spec, width, learner.outputs), bytes_of(record))


def learner_of(node: Node, objects: Mapping[str, object]) -> Driver | SketchedLearner:
    """The learner of a record; `objects` has what a file cannot hold."""
    if "targets" in node.entries():
        return _targets_of(node.fields("targets")["targets"], objects)
    if "kind" in node.entries():
        node = version1.upgraded(node)
    optional = ("room", "scaled", "sketched", "origin")
    fields = node.fields("driver", "spec", "options", "features", "outputs", "learned", optional=optional)
    kind = DRIVERS[fields["driver"].text(DRIVERS)]
    all_features, outputs = fields["features"].integer(1, MOST_FEATURES), fields["outputs"].integer(0)
    sketched = kind is LandmarkLearner and "sketched" in fields and fields["sketched"].flag()
    features = SKETCH if sketched else all_features
    options = kind.options_class(**specs.arguments_of(kind.options_class, fields["options"], features, objects))
    width = kind.engine_features(options, features)
    spec = specs.spec_of(fields["spec"], Online, width, objects)
    check_room(fields["spec"].place, bytes_needed(spec, width, outputs), bytes_of(node.value))
    learned = _learned(fields["learned"], outputs, kind is StreamLearner)
    by_threshold = any(name.endswith("/known_codes") for name in learned)
    learned = {name.replace("/known_codes", "/learned_codes"): value for name, value in learned.items()}
    if "scaling_mean" in learned and kind is LandmarkLearner:
        kind = version1.LearnerByMoments
    try:
        inner = kind(draw_0_2.upgraded(spec), options, features, outputs)
        if "scaled" in fields and fields["scaled"].flag():
            inner = ScaledLearner(inner)
        learner = SketchedLearner(inner, all_features) if sketched else inner
        inner.origin = _origin_of(fields["origin"]) if "origin" in fields else None
        learned = _with_later_fields(learner.state(), learned)
        learner.restore(learned)
        if by_threshold and isinstance(inner, StreamLearner):
            _restart_trees(inner)
        unknown = learned.keys() ^ learner.state().keys()
    except (ValueError, TypeError, LookupError, RuntimeError, ArithmeticError, AttributeError, MemoryError) as error:
        raise ModelFileError(f"{node.place}: {str(error) or type(error).__name__}") from error
    if unknown:
        raise ModelFileError(f"{node.place}/learned: {sorted(unknown)[0]!r} does not belong to this learner")
    if learner.outputs != outputs:
        raise ModelFileError(f"{node.place}/learned: expected {outputs} outputs, found {learner.outputs}")
    if learner.rows < 1:
        raise ModelFileError(f"{node.place}/learned/rows: expected at least one row")
    if learner.origin is not None and (learner.origin.rows > learner.rows or not mergeable(learner)):
        raise fields["origin"].wrong(f"the base of a learner of {learner.rows} rows whose parts can be merged")
    return learner


def _with_later_fields(empty: State, learned: State) -> State:
    """A state of 0.2 with the fields that came later, as before the first row; the range is that of all targets."""
    later: State = {}
    if "bias" in learned:  # of the stack, in files of before the skew: a constant beside the weighted scores
        weights = learned["stack_weights"].copy()
        weights[len(learned["errors"])] += learned["bias"]
        learned = {name: value for name, value in learned.items() if name != "bias"} | {"stack_weights": weights}
    absent = empty.keys() - learned.keys()
    for present, names in ADDED_AFTER_0_2.items():
        for prefix in (name.removesuffix(present) for name in learned if name.rpartition("/")[2] == present):
            later |= {prefix + name: empty[prefix + name] for name in names if prefix + name in absent}
    for name, seen in (("range_lows", "lowest"), ("range_highs", "highest")):
        if name in later and seen in learned:
            later[name] = np.full_like(later[name], learned[seen])
    return learned | later


def _restart_trees(learner: StreamLearner) -> None:
    """Grow the trees of an older file again: they split categories by a threshold, trees of today by one value."""

    def restart(expert: Expert, own: ExpertState) -> None:
        if isinstance(expert, Trees):
            expert.restart(own)

    learner.change([i for i, each in enumerate(learner.experts) if isinstance(each, Trees)], restart)


def _targets_of(node: Node, objects: Mapping[str, object]) -> TargetsLearner:
    """A learner of several targets from the records of their learners."""
    parts = []
    for item in node.items():
        if "targets" in item.entries():
            raise item.wrong("the learner of one target")
        part = learner_of(item, objects)
        if not isinstance(part, StreamLearner):
            raise item.wrong("the learner of one target")
        parts.append(part)
    try:
        return TargetsLearner(parts)
    except ValueError as error:
        raise ModelFileError(f"{node.place}: {error}") from error


def _origin_of(node: Node) -> Origin:
    """Where a part of a merge comes from."""
    fields = node.fields("fingerprint", "rows", "frozen")
    return Origin(fields["fingerprint"].text(), fields["rows"].integer(1), fields["frozen"].flag())


def _learned(node: Node, outputs: int, several_parts: bool) -> State:
    """A state of finite numbers; whether it fits is for the learner to say."""
    learned: State = {}
    for name, entry in node.entries().items():
        if isinstance(entry.value, np.ndarray):
            precision = np.float32 if entry.value.dtype == np.float32 else np.float64
            learned[name] = entry.array((None,) * entry.value.ndim, precision)
        else:
            learned[name] = entry.number(unbounded=name.rpartition("/")[2] == "threshold")
    weights = learned.get("weights")
    if several_parts:
        return learned
    if not isinstance(weights, np.ndarray) or weights.ndim != 2 or len(weights) != outputs:
        raise ModelFileError(f"{node.place}/weights: expected one row for each of the {outputs} outputs")
    return learned
