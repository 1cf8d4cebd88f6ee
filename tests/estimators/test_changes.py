"""changes_: what changed at each drift alarm, whatever blocks the rows came in."""

import copy
from itertools import pairwise

import numpy as np
import pytest

import nolana
from conftest import same_state
from nolana import StreamClassifier, StreamRegressor
from nolana.estimators.answers import change_text
from nolana.learner.changes import CHECK_EVERY, Watched, changed_rates, mean_since, moved

ROWS, DRIFT = 5000, 3000


def stream(task="classification", width=6, seed=5):
    """At row 3,000 another feature decides, and feature 2 moves by two standard deviations."""
    rng = np.random.default_rng(seed)
    x, late = rng.normal(size=(ROWS, width)), np.arange(ROWS) >= DRIFT
    x[late, 2] += 2
    if task == "classification":
        return x, np.where(np.where(late, x[:, 1] > 0.6, x[:, 0] > 0), "yes", "no")
    return x, np.where(late, 3 * x[:, 1] + 5, 3 * x[:, 0]) + 0.1 * rng.normal(size=ROWS)


def names(entries):
    return [entry["feature"] for entry in entries]


def test_a_record_says_which_features_and_classes_changed():
    x, y = stream()
    model = StreamClassifier(random_state=0).partial_fit(x, y)
    (record,) = model.changes_
    assert record["row"] == model.drift_[0]
    assert record["complete"]
    assert record["score"] == "accuracy"
    assert record["before"] > 0.95 > 0.9 > record["after"] > 0.5
    assert names(record["features"]) == [2]
    assert record["features"][0]["shift"] == pytest.approx(2, abs=0.3)
    assert record["features"][0]["before"] == pytest.approx(0, abs=0.2)
    assert record["features"][0]["after"] == pytest.approx(2, abs=0.5)  # by the logarithmic tail
    by_name = {entry["feature"]: entry for entry in record["relevance"]}
    assert by_name.keys() == {0, 1}
    assert by_name[0]["before"] > 0.5 > 0.01 > by_name[0]["after"]
    assert by_name[1]["after"] > 0.5 > 0.01 > by_name[1]["before"]
    rates = {entry["class"]: entry for entry in record["classes"]}
    assert rates.keys() == {"yes", "no"}
    assert rates["yes"]["before"] == pytest.approx(0.5, abs=0.08)
    assert rates["yes"]["after"] == pytest.approx(0.27, abs=0.08)
    text = change_text(record)
    assert text.startswith(f"row {record['row']:,}: accuracy 9")
    assert "feature 2 moved by +" in text
    assert "relevance of feature 1 0.00 -> 0." in text


def test_a_record_of_a_regression_has_rmse_and_level_of_the_target():
    x, y = stream("regression")
    (record,) = StreamRegressor(random_state=0).partial_fit(x, y).changes_
    assert record["score"] == "rmse"
    assert record["before"] == pytest.approx(0.1, abs=0.05)
    assert record["after"] > 0.3
    assert record["target"]["before"] == pytest.approx(0, abs=0.8)
    assert record["target"]["after"] == pytest.approx(5, abs=0.8)
    assert set(names(record["relevance"])) == {0, 1}
    several = StreamRegressor(random_state=0).partial_fit(x, np.column_stack([x[:, 0], y])).changes_
    assert {each["output"] for each in several} == {1}
    assert "of target 1: RMSE" in change_text(several[0])


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_records_are_the_same_however_blocks_are_split_and_saved(task, tmp_path):
    x, y = stream(task)
    make = StreamClassifier if task == "classification" else StreamRegressor
    whole = make(random_state=0).partial_fit(x, y)
    parts = make(random_state=0)
    cuts = [0, 1, 255, 256, 2900, *range(3000, 3600, 41), 4000, ROWS]
    for start, stop in pairwise(cuts):
        parts.learn(x[start:stop], y[start:stop])
        if start % 3 == 0:
            parts.save(tmp_path / "m.nolana")
            parts = nolana.load(tmp_path / "m.nolana")
        if start % 5 == 0:
            parts = copy.deepcopy(parts)
    assert whole.changes_ == parts.changes_
    assert len(whole.changes_) == 1
    assert same_state(whole._learner.state(), parts._learner.state())


