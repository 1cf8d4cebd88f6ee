"""Interval widths: core against reference, split anywhere, coverage early and in the long run, other units."""

import numpy as np
import pytest

import nolana.engine as reference
from conftest import core_builds, same_state

BUILDS = core_builds()
builds = pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
engines = pytest.mark.parametrize("engine", [*BUILDS, reference], ids=lambda m: m.__name__.split(".")[-1])
LEVELS = np.array([0.5, 0.8, 0.9, 0.95, 0.99])


def residuals(name, n, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    return {
        "normal": lambda: 0.3 * rng.normal(size=n),
        "laplace": lambda: 0.3 * rng.laplace(size=n),
        "heavy tails": lambda: 0.3 * rng.standard_t(2, size=n),
        "heteroscedastic": lambda: 0.3 * rng.normal(size=n) * np.exp(rng.normal(size=n)),
        "falling": lambda: rng.normal(size=n) * (0.1 + 1 / np.sqrt(t + 1)),
        "jump": lambda: rng.normal(size=n) * np.where(t < n // 2, 0.1, 0.5),
    }[name]()


KINDS = ["normal", "laplace", "heavy tails", "heteroscedastic", "falling", "jump"]


@builds
@pytest.mark.parametrize("kind", KINDS)
def test_core_equals_reference(build, kind):
    core, mine = build.IntervalWidth(LEVELS), reference.IntervalWidth(LEVELS)
    r = residuals(kind, 3000)
    assert np.array_equal(core.observe(r), mine.observe(r))
    assert core.rows == mine.rows == 3000
    first, second = core.state(), mine.state()
    assert first.keys() == second.keys()
    for name in first:
        assert first[name] == pytest.approx(second[name], rel=1e-9), name
    for level in (0.2, 0.5, 0.85, 0.9, 0.97, 0.999):
        assert core.half_width(level) == pytest.approx(mine.half_width(level), rel=1e-9)


@engines
def test_split_anywhere_and_restore(engine):
    r = residuals("heavy tails", 700)
    whole, parts = engine.IntervalWidth(LEVELS), engine.IntervalWidth(LEVELS)
    expected = whole.observe(r)
    found = []
    for start in range(0, 700, 7):
        copy = engine.IntervalWidth(LEVELS)
        copy.restore(parts.state())
        parts = copy
        found.append(parts.observe(r[start : start + 7]))
    assert np.array_equal(np.concatenate(found), expected)
    assert same_state(whole.state(), parts.state())


@builds
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("last", [0.9, 0.95, 0.99])
def test_coverage_is_that_of_the_level(build, kind, last):
    """Of the first 500 rows within 2 points, of 20,000 within 0.3; means of 20 streams."""
    misses = [
        build.IntervalWidth(np.array([0.5, last])).observe(residuals(kind, 20_000, seed=seed)) for seed in range(20)
    ]
    assert 1 - np.mean([m[:500].mean() for m in misses]) == pytest.approx(last, abs=0.02)
    assert 1 - np.mean(misses) == pytest.approx(last, abs=0.003)


@builds
def test_share_of_misses_at_any_level_is_its_complement(build):
    r = residuals("laplace", 5000)
    shares = [build.IntervalWidth(LEVELS).observe(r, level).mean() for level in range(5)]
    assert shares == pytest.approx(1 - LEVELS, abs=0.005)
    for level in range(-5, 5):
        expected = reference.IntervalWidth(LEVELS).observe(r[:300], level)
        assert np.array_equal(build.IntervalWidth(LEVELS).observe(r[:300], level), expected)
    assert np.array_equal(build.IntervalWidth(LEVELS).observe(r), build.IntervalWidth(LEVELS).observe(r, 4))


@builds
@pytest.mark.parametrize("kind", ["normal", "laplace", "heavy tails", "heteroscedastic"])
def test_misses_at_90_percent_raise_a_drift_alarm_when_residuals_grow(build, kind):
    """Residuals ten times as large within 60 rows; no alarm before, in 200,000 rows."""
    width, alarm = build.IntervalWidth(LEVELS), build.DriftAlarm()
    assert len(alarm.observe(width.observe(residuals(kind, 200_000), 2))) == 0
    assert len(alarm.observe(width.observe(10 * residuals(kind, 60, seed=1), 2))) == 1


@engines
def test_starts_at_the_normal_quantile(engine):
    width = engine.IntervalWidth(LEVELS)
    assert width.half_width(0.9) == pytest.approx(1.6448536269514722, rel=1e-12)
    assert width.half_width(0.99) == pytest.approx(2.5758293035489004, rel=1e-12)


@engines
def test_between_levels_the_width_is_linear_in_the_logarithm_of_the_misses(engine):
    width = engine.IntervalWidth(LEVELS)
    middle = 1 - np.sqrt(0.1 * 0.05)
    assert width.half_width(middle) == pytest.approx((width.half_width(0.9) + width.half_width(0.95)) / 2)
    assert width.half_width(1 - np.sqrt(0.5)) == pytest.approx(width.half_width(0.5) / 2)
    wide = [width.half_width(level) for level in np.linspace(0.01, 0.9999, 200)]
    assert (np.diff(wide) > 0).all()
    assert 3.2 < width.half_width(0.999) < 3.8  # the line of the last two levels; the normal quantile is 3.29


@engines
def test_a_wider_level_is_never_narrower(engine):
    width = engine.IntervalWidth(LEVELS)
    width.restore(width.state() | {"factors": np.array([1.0, 3.0, 2.0, 2.5, 4.0])})
    wide = [width.half_width(level) for level in LEVELS]
    assert wide == pytest.approx([1.0, 3.0, 3.0, 3.0, 4.0])


@engines
def test_rescale_multiplies_the_width(engine):
    r = residuals("normal", 2000)
    plain, scaled = engine.IntervalWidth(LEVELS), engine.IntervalWidth(LEVELS)
    plain.observe(r)
    scaled.observe(r[:1000])
    scaled.rescale(0.25)
    scaled.observe(0.25 * r[1000:])
    assert scaled.half_width(0.9) == pytest.approx(0.25 * plain.half_width(0.9))


@builds
def test_recovers_from_residuals_that_were_all_zero(build):
    width = build.IntervalWidth(LEVELS)
    width.observe(np.zeros(1_000_000))
    assert 0 < width.half_width(0.9) < 1e-6
    misses = width.observe(residuals("normal", 3000))
    assert misses[1500:].mean() == pytest.approx(0.01, abs=0.01)


@engines
def test_non_finite_residuals_are_misses_and_leave_the_width_unchanged(engine):
    width = engine.IntervalWidth(LEVELS)
    width.observe(residuals("normal", 100))
    before = width.half_width(0.9)
    assert width.observe(np.array([np.nan, np.inf, -np.inf])).tolist() == [1, 1, 1]
    assert width.half_width(0.9) == before


@engines
def test_invalid_levels_are_refused(engine):
    for levels in ([], [0.5], [0.0, 0.9], [0.95, 0.9], [0.9, 0.9], [0.9, 1.0], [np.nan, 0.9]):
        with pytest.raises(ValueError, match=r"increasing numbers between 0 and 1 with the last at least 0\.9"):
            engine.IntervalWidth(np.array(levels, dtype=float))
    for place in (-6, 5):
        with pytest.raises(ValueError, match="level is not an index of levels"):
            engine.IntervalWidth(LEVELS).observe(np.zeros(1), place)
    for level in (0.0, 1.0, np.nan):
        with pytest.raises(ValueError, match="level is not between 0 and 1"):
            engine.IntervalWidth(LEVELS).half_width(level)


def rows_of_many_scales(n, seed=0):
    """Residuals, scores and spreads: the scale grows with the score, from 0.2 to 5."""
    rng = np.random.default_rng(seed)
    scores, spreads = rng.uniform(-1, 1, n), rng.uniform(0.1, 0.2, n)
    return rng.normal(size=n) * np.exp(1.6 * scores), scores, spreads


@builds
def test_core_equals_reference_by_row(build):
    core, mine = build.IntervalWidth(LEVELS, True), reference.IntervalWidth(LEVELS, True)
    r, scores, spreads = rows_of_many_scales(3000)
    r[1000:1100] = 0.0
    assert np.array_equal(core.observe(r, -1, scores, spreads), mine.observe(r, -1, scores, spreads))
    core.rescale(3.0), mine.rescale(3.0)
    assert np.array_equal(
        core.observe(3 * r, 2, 3 * scores, 3 * spreads), mine.observe(3 * r, 2, 3 * scores, 3 * spreads)
    )
    first, second = core.state(), mine.state()
    assert first.keys() == second.keys()
    for name in first:
        assert first[name] == pytest.approx(second[name], rel=1e-9), name
    for score, spread in ((0.0, 0.0), (-1.0, 0.1), (50.0, 1e9), (np.nan, 0.1)):
        assert core.half_width(0.9, score, spread) == pytest.approx(mine.half_width(0.9, score, spread), rel=1e-9)


@engines
def test_rows_of_a_larger_scale_have_wider_intervals(engine):
    n = 20_000 if engine is not reference else 4000
    width = engine.IntervalWidth(LEVELS, True)
    r, scores, spreads = rows_of_many_scales(n)
    misses, equal = width.observe(r, 2, scores, spreads), engine.IntervalWidth(LEVELS).observe(r, 2)
    ratio = width.half_width(0.9, 0.8, 0.15) / width.half_width(0.9, -0.8, 0.15)
    assert ratio == pytest.approx(np.exp(0.8 * 1.6 * 1.6), rel=0.15)
    assert 1 - misses[500:].mean() == pytest.approx(0.9, abs=0.01)
    large = scores > 0
    assert misses[large].mean() < 0.8 * equal[large].mean()  # whose misses are nearly all there


@engines
def test_rescale_by_row_leaves_one_width_in_the_new_unit(engine):
    width = engine.IntervalWidth(LEVELS, True)
    width.observe(*(rows_of_many_scales(2000)[0], -1, *rows_of_many_scales(2000)[1:]))
    usual = float(np.sqrt(width.state()["variance"]) * width.state()["factors"][2])
    width.rescale(0.25)
    for score in (-1.0, 0.0, 1.0):
        assert width.half_width(0.9, score, 0.15) == pytest.approx(0.25 * usual)


@builds
def test_recovers_by_row_from_residuals_that_were_all_zero(build):
    width = build.IntervalWidth(LEVELS, True)
    width.observe(np.zeros(1_000_000))
    r, scores, spreads = rows_of_many_scales(6000)
    misses = width.observe(r, 2, scores, spreads)
    assert misses[3000:].mean() == pytest.approx(0.1, abs=0.02)


@engines
def test_without_by_row_scores_and_spreads_change_no_bit(engine):
    r, scores, spreads = rows_of_many_scales(500)
    plain, told = engine.IntervalWidth(LEVELS), engine.IntervalWidth(LEVELS)
    assert np.array_equal(plain.observe(r), told.observe(r, -1, scores, spreads))
    assert same_state(plain.state(), told.state())
    assert plain.half_width(0.9) == told.half_width(0.9, 3.0, 2.0)
