"""The stack in an exported state: how it follows a change of the targets' unit, and how parts of a merge are merged.

Information H and H theta are running sums with forgetting lambda, so they merge as running means of the gain
1 - lambda: exactly for regression, and for classes as far as the parts had the same weights. Knots of the calibration
forget only when they are used: they are the mean of the parts. The alarm takes the error rate of all parts and the
largest excess, so that many parts raise no more false alarms than one.
"""

from collections.abc import Callable

import numpy as np

from nolana.engine.learner.calibration import FORGETTING, LARGEST, MEMORY, SMALLEST
from nolana.engine.learner.stack import MOST_ALARMS, RECENT, START_NOISE, USUAL_RANGE
from nolana.engine.learner.target_level import BLOCKS, RANGE_ROWS
from nolana.experts.base import Array, State
from nolana.experts.parts import VARIANCE_GAIN, Gain, Parts
from nolana.modelfile.specs import Spec

# What is learned about the experts from their scores.
OF_THE_STACK = ["stack_weights", "information", "calibration", "calibration_information"]
ENOUGH = 2.0  # times the agreement or the size of steps: half is enough
LEARNED_SIZE = 0.1  # of the steps of targets: smaller predictions are still in the old unit
NOISE_RANGE = 1e-3, 1.0
SMALLEST_RANGE = 0.5  # of standardised targets


def rescale(state: State, g: float, shift: float) -> None:
    """Targets y become g y + shift; g = 0 forgets what was learned."""
    low, high = NOISE_RANGE
    state["residual_variance"] = min(high, max(low, state["residual_variance"] * g * g)) if g > 0 else START_NOISE
    state["errors"] = state["errors"] * g * g
    constant = len(state["errors"])
    for weights in (state[name] for name in ("stack_weights", "slow_weights") if name in state):
        weights[constant] = g * weights[constant] + shift * (1 - weights[:constant].sum())
    for name in ("level", "last_excess", "trial", "last_residual"):
        if name in state:
            state[name] = g * state[name]
    for name in ("level_squares", "level_steps"):
        state[name] = state[name] * g * g
    state["lowest"] = min(-SMALLEST_RANGE, g * state["lowest"] + shift)
    state["highest"] = max(SMALLEST_RANGE, g * state["highest"] + shift)


def change_unit(state: State, g: float, shift: float, rescale_experts: Callable[[float], None]) -> float:
    """Targets y become g y + shift because their steps have another size; returns what the experts are multiplied by.

    1 keeps what was learned in terms of the new unit, g in the units of the targets. Larger steps that go up and down
    with the predictions are the same function in another unit, and predictions never have larger steps than targets:
    max(g, min(1, 2 agreement)), and g/(2 relative step) at most if they have learned the new size in part. As far as
    nothing is multiplied by g, the level is that of the new rows, 0.
    """
    relative = state["relative_step"]
    most = min(1.0, g / (ENOUGH * relative)) if relative > LEARNED_SIZE else 1.0
    kept = min(1.0, max(g, min(ENOUGH * state["agreement"], most))) if g > 0 else 0.0
    level = g * state["level"] + shift if kept == g else 0.0
    rescale_experts(kept)
    rescale(state, kept, 0.0)
    state["level"], state["residual_variance"] = level, START_NOISE
    state["lowest"], state["highest"] = max(-USUAL_RANGE, state["lowest"]), min(USUAL_RANGE, state["highest"])
    return kept


def move_range(state: State, g: float, shift: float) -> None:
    """The range of the last targets, which become g y + shift."""
    for name in ("range_lows", "range_highs"):
        state[name] = g * state[name] + shift


def solved(parts: Parts, weights: str, information: str, forgetting: float) -> tuple[Array, Array]:
    """theta and H, where H and H theta are running sums."""
    gain, base = Gain(1 - forgetting), parts.base
    h = parts.running(information, gain)
    products = [state[information] @ state[weights] for state in parts.states]
    right = parts.running_values(base[information] @ base[weights], products, gain)
    return (np.linalg.solve(h, right), h) if parts.total else (base[weights], base[information])


