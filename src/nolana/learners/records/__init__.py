"""Learners as plain data, and back: what they were made with, and what they learned.

A record holds nothing that a learner could not have reached by learning: names, types, shapes, ranges and the memory it
would take are checked before a learner is made of it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nolana.errors import ModelFileError
from nolana.learners.nogd import NOGD
from nolana.learners.nolana import Nolana
from nolana.learners.records import parts, settings
from nolana.learners.records.memory import bytes_of, check_room, room_for
from nolana.learners.rival import RivalLearner
from nolana.modelfile.node import Node
from nolana.modelfile.tree import Tree

__all__ = ["learner_of", "record_of"]

AnyLearner = Nolana | RivalLearner
NUMBERS = ("gamma", "threshold", "ridge", "scaling_count")
COUNTS = ("rows", "moves", "since_refresh")
LARGEST_WIDTH = 1e300  # gamma while there is one landmark
MOST_FEATURES = 1 << 40


def record_of(learner: AnyLearner) -> Tree:
    """Everything about a learner; the caller holds the lock."""
    learned = learner.state()
    for name, value in learned.items():
        if isinstance(value, np.ndarray) and not np.isfinite(value).all():
            raise ModelFileError(
                f"the model has diverged ({name} holds numbers that are not finite) and was not written. Choose a "
                "smaller learning_rate or scale the features"
            )
    record = _made_with(learner) | {"features": learner.n_features, "outputs": learner.outputs, "learned": learned}
    return record | room_for(needed(learner), bytes_of(record))


def _made_with(learner: AnyLearner) -> dict[str, Tree]:
    if isinstance(learner, RivalLearner):
        part = parts.record_of(learner.part)
        return {"kind": "rival", "part": part, "gamma": learner.given_gamma, "width": learner.width}
    own = {"kind": "nolana", "settings": settings.record_of(learner.settings)}
    return own | {"kind": "nogd", "rank": learner.rank} if isinstance(learner, NOGD) else own


def needed(learner: AnyLearner) -> int:
    """Bytes that a learner like this takes, roughly and at most."""
    if isinstance(learner, RivalLearner):
        return parts.bytes_needed(learner.part, learner.n_features, learner.outputs)
    return settings.bytes_needed(learner.settings, learner.n_features, learner.outputs)


def learner_of(node: Node, given: Mapping[str, Any]) -> AnyLearner:
    """The learner of a record; `given` has the objects that a file cannot hold."""
    kind = node["kind"].text(("nolana", "nogd", "rival"))
    own = {"nolana": ("settings",), "nogd": ("settings", "rank"), "rival": ("part", "gamma", "width")}[kind]
    fields = node.fields("kind", *own, "features", "outputs", "learned", optional=("room",))
    features, outputs = fields["features"].integer(1, MOST_FEATURES), fields["outputs"].integer(0)
    learned = _learned(fields["learned"], outputs)
    weight = bytes_of(node.value)
    try:
        learner = _unlearned(kind, fields, features, outputs, given, weight)
        learner.restore(learned)
        unknown = learned.keys() ^ learner.state().keys()
    except ModelFileError:
        raise
    except (ValueError, TypeError, LookupError, RuntimeError, ArithmeticError) as error:  # what the engines raise
        raise ModelFileError(f"{node.place}: {str(error) or type(error).__name__}") from error
    if unknown:
        raise ModelFileError(f"{node.place}/learned: {sorted(unknown)[0]!r} does not belong to this learner")
    if learner.rows < 1:
        raise ModelFileError(f"{node.place}/learned/rows: expected at least one row")
    return learner


def _unlearned(
    kind: str, fields: dict[str, Node], features: int, outputs: int, given: Mapping[str, Any], weight: int
) -> AnyLearner:
    if kind == "rival":
        part = parts.part_of(fields["part"], features)
        check_room(fields["part"].place, parts.bytes_needed(part, features, outputs), weight)
        gamma = None if fields["gamma"].is_none else fields["gamma"].number(0.0, LARGEST_WIDTH, open_low=True)
        return RivalLearner(part, features, outputs, gamma, fields["width"].number(0.0, open_low=True))
    made_with = settings.settings_of(fields["settings"], given)
    check_room(fields["settings"].place, settings.bytes_needed(made_with, features, outputs), weight)
    if kind == "nogd":
        return NOGD(made_with, features, outputs, fields["rank"].integer(1, made_with.n_landmarks))
    return Nolana(made_with, features, outputs)


def _learned(node: Node, outputs: int) -> dict[str, Any]:
    """A state whose numbers make sense; whether its arrays fit is for the learner to say."""
    learned: dict[str, Any] = {}
    for name, entry in node.entries().items():
        if name in COUNTS:
            learned[name] = float(Node(_whole(entry), entry.place).integer())
        elif name in NUMBERS:
            learned[name] = entry.number(0.0, unbounded=name == "threshold", open_low=name == "gamma")
        else:
            learned[name] = entry.array((None,) if np.ndim(entry.value) == 1 else (None, None))
    for name in ("counts", "first_weights", "scaling_squares"):
        if name in learned and (learned[name] < 0).any():
            raise ModelFileError(f"{node.place}/{name}: expected numbers of at least 0, got {learned[name].min()}")
    if "scaling_factor" in learned and not (learned["scaling_factor"] > 0).all():
        raise ModelFileError(f"{node.place}/scaling_factor: expected numbers above 0")
    weights = learned.get("weights")
    if not isinstance(weights, np.ndarray) or len(weights) != outputs:
        raise ModelFileError(f"{node.place}/weights: expected one row for each of the {outputs} outputs")
    return learned


def _whole(entry: Node) -> Any:
    value = entry.value
    return int(value) if isinstance(value, float) and value.is_integer() else value
