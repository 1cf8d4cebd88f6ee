"""Hashed text: progressive accuracy and CPU time per row of the default learner and of scikit-learn's SGDClassifier.

    python benchmarks/sparse.py [--rows 20000] [--seeds 3]

The text is generated, because no text comes with the package: words by Zipf's law, 100 a row, an eighth of them from
one of three topics of the row's class, hashed with signs to 50,000 features. "changing" draws new topics four times;
"one in 1e6" has the most frequent word in units of 1e-6.

Unfair to SGDClassifier: its defaults expect rows of about unit length, and text made of raw counts is not. "tf-idf" is
what it is usually given, with document frequencies of the whole stream, which the others estimate as they go. It is
called for blocks of 50 rows, which are predicted before they are learned; the others take blocks of 1,000 rows and
predict each row when it is its turn.
Unfair to nolana: 512 KB of memory, a quarter of what SGDClassifier takes for five classes.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

from nolana import NolanaClassifier, StreamClassifier, experts
from streams import print_setting

FEATURES, WORDS, TOPIC_WORDS, TOPICS, TOKENS, SHARE = 50_000, 40_000, 3_000, 3, 100, 0.12
KINDS = ("counts", "binary", "tf-idf", "changing", "one in 1e6")
FIRST = 100  # rows that are not counted


def text(rows: int, classes: int, kind: str, seed: int) -> tuple[sp.csr_matrix, np.ndarray]:
    rng = np.random.default_rng(seed)
    chance = np.cumsum(1 / (np.arange(WORDS) + 3.0))
    topic_chance = np.cumsum(1 / (np.arange(TOPIC_WORDS) + 10.0))
    place, sign = rng.integers(0, FEATURES, WORDS), rng.choice([-1.0, 1.0], WORDS)

    def draw_topics() -> list[np.ndarray]:
        """Words in an order that is roughly that of their frequency."""
        drawn = (rng.permutation(WORDS)[:TOPIC_WORDS] for _ in range(classes * TOPICS))
        return [words[np.argsort(words + rng.normal(0, 2000, TOPIC_WORDS))] for words in drawn]

    topics, y, starts, indices, values = draw_topics(), rng.integers(0, classes, rows), [0], [], []
    for i in range(rows):
        if kind == "changing" and i and i % (rows // 4) == 0:
            topics = draw_topics()
        length = max(5, rng.poisson(TOKENS))
        words = np.searchsorted(chance, rng.random(length) * chance[-1])
        own = rng.random(length) < SHARE
        topic = topics[y[i] * TOPICS + rng.integers(TOPICS)]
        words[own] = topic[np.searchsorted(topic_chance, rng.random(own.sum()) * topic_chance[-1])]
        distinct, counts = np.unique(words, return_counts=True)
        indices.append(place[distinct])
        values.append(counts * sign[distinct])
        starts.append(starts[-1] + len(distinct))
    x = sp.csr_matrix((np.concatenate(values), np.concatenate(indices), starts), (rows, FEATURES))
    x.sum_duplicates()
    if kind == "binary":
        x.data = np.sign(x.data)
    if kind == "tf-idf":
        x.data *= (np.log((1 + rows) / (1 + np.bincount(x.indices, minlength=FEATURES))) + 1)[x.indices]
        x = sp.csr_matrix(sp.diags(1 / np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())) @ x)
    if kind == "one in 1e6":
        x.data[x.indices == place[0]] *= 1e6
    return x, y


def run(learn: Callable[[sp.csr_matrix, np.ndarray], np.ndarray], x: sp.csr_matrix, y: np.ndarray, block: int):
    """Accuracy in percent after the first rows, microseconds per row."""
    right, started = 0, time.process_time()
    for i in range(0, len(y), block):
        right += (learn(x[i : i + block], y[i : i + block]) == y[i : i + block])[max(0, FIRST - i) :].sum()
    return 100 * right / (len(y) - FIRST), 1e6 * (time.process_time() - started) / len(y)


def sgd(loss: str, classes: int):
    model = SGDClassifier(loss=loss, random_state=0)

    def learn(x, y):
        predicted = model.predict(x) if hasattr(model, "coef_") else np.zeros(len(y))
        model.partial_fit(x, y, classes=np.arange(classes))
        return predicted

    return learn


def ours(model):
    def learn(x, y):
        scores = model.learn(x, y)
        return model.classes_[scores.argmax(axis=1)]

    return learn


METHODS = {
    "SGD hinge": lambda c: (sgd("hinge", c), 50),
    "SGD log": lambda c: (sgd("log_loss", c), 50),
    "StreamClassifier": lambda _: (ours(StreamClassifier(random_state=0)), 1000),
    "linear expert": lambda _: (ours(StreamClassifier(random_state=0, experts=[experts.Linear()])), 1000),
    "NolanaClassifier": lambda _: (ours(NolanaClassifier()), 1000),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print_setting(None)
    print(
        f"{options.rows:,} rows, {FEATURES:,} features; mean of {options.seeds} seeds: accuracy in %, CPU us per row\n"
    )
    print("classes  rows        " + "".join(f"{name:>22}" for name in METHODS))
    for classes in (2, 5):
        for kind in KINDS:
            results = []
            for seed in range(options.seeds):
                x, y = text(options.rows, classes, kind, seed)
                results.append([run(*(method(classes)[:1]), x, y, method(classes)[1]) for method in METHODS.values()])
            mean = np.mean(results, axis=0)
            print(f"{classes:>7}  {kind:<12}" + "".join(f"{a:>14.1f} {t:>7.0f}" for a, t in mean), flush=True)


if __name__ == "__main__":
    main()