def test_an_alarm_without_details_is_listed_and_completed_later():
    x, y = stream()
    model = StreamClassifier(random_state=0).partial_fit(x[:3050], y[:3050])
    (record,) = model.changes_
    assert [record["row"]] == model.drift_
    assert not record["complete"]
    assert record["after"] is None
    assert "details follow" in change_text(record)
    first_check = (record["row"] // CHECK_EVERY + 1) * CHECK_EVERY
    model.learn(x[3050:first_check], y[3050:first_check])
    assert model.changes_[0]["before"] > 0.95
    assert not model.changes_[0]["complete"]
    done = first_check + CHECK_EVERY
    model.learn(x[first_check : done - 1], y[first_check : done - 1])
    assert not model.changes_[0]["complete"]
    model.learn(x[done - 1 : done], y[done - 1 : done])
    assert model.changes_[0]["complete"]


def test_a_merge_keeps_the_records_of_its_base_and_lists_the_alarms_of_its_parts():
    x, y = stream()
    base = StreamClassifier(random_state=0).partial_fit(x[:4000], y[:4000])
    swapped = np.where(y == "yes", "no", "yes")
    parts = base.split(2)
    for i, part in enumerate(parts):
        part.learn(x[i:2000:2], swapped[i:2000:2])
    merged = nolana.merge(parts)
    assert merged.changes_[0] == base.changes_[0]
    assert [record["row"] for record in merged.changes_] == merged.drift_
    assert not any(record["complete"] for record in merged.changes_[1:])


def test_wide_rows_have_class_rates_only():
    x, y = stream(width=80)
    x[:, 3:] *= 0.01
    (record, *_) = StreamClassifier(random_state=0).partial_fit(x, y).changes_
    assert record["features"] == record["relevance"] == []
    assert {entry["class"] for entry in record["classes"]} == {"yes", "no"}


def test_a_category_whose_effect_changes_has_not_moved():
    pandas = pytest.importorskip("pandas")
    x, y = stream("regression")
    table = pandas.DataFrame(x[:, :2], columns=["load", "wear"])
    table["site"] = np.where(np.random.default_rng(0).random(ROWS) < 0.5, "north", "south")
    (record, *_) = StreamRegressor(random_state=0).partial_fit(table, y).changes_
    assert record["features"] == []
    assert set(names(record["relevance"])) == {"load", "wear"}


def test_columns_of_a_table_are_named():
    pandas = pytest.importorskip("pandas")
    x, y = stream()
    table = pandas.DataFrame(x[:, :4], columns=["temperature", "wind", "sun", "rain"])
    table["shift"] = np.where(np.arange(ROWS) % 3, "day", "night")
    (record, *_) = StreamClassifier(random_state=0).partial_fit(table, y).changes_
    assert names(record["features"]) == ["sun"]
    assert set(names(record["relevance"])) == {"temperature", "wind"}


def test_the_mean_since_a_running_mean_was_noted_is_that_of_the_rows_since():
    rng, mean = np.random.default_rng(0), 3.0
    values = np.full(256, 7.0)
    for t, value in enumerate(values, 1001):
        mean += (value - mean) * max(0.002, 1 / (t + 10))
    assert mean_since(Watched(1256, mean), 3.0, 1000) == pytest.approx(7)
    level = 3.0
    for value in rng.normal(7, 1, 256):
        level += (value - level) / 256
    assert mean_since(Watched(1256, level), 3.0, 1000, 1 / 256) == pytest.approx(7, abs=0.3)


def test_rates_and_means_of_the_same_distribution_are_not_listed():
    rng = np.random.default_rng(1)
    for _ in range(50):
        assert not len(moved(rng.normal(size=(256, 20)), rng.normal(size=(256, 20))))
    found = [len(changed_rates(rng.integers(0, 4, 256), rng.integers(0, 4, 300))) for _ in range(100)]
    assert sum(found) <= 4
