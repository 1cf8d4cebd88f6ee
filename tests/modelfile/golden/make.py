"""Makes the golden files of the newest format version; run once for each version. They are never made again."""

import json
from pathlib import Path

import numpy as np

from nolana import NolanaClassifier, NolanaRegressor, OnlineNystroem, rivals
from nolana.modelfile.container import VERSION

HERE = Path(__file__).parent


def rows() -> np.ndarray:
    """Numbers that need no generator: multiples of the golden ratio, modulo 2, in [-1, 1)."""
    return np.round((np.arange(1, 301).reshape(100, 3) * 0.6180339887498949) % 2 - 1, 6)


def main() -> None:
    """Learn 80 rows, save, and write down what is predicted for the other 20."""
    x = rows()
    classes = np.array(["red", "green", "blue"])[(x[:, 0] * x[:, 1] > 0).astype(int) + (x[:, 2] > 0.5)]
    models = {
        "classifier": NolanaClassifier(n_landmarks=8, threshold=np.inf, scale=False).partial_fit(x[:80], classes[:80]),
        "regressor": NolanaRegressor(n_landmarks=6, scale=True).partial_fit(x[:80], 3 + x[:80, 0] * x[:80, 1]),
        "rival": rivals.DualSGDClassifier(budget=6, merged=2, n_components=4, random_state=0).partial_fit(
            x[:80], classes[:80]
        ),
        "map": OnlineNystroem(n_landmarks=6, rank=4, scale=False).partial_fit(x[:80]),
        "fourier": rivals.FOGDClassifier(n_components=4, random_state=0).partial_fit(x[:80], classes[:80]),
        "nogd": rivals.NOGDClassifier(n_landmarks=6).partial_fit(x[:80], classes[:80]),
        "paper": NolanaClassifier.paper(6, 0.3, scale=False).partial_fit(x[:80], classes[:80]),
    }
    expected = {}
    for name, model in models.items():
        model.save(HERE / f"{name}.v{VERSION}.safetensors")
        read = model.transform if name == "map" else model.predict if name == "regressor" else model.decision_function
        expected[name] = {"rows": model.n_rows_, "values": read(x[80:]).tolist()}
        if hasattr(model, "classes_"):
            expected[name]["classes"] = model.classes_.tolist()
    (HERE / f"expected.v{VERSION}.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    main()
