"""NOGD: gradient steps on the Nyström map of the first rows, of rank r, which never changes afterwards.

Top-r eigenpairs of E: z = S^(-1/2) U' k_x, then gradient steps on w. With f(x) = k_x.alpha, alpha = U S^(-1/2) w,
that is alpha <- (1 - eta lambda) alpha - eta loss'(y, f) P k_x with P = U_r S_r^-1 U_r': the engine of NOLANA with
another P. While the first m rows come in, the learner works on those it has; when the map is built, the model
starts at the projection of what it was, not at zero.

Lu, Hoi, Wang, Zhao, Liu, "Large Scale Online Kernel Learning", JMLR 2016.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from nolana.learners.nolana import Nolana, Settings
from nolana.nystroem.refit import inverse_roots
from nolana.nystroem.spectrum import Spectrum
from nolana.reference.heads import pack


class NOGD(Nolana):
    """NOLANA with the first m rows as landmarks, and the inverse cut to rank r once they are there."""

    def __init__(self, settings: Settings, features: int, outputs: int, rank: int) -> None:
        self.rank = rank
        super().__init__(replace(settings, policy="fixed", threshold=np.inf, decomposition=None), features, outputs)

    def _after(self, rows_before: int) -> None:
        filled = self._filling and self._full
        super()._after(rows_before)
        if filled:
            self._cut_to_rank()

    def _cut_to_rank(self) -> None:
        learner, kernel = self._learner, self.settings.kernel
        state = learner.state()
        gram = kernel.gram(state["landmarks"], state["landmarks"], learner.gamma)
        spectrum = Spectrum.of(gram, self.rank)
        roots = inverse_roots(spectrum.values, 0.0)
        half = spectrum.vectors * roots
        inverse = half @ half.T
        weights = state["weights"] @ (gram @ inverse)
        learner.restore(state | {"inverse": pack((inverse + inverse.T) / 2), "weights": np.ascontiguousarray(weights)})

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"rank": self.rank}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__init__(saved["settings"], saved["features"], saved["outputs"], saved["rank"])  # type: ignore[misc]
        self.restore(saved["learned"])
