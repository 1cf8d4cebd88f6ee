"""Late labels: whether a payment was fraud is known 500 payments later. Predict now, learn when the label arrives."""

from collections import deque

import numpy as np

from nolana import StreamClassifier, evaluate

rng = np.random.default_rng(4)
n, delay = 10_000, 500
X = rng.normal(size=(n, 4))
fraud = (X[:, 0] ** 2 + X[:, 1] ** 2 < 0.25) ^ (rng.random(n) < 0.01)

# By hand: the rows wait for their labels in a queue.
model, waiting, warned = StreamClassifier(random_state=0), deque(), 0
for row, label in zip(X, fraud, strict=True):
    if hasattr(model, "classes_"):
        warned += bool(model.predict(row[None])[0])
    waiting.append((row, label))
    if len(waiting) > delay:  # its label has just arrived
        old, known = waiting.popleft()
        model.partial_fit(old[None], [known])
print(f"warned of {warned:,} payments; {fraud.sum():,} were fraud")

# The same by `evaluate`: a score counts the prediction that was made when the row arrived.
blocks = [(X[i : i + 100], fraud[i : i + 100]) for i in range(0, n, 100)]
for rows in (0, delay):
    result = evaluate.progressive(StreamClassifier(random_state=0), blocks, metrics=["precision", "recall"], delay=rows)
    print(f"labels {rows:3} rows late: " + ", ".join(f"{k} {100 * v:.1f} %" for k, v in result.metrics.items()))
