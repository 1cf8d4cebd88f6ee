"""Made the golden files of the default learner with grids and sketches of nolana's own draw; never made again."""

import json
from pathlib import Path

import numpy as np
from make_streams import rows, two, wide

import nolana
from nolana import StreamClassifier, StreamRegressor

HERE = Path(__file__).parent


def dense(x: np.ndarray) -> np.ndarray:
    """80 features, which are sketched for neighbours: the row and products of its features."""
    return np.hstack([x, *(x * np.roll(x, i, axis=1) * (i + 1) / 13 for i in range(26))])[:, :80]


ROWS = {"stream_sparse": wide, "stream_wide": dense}


def main() -> None:
    """Learn 700 rows, save, and write down what is predicted for the last 20."""
    x = rows()
    three = np.array(["red", "green", "blue"])[two(x) + (x[:, 2] > 0.5)]
    small = {"memory": "64KB", "random_state": 0}
    base = StreamClassifier(**small).partial_fit(x[:300], two(x[:300]))
    parts = base.split(2)
    for part, some in zip(parts, (slice(300, 500), slice(500, 700)), strict=True):
        part.partial_fit(x[some], two(x[some]))
    models = {
        "stream_regressor": StreamRegressor(**small).partial_fit(x[:700], 30 + x[:700, 0] * x[:700, 1]),
        "stream_three": StreamClassifier(**small).partial_fit(x[:700], three[:700]),
        "stream_sparse": StreamClassifier(**small).partial_fit(wide(x[:700]), two(x[:700])),
        "stream_wide": StreamClassifier(**small).partial_fit(dense(x[:700]), two(x[:700])),
        "stream_merged": nolana.merge(parts),
    }
    expected = {}
    for name, model in models.items():
        model.save(HERE / f"{name}.0.3.0.safetensors")
        read = model.predict if isinstance(model, StreamRegressor) else model.decision_function
        expected[name] = {"rows": model.n_rows_, "values": read(ROWS.get(name, np.asarray)(x[980:])).tolist()}
    (HERE / "expected.0.3.0.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    main()
