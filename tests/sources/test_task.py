"""Classification or regression: what the first block and the name of the target say."""

import numpy as np
import pytest

from nolana.sources.labels import infer_task

STARS = np.arange(200) % 5 + 1


@pytest.mark.parametrize(
    ("y", "name", "task"),
    [
        (np.array(["a", "b"]), None, "classification"),
        (np.array([True, False]), "price", "classification"),
        (np.array(["3", "4.5"]), "rating", "classification"),
        (np.arange(20), None, "classification"),
        (np.arange(200), None, "regression"),
        (np.array([0.5, 1.0]), "class", "regression"),
        # Codes of classes, also when every number of a file is written with a decimal point.
        (np.array([0.0, 1.0, 1.0]), None, "classification"),
        (np.array([-1.0, 1.0]), None, "classification"),
        (np.arange(200.0) % 10, None, "classification"),
        (np.arange(200.0) % 2 + 1, None, "classification"),
        (np.arange(200.0) % 2 * 2 + 2, "target", "classification"),
        # Stars.
        (STARS, "target", "classification"),
        (STARS, None, "classification"),
        (STARS * 1.0, None, "regression"),
        (STARS * 1.0, "target", "regression"),
        (STARS, "rating", "regression"),
        (STARS, "userRating", "regression"),
        (STARS, "review_stars", "regression"),
        (STARS * 1.0, "class", "classification"),
        (STARS * 1.0, "WineClass", "classification"),
        (STARS, "scorecard", "classification"),
        # The first rows of a pipe, or one request.
        (np.array([4.0]), None, "regression"),
        (np.array([4]), None, "classification"),
        (np.array([4]), "stars", "regression"),
        (np.array([0]), "stars", "classification"),
        (np.array([], dtype=float), None, "classification"),
        (np.array([2**70, 2**71], dtype=object), None, "classification"),
    ],
)
def test_task_is_inferred_from_labels_and_name(y, name, task):
    assert infer_task(y, name).task == task


def test_inferred_task_has_a_reason_if_the_other_one_is_possible():
    assert infer_task(np.array(["a"])).why is None
    assert infer_task(np.array([0.5])).why is None
    assert infer_task(STARS).why == "5 different labels"
    assert infer_task(STARS * 1.0).why == "labels with a decimal point"
    assert infer_task(STARS, "stars").why == "the name 'stars'"
    assert infer_task(np.arange(5000)).why == "5,000 different labels"
