"""The learners that look at no feature, against loops over the rows."""

import subprocess
import sys
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolana.evaluate.baselines import LastLabel, LastTarget, MajorityClass, RunningMean

NUMBERS = (LastTarget, RunningMean)
LEARNERS = (MajorityClass, LastLabel, *NUMBERS)


def pieces(n, cuts):
    ends = [0, *sorted({c % (n + 1) for c in cuts}), n]
    return [slice(a, b) for a, b in pairwise(ends)]


def widened(parts):
    width = parts[-1].shape[1]
    return np.concatenate([np.pad(p, ((0, 0), (0, width - p.shape[1])), constant_values=-np.inf) for p in parts])


def predictions(learner, scores):
    known = ~np.isneginf(scores).all(axis=1)
    best = scores.argmax(axis=1)
    return [label if k else None for label, k in zip(learner.classes_[best], known, strict=True)]


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=40), st.booleans())
def test_majority_and_last_row_by_row(y, weighted):
    weights = [float(i % 3) for i in range(len(y))] if weighted else [1.0] * len(y)
    counts, last, order = Counter(), None, list(dict.fromkeys(y))
    majority, latest = [], []
    for label, weight in zip(y, weights, strict=True):
        here = [c for c in order if counts[c] > 0]
        majority.append(max(here, key=lambda c: counts[c]) if here else None)
        latest.append(last)
        counts[label] += weight
        last = label if weight else last
    x = np.zeros((len(y), 2))
    for kind, expected in ((MajorityClass, majority), (LastLabel, latest)):
        learner = kind()
        assert predictions(learner, learner.learn(x, y, sample_weight=weights)) == expected
        assert learner.classes_.tolist() == order


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_the_mean_row_by_row(y):
    scores = RunningMean().learn(np.zeros((len(y), 1)), y)
    assert scores[0] == 0
    assert np.allclose(scores[1:], [np.mean(y[:i]) for i in range(1, len(y))], atol=1e-6)


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.booleans()), min_size=1, max_size=40))
def test_the_last_target_row_by_row(rows):
    y, learned = zip(*rows, strict=True)
    expected, last = [], 0.0
    for target, counts in rows:
        expected.append(last)
        last = target if counts else last
    learner = LastTarget()
    assert learner.learn(np.zeros((len(y), 1)), y, sample_weight=learned).tolist() == expected
    assert learner.scores(np.zeros((2, 1))).tolist() == [last, last]


@pytest.mark.parametrize("kind", LEARNERS)
@given(
    y=st.lists(st.integers(0, 9), min_size=1, max_size=40),
    cuts=st.lists(st.integers(0, 100), max_size=4),
    weighted=st.booleans(),
)
def test_blocks_may_be_cut_anywhere(kind, y, cuts, weighted):
    y = np.array(y) * 0.1 if kind in NUMBERS else np.array(y)
    w = np.linspace(0, 0.7, len(y)) if weighted else np.ones(len(y))
    x = np.zeros((len(y), 1))
    whole, cut = kind(), kind()
    scores = whole.learn(x, y, sample_weight=w)
    parts, now = [], []
    for p in pieces(len(y), cuts):
        now.append(cut.scores(x[:1]))
        parts.append(cut.learn(x[p], y[p], sample_weight=w[p]))
    together = np.concatenate(parts) if kind in NUMBERS else widened(parts)
    assert np.array_equal(scores, together)
    for one, part in zip(now, parts, strict=True):  # what it says now is what the next row scores
        if len(part):
            assert np.array_equal(one[0], part[0][: one.shape[1]] if one.ndim == 2 else part[0])
    assert whole.memory_bytes_ == cut.memory_bytes_


def test_probabilities_are_shares():
    learner = MajorityClass()
    scores = learner.learn(np.zeros((5, 1)), list("aabcc"))
    shares = learner.probabilities(scores)
    assert shares[0].tolist() == [0, 0, 0]
    assert np.allclose(shares[1:].sum(axis=1), 1)
    assert shares[4].tolist() == [0.5, 0.25, 0.25]


@pytest.mark.parametrize("kind", LEARNERS)
def test_bad_rows_change_nothing(kind):
    learner = kind()
    learner.learn(np.zeros((2, 1)), [1.0, 2.0])
    before = learner.scores(np.zeros((1, 1)))
    for y, weights, words in (
        ([1.0], None, "each of the 2 rows of X; got shape"),
        ([1.0, np.nan], None, "y is nan at row 1"),
        ([1.0, 2.0], [1.0, -1.0], "finite weight, 0 or more"),
    ):
        with pytest.raises(ValueError, match=words):
            learner.learn(np.zeros((2, 1)), y, sample_weight=weights)
    assert np.array_equal(learner.scores(np.zeros((1, 1))), before)


def test_short_names_are_the_modules_of_research():
    code = """
import nolana
kinds = nolana.baselines.RunningMean, nolana.research.baselines.RunningMean, nolana.evaluate.baselines.RunningMean
print(len(set(kinds)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
