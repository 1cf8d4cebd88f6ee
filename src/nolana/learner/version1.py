"""Records of learners in format version 1, as records of today.

Version 1 had three kinds: "nolana" and "nogd" with settings, "rival" with parts. What was learned has not changed.
"""

from typing import Any

from nolana.engine.experts.landmarks.kernels import Kernel
from nolana.engine.experts.landmarks.policies import Policy
from nolana.engine.learner.losses import Loss
from nolana.errors import ModelFileError
from nolana.modelfile.node import Node
from nolana.modelfile.specs import labels
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
    known = labels(base)
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
