"""Digits: scikit-learn's 1,797 pictures of 8 x 8 pixels as a stream, and whether the probabilities are right."""

import numpy as np
from sklearn.datasets import load_digits

from nolana import NolanaClassifier, StreamClassifier, evaluate, plot

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
X, y = X[order], y[order]
blocks = [(X[i : i + 20], y[i : i + 20]) for i in range(0, len(y), 20)]

models = {"StreamClassifier()": StreamClassifier(random_state=0), "NolanaClassifier()": NolanaClassifier()}
curves = {}
for name, model in models.items():
    result = evaluate.progressive(model, blocks)
    curves[name] = result.history
    print(f"{name}: {100 * result.metrics['accuracy']:.1f} % of {result.rows:,} rows, {model.memory_bytes_:,} bytes")
plot.running_scores(curves, "accuracy", "digits.svg", "Digits: prequential accuracy")

model = StreamClassifier(random_state=0)
scores = model.learn(X, y)  # -inf for a digit that was not known yet
known = np.isfinite(scores).all(axis=1)
plot.calibration(model.probabilities(scores)[known], y[known], model.classes_, "digits_calibration.svg")
