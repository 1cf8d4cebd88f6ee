"""What happens to the landmark learner at events; `schedule` says after which rows.

- At anchors of the scaling, and when the kernel width is re-estimated, all that was learned is re-mapped. The width is
  that of the median distance of the landmarks, until they are full; for a kernel of a dot product it always is.
- The threshold is estimated once the landmarks are full, or late, if they never will be.
- At anchors of the targets and of the noise level, weights and covariance follow.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from nolana.engine.base.state import pack, unpack
from nolana.engine.base.threads import one_blas_thread
from nolana.engine.experts.landmarks.kernels import squared_distances
from nolana.engine.learner.residual_variance import START as START_NOISE
from nolana.engine.learner.robust_scaling import FIRST_ROWS, unscaled
from nolana.experts.remap import remap, reweight, with_matrices
from nolana.experts.spectral.refit import inverse_roots
from nolana.experts.spectral.spectral_map import SpectralMap
from nolana.experts.spectral.spectrum import Spectrum
from nolana.learner.driver import Array
from nolana.learner.events import LARGEST_RESCALING

if TYPE_CHECKING:
    from nolana.learner.landmark import LandmarkLearner

Change = Callable[[Array], Array]  # of places (m, d) that the kernel sees

# Landmarks that are not full after LATE m rows, with novelty relaxed since row m, may never be: few features need few.
# From then on the threshold is estimated from those in use.
LATE = 4
ANCHORS = "center", "factor", "metric"  # of a scaling
GROWING = 0.1  # metric of a feature that grows
NOISE_RANGE = 1e-3, 1.0  # of standardised targets
SMALLEST_SIGNAL = 0.1  # share of the variance of the targets that the prior expects to explain, at least


def follow_anchors(learner: "LandmarkLearner") -> None:
    """The features have another scale, or others of them grow."""
    scaling, growth, before = learner.scaling, learner.growth, learner.anchors
    assert scaling is not None
    anchored, grows = scaling.anchor().any(), growth is not None and growth.check()
    if not anchored and not grows:
        return
    if growth is not None:
        growing = growth.state(["growing"])["growing"]
        scaling.restore_part({"metric": np.where(growing > 0, GROWING, 1.0)})
        learner.growing = np.flatnonzero(growing).tolist()
    learner.anchors = scaling.state(ANCHORS)
    remap_all(learner, lambda z: np.asarray(scaling.apply(z if before is None else unscaled(z, before))))


def reestimate_width(learner: "LandmarkLearner") -> None:
    """Width and ridge, unless an event of the same row did that."""
    if learner.remapped != learner.rows:
        remap_all(learner, None)


def note_full(learner: "LandmarkLearner") -> None:
    """The landmarks have just become full."""
    if learner.estimates_width:
        reestimate_width(learner)
    if learner.options.threshold is None:
        learner.map.threshold = spacing(learner.engine.state(["landmarks"])["landmarks"])
    if learner.options.rank is not None:
        _cut_to_rank(learner, learner.options.rank)
    learner.filling = False


def reestimate_threshold(learner: "LandmarkLearner") -> None:
    """Of landmarks that may never be full."""
    if learner.rows >= LATE * learner.capacity and learner.size > 1:
        learner.map.threshold = spacing(learner.engine.state(["landmarks"])["landmarks"])


def follow_target_anchors(learner: "LandmarkLearner") -> None:
    """Targets have another unit: alpha <- g alpha + shift P1. Where nothing learned counts, back to the prior."""
    targets, before = learner.target_scaling, learner.target_anchors
    assert targets is not None
    if not targets.anchor().any():
        return
    after = learner.target_anchors = targets.state(ANCHORS)
    factors = shifts = np.zeros(len(after["factor"]))
    if before is not None:
        factors = np.divide(after["factor"], before["factor"], out=factors.copy(), where=before["factor"] > 0)
        factors = np.where(factors <= LARGEST_RESCALING, factors, 0.0)
        shifts = np.where(factors > 0, (before["center"] - after["center"]) * after["factor"], 0.0)
    state = learner.engine.state(units=False)
    ones = unpack(state["inverse"]).sum(axis=1)  # P 1
    state["weights"] = factors[:, None] * state["weights"] + shifts[:, None] * ones
    g = float(factors.max())
    if g == 0 and "covariance" in state:
        state = with_matrices(state, unpack(state["inverse"]), learner.prior * unpack(state["inverse"]))
    if "residual_variance" in state:
        low, high = NOISE_RANGE if learner.rows > FIRST_ROWS else (START_NOISE, 1.0)
        variance = min(high, max(low, state["residual_variance"] * g * g)) if g > 0 else START_NOISE
        state |= {"residual_variance": variance}  # n/tau has no unit
    learner.engine.restore(state, units=False)


def reestimate_noise(learner: "LandmarkLearner") -> None:
    """The noise level follows the residuals; what was learned with the old one is weighed by the new one."""
    state = learner.engine.state(units=False)
    level = noise_level(state["residual_variance"])
    if "covariance" in state:
        with one_blas_thread():
            gram = learner.kernel.gram(state["landmarks"], state["landmarks"], learner.gamma)
            state = reweight(state, gram, state["noise_level"] / level, learner.prior)
    learner.engine.restore(state | {"noise_level": level}, units=False)


def remap_all(learner: "LandmarkLearner", change: Change | None) -> None:
    """Width and ridge from what was seen so far; the model is re-mapped, also to another scaling."""
    learner.remapped = learner.rows
    with one_blas_thread():
        _remap(learner, change)


def _remap(learner: "LandmarkLearner", change: Change | None) -> None:
    kernel, state, options = learner.kernel, learner.engine.state(units=False), learner.options
    old, old_gamma = state["landmarks"], learner.gamma
    places = old if change is None else np.ascontiguousarray(change(old))
    gamma = old_gamma
    if options.gamma is None and kernel.uses_gamma:
        now, then = kernel.width_of(places), kernel.width_of(old)
        if learner.filling or not kernel.stationary:  # dot products have no other way to follow the rows' size
            gamma = now or (old_gamma if not learner.full else 1.0)
        elif now and then:  # other units, same width
            gamma = old_gamma * now / then
    ridge = options.ridge
    if not kernel.stationary:
        ridge = learner.set_ridge(kernel.diagonal(places, gamma))

    def before(x: Array, z: Array) -> Array:
        return kernel.gram(x, z, old_gamma)

    def after(x: Array, z: Array) -> Array:
        return kernel.gram(x, z, gamma)

    if options.threshold is None and np.isfinite(learner.threshold):
        state["threshold"] *= spread(places) / spread(old)
    if isinstance(learner.map, SpectralMap):
        learner.engine.restore(state | {"landmarks": places, "gamma": gamma}, units=False)
        learner.map.rekernel(before(old, old), learner.map.coefficients(), after(places, places), ridge)
    else:
        mapped = remap(state, before=before, after=after, coordinates=places, ridge=ridge, prior=learner.prior)
        if "gram" in state:
            mapped["gram"] = pack(after(places, places))
        learner.engine.restore(mapped | {"gamma": gamma}, units=False)


def _cut_to_rank(learner: "LandmarkLearner", rank: int) -> None:
    """P = U_r S_r^-1 U_r'; the model becomes the projection of what it was."""
    state = learner.engine.state(units=False)
    gram = learner.kernel.gram(state["landmarks"], state["landmarks"], learner.gamma)
    spectrum = Spectrum.of(gram, rank)
    half = spectrum.vectors * inverse_roots(spectrum.values, 0.0)
    inverse = half @ half.T
    weights = np.ascontiguousarray(state["weights"] @ (gram @ inverse))
    learner.engine.restore(state | {"inverse": pack((inverse + inverse.T) / 2), "weights": weights}, units=False)


def spacing(landmarks: Array) -> float:
    """The median over landmarks of the squared distance to the nearest that came before."""
    nearest = [squared_distances(landmarks[i], landmarks[:i]).min() for i in range(1, len(landmarks))]
    return float(np.median(nearest)) if nearest else 0.0


def noise_level(variance: float) -> float:
    """n/tau from the variance nu of the residuals of standardised targets: nu/(1 - nu), the rest being signal."""
    return max(NOISE_RANGE[0], variance) / max(SMALLEST_SIGNAL, 1 - variance)


def spread(landmarks: Array) -> float:
    """The mean squared distance between landmarks."""
    total = float(((landmarks - landmarks.mean(axis=0)) ** 2).sum())
    return total if total > 0 else 1.0
