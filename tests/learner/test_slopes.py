"""Slopes of the landmarks: which features matter, and when slopes say nothing."""

import numpy as np
import pytest

from nolana import StreamClassifier
from nolana.learner.relevance import slopes_of


@pytest.fixture(scope="module")
def learned():
    """Spec, state and landmarks after 500 rows of XOR in the first two of 16 features."""
    x = np.random.default_rng(0).normal(size=(500, 16))
    model = StreamClassifier(random_state=0).partial_fit(x, x[:, 0] * x[:, 1] > 0)
    learner = model._learner
    state = learner._engine.state()
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


def test_slopes_say_nothing_where_recent_rows_left_the_landmarks_in_many_features(learned):
    spec, state, places = learned
    for away, known in ((2, True), (3, False)):  # of 16 features
        middle = places.mean(axis=0)
        middle[:away] += 4 * places[:, :away].std(axis=0)
        assert (slopes_of(spec, state, np.ones(16), middle) is not None) == known
    near = places.mean(axis=0) + 0.4  # less than half a deviation of the features
    assert slopes_of(spec, state, np.ones(16), near) is not None
