"""The models whose v0.1 scores are stored, every parameter that has a default of its own written out."""

import numpy as np

from nolana import NolanaClassifier, NolanaRegressor, rivals


def stream() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X (600, 4), three classes, targets: numbers that need no random generator."""
    steps = np.array([0.8566748838545029, 0.7338918566271260, 0.6287067210378087, 0.5385972572236101])
    x = np.round(2 * ((np.arange(1, 601)[:, None] * steps) % 1) - 1, 6)
    classes = (x[:, 0] * x[:, 1] > 0).astype(int) + (x[:, 2] > 0.6)
    return x, classes, 3 + x[:, 0] * x[:, 1] + 0.5 * x[:, 3]


def models() -> dict:
    """Name to estimator, not fitted."""
    common = {"n_landmarks": 30, "scale": False, "random_state": 0}
    return {
        "sgd": NolanaClassifier(optimizer="sgd", **common),
        "newton": NolanaClassifier(optimizer="newton", forgetting=1.0, **common),
        "newton_regression": NolanaRegressor(optimizer="newton", regularization=1 / 300, forgetting=1.0, **common),
        "paper": NolanaClassifier.paper(20, 0.1, scale=False, random_state=0),
        "FOGD": rivals.FOGDClassifier(n_components=40, random_state=0),
        "NOGD": rivals.NOGDClassifier(n_landmarks=20, random_state=0),
        "BSGD": rivals.BSGDClassifier(budget=20, random_state=0),
        "DualSGD": rivals.DualSGDClassifier(budget=20, merged=4, n_components=20, random_state=0),
    }


def scores(model: object, rows: int = 600) -> np.ndarray:
    """What each row scored, in blocks of 50."""
    x, classes, targets = stream()
    y = targets if type(model).__name__.endswith("Regressor") else classes
    return np.concatenate(
        [
            model.learn(x[i : i + 50], y[i : i + 50], **({"classes": [0, 1, 2]} if y is classes and i == 0 else {}))
            for i in range(0, rows, 50)
        ]
    )
