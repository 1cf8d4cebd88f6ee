"""Made the files here with nolana 0.2.0: a base, and its two parts after 200 rows each; they are never made again."""

import json
from pathlib import Path

import numpy as np

import nolana

HERE = Path(__file__).parent


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Numbers that need no generator: multiples of the golden ratio, modulo 2, in [-1, 1)."""
    x = np.round((np.arange(1, 3001).reshape(1000, 3) * 0.6180339887498949) % 2 - 1, 6)
    return x, (x[:, 0] > 0).astype(int)


def main() -> None:
    assert nolana.__version__ == "0.2.0"
    x, y = rows()
    base = nolana.StreamClassifier(memory="32KB", random_state=0)
    base.learn(x[:300], y[:300])
    base.save(HERE / "base.safetensors")
    parts = base.split(2)
    for i, part in enumerate(parts):
        some = slice(300 + 200 * i, 500 + 200 * i)
        part.learn(x[some], y[some])
        part.save(HERE / f"part{i}.safetensors")
    merged = nolana.merge(parts)
    (HERE / "expected.json").write_text(json.dumps(merged.decision_function(x[900:920]).tolist()))


if __name__ == "__main__":
    main()
