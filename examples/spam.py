"""Spam: text of any length, hashed into 2**16 features, in 512 KB; the words of spam change half-way."""

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier

from nolana import StreamClassifier

rng = np.random.default_rng(2)
common = [f"word{i}" for i in range(3000)]
usual = 1 / np.arange(1, 3001)
spam_words = [f"offer{i}" for i in range(300)], [f"prize{i}" for i in range(300)]


def message(row: int) -> tuple[str, bool]:
    spam = bool(rng.random() < 0.4)
    words = list(rng.choice(common, size=40, p=usual / usual.sum()))
    if spam:
        words += list(rng.choice(spam_words[row >= 4000], size=3))
    return " ".join(words), spam


texts, labels = zip(*map(message, range(8000)), strict=True)
X = HashingVectorizer(n_features=2**16, alternate_sign=False).transform(texts)
y = np.array(labels)

model, linear = StreamClassifier(random_state=0), SGDClassifier(loss="log_loss", random_state=0)
right = {"StreamClassifier": [], "SGDClassifier": []}
for i in range(0, len(y), 100):
    block, truth = X[i : i + 100], y[i : i + 100]
    if i:
        right["StreamClassifier"].append((model.predict(block) == truth).mean())
        right["SGDClassifier"].append((linear.predict(block) == truth).mean())
    model.partial_fit(block, truth)
    linear.partial_fit(block, truth, classes=[False, True])

for name, shares in right.items():
    print(f"{name:17} before {100 * np.mean(shares[10:39]):.1f} %, after {100 * np.mean(shares[40:]):.1f} %")
print(f"{X.shape[1]:,} features, {X.nnz / len(y):.0f} non-zeros a row, {model.memory_bytes_:,} bytes")
