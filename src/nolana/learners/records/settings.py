"""The settings of a NOLANA learner as plain data, and back."""

from collections.abc import Mapping
from typing import Any

from nolana import kernels, losses, schedules
from nolana.errors import ModelFileError
from nolana.kernels import KernelChoice
from nolana.learners.nolana import Decomposition, GradientSteps, NewtonSteps, Settings
from nolana.modelfile.given import given_object, is_stand_in, stand_in
from nolana.modelfile.node import Node
from nolana.modelfile.tree import Tree
from nolana.nystroem import landmarks as policies

SOLVERS = ("exact", "rank2", "randomized")
REFITS = ("carry", "paper", "none")
LARGEST_DEGREE = (1 << 31) - 1
PLAIN = ("n_landmarks", "gamma", "threshold", "refit", "refit_penalty", "ridge", "scale", "novelty", "epsilon")


def record_of(settings: Settings) -> Tree:
    """Initial landmarks are left out: they have become landmarks."""
    kernel, policy, steps, form = settings.kernel, settings.policy, settings.steps, settings.decomposition
    return {name: getattr(settings, name) for name in PLAIN} | {
        "kernel": {
            "name": stand_in("kernel", kernel.name) if callable(kernel.name) else kernel.name,
            "degree": kernel.degree,
            "coef0": kernel.coef0,
        },
        "policy": policy if isinstance(policy, str) else stand_in("landmarks", policy),
        "steps": {"optimizer": "newton" if isinstance(steps, NewtonSteps) else "sgd"} | vars(steps),
        "decomposition": None if form is None else dict(vars(form)),
    }


def settings_of(node: Node, given: Mapping[str, Any]) -> Settings:
    """The settings of a record."""
    fields = node.fields(*PLAIN, "kernel", "policy", "steps", "decomposition")
    n_landmarks = fields["n_landmarks"].integer(1)
    steps = _steps_of(fields["steps"])
    form = None if fields["decomposition"].is_none else _decomposition_of(fields["decomposition"], n_landmarks)
    refit = fields["refit"].text(REFITS)
    if isinstance(steps, NewtonSteps) and (form is not None or refit == "paper"):
        raise ModelFileError(f"{node.place}: newton goes neither with a decomposition nor with refit 'paper'")
    if refit == "none" and form is None:
        raise ModelFileError(f"{node.place}: refit 'none' needs a decomposition")
    return Settings(
        n_landmarks=n_landmarks,
        kernel=_kernel_of(fields["kernel"], given),
        gamma=None if fields["gamma"].is_none else fields["gamma"].number(0.0, 1e100, open_low=True),
        threshold=None if fields["threshold"].is_none else fields["threshold"].number(0.0, unbounded=True),
        policy=_policy_of(fields["policy"], given),
        initial_landmarks=None,
        steps=steps,
        decomposition=form,
        refit=refit,
        refit_penalty=fields["refit_penalty"].number(0.0),
        ridge=fields["ridge"].number(0.0, 0.1),
        scale=fields["scale"].flag(),
        novelty=fields["novelty"].number(0.0, 1.0),
        epsilon=fields["epsilon"].number(0.0),
    )


def _kernel_of(node: Node, given: Mapping[str, Any]) -> KernelChoice:
    fields = node.fields("name", "degree", "coef0")
    own = is_stand_in(fields["name"])
    name = given_object(fields["name"], given) if own else fields["name"].text(kernels.NAMES)
    if own and not callable(name):
        raise ModelFileError(f"kernel={name!r} is not callable; the model was learned with block(X, Z) -> K")
    return KernelChoice(name, fields["degree"].integer(1, LARGEST_DEGREE), fields["coef0"].number(0.0))


def _policy_of(node: Node, given: Mapping[str, Any]) -> Any:
    if not is_stand_in(node):
        return node.text(policies.NAMES)
    policy = given_object(node, given)
    if not hasattr(policy, "propose"):
        raise ModelFileError(f"landmarks={policy!r} has no propose(); the model was learned with an object that has")
    return policy


def _steps_of(node: Node) -> GradientSteps | NewtonSteps:
    optimizer = node["optimizer"].text(("newton", "sgd"))
    if optimizer == "newton":
        fields = node.fields("optimizer", "loss", "noise", "prior", "move_noise")
        return NewtonSteps(
            loss=fields["loss"].text(losses.WITH_CURVATURE),
            noise=fields["noise"].number(0.0, open_low=True),
            prior=fields["prior"].number(0.0, open_low=True),
            move_noise=fields["move_noise"].number(0.0),
        )
    fields = node.fields("optimizer", "loss", "rate", "power", "decay")
    power = fields["power"].number()
    if power not in schedules.POWERS.values():
        raise fields["power"].wrong(f"one of {list(schedules.POWERS.values())}")
    return GradientSteps(
        loss=fields["loss"].text(losses.CLASSES),
        rate=fields["rate"].number(0.0, open_low=True),
        power=power,
        decay=fields["decay"].number(0.0),
    )


def _decomposition_of(node: Node, n_landmarks: int) -> Decomposition:
    fields = node.fields("solver", "rank", "power_iterations")
    return Decomposition(
        solver=fields["solver"].text(SOLVERS),
        rank=fields["rank"].integer(1, n_landmarks),
        power_iterations=fields["power_iterations"].integer(1),
    )


def bytes_needed(settings: Settings, features: int, outputs: int) -> int:
    """Landmarks, the triangles of P and R (or U and S), and a few rows of scratch."""
    m = settings.n_landmarks + 8
    return 8 * (m * (features + m + outputs + 64) + 8 * features)
