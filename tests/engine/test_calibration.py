"""The calibration of scores: core against reference, split anywhere, states."""

import numpy as np
import pytest

import nolana.engine as reference
from conftest import core_builds, same_state

BUILDS = core_builds()
builds = pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
engines = pytest.mark.parametrize("engine", [*BUILDS, reference], ids=lambda m: m.__name__.split(".")[-1])


def rows(n, c, seed=0):
    """Scores, targets and weights; some scores are 0, some are not finite."""
    rng = np.random.default_rng(seed)
    f = rng.normal(size=(n, c)) * np.exp(rng.normal(size=(n, 1)))
    f[:3] = 0
    f[50] = np.nan
    f[60] *= 1e150
    own = (f + rng.normal(size=f.shape)).argmax(axis=1) if c > 1 else (f + rng.normal(size=f.shape) > 0)[:, 0]
    y = np.where(own, 1.0, -1.0)[:, None] if c == 1 else np.where(np.arange(c) == own[:, None], 1.0, -1.0)
    return f, y, rng.integers(0, 3, n).astype(float)


@builds
@pytest.mark.parametrize("c", [1, 3, 40])
@pytest.mark.parametrize("weighted", [False, True])
def test_core_equals_reference(build, c, weighted):
    f, y, weight = rows(1500, c)
    core, mine = build.Calibration(), reference.Calibration()
    with np.errstate(over="ignore", invalid="ignore"):
        before = [part.observe(f, y, weight) if weighted else part.observe(f, y) for part in (core, mine)]
    assert np.allclose(*before, rtol=1e-7, equal_nan=True)
    taught = np.isfinite(f).all(axis=1) & (weight > 0 if weighted else True)
    assert core.rows == mine.rows == taught.sum()
    first, second = core.state(), mine.state()
    assert first.keys() == second.keys()
    for name in first:
        assert np.allclose(first[name], second[name], rtol=1e-7, atol=1e-9), name
    known = f[np.isfinite(f).all(axis=1)]
    assert np.allclose(core.logits(known), mine.logits(known), rtol=1e-7)
    assert (np.diff(core.logits(np.linspace(-20, 20, 999)[:, None])[:, 0]) > 0).all()


@engines
@pytest.mark.parametrize("c", [1, 3])
def test_split_anywhere_and_restore(engine, c):
    f, y, weight = rows(300, c)
    whole, parts = engine.Calibration(), engine.Calibration()
    before = whole.observe(f, y, weight)
    for start in range(0, 300, 7):
        copy = engine.Calibration()
        copy.restore(parts.state())
        parts = copy
        logits = parts.logits(np.ascontiguousarray(f[start : start + 1]))
        blocks = (np.ascontiguousarray(a[start : start + 7]) for a in (f, y, weight))
        assert np.array_equal(parts.observe(*blocks), before[start : start + 7], equal_nan=True)
        assert np.array_equal(logits, before[start : start + 1], equal_nan=True)
    assert same_state(whole.state(), parts.state())


@engines
def test_number_of_classes_may_change_and_invalid_state_is_refused(engine):
    part = engine.Calibration()
    for c in (1, 3, 4, 9):
        part.observe(*rows(100, c)[:2])
    state = part.state()
    for name, value in (("slopes", np.zeros(4)), ("scale", -1.0), ("rows", 0.5), ("information", np.zeros((3, 3)))):
        with pytest.raises(ValueError, match=name):
            part.restore(state | {name: value})
    assert same_state(part.state(), state)
    part.restore(state | {"information": np.zeros((4, 4))})  # no learner has it, but it must do no harm
    part.observe(*rows(100, 1)[:2])
    assert np.isfinite(part.state()["slopes"]).all()
