"""Records of learners in format version 1, as records of today.

Version 1 had three kinds: "nolana" and "nogd" with settings, "rival" with parts. What was learned has not changed.
`Scaling` is the scaling of v0.1, which `LearnerByMoments` has in front of the engine.
"""

from typing import Any

import numpy as np

from nolana.engine.base.state import Field, check, export
from nolana.engine.experts.landmarks.kernels import Kernel
from nolana.engine.experts.landmarks.policies import Policy
from nolana.engine.learner.losses import Loss
from nolana.errors import ModelFileError
from nolana.learner.driver import Array, Event, State
from nolana.learner.landmark import LandmarkLearner, LandmarkOptions
from nolana.learner.landmark_events import Change, remap_all
from nolana.learner.schedule import LANDMARK_EVENTS, doubling_row, each_row
from nolana.modelfile.node import Node
from nolana.modelfile.specs import Spec, labels
from nolana.modelfile.tree import Tree

SOLVERS = {"exact": "Exact", "rank2": "Rank2", "randomized": "Randomized"}
REFITS = {"carry": "Carry", "paper": "PaperRefit", "none": "KeepWeights"}
OPTIONS = ("gamma", "threshold", "ridge", "scale")


def upgraded(node: Node) -> Node:
    """The record of a learner as this version writes it, at the same place."""
    kind = node["kind"].text(("nolana", "nogd", "rival"))
    own = {"nolana": ("settings",), "nogd": ("settings", "rank"), "rival": ("part", "gamma", "width")}[kind]
    fields = node.fields("kind", *own, "features", "outputs", "learned", optional=("room",))
    record = {name: fields[name].value for name in ("features", "outputs", "learned", "room") if name in fields}
    if kind == "rival":
        spec, options = _part(fields["part"]), {name: fields[name].value for name in ("gamma", "width")}
        return Node(record | {"driver": "warmup", "spec": spec, "options": options}, node.place)
    settings = fields["settings"]
    rank = fields["rank"].integer(1) if kind == "nogd" else None
    options = {name: settings[name].value for name in OPTIONS} | {"rank": rank}
    spec = _learner(_map(settings, fields["features"].value), _head(settings))
    return Node(record | {"driver": "landmark", "spec": spec, "options": options}, node.place)


def _learner(map: Tree, head: Tree) -> Tree:
    return {
        "class": "Learner",
        "maps": [map],
        "experts": [{"class": "Expert", "map": 0, "head": head}],
        "combiner": None,
    }


def _class(node: Node, base: type) -> str:
    """The class behind a name for users."""
    known: dict[str, type] = labels(base)
    return str(known[node.text(known)].__name__)


def _map(settings: Node, features: Tree) -> Tree:
    kernel, form, refit = settings["kernel"], settings["decomposition"], settings["refit"].text(REFITS)
    name = kernel["name"]
    if isinstance(name.value, dict):
        own: dict[str, Tree] = {"class": "UserKernel", "block": name.value}
    else:
        own = {"class": _class(name, Kernel)}
        if own["class"] == "Polynomial":
            own |= {"degree": kernel["degree"].value, "coef0": kernel["coef0"].value}
    policy, novelty = settings["policy"], settings["novelty"].value
    if isinstance(policy.value, dict):
        rule: Tree = {"class": "UserPolicy", "policy": policy.value, "novelty": novelty}
    else:
        rule = {"class": _class(policy, Policy), "novelty": novelty}
    common = {"features": features, "capacity": settings["n_landmarks"].value, "kernel": own, "policy": rule}
    penalty = {"penalty": settings["refit_penalty"].value}
    if form.is_none:
        if refit == "none":
            raise ModelFileError(f"{settings.place}: refit 'none' needs a decomposition")
        return (
            {"class": "PaperLandmarkMap", **common, **penalty}
            if refit == "paper"
            else {"class": "LandmarkMap", **common}
        )
    solver: dict[str, Tree] = {"class": SOLVERS[form["solver"].text(SOLVERS)]}
    if solver["class"] == "Randomized":
        solver["iterations"] = form["power_iterations"].value
    stage_two: dict[str, Tree] = {"class": REFITS[refit]} | (penalty if refit == "paper" else {})
    return {"class": "SpectralMap", **common, "solver": solver, "rank": form["rank"].value, "refit": stage_two}


def _head(settings: Node) -> Tree:
    steps = settings["steps"]
    newton = steps["optimizer"].text(("newton", "sgd")) == "newton"
    names = ("noise", "prior", "move_noise") if newton else ("rate", "power", "decay")
    loss: dict[str, Any] = {"class": _class(steps["loss"], Loss)}
    if loss["class"] == "EpsilonInsensitive":
        loss["epsilon"] = settings["epsilon"].value
    return {"class": "Newton" if newton else "SGD", "loss": loss} | {name: steps[name].value for name in names}


