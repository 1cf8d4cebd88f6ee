"""Label sets: core against reference, split anywhere, coverage in the long run, sizes, drift."""

import numpy as np
import pytest

import nolana.engine as reference
from conftest import core_builds, same_state

BUILDS = core_builds()
builds = pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
engines = pytest.mark.parametrize("engine", [*BUILDS, reference], ids=lambda m: m.__name__.split(".")[-1])
LEVELS = np.array([0.5, 0.8, 0.9, 0.95, 0.99])
outputs = pytest.mark.parametrize("c", [1, 3, 10])


def rows(n, c, sharpness=1.5, seed=0):
    """Scores (n, c) that are the log-odds of the classes that are drawn, and targets."""
    rng = np.random.default_rng(seed)
    scores = sharpness * rng.normal(size=(n, c))
    if c == 1:
        return scores, np.where(rng.random((n, 1)) < 1 / (1 + np.exp(-2 * scores)), 1.0, -1.0)
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    own = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return scores, np.where(np.arange(c) == own[:, None], 1.0, -1.0)


def sets_of(scores, q):
    """By the definition."""
    z = np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return (p >= np.exp(-q)) | (p == p.max(axis=1, keepdims=True))


@builds
@outputs
def test_core_equals_reference(build, c):
    core, mine = build.LabelSets(LEVELS), reference.LabelSets(LEVELS)
    scores, targets = rows(3000, c)
    for level in range(-5, 5):
        at = slice(300 * (level + 5), 300 * (level + 6))
        assert np.array_equal(
            core.observe(scores[at], targets[at], level), mine.observe(scores[at], targets[at], level)
        )
    assert core.rows == mine.rows == 3000
    assert core.state()["factors"] == pytest.approx(mine.state()["factors"], rel=1e-9)
    for level in (0.2, 0.5, 0.85, 0.9, 0.97, 0.999):
        assert core.threshold(level) == pytest.approx(mine.threshold(level), rel=1e-9)


@engines
@outputs
def test_split_anywhere_and_restore(engine, c):
    scores, targets = rows(700, c)
    whole, parts = engine.LabelSets(LEVELS), engine.LabelSets(LEVELS)
    expected, found = whole.observe(scores, targets), []
    for start in range(0, 700, 7):
        copy = engine.LabelSets(LEVELS)
        copy.restore(parts.state())
        parts = copy
        found.append(parts.observe(scores[start : start + 7], targets[start : start + 7]))
    assert np.array_equal(np.concatenate(found), expected)
    assert same_state(whole.state(), parts.state())


@builds
@outputs
@pytest.mark.parametrize("place", [1, 2, 3])
def test_coverage_is_that_of_the_level_for_log_odds_of_any_scale(build, c, place):
    """Scores too large or too small by a factor; one label alone is right less often than the level."""
    for factor in (0.5, 1.0, 3.0):
        scores, targets = rows(20_000, c, sharpness=0.5)
        misses = build.LabelSets(LEVELS).observe(factor * scores, targets, place)
        assert 1 - misses.mean() == pytest.approx(LEVELS[place], abs=0.005)


@builds
@outputs
def test_miss_is_a_label_outside_the_set_of_the_threshold_before_the_row(build, c):
    scores, targets = rows(400, c)
    own = targets.argmax(axis=1) if c > 1 else (targets[:, 0] > 0).astype(int)
    for place, level in enumerate(LEVELS):
        tracked = build.LabelSets(LEVELS)
        for i in range(len(scores)):
            labels = sets_of(scores[i : i + 1], tracked.threshold(level))[0]
            miss = tracked.observe(scores[i : i + 1], targets[i : i + 1], place)[0]
            assert labels.any()
            assert miss == (not labels[own[i]])


@builds
def test_one_label_that_is_right_often_enough_is_the_whole_set(build):
    rng = np.random.default_rng(0)
    tracked = build.LabelSets(LEVELS)
    targets = np.where(rng.random((5000, 1)) < 0.97, 1.0, -1.0)
    misses = tracked.observe(np.full((5000, 1), 0.5), targets, 2)
    assert tracked.threshold(0.9) < np.log(2)
    assert misses[500:].mean() == pytest.approx(0.03, abs=0.01)


@builds
def test_sets_grow_when_the_stream_drifts(build):
    """The most probable label is right for 98 % of the rows, then for 60 %: within 500 rows sets cover 90 % again."""
    rng = np.random.default_rng(1)
    right = rng.random(6000) < np.where(np.arange(6000) < 3000, 0.98, 0.6)
    scores = rng.uniform(0.2, 1.0, (6000, 1))
    misses = build.LabelSets(LEVELS).observe(scores, np.where(right, 1.0, -1.0)[:, None], 2)
    assert misses[:3000].mean() < 0.03
    assert misses[3500:].mean() == pytest.approx(0.1, abs=0.01)


@engines
def test_non_finite_scores_are_misses_and_leave_the_threshold_unchanged(engine):
    tracked = engine.LabelSets(LEVELS)
    tracked.observe(*rows(100, 3))
    before = tracked.threshold(0.9)
    bad = np.array([[np.nan, 0.0, 0.0], [np.inf, 0.0, 0.0], [0.0, 0.0, -np.inf]])
    assert tracked.observe(bad, rows(3, 3)[1]).tolist() == [1, 1, 1]
    assert tracked.threshold(0.9) == before
    assert tracked.rows == 103


@engines
def test_invalid_levels_are_refused(engine):
    for levels in ([], [0.5], [0.0, 0.9], [0.95, 0.9], [0.9, 1.0]):
        with pytest.raises(ValueError, match=r"increasing numbers between 0 and 1 with the last at least 0\.9"):
            engine.LabelSets(np.array(levels, dtype=float))
    for place in (-6, 5):
        with pytest.raises(ValueError, match="level is not an index of levels"):
            engine.LabelSets(LEVELS).observe(*rows(1, 3), place)
    for level in (0.0, 1.0, np.nan):
        with pytest.raises(ValueError, match="level is not between 0 and 1"):
            engine.LabelSets(LEVELS).threshold(level)
