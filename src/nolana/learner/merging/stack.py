"""The stack, the calibration and the drift alarm, which forget by rows.

Information H and H theta are running sums with forgetting lambda, so they merge as running means of the gain
1 - lambda: exactly for numbers, and for classes as far as the parts had the same weights. Knots of the calibration
forget only when they are used: they are the mean of the parts. The alarm takes the error rate of all parts and the
largest excess, so that many parts raise no more false alarms than one.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.state import State
from nolana.engine.learner.calibration import FORGETTING, LARGEST, MEMORY, SMALLEST
from nolana.engine.learner.stack import BIAS_ROWS, MOST_ALARMS, RECENT
from nolana.engine.learner.target_level import BLOCKS, RANGE_ROWS
from nolana.learner.merging.parts import VARIANCE_GAIN, Gain, Parts

Array = NDArray[np.float64]


def solved(parts: Parts, weights: str, information: str, forgetting: float) -> tuple[Array, Array]:
    """theta and H, where H and H theta are running sums."""
    gain, base = Gain(1 - forgetting), parts.base
    h = parts.running(information, gain)
    products = [state[information] @ state[weights] for state in parts.states]
    right = parts.running_values(base[information] @ base[weights], products, gain)
    return (np.linalg.solve(h, right), h) if parts.total else (base[weights], base[information])


def merge_stack(parts: Parts, forgetting: float) -> State:
    """All entries of a `Stack` in the state of a learner."""
    base, states = parts.base, parts.states
    weights, information = solved(parts, "stack_weights", "information", forgetting)
    merged = {
        "stack_weights": weights,
        "information": information,
        "errors": np.maximum(0.0, parts.running("errors", Gain(1 / RECENT, 1.0), base["stacked"])),
        "stacked": parts.sum("stacked"),
        "alarms": merged_alarms(parts),
        "alarm_rows": parts.sum("alarm_rows"),
        "alarm_excess": max([base["alarm_excess"] * (not parts.total), *(s["alarm_excess"] for s in states)]),
    }
    merged |= {name: parts.mean(name) for name in ("alarm_errors", "alarm_seen")}
    if "residual_variance" in base:
        variance = parts.running("residual_variance", VARIANCE_GAIN, base["stacked"])
        merged["residual_variance"] = max(0.0, variance)
        merged["lowest"] = min(state["lowest"] for state in [base, *states])
        merged["highest"] = max(state["highest"] for state in [base, *states])
        return merged | merged_level(parts)
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
    merged["bias"] = float(parts.running("bias", Gain(1 / BIAS_ROWS)))
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
