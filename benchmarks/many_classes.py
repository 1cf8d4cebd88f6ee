"""CPU time and accuracy of `StreamClassifier` with 10, 100 and 1,000 classes: Gaussian clusters in 20 dimensions.

    python benchmarks/many_classes.py [--rows 5000] [--classes 10 100 1000] [--memory 512KB 8MB]

`fresh`: microseconds of CPU time for a row while all classes are new, each row the first of its class. `first`: for a
row of the first `--rows` rows, these included. `later`: for each of as many rows after them. `one by one`: for each of
1,000 rows more, one in a call. Accuracy is prequential, over the rows after the first of each class.

What is unfair: blocks have 500 rows, which is more than a service gets in one call; clusters overlap little (`--spread`
1 makes them overlap), so that the true class is often the closest one. The script runs at earlier commits too: for a
ratio run both in turn, on an idle machine.
"""

import argparse
import time

import numpy as np

from nolana import StreamClassifier

BLOCK = 500
SINGLE = 1000


def clusters(classes, rows, spread, seed=0):
    """Every class once, in random order, then rows of random classes."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([rng.permutation(classes), rng.integers(0, classes, max(0, rows - classes))])
    return rng.normal(size=(classes, 20))[y] + spread * rng.normal(size=(len(y), 20)), y


def learn(model, x, y, block):
    """CPU seconds, and which rows were predicted."""
    hits, start = [], time.process_time()
    for i in range(0, len(x), block):
        scores = model.learn(x[i : i + block], y[i : i + block])
        best = scores.argmax(axis=1)
        hits.append(model.classes_[best] == y[i : i + block])
    return time.process_time() - start, np.concatenate(hits)


def measure(classes, memory, rows, spread):
    """A line of the table."""
    x, y = clusters(classes, 2 * rows + SINGLE, spread)
    model = StreamClassifier(memory=memory, random_state=0)
    stretches = (0, classes, BLOCK), (classes, rows, BLOCK), (rows, 2 * rows, BLOCK), (2 * rows, len(x), 1)
    seconds, hits = [], []
    for start, stop, block in stretches:
        spent, right = learn(model, x[start:stop], y[start:stop], block)
        seconds.append(spent)
        hits.append(right)
    first, later = (seconds[0] + seconds[1]) / rows, seconds[2] / rows
    times = (1e6 * t for t in (seconds[0] / classes, first, later, seconds[3] / SINGLE))
    accuracy = (100 * each.mean() for each in hits[1:3])
    print(f"{classes:7,} {memory:>6}", *(f"{t:10,.0f}" for t in times), *(f"{a:8.2f} %" for a in accuracy), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--classes", type=int, nargs="*", default=[10, 100, 1000])
    parser.add_argument("--memory", nargs="*", default=["512KB", "8MB"])
    parser.add_argument("--spread", type=float, default=0.5)
    options = parser.parse_args()
    print("classes memory      fresh      first      later one by one    first      later")
    for classes in options.classes:
        for memory in options.memory:
            try:
                measure(classes, memory, options.rows, options.spread)
            except ValueError as refused:
                print(f"{classes:7,} {memory:>6} {refused}", flush=True)


if __name__ == "__main__":
    main()
