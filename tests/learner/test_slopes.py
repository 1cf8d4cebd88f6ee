"""Slopes of the landmarks: which features matter, and when slopes say nothing."""

import numpy as np
import pytest

from nolana import StreamClassifier
from nolana.experts import Bins, Landmarks, Linear
from nolana.experts.base import split


def slopes_of(spec, state, metric, middle):
    own = next(own for own in split(spec, state, {}) if "landmarks" in own.map_state)
    return Landmarks().slopes(own, metric, middle)


@pytest.fixture(scope="module")
def learned():
    """Spec, state and landmarks after 500 rows of XOR in the first two of 16 features.

    Without neighbours, so that no screen of their rows has found the two before.
    """
    x = np.random.default_rng(0).normal(size=(500, 16))
    model = StreamClassifier(experts=[Linear(), Landmarks(), Bins()], random_state=0)
    model.partial_fit(x, x[:, 0] * x[:, 1] > 0)
    learner = model._learner
    state = learner.engine.state()
    places = next(value for name, value in state.items() if name.endswith("/landmarks"))
    return learner.spec, state, places


def test_the_features_of_xor_have_the_largest_slopes(learned):
    spec, state, places = learned
    slopes = slopes_of(spec, state, np.ones(16), places.mean(axis=0))
    assert slopes[:2].min() > 2 * slopes[2:].max()
    assert np.log(slopes).mean() == pytest.approx(0, abs=1e-9)


def test_a_feature_whose_recent_rows_left_the_landmarks_has_the_smallest_slope(learned):
    spec, state, places = learned
    middle = places.mean(axis=0)
    middle[0] += 4 * places[:, 0].std()
    slopes = slopes_of(spec, state, np.ones(16), middle)
    assert slopes[0] == slopes.min()
    assert slopes[1] == slopes.max()


def test_slopes_are_ignored_if_recent_rows_left_the_landmarks_in_many_features(learned):
    spec, state, places = learned
    for away, known in ((2, True), (3, False)):  # of 16 features
        middle = places.mean(axis=0)
        middle[:away] += 4 * places[:, :away].std(axis=0)
        assert (slopes_of(spec, state, np.ones(16), middle) is not None) == known
    near = places.mean(axis=0) + 0.4  # less than half a deviation of the features
    assert slopes_of(spec, state, np.ones(16), near) is not None


def test_slopes_of_more_outputs_than_landmarks_are_the_sum_over_the_outputs(learned):
    """Outputs that are repeated k times, each divided by sqrt(k), have the slopes of one."""
    spec, state, places = learned
    own = np.random.default_rng(0).normal(size=(3, len(places)))
    repeats = len(places)  # three times as many outputs as landmarks
    few, many = dict(state), dict(state)
    for name in state:
        if name.endswith("/weights") and state[name].shape[1:] == (len(places),):
            few[name], many[name] = own, np.tile(own, (repeats, 1)) / np.sqrt(repeats)
    expected = slopes_of(spec, few, np.ones(16), places.mean(axis=0))
    np.testing.assert_allclose(slopes_of(spec, many, np.ones(16), places.mean(axis=0)), expected, rtol=1e-9)
    assert not np.allclose(expected, slopes_of(spec, state, np.ones(16), places.mean(axis=0)))
