"""Running moments: each part's own sums around the mean of the base (Chan, Golub, LeVeque, "Algorithms for computing
the sample variance", The American Statistician 1983), as far as its rows are remembered.

For a running mean mu and variance v, v + (mu - mu_0)^2 is the running mean of (x - mu_0)^2. Anchors, metric and numbers
of anchors are those of the base: parts do not change them.
"""

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.state import State
from nolana.engine.learner.interval_width import MEMORY as INTERVAL_MEMORY
from nolana.engine.learner.interval_width import SMALLEST_VARIANCE
from nolana.engine.learner.residual_scale import FORGETTING as SCALE_FORGETTING
from nolana.engine.learner.robust_scaling import FAR_MEMORY, FIRST_ROWS, MEMORY, STEP_MEMORY, USUAL_MEMORY
from nolana.experts.parts import Gain, Parts
from nolana.learner.stack import solved

Array = NDArray[np.float64]

SLOW, FAR = Gain(1 / MEMORY), Gain(1 / FAR_MEMORY)
STEPS = {"step": Gain(1 / STEP_MEMORY), "usual_step": Gain(1 / USUAL_MEMORY)}


def merge_scaling(parts: Parts) -> State:
    """A `RobustScaling`."""
    base = parts.base
    merged = merged_moments(parts) | {"rows": parts.sum("rows")}
    around = [(s["z_mean"] - base["z_mean"], s["z_variance"]) for s in parts.states]
    mean = parts.running("z_mean", SLOW)
    square = parts.running_values(base["z_variance"], [v + m * m for m, v in around], SLOW)
    merged |= {"z_mean": mean, "z_variance": np.maximum(0.0, square - (mean - base["z_mean"]) ** 2)}
    merged["differs"] = np.clip(parts.running("differs", SLOW), 0.0, 1.0)
    merged["far"] = np.clip(parts.running("far", FAR), 0.0, 1.0)
    merged |= {name: parts.running(name, gain) for name, gain in STEPS.items()}
    merged["stepped"] = np.minimum(USUAL_MEMORY, parts.sum("stepped"))
    merged["previous"] = parts.states[-1]["previous"] if parts.states else base["previous"]
    if merged["rows"] >= FIRST_ROWS:
        merged["first"] = np.zeros((0, len(mean)))
    return base | merged


def merged_moments(parts: Parts) -> State:
    """Mean, variance and `counted`, the rows that they stand for (d,)."""
    base, mean, square = parts.base, parts.base["mean"], 0 * parts.base["mean"]
    shares, totals, counted = np.zeros_like(mean), np.zeros_like(mean), base["counted"].copy()
    change, again = np.zeros_like(mean), np.zeros(mean.shape, dtype=bool)
    for rows, state in zip(parts.rows, parts.states, strict=True):
        began_again = state["counted"] < np.minimum(MEMORY, base["counted"] + rows)
        share = np.where(began_again, 1.0, remembered(base["counted"], rows))
        own = np.where(began_again, np.minimum(rows, state["counted"]), rows)
        factor = np.divide(own, share, out=np.zeros_like(share), where=share > 0)
        away = state["mean"] - mean
        change += factor * away
        square += factor * (state["variance"] + away * away - base["variance"])
        totals += own
        again |= began_again
    shares = np.where(again, 1.0, remembered(base["counted"], parts.total)) / np.maximum(totals, 1.0)
    moved = shares * change
    variance = np.maximum(0.0, base["variance"] + shares * square - moved * moved)
    counted = np.minimum(MEMORY, np.where(again, totals, base["counted"] + parts.total))
    return {"mean": mean + moved, "variance": variance, "counted": np.floor(counted)}


def remembered(counted: Array, rows: float) -> Array:
    """The share of the last `rows` rows in moments that stood for so many rows before (d,)."""
    gain = Gain(1 / MEMORY, 1.0)
    return np.array([gain.share(n, rows) for n in np.unique(counted)])[np.searchsorted(np.unique(counted), counted)]


def merge_v01_scaling(parts: Parts) -> State:
    """The moments of all rows that files of v0.1 have."""
    base = parts.base
    count, mean = base["scaling_count"], base["scaling_mean"]
    total, sums, squares = count, np.zeros_like(mean), base["scaling_squares"].copy()
    for state in parts.states:
        away = state["scaling_mean"] - mean
        total += state["scaling_count"] - count
        sums += state["scaling_count"] * away
        squares += state["scaling_squares"] + state["scaling_count"] * away**2 - base["scaling_squares"]
    shift = sums / max(total, 1.0)
    squares = np.maximum(0.0, squares - total * shift**2)
    return {"scaling_count": total, "scaling_mean": mean + shift, "scaling_squares": squares}


def merge_interval(parts: Parts) -> State:
    """An `IntervalWidth`: V is a running mean, and the scale of a row has running sums."""
    base = parts.base
    variance = parts.running("variance", Gain(1 / INTERVAL_MEMORY, 3.0, 3.0), base["rows"])
    merged = merge_thresholds(parts) | {"variance": max(SMALLEST_VARIANCE, variance)}
    if "scale_weights" in base:
        weights, information = solved(parts, "scale_weights", "scale_information", SCALE_FORGETTING)
        merged |= {"scale_weights": weights, "scale_information": information}
    return merged


def merge_thresholds(parts: Parts) -> State:
    """Thresholds of an interval or of label sets follow the misses of recent rows: their logarithms are averaged."""
    base = parts.base
    logs = parts.average(np.log(base["factors"]), [np.log(state["factors"]) for state in parts.states])
    return {"rows": parts.sum("rows"), "factors": np.exp(logs) if parts.total else base["factors"]}
