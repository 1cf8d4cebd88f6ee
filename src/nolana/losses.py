"""Losses by name, and which learner can use which."""

from typing import Any

CLASSIFICATION = ("hinge", "squared_hinge", "logistic", "squared")
REGRESSION = ("squared", "epsilon_insensitive")
WITH_CURVATURE = ("squared_hinge", "logistic", "squared")

CLASSES = {
    "hinge": "Hinge",
    "squared_hinge": "SquaredHinge",
    "logistic": "Logistic",
    "squared": "Squared",
    "epsilon_insensitive": "EpsilonInsensitive",
}


def build(name: str, engine: Any, epsilon: float) -> Any:
    """The loss object of an engine; epsilon is used by epsilon_insensitive alone."""
    arguments = (epsilon,) if name == "epsilon_insensitive" else ()
    return getattr(engine, CLASSES[name])(*arguments)
