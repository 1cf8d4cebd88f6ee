"""Writes scores.npz; was run once, with v0.1. The file is never made again."""

from pathlib import Path

import numpy as np
from models import models, scores

if __name__ == "__main__":
    np.savez_compressed(Path(__file__).parent / "scores.npz", **{n: scores(m) for n, m in models().items()})
