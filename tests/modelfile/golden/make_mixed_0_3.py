"""Made the golden files of 0.3.0 with trees, categories, missing cells and a lag; never made again."""

import json
from pathlib import Path

import numpy as np
from make_streams import rows, two

from nolana import StreamClassifier, StreamRegressor

HERE = Path(__file__).parent
COLOURS = np.array(["red", "green", "blue", "grey"])


def mixed(x: np.ndarray) -> list[dict]:
    """A number, a number that is sometimes missing, a category and a truth value."""
    colours = COLOURS[np.floor(2 * (x[:, 1] + 1)).astype(int)]
    cells = zip(x.tolist(), colours.tolist(), strict=True)
    return [{"a": a, "b": None if c > 0.8 else b, "colour": colour, "late": c > 0} for (a, b, c), colour in cells]


ROWS = {"stream_mixed": mixed}


def main() -> None:
    """Learn 700 rows, save, and write down what is predicted for the last 20."""
    x = rows()
    small = {"memory": "128KB", "random_state": 0}
    models = {
        "stream_mixed": StreamClassifier(**small).partial_fit(mixed(x[:700]), two(x[:700])),
        "stream_lagged": StreamRegressor(lag=1, **small).partial_fit(x[:700], 30 + np.cumsum(x[:700, 0])),
    }
    path = HERE / "expected.0.3.0.json"
    expected = json.loads(path.read_text())
    for name, model in models.items():
        model.save(HERE / f"{name}.0.3.0.safetensors")
        read = model.predict if isinstance(model, StreamRegressor) else model.decision_function
        expected[name] = {"rows": model.n_rows_, "values": read(ROWS.get(name, np.asarray)(x[980:])).tolist()}
    path.write_text(json.dumps(expected))


if __name__ == "__main__":
    main()
