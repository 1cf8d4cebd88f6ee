"""Generated streams of classes, after the generators of MOA (Bifet et al., "MOA: Massive Online Analysis", JMLR 2010).

Drawn by NumPy, so the rows differ from MOA's; the concepts are drawn or defined in the same way.

    python generators.py            the default learner on each of them, with and without trees
    python generators.py --batch    and HistGradientBoosting that knows when concepts change: trained on 4/5 of each
                                    quarter of the stream, scored on its last fifth, beside the default learner there
    python generators.py --bayes    what no method can exceed on Agrawal, whose labels are those of the numbers before
                                    they are perturbed: the accuracy of Bayes' rule
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from nolana import StreamClassifier, experts
from nolana.evaluate import progressive
from streams import print_setting

Array = NDArray[np.float64]
Rows = tuple[Array, NDArray[np.int64]]  # X (n, d), y (n,)
BLOCK = 1000

NOMINAL, VALUES, NUMBERS = 5, 5, 5  # attributes, values of the nominal ones
DEPTH, FIRST_LEAF, LEAF_SHARE = 5, 3, 0.15
CLASSES = 2


@dataclass
class Node:
    """A leaf has a class; an inner node the attribute that it is split by, and a child for each value or side."""

    label: int = 0
    attribute: int = -1  # nominal ones first
    threshold: float = 0.0
    children: tuple["Node", ...] = ()


def random_tree_node(rng: np.random.Generator, depth: int, nominal: list[int], low: Array, high: Array) -> Node:
    """As RandomTreeGenerator: a path uses a nominal attribute once and cuts a number within its range there."""
    if depth >= DEPTH or (depth >= FIRST_LEAF and rng.random() < LEAF_SHARE):
        return Node(int(rng.integers(CLASSES)))
    chosen = int(rng.integers(len(nominal) + NUMBERS))
    if chosen < len(nominal):
        rest = nominal[:chosen] + nominal[chosen + 1 :]
        children = tuple(random_tree_node(rng, depth + 1, rest, low, high) for _ in range(VALUES))
        return Node(attribute=nominal[chosen], children=children)
    j = chosen - len(nominal)
    threshold = float(rng.uniform(low[j], high[j]))
    below, above = high.copy(), low.copy()
    below[j] = above[j] = threshold
    left = random_tree_node(rng, depth + 1, nominal, low, below)
    right = random_tree_node(rng, depth + 1, nominal, above, high)
    return Node(attribute=NOMINAL + j, threshold=threshold, children=(left, right))


def random_tree(rows: int, seed: int) -> Rows:
    """Labels of a random tree over 5 nominal attributes (their values 0 to 4) and 5 numbers in [0, 1)."""
    tree_rng, rng = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])
    root = random_tree_node(tree_rng, 0, list(range(NOMINAL)), np.zeros(NUMBERS), np.ones(NUMBERS))
    nominal, numbers = rng.integers(VALUES, size=(rows, NOMINAL)), rng.random((rows, NUMBERS))
    y = np.empty(rows, dtype=np.int64)
    waiting = [(root, np.arange(rows))]
    while waiting:
        node, own = waiting.pop()
        if not node.children:
            y[own] = node.label
            continue
        if node.attribute < NOMINAL:
            side = nominal[own, node.attribute]
        else:
            side = (numbers[own, node.attribute - NOMINAL] >= node.threshold).astype(np.int64)
        waiting += [(child, own[side == i]) for i, child in enumerate(node.children)]
    return np.hstack([nominal, numbers]), y


def one_hot_random_tree(rows: int, seed: int) -> Rows:
    """The same with 25 columns for the nominal attributes."""
    X, y = random_tree(rows, seed)
    one_hot = np.eye(VALUES)[X[:, :NOMINAL].astype(int)].reshape(rows, NOMINAL * VALUES)
    return np.hstack([one_hot, X[:, NOMINAL:]]), y


def parity(rows: int, seed: int) -> Rows:
    """Whether an odd number of three of eight features is above its threshold."""
    X = np.random.default_rng(seed).normal(size=(rows, 8))
    return X, ((X[:, 0] > 0.3) ^ (X[:, 3] > -0.2) ^ (X[:, 5] > 0)).astype(np.int64)


def agrawal_group(function: int, salary: Array, age: Array, education: Array) -> NDArray[np.bool_]:
    """Functions 1 to 4 of Agrawal, Imielinski, Swami, "Database Mining: A Performance Perspective", 1993."""

    def between(low: float, high: float) -> NDArray[np.bool_]:
        return np.asarray((low <= salary) & (salary <= high))

    young, middle = age < 40, (age >= 40) & (age < 60)
    if function == 1:
        return np.asarray((age < 40) | (age >= 60))
    if function == 2:
        groups = between(50000, 100000), between(75000, 125000), between(25000, 75000)
    elif function == 3:
        groups = education <= 1, (education >= 1) & (education <= 3), (education >= 2) & (education <= 4)
    else:
        groups = (
            np.where(education <= 1, between(25000, 75000), between(50000, 100000)),
            np.where((education >= 1) & (education <= 3), between(50000, 100000), between(75000, 125000)),
            np.where((education >= 2) & (education <= 4), between(50000, 100000), between(25000, 75000)),
        )
    return np.where(young, groups[0], np.where(middle, groups[1], groups[2]))


def agrawal(rows: int, seed: int, perturbed: float = 0.05) -> Rows:
    """Four concepts of equal length, one after the other. Numbers are perturbed by 5 % of their range, as in MOA."""
    rng = np.random.default_rng(seed)
    n = rows
    salary, age, education = rng.uniform(20000, 150000, n), rng.integers(20, 81, n) * 1.0, rng.integers(5, size=n) * 1.0
    commission = np.where(salary >= 75000, 0.0, rng.uniform(10000, 75000, n))
    car, zipcode = rng.integers(1, 21, n) * 1.0, rng.integers(9, size=n)
    house = (9.0 - zipcode) * 100000 * rng.uniform(0.5, 1.5, n)
    years, loan = rng.integers(1, 31, n) * 1.0, rng.uniform(0, 500000, n)
    concept = np.arange(n) * 4 // n
    groups = [agrawal_group(i, salary, age, education) for i in (1, 2, 3, 4)]
    y = np.choose(concept, groups).astype(np.int64)

    def around(value: Array, low: float, high: float) -> Array:
        noisy = value + perturbed * (high - low) * (2 * rng.random(n) - 1)
        return np.clip(noisy, low, high)

    numbers = [
        around(salary, 20000, 150000),
        np.where(commission > 0, around(commission, 10000, 75000), 0.0),
        around(age, 20, 80),
        education,
        car,
        around(house, 0, 1350000),
        around(years, 1, 30),
        around(loan, 0, 500000),
    ]
    return np.column_stack([*numbers, np.eye(9)[zipcode]]), y


def agrawal_bayes(function: int, seed: int, rows: int = 20_000, perturbed: float = 0.05) -> float:
    """The accuracy of Bayes' rule on one concept, in percent: the mean of max P(class | row) over so many rows.

    Given a row, salary and age are independent, uniform in a window around what is observed (or beyond the end to which
    it was clipped), and no commission means a salary of 75,000 or more. Salaries in steps of 100. MOA also rounds the
    perturbed age, which leaves no more information.
    """
    rng = np.random.default_rng([seed, function])
    salary, age = rng.uniform(20000, 150000, rows), rng.integers(20, 81, rows) * 1.0
    education = rng.integers(5, size=rows)
    salaries, ages = np.arange(20050.0, 150000, 100), np.arange(20.0, 81)

    def likelihoods(value: Array, grid: Array, low: float, high: float) -> Array:  # (n,), (m,) -> (n, m)
        width = perturbed * (high - low)
        seen = np.clip(value + width * (2 * rng.random(len(value)) - 1), low, high)[:, None]
        below, above = (low - grid + width) / (2 * width), (grid + width - high) / (2 * width)  # that it is clipped
        inside = np.abs(grid - seen) <= width
        clipped = np.where(seen == low, np.clip(below, 0, 1), np.clip(above, 0, 1))
        return np.where((seen == low) | (seen == high), clipped, inside)

    of_salary = likelihoods(salary, salaries, 20000, 150000) * ((salaries < 75000) == (salary < 75000)[:, None])
    of_age = likelihoods(age, ages, 20, 80)
    right = 0.0
    for level in range(5):
        own = education == level
        every = np.broadcast_arrays(salaries[:, None], ages[None, :], float(level))
        group = agrawal_group(function, *every)
        joint = ((of_salary[own] @ group.astype(np.float64)) * of_age[own]).sum(axis=1)
        share = joint / (of_salary[own].sum(axis=1) * of_age[own].sum(axis=1))
        right += np.maximum(share, 1 - share).sum()
    return 100 * right / rows


def poker_hands(rows: int, seed: int) -> Rows:
    """Suit and rank of five cards; whether they are nothing, a pair, two pairs, ... (Cattral, Oppacher, UCI 2007)."""
    order = np.argsort(np.random.default_rng(seed).random((rows, 52)), axis=1)[:, :5]
    suit, rank = order // 13, order % 13
    counts = -np.sort(-np.stack([(rank == k).sum(axis=1) for k in range(13)], axis=1), axis=1)
    ordered, flush = np.sort(rank, axis=1), (suit == suit[:, :1]).all(axis=1)
    straight = (np.diff(ordered, axis=1) == 1).all(axis=1) | (ordered == [0, 9, 10, 11, 12]).all(axis=1)
    hands = (  # the highest that is true
        counts[:, 0] == 2,
        (counts[:, :2] == 2).all(axis=1),
        counts[:, 0] == 3,
        straight,
        flush,
        (counts[:, 0] == 3) & (counts[:, 1] == 2),
        counts[:, 0] == 4,
        straight & flush,
        straight & flush & (ordered[:, 1] == 9),
    )
    y = np.max([k * hand for k, hand in enumerate(hands, start=1)], axis=0)
    return np.stack([suit + 1, rank + 1], axis=2).reshape(rows, 10).astype(np.float64), y.astype(np.int64)


GENERATORS: dict[str, tuple[Callable[[int, int], Rows], dict[str, object]]] = {
    "random tree": (random_tree, {}),
    "random tree, categories": (random_tree, {"categorical_features": list(range(NOMINAL))}),
    "random tree, one-hot": (one_hot_random_tree, {}),
    "Agrawal, 4 concepts": (agrawal, {}),
    "parity of thresholds": (parity, {}),
    "poker hands": (poker_hands, {}),
    "poker hands, categories": (poker_hands, {"categorical_features": list(range(10))}),
}


def accuracy(X: Array, y: NDArray[np.int64], **parameters: object) -> tuple[float, float]:
    """Prequential, in percent, and microseconds per row."""
    blocks = ((X[i : i + BLOCK], y[i : i + BLOCK]) for i in range(0, len(X), BLOCK))
    result = progressive(StreamClassifier(random_state=0, **parameters), blocks)
    return 100 * result.metrics["accuracy"], result.microseconds_per_row


def last_fifths(X: Array, y: NDArray[np.int64], **parameters: object) -> tuple[float, float]:
    """Accuracy in percent on the last fifth of each quarter: prequential, and of boosting that learned the others."""
    model, hits = StreamClassifier(random_state=0, **parameters), []
    for i in range(0, len(X), BLOCK):
        scores = model.learn(X[i : i + BLOCK], y[i : i + BLOCK])
        hits.append(model.classes_[scores.argmax(axis=1)] == y[i : i + BLOCK])
    right, quarter = np.concatenate(hits), len(X) // 4
    stream, batch = [], []
    for start in range(0, 4 * quarter, quarter):
        learned, scored = slice(start, start + 4 * quarter // 5), slice(start + 4 * quarter // 5, start + quarter)
        boosting = HistGradientBoostingClassifier(random_state=0).fit(X[learned], y[learned])
        stream.append(right[scored].mean())
        batch.append(boosting.score(X[scored], y[scored]))
    return 100 * float(np.mean(stream)), 100 * float(np.mean(batch))


def main() -> None:
    parser = argparse.ArgumentParser(description="the default learner on generated streams")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--useless", type=int, default=0, help="columns of noise beside those of the stream")
    parser.add_argument("--memory", default="512KB")
    parser.add_argument("--batch", action="store_true", help="beside boosting that knows the concepts")
    parser.add_argument("--bayes", action="store_true", help="only the accuracy of Bayes' rule on Agrawal")
    options = parser.parse_args()
    print(__doc__)
    print_setting(seed=0)
    if options.bayes:
        found = {f: float(np.mean([agrawal_bayes(f, seed) for seed in range(10)])) for f in (1, 2, 3, 4)}
        print("\nAgrawal, accuracy of Bayes' rule: " + ", ".join(f"function {f} {a:.2f}" for f, a in found.items()))
        for order in ((1, 2, 3, 4), (1, 2, 1, 4)):
            print(f"concepts {order}: {np.mean([found[f] for f in order]):.2f}")
        return
    without = [each for each in experts.MIXED if not isinstance(each, experts.Trees)]
    print(f"\n{'stream':<24} {'seed':>4} {'without trees':>14} {'default':>8} {'us/row':>7}")
    for name, (generate, own) in GENERATORS.items():
        for seed in range(options.seeds):
            X, y = generate(options.rows, seed)
            noise = np.random.default_rng([seed, 2]).normal(size=(len(X), options.useless))
            X, same = np.hstack([X, noise]), {"memory": options.memory, **own}
            (before, _), (after, time) = accuracy(X, y, experts=without, **same), accuracy(X, y, **same)
            print(f"{name:<24} {seed:>4} {before:>14.2f} {after:>8.2f} {time:>7.1f}", flush=True)
            if options.batch:
                stream, batch = last_fifths(X, y, **same)
                print(f"{'':<24} last fifth of each quarter: default {stream:.2f}, boosting {batch:.2f}", flush=True)


if __name__ == "__main__":
    main()
