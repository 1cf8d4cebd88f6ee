"""Draws the pictures of the pages into the current directory."""

import numpy as np

from nolana import NolanaClassifier, StreamClassifier, evaluate, experts, plot
from nolana.plot.figures import COLOURS, new_figure, tidy

rng = np.random.default_rng(0)


def blobs(n: int, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two classes inside one another, around a centre."""
    x = rng.normal(size=(n, 2))
    return centre + x, (x**2).sum(axis=1) < 1.2


# Landmarks that follow rows which travel.
model = NolanaClassifier(n_landmarks=30, landmarks="expiring", scale=False)
figure = new_figure(None, 11, 3.2)
for i in range(4):
    for step in range(10):
        place = np.array([1.5 * (i + step / 10), 0.0])
        x, y = blobs(150, place)
        model.partial_fit(x, y)
    axes = figure.add_subplot(1, 4, i + 1)
    axes.scatter(x[:, 0], x[:, 1], s=5, color="0.75", label="last rows")
    places = model.landmarks_
    inner = model.predict(places)
    for value, marker in ((True, "s"), (False, "o")):
        own = inner == value
        axes.scatter(places[own, 0], places[own, 1], s=30, color=COLOURS[int(value)], marker=marker)
    tidy(axes, f"after {model.n_rows_:,} rows", "", "")
    axes.set_xlim(-3.5, 9)
    axes.set_ylim(-3.5, 3.5)
figure.savefig("following.svg")

# What each map sees.
x = rng.uniform(-1, 1, (1500, 2))
turn = np.hypot(x[:, 0], x[:, 1]) * 7 + np.arctan2(x[:, 1], x[:, 0])
y = np.sin(turn) > 0
for name, sets in (
    ("landmarks", [experts.Landmarks()]),
    ("bins", [experts.Bins()]),
    ("neighbours", [experts.Neighbours()]),
    ("all", None),
):
    one = StreamClassifier(experts=sets, random_state=0).fit(x, y)
    title = "all maps" if sets is None else f"{name} alone"
    plot.regions(one, x[-300:], y[-300:], f"regions_{name}.png", title=title).clear()

# A stream that changes.
n = 6000
x = rng.uniform(-1, 1, (n, 2))
y = (x[:, 0] * x[:, 1] > 0) ^ (np.arange(n) >= n // 2)
blocks = [(x[i : i + 25], y[i : i + 25]) for i in range(0, n, 25)]
model = StreamClassifier(random_state=0)
history = plot.ExpertHistory(model)
evaluate.progressive(model, blocks, callback=history)
plot.experts(history, "experts.svg", title="Weights of the experts; the labels swap at row 3,000")