def merge_stack(parts: Parts, stack: Spec) -> State:
    """All entries of a `Stack` in the state of a learner."""
    base, states = parts.base, parts.states
    merged: State = {}
    for weights, information, forgetting in (
        ("stack_weights", "information", "forgetting"),
        ("slow_weights", "slow_information", "slow"),
    ):
        if weights in base:
            found = solved(parts, weights, information, stack.arguments[forgetting])
            merged |= dict(zip((weights, information), found, strict=True))
    merged |= {
        "errors": np.maximum(0.0, parts.running("errors", Gain(1 / RECENT, 1.0), base["stacked"])),
        "stacked": parts.sum("stacked"),
        "alarms": merged_alarms(parts),
        "alarm_rows": parts.sum("alarm_rows"),
        "alarm_excess": max([base["alarm_excess"] * (not parts.total), *(s["alarm_excess"] for s in states)]),
    }
    merged |= {name: parts.mean(name) for name in ("alarm_errors", "alarm_seen")}
    if "residual_variance" in base:
        variance = parts.running("residual_variance", VARIANCE_GAIN, base["stacked"])
        merged["residual_variance"], merged["skew"] = max(0.0, variance), float(parts.mean("skew"))
        merged["lowest"] = min(state["lowest"] for state in [base, *states])
        merged["highest"] = max(state["highest"] for state in [base, *states])
        return merged | merged_level(parts)
    for name in ("rate", "unknown_share"):
        if name in base:
            merged[name] = float(parts.mean(name))
    information = parts.mean("calibration_information")
    products = [state["calibration_information"] * state["calibration"] for state in states]
    right = parts.average(base["calibration_information"] * base["calibration"], products)
    return merged | {"calibration_information": information, "calibration": right / information}


def merged_level(parts: Parts) -> State:
    """The level and what follows the last rows: their means; windows of the longest part, with the range of all."""
    base, states = parts.base, [*parts.states]
    longest = max([base, *states], key=lambda state: float(state["level_rows"]))
    merged = {name: longest[name] for name in ("level_rows", "last_excess", "trial", "level_squares", "level_steps")}
    means = ("level", "agreement", "relative_step", "last_score", "last_target", "last_residual")
    merged |= {name: float(parts.mean(name)) for name in means if name in base}
    used = [(state, min(BLOCKS, int(state["level_rows"]) // RANGE_ROWS + 1)) for state in states or [base]]
    low = min(float(state["range_lows"][:n].min()) for state, n in used)
    high = max(float(state["range_highs"][:n].max()) for state, n in used)
    return merged | {"range_lows": np.full(BLOCKS, low), "range_highs": np.full(BLOCKS, high)}


def merged_alarms(parts: Parts) -> Array:
    """Rows at which an alarm was raised; those of a part as if its rows were spread over all rows."""
    start, rows = parts.base["stacked"], [*parts.base["alarms"]]
    for own, state in zip(parts.rows, parts.states, strict=True):
        later = [row - start for row in state["alarms"] if row > start]
        rows += [start + np.floor(row * parts.total / own) for row in later]
    return np.array(sorted(rows), dtype=np.float64)[-MOST_ALARMS:]


def merge_calibration(base: State, states: list[State], rows: Array) -> State:
    """A `Calibration`; parts learned so many rows after the base."""
    known = [i for i, state in enumerate(states) if state["scale"] > 0]
    parts = Parts(base, states, rows, int(base["rows"]))
    if not base["scale"] > 0 and known:  # the base had no scale yet: the parts alone say it
        parts = Parts(base | {"scale": states[known[0]]["scale"]}, [states[i] for i in known], rows[known], 0)
    slopes, information = solved(parts, "slopes", "information", FORGETTING)
    scale = max(0.0, parts.running("scale", Gain(1 / MEMORY, 3.0, 3.0)))
    slopes = np.clip(slopes, SMALLEST, LARGEST)
    count = base["rows"] + sum(state["rows"] - base["rows"] for state in states)
    return {"rows": count, "scale": scale, "slopes": slopes, "information": information}
