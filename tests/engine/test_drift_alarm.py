"""Drift alarm: core against reference, split anywhere, no false alarms, swaps of labels."""

import numpy as np
import pytest

import nolana.engine as reference
from conftest import core_builds, same_state

BUILDS = core_builds()
builds = pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
engines = pytest.mark.parametrize("engine", [*BUILDS, reference], ids=lambda m: m.__name__.split(".")[-1])


def draws(*rates, seed=0):
    """0/1 errors with these rates, one for each row."""
    rate = np.concatenate(rates)
    return (np.random.default_rng(seed).random(len(rate)) < rate).astype(float)


def swaps(rate, n=1500):
    """Three swaps, each followed by as many rows of the old rate as before."""
    swapped = np.full(60, 1 - rate)
    return draws(*[np.full(n, rate), swapped] * 3, seed=4)


@builds
def test_core_equals_reference(build):
    errors = swaps(0.1)
    core, mine = build.DriftAlarm(), reference.DriftAlarm()
    places = core.observe(errors)
    assert places.dtype == np.int64
    assert np.array_equal(places, mine.observe(errors))
    assert len(places) == 3
    assert core.rows == mine.rows == len(errors)
    first, second = core.state(), mine.state()
    assert first.keys() == second.keys()
    for name in first:
        assert first[name] == pytest.approx(second[name], rel=1e-12), name


@engines
def test_split_anywhere_and_restore(engine):
    errors = swaps(0.05)
    whole, parts = engine.DriftAlarm(), engine.DriftAlarm()
    expected = whole.observe(errors)
    found = []
    for start in range(0, len(errors), 7):
        copy = engine.DriftAlarm()
        copy.restore(parts.state())
        parts = copy
        found += (start + parts.observe(errors[start : start + 7])).tolist()
    assert found == expected.tolist()
    assert same_state(whole.state(), parts.state())


@builds
@pytest.mark.parametrize("rate", [0.001, 0.03, 0.1, 0.3, 0.5, 0.9, 1.0])
def test_constant_error_rate_raises_no_alarm(build, rate):
    alarm = build.DriftAlarm()
    assert len(alarm.observe(draws(np.full(1_000_000, rate), seed=1))) == 0


@builds
@pytest.mark.parametrize("final", [0.0, 0.05, 0.3])
def test_falling_error_rate_raises_no_alarm(build, final):
    t = np.arange(1, 20_001)
    for seed in range(20):
        assert len(build.DriftAlarm().observe(draws(final + (0.8 - final) / np.sqrt(t), seed=seed))) == 0


@builds
@pytest.mark.parametrize("rate", [0.001, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("before", [1000, 20_000])
def test_label_swap_is_detected_within_50_rows(build, rate, before):
    for seed in range(20):
        places = build.DriftAlarm().observe(draws(np.full(before, rate), np.full(100, 1 - rate), seed=seed))
        assert before <= places[0] < before + 50


@engines
def test_an_alarm_is_raised_once(engine):
    """After an alarm the rate is estimated anew."""
    errors = draws(np.full(2000, 0.05), np.full(3000, 0.6))
    assert len(engine.DriftAlarm().observe(errors)) == 1


@engines
def test_restore_refuses_out_of_range_state_and_changes_nothing(engine):
    alarm = engine.DriftAlarm()
    alarm.observe(draws(np.full(500, 0.2)))
    before = alarm.state()
    with pytest.raises(ValueError, match="state: excess holds -1"):
        alarm.restore(before | {"excess": -1.0})
    assert same_state(alarm.state(), before)
    alarm.restore(before | {"errors": 1e9})  # more errors than rows
    assert len(alarm.observe(np.ones(1000))) == 0
