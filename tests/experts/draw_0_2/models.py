"""Streams of integer arithmetic, and models whose scores were stored when NumPy's generator drew grids and sketches.

Run at that commit, it made scores.npz; the scores are never made again. Those of `number` are of the first version that
cut the residuals of skewed targets later (0.3.0), with the same grids.
"""

from pathlib import Path

import numpy as np

from nolana import StreamClassifier, StreamRegressor

STORED = Path(__file__).parent / "scores.npz"


def uniform(n: int, d: int) -> np.ndarray:
    """Multiples of 2^-20 in [-1, 1) that look random (n, d)."""
    words = np.arange(1, n * d + 1, dtype=np.uint64) * np.uint64(0xD1342543DE82EF95)
    for shift in (32, 29):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(0xAF251AF3B0F025B5)
    return ((words >> np.uint64(43)).astype(np.float64) / 2**20 - 1).reshape(n, d)


def scores() -> dict[str, np.ndarray]:
    """Of 3,000 rows of 6 features, with redraws by slopes and probes; and of 700 rows of 80, which are sketched."""
    x, wide = uniform(3000, 6), uniform(700, 80)
    two = (x[:, 0] * x[:, 1] > 0).astype(int)
    small = {"memory": "128KB", "random_state": 7}
    return {
        "two": StreamClassifier(**small).learn(x, two),
        "three": StreamClassifier(**small).learn(x, two + (x[:, 2] > 0.4)),
        "number": StreamRegressor(**small).learn(x, 10 + x[:, 0] * x[:, 1] + 0.5 * x[:, 2]),
        "wide": StreamClassifier(**small).learn(wide, (wide[:, 0] + wide[:, 1] > 0).astype(int)),
    }


if __name__ == "__main__":
    found = scores()
    # Two classes have opposite scores: one of them is enough.
    np.savez_compressed(STORED, **{k: v[:, 1] if v.ndim == 2 and v.shape[1] == 2 else v for k, v in found.items()})
