"""Sensor drift: a detector of faults whose sensors age, fail and are replaced; missing readings are filled in."""

import numpy as np

from nolana import StreamClassifier, evaluate, plot

rng = np.random.default_rng(1)
n, sensors = 12_000, 6
state = rng.normal(size=(n, 2))
fault = (state[:, 0] * state[:, 1] > 0.4).astype(int)
gain = rng.normal(size=(2, sensors))
X = state @ gain + 0.1 * rng.normal(size=(n, sensors))
X[:, 0] += np.linspace(0, 3, n)  # sensor 1 drifts
X[6000:, 1] = X[6000:, 1] * 1000  # sensor 2 is replaced by one that reports in other units
X[rng.random((n, sensors)) < 0.001] = -9999  # a broken line

model = StreamClassifier(memory="256KB", random_state=0)
history = plot.ExpertHistory(model)
model.on_drift = lambda row: print(f"drift alarm at row {row:,}")
blocks = ((X[i : i + 100], fault[i : i + 100]) for i in range(0, n, 100))
result = evaluate.progressive(model, blocks, window=1000, callback=history)

for point in result.history[::3]:
    print(f"rows {point.rows - 999:6,} to {point.rows:6,}: accuracy {100 * point.window['accuracy']:.1f} %")
print(f"bytes {model.memory_bytes_:,} of {256 * 1024:,}")
assert result.history[-1].window["accuracy"] > 0.9
plot.experts(history, "sensor_drift.svg")
