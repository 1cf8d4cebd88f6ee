"""A linear model of the features with the covariance of all its weights: recursive least squares, or its logistic form.

Where the target is linear and noisy, no other expert learns it with so few rows. Its share of the memory is small: the
covariance of at most 65 weights. In a regression it sees features without the logarithmic tail of their scaling, so
that it extrapolates, and follows every anchor of the scaling exactly:

    (z', 1) = B (z, 1),   L' = B (L - I/s) B' + I/s,   L' w' = B L w,   L = C^-1 the precision, I/s the prior
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nolana.engine.base.bounds import Share
from nolana.engine.experts.linear.full_linear import FullLinear
from nolana.engine.experts.linear.identity_map import IdentityMap
from nolana.experts.base import Anchors, Array, Budget, Expert, ExpertState, HeadEntry, Outputs, Sizes, losses
from nolana.experts.information import inverse_of, merge_information, relaxed
from nolana.experts.parts import Parts
from nolana.experts.remap import covariance_of, set_covariance
from nolana.experts.sparse_linear import WIDE, SparseLinear
from nolana.modelfile.specs import Spec

MOST_FEATURES, MOST_SHARE = 64, 0.08  # of rows and of the memory
VARIANCE = {"classification": 1.0, "regression": 0.1}  # prior, of standardised targets
FORGETTING = 1 - 3e-5
LARGEST_CHANGE = 100.0  # of the unit of a feature, and of its centre in units: beyond, a wild value had set them


@dataclass(frozen=True, kw_only=True)
class Linear(Expert):
    """A linear model of the features: where the target is linear and noisy, no other expert learns it with so few rows.

    On rows of at most 64 features it has the covariance of all its weights, if that takes at most 8 % of the memory.
    On sparse rows of more than 256 features it is a `SparseLinear`, which learns at the cost of the non-zeros: the most
    frequent features have a slot of a table each, and the other experts learn on a sketch of such rows, 64 sums. On
    other rows it is left out.

    Parameters
    ----------
    share : float, default=None
        Of the memory, at most, for the table of sparse rows; None: 0.6.
    """

    share: Share | None = None

    def for_rows(self, features: int) -> Expert:
        return SparseLinear(share=self.share) if features > WIDE else self

    def sizes(self, budget: Budget) -> Sizes:
        return {}

    def map_spec(self, sizes: Sizes, features: int, task: str, seed: int) -> Spec:
        return Spec(IdentityMap, {"features": features, "unsquashed": task == "regression"})

    def heads(self, map: Spec, task: str, first: int) -> list[HeadEntry]:
        steps = {"loss": losses(task)[1], "variance": VARIANCE[task], "forgetting": FORGETTING}
        return [HeadEntry(Spec(FullLinear, steps), 0.5, 10.0, "slow")]

    def shrink(self, own: ExpertState, sizes: Sizes) -> None:
        pass

    def follow_anchors(self, own: ExpertState, anchors: Anchors) -> None:
        """z becomes a z + b for each feature."""
        before, after = anchors.before, anchors.after
        old, new = before["factor"] * before["metric"], after["factor"] * after["metric"]
        a = np.divide(new, old, out=np.zeros_like(new), where=old > 0)
        b = (before["center"] - after["center"]) * new
        wild = (a > LARGEST_CHANGE) | (a * LARGEST_CHANGE < 1) | (np.abs(b) > LARGEST_CHANGE)
        self.move(own, np.where(wild, 0.0, a), np.where(wild, 0.0, b))

    def follow_late_anchors(self, own: ExpertState, anchors: Anchors) -> None:
        self.follow_anchors(own, anchors)

    def follows_late_anchors(self, map: Spec) -> bool:
        return bool(map.arguments.get("unsquashed"))

    def multiply_features(self, own: ExpertState, metric: Array) -> None:
        self.move(own, metric, np.zeros_like(metric))
        if "metric" in own.map_state:
            own.map_state["metric"] = own.map_state["metric"] * metric

    def move(self, own: ExpertState, a: Array, b: Array) -> None:
        """As if all rows had been (a z + b, 1): their information, and the prior of the new scale."""
        state = own.head_states[0]
        onto = np.diag(np.append(a, 1.0))
        onto[:-1, -1] = b
        prior = np.eye(len(onto)) / own.heads[0].arguments["variance"]
        precision = inverse_of(covariance_of(state))
        covariance = inverse_of(onto @ (precision - prior) @ onto.T + prior)
        state["weights"] = np.ascontiguousarray(state["weights"] @ precision @ onto.T @ covariance)
        set_covariance(state, covariance)

    def rescale_targets(self, own: ExpertState, g: float, shift: float) -> None:
        state = own.head_states[0]
        weights = state["weights"] = g * state["weights"]
        weights[:, -1] += shift
        if g == 0:
            set_covariance(state, own.heads[0].arguments["variance"] * np.eye(weights.shape[1]))

    def rearrange_outputs(self, own: ExpertState, outputs: Outputs) -> None:
        state = own.head_states[0]
        own.rearrange(outputs, outputs.logit)
        state["weights"][outputs.new, -1] = -math.log(outputs.rows + 1)

    def freeze(self, own: ExpertState) -> None:
        own.heads = [replace(head, arguments={**head.arguments, "forgetting": 1.0}) for head in own.heads]

    def merge(self, own: ExpertState, map: Parts, heads: Sequence[Parts]) -> None:
        own.head_states[0] |= merge_information(replace(heads[0], absent=()))  # a new class has a low bias there

    def thaw(self, own: ExpertState, rows: int) -> None:
        state, arguments = own.head_states[0], own.heads[0].arguments
        prior = arguments["variance"] * np.eye(state["weights"].shape[1])
        own.head_states[0] |= relaxed(state, rows, prior, arguments["forgetting"])

    def names(self, own: ExpertState) -> list[str]:
        return ["linear"]

    def size_summary(self, map: Spec) -> dict[str, int]:
        return {}


def has_full_covariance(memory: int, features: int, alone: bool = False) -> bool:
    """Whether dense rows of so many features have a linear expert; `alone`: there is no other expert."""
    width = features + 8
    fits = 8 * width * (width / 2 + 20) <= MOST_SHARE * memory
    return features <= MOST_FEATURES and (fits or alone)
