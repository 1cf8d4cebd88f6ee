"""Targets whose level, unit or tails are not those of the first rows: predictions stay sane, predict then learn."""

import functools
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

from nolana import StreamClassifier, StreamRegressor
from nolana.experts import Bins, Landmarks, Linear, Neighbours

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import trust

EXPERTS = {"all": None, "linear": Linear(), "landmarks": Landmarks(), "cells": Bins(), "neighbours": Neighbours()}
MOVING = ("trend", "jump", "random walk", "growing feature", "period")
SCALED = ("times 1,000", "over 1,000")
LAGGED = ("beijing_pm25", "metro_traffic", "bike_hourly", "air_quality_co")


@functools.cache
def streams(seed):
    return trust.moving(seed) | trust.scaled(seed)


@functools.cache
def scores(name, seed, experts="all"):
    x, y = streams(seed)[name]
    return trust.scores(x, y, experts=None if EXPERTS[experts] is None else [EXPERTS[experts]])


def assert_near_last_targets(predicted, y, tolerance=1e-9):
    """From the third row on; before it there is no range."""
    for i in range(2, len(y)):
        recent = y[max(0, i - 1000) : i]
        low, high = recent.min(), recent.max()
        room = (high - low) * (1 + tolerance) + tolerance * np.abs(recent).max()
        assert low - room <= predicted[i] <= high + room, i


@pytest.mark.parametrize("experts", EXPERTS)
@pytest.mark.parametrize("name", [*MOVING, *SCALED])
def test_prediction_of_moving_target_stays_within_one_range_of_last_targets(name, experts):
    assert_near_last_targets(scores(name, 0, experts), streams(0)[name][1])


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", [*MOVING, *SCALED])
def test_prediction_of_other_seeds_stays_within_one_range_of_last_targets(name, seed):
    assert_near_last_targets(scores(name, seed), streams(seed)[name][1])


@pytest.mark.parametrize("experts", EXPERTS)
def test_predict_far_from_all_rows_stays_within_one_range_of_last_targets(experts):
    x, y = streams(0)["growing feature"]
    model = StreamRegressor(random_state=0, experts=None if EXPERTS[experts] is None else [EXPERTS[experts]])
    model.partial_fit(x, y)
    low, high = y[-1000:].min(), y[-1000:].max()
    room = (1 + 1e-9) * (high - low)
    far = model.predict(np.array([[1e6, -1e6], [-1e9, 0.0], [0.0, 1e12], [50.0, 50.0]]))
    assert (far >= low - room).all()
    assert (far <= high + room).all()


@pytest.mark.parametrize("experts", ["all", "linear"])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", MOVING)
def test_error_on_moving_target_is_near_the_better_of_last_target_and_online_linear(name, seed, experts):
    x, y = streams(seed)[name]
    best = min(trust.rmse(y - np.r_[0.0, y[:-1]]), trust.rmse(y - trust.online_linear(x, y)))
    assert trust.rmse(y - scores(name, seed, experts)) <= 1.2 * best


def test_linear_expert_of_a_target_with_a_trend_keeps_the_weights_of_its_features():
    """Residuals that grow were taken for a function of the features: up to 0.9 on features without any effect."""
    x, y = streams(0)["trend"]
    model = StreamRegressor(random_state=0, experts=[Linear()]).partial_fit(x, y)
    effects = [np.subtract(*model.predict(x[-1] + np.outer([0.5, -0.5], row))) for row in np.eye(4)]
    assert effects == pytest.approx([1.0, 0.0, 0.0, 0.0], abs=0.05)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", SCALED)
def test_targets_in_another_unit_are_learned_in_terms_of_it(name, seed):
    """500 rows after the change; without the rule R2 is -10,000 for smaller targets."""
    y = streams(seed)[name][1]
    assert 1 - np.mean((y - scores(name, seed))[3000:] ** 2) / y[3000:].var() >= 0.9