def _part(node: Node) -> Tree:
    """Name and arguments become a class with its arguments; FOGD is a Fourier map with gradient steps today."""
    fields = node.fields("name", "arguments")
    name, arguments = fields["name"].text(), fields["arguments"].entries()
    plain = {key: _part(value) if isinstance(value.value, dict) else value.value for key, value in arguments.items()}
    if name != "FOGD":
        return {"class": name} | plain
    features = fields["arguments"]["features"].value
    projections = fields["arguments"]["projections"].array((None, None))
    if projections.shape[1] != features:
        raise ModelFileError(f"{node.place}/arguments/projections: expected {features} columns")
    head = {key: plain[key] for key in ("loss", "rate", "power", "decay") if key in plain}
    return _learner({"class": "FourierMap", "projections": projections}, {"class": "SGD", **head})


class Scaling:
    """(x - mean)/deviation with the moments of all rows so far; offset and factor (d,) change at a re-mapping.

    Files made with it continue with the same predictions. New learners scale by `RobustScaling`.
    """

    def __init__(self, features: int, module: Any) -> None:
        self._module, self.count = module, 0.0
        self.mean, self.squares = np.zeros(features), np.zeros(features)
        self.offset, self.factor = np.zeros(features), np.ones(features)

    def apply(self, x: Array) -> Array:  # (n, d) -> (n, d)
        return np.ascontiguousarray((x - self.offset) * self.factor)

    def undo(self, x: Array) -> Array:
        return np.ascontiguousarray(x / self.factor + self.offset)

    def advance(self, x: Array, weight: Array | None) -> Array:
        """`apply`; rows of positive weight are observed."""
        z = self.apply(x)
        learned = x if weight is None else x[weight > 0]
        self.count = self._module.add_moments(self.count, self.mean, self.squares, learned)
        return z

    def update(self) -> Change:
        """Take the moments into use where other things are re-estimated too; what that does to places.

        A feature that never varied keeps its unit.
        """
        offset, factor = self.offset, self.factor
        deviation = np.sqrt(self.squares / max(1.0, self.count))
        varies = deviation > 1e-12 * np.maximum(1e-300, np.abs(self.mean))
        self.offset = self.mean.copy()
        self.factor = np.divide(1.0, deviation, out=np.ones_like(deviation), where=varies)
        return lambda z: self.apply(np.ascontiguousarray(z / factor + offset))

    @property
    def memory_bytes(self) -> int:
        return 4 * self.mean.nbytes

    def _fields(self) -> list[Field]:
        shape = self.mean.shape
        positive = np.finfo(float).tiny
        lows = {"mean": -np.inf, "squares": 0.0, "offset": -np.inf, "factor": positive}
        arrays = [Field(self, name, shape, name=f"scaling_{name}", low=low) for name, low in lows.items()]
        return [*arrays, Field(self, "count", name="scaling_count", low=0.0)]

    def state(self) -> dict[str, Any]:
        return export(self._fields())

    def restore(self, state: dict[str, Any]) -> None:
        """ValueError for a state that does not fit; then nothing changes."""
        for field in self._fields():
            check(field, state, {})
        for field in self._fields():
            field.set(state[field.key])


def follow_moments(learner: LandmarkLearner) -> None:
    """The features have another scale."""
    assert isinstance(learner, LearnerByMoments)
    remap_all(learner, learner.moments.update())


class LearnerByMoments(LandmarkLearner):
    """A landmark learner of v0.1 that scales: rows go through `Scaling` before they enter the engine."""

    events = (
        Event(doubling_row, lambda learner: True, follow_moments, catches_up=True),
        Event(
            each_row,
            lambda learner: learner.filling,
            follow_moments,
            wait=lambda learner: learner.capacity - learner.size,
        ),
        *LANDMARK_EVENTS,
    )

    def __init__(self, spec: Spec, options: LandmarkOptions, features: int, outputs: int) -> None:
        super().__init__(spec, options, features, outputs)
        self.moments = Scaling(features, self._module)

    def units(self) -> dict[str, Any]:
        return {}

    @property
    def memory_bytes(self) -> int:
        return super().memory_bytes + self.moments.memory_bytes

    def landmarks(self) -> Array:
        return self.moments.undo(super().landmarks())

    def features(self, x: Array) -> Array:
        return self.moments.apply(x)

    def scores(self, x: Array) -> Array:
        return super().scores(self.features(x))

    def _learn_rows(self, x: Array, y: Array, weight: Array | None) -> Array:
        return super()._learn_rows(self.moments.advance(x, weight), y, weight)

    def state(self) -> State:
        return super().state() | self.moments.state()

    def restore(self, state: State) -> None:
        moments = Scaling(self.n_features, self._module)
        moments.restore(state)
        super().restore(state)
        self.moments = moments
