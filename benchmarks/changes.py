"""What looking for drift alarms costs a row: the checks of `changes_` on and off, by turns.

    python benchmarks/changes.py

CPU time of blocks of 256 rows, StreamClassifier and StreamRegressor of 512 KB on 10 features without drift, two equal
models that learn the same blocks one after the other; medians of 140 blocks. What is unfair: nothing is compared with
other libraries; a busy machine adds noise of some percent.
"""

import time

import numpy as np

from nolana import StreamClassifier, StreamRegressor
from nolana.learner import changes, driver, stream

ROWS, FIRST = 40_000, 4096
CHECKS = {"off": lambda rows: driver.NEVER, "on": changes.next_check}


def medians(make, x, y):
    """Microseconds a row, without and with them."""
    models, times = {}, {name: [] for name in CHECKS}
    for start, stop in ((0, FIRST), *((i, i + 256) for i in range(FIRST, ROWS - 256, 256))):
        for name in sorted(CHECKS, reverse=start % 512 == 0):
            stream.next_check = CHECKS[name]
            model = models.setdefault(name, make(random_state=0))
            begin = time.thread_time()
            model.learn(x[start:stop], y[start:stop])
            times[name].append(1e6 * (time.thread_time() - begin) / (stop - start))
    return [float(np.median(times[name][1:])) for name in CHECKS]


def main():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, 10))
    y = x[:, 0] * x[:, 1] > 0
    print(f"{'':20}{'off':>8}{'on':>8}{'ratio':>8}")
    for make, target in ((StreamClassifier, y), (StreamRegressor, y.astype(float))):
        off, on = medians(make, x, target)
        print(f"{make.__name__:20}{off:8.2f}{on:8.2f}{on / off:8.3f}", flush=True)


if __name__ == "__main__":
    main()