@pytest.mark.parametrize("slope", [1e-4, 1e-3])
def test_slow_trend_is_followed_closely(slope):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5000, 4))
    y = slope * np.arange(5000) + x[:, 0]
    assert trust.rmse(y - trust.scores(x, y)) <= 0.05


@pytest.mark.parametrize("name", LAGGED)
def test_sensor_data_with_its_lag_is_no_worse_than_the_lag(name):
    found = {each: (x, y) for each, x, y in trust.lagged() if each == name}
    if not found:
        pytest.skip(f"{name} is not in NOLANA_DATA")
    x, y = found[name]
    assert trust.rmse(y - trust.scores(x, y)) <= trust.rmse(y - x[:, -1])


def test_block_split_at_a_jump_and_at_a_change_of_unit_changes_no_bit():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2600, 3))
    y = x[:, 0] * np.where(np.arange(2600) < 1800, 1.0, 1000.0) + np.where(np.arange(2600) < 1000, 0.0, 1e4)
    whole, parts = StreamRegressor(memory="64KB", random_state=0), StreamRegressor(memory="64KB", random_state=0)
    scores = whole.learn(x, y)
    cuts = [0, 1, 3, 500, 513, 999, 1001, 1002, 1003, 1500, 1801, 1850, 1919, 1920, 1921, 2600]
    pieces = [parts.learn(x[i:j], y[i:j]) for i, j in itertools.pairwise(cuts)]
    assert np.array_equal(np.concatenate(pieces), scores)
    assert np.array_equal(whole.predict(x), parts.predict(x))


@pytest.mark.parametrize("offset", [1e7, 1e8, 1e9])
def test_offset_of_the_targets_changes_no_accuracy(offset):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 3))
    y = x[:, 0] + x[:, 1] ** 2
    plain = trust.rmse(trust.scores(x, y) - y, 500)
    assert trust.rmse(trust.scores(x, y + offset) - offset - y, 500) <= 1.01 * plain


@pytest.mark.parametrize("change", [lambda x: x * 1e-30, lambda x: x * 1e30, lambda x: x + 1e8])
def test_unit_and_offset_of_the_features_change_no_accuracy(change):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 3))
    y = x[:, 0] + x[:, 1] ** 2
    plain = trust.rmse(trust.scores(x, y) - y, 500)
    assert trust.rmse(trust.scores(change(x), y) - y, 500) <= 1.01 * plain


@pytest.mark.parametrize("seed", [7, 8])
@pytest.mark.parametrize("center", [0.0, 3.0])
@pytest.mark.parametrize("unit", [1e3, 1e-3])
def test_features_that_change_their_unit_cost_little(unit, center, seed):
    """Measured for 1/1,000: 69 to 75 % before, 90 now."""

    def accuracy(x, y):
        model = StreamClassifier(random_state=0)
        found = model.learn(x, y)
        return 100 * (model.classes_[np.nan_to_num(found, nan=-np.inf).argmax(axis=1)] == y)[1000:].mean()

    x, y = trust.clean(seed)
    x = x + center * x.std(axis=0)
    late = (np.arange(len(y)) >= len(y) // 2)[:, None]
    assert accuracy(np.where(late, unit * x, x), y) >= accuracy(x, y) - 1.5


@pytest.mark.parametrize("name", list(trust.tailed(0, 10)))
def test_skewed_targets_are_about_as_good_as_by_the_linear_expert_alone_and_hardly_biased(name):
    """The mean of three streams. Without the correction the bias is up to .17 deviations.

    Of lognormal targets 4 % of the variance can be explained, nearly all of it by a linear model: RMSE is 1.003 times.
    """
    whole, alone, bias = [], [], []
    for seed in range(3):
        x, y = trust.tailed(seed)[name]
        predicted = trust.scores(x, y)
        whole.append(trust.rmse(y - predicted))
        alone.append(trust.rmse(y - trust.scores(x, y, experts=[Linear()])))
        bias.append(abs(np.mean((y - predicted)[1000:])) / y.std())
    assert np.mean(whole) <= 1.005 * np.mean(alone)
    assert np.mean(bias) <= 0.08
