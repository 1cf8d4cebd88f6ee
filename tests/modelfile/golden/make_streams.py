"""Made the golden files of the default learner with nolana 0.2.0; they are never made again.

`stream_wide` was made so too, with 32KB and the rows of make_streams_0_3.py. `continued` in expected.0.2.0.json are the
scores of the last 20 of 1,500 more rows, by the last version that drew grids with NumPy's generator; those of
`stream_regressor` by the version that first cut the residuals of skewed targets later (0.3.0).
"""

import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import nolana
from nolana import StreamClassifier, StreamRegressor

HERE = Path(__file__).parent


def rows(count: int = 1000) -> np.ndarray:
    """Numbers that need no generator: multiples of the golden ratio, modulo 2, in [-1, 1)."""
    return np.round((np.arange(1, 3 * count + 1).reshape(count, 3) * 0.6180339887498949) % 2 - 1, 6)


def wide(x: np.ndarray) -> sp.csr_matrix:
    """Sparse rows of 300 features, three non-zeros each."""
    places = np.floor((x + 1) * 49).astype(int) + np.array([0, 100, 200])
    n = len(x)
    return sp.csr_matrix((1 + np.abs(x).ravel(), (np.repeat(np.arange(n), 3), places.ravel())), shape=(n, 300))


def two(x: np.ndarray) -> np.ndarray:
    return (x[:, 0] * x[:, 1] > 0).astype(int)


def main() -> None:
    """Learn 700 rows, save, and write down what is predicted for the last 20."""
    assert nolana.__version__ == "0.2.0"
    x = rows()
    three = np.array(["red", "green", "blue"])[two(x) + (x[:, 2] > 0.5)]
    small = {"memory": "64KB", "random_state": 0}
    base = StreamClassifier(**small).partial_fit(x[:300], two(x[:300]))
    parts = base.split(2)
    for part, some in zip(parts, (slice(300, 500), slice(500, 700)), strict=True):
        part.partial_fit(x[some], two(x[some]))
    models = {
        "stream_three": StreamClassifier(**small).partial_fit(x[:700], three[:700]),
        "stream_sparse": StreamClassifier(**small).partial_fit(wide(x[:700]), two(x[:700])),
        "stream_merged": nolana.merge(parts),
        "stream_classifier": nolana.load(HERE / "stream_classifier.0.2.0.safetensors"),
        "stream_regressor": nolana.load(HERE / "stream_regressor.0.2.0.safetensors"),
    }
    expected = {}
    for name, model in models.items():
        if name not in ("stream_classifier", "stream_regressor"):
            model.save(HERE / f"{name}.0.2.0.safetensors")
        new = wide(x[980:]) if name == "stream_sparse" else x[980:]
        read = model.predict if isinstance(model, StreamRegressor) else model.decision_function
        expected[name] = {"rows": model.n_rows_, "values": read(new).tolist()}
    (HERE / "expected.0.2.0.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    main()
