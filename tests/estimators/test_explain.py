"""explain: contributions of the columns that add up, on functions whose Shapley values are known."""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from conftest import same_state
from nolana import StreamClassifier, StreamRegressor
from nolana.estimators.explain import MOST_EXACT, contributions, orders, played

ONE_EACH = [slice(j, j + 1) for j in range(16)]


def explained(f, x, centre):
    return contributions(lambda rows: f(rows)[:, None], x, centre, ONE_EACH[: x.shape[1]])[:, :, 0]


@pytest.mark.parametrize("d", [3, MOST_EXACT, 16])
def test_contributions_of_a_linear_and_an_additive_function_are_exact(d):
    rng = np.random.default_rng(0)
    x, centre, w = rng.normal(size=(5, d)), rng.normal(size=d), rng.normal(size=d)
    assert explained(lambda z: z @ w, x, centre) == pytest.approx(w * (x - centre), abs=1e-12)
    additive = explained(lambda z: np.sin(3 * z).sum(axis=1), x, centre)
    assert additive == pytest.approx(np.sin(3 * x) - np.sin(3 * centre), abs=1e-12)


@pytest.mark.parametrize("d", [2, MOST_EXACT, 16])
def test_contributions_of_a_product_of_two_share_it_equally(d):
    """Also by antithetic orders: in each pair of them both features come first once."""
    x, centre = np.random.default_rng(1).normal(size=(4, d)), np.zeros(d)
    found = explained(lambda z: z[:, 0] * z[:, 1], x, centre)
    assert found[:, 0] == pytest.approx(x[:, 0] * x[:, 1] / 2, abs=1e-12)
    assert found[:, 1] == pytest.approx(x[:, 0] * x[:, 1] / 2, abs=1e-12)
    assert found[:, 2:] == pytest.approx(0 * x[:, 2:], abs=1e-12)


def test_exact_contributions_are_the_mean_over_all_orders():
    rng = np.random.default_rng(2)
    x, centre, d = rng.normal(size=(1, 5)), rng.normal(size=5), 5

    def f(z):
        return np.tanh(z[:, 0] * z[:, 1] * z[:, 2]) + np.maximum(z[:, 3], z[:, 4]) * z[:, 0]

    expected = np.zeros(d)
    for order in itertools.permutations(range(d)):
        row = centre.copy()
        for j in order:
            before = f(row[None])[0]
            row[j] = x[0, j]
            expected[j] += (f(row[None])[0] - before) / math.factorial(d)
    assert explained(f, x, centre)[0] == pytest.approx(expected, abs=1e-12)


def test_columns_at_the_centre_take_no_part_and_cost_nothing():
    x, centre = np.zeros((1, 16)), np.zeros(16)
    x[0, :4], x[0, 5], centre[5] = 1.0, np.nan, np.nan
    asked = []
    found = contributions(lambda z: (asked.append(len(z)), z[:, :4].sum(axis=1)[:, None])[1], x, centre, ONE_EACH)
    assert asked == [2**4]
    assert found[0, :, 0] == pytest.approx([1.0] * 4 + [0.0] * 12)
    assert not found[0, 4:].any()


def test_orders_are_the_same_every_time_and_fewer_for_very_wide_rows():
    assert np.array_equal(orders(20), orders.__wrapped__(20))
    assert len(orders(11)) == 32
    assert len(orders(5000)) == 2
    assert played(1000) <= 4096


@pytest.mark.parametrize("classes", [2, 4])
def test_explain_of_a_classifier_adds_up_to_the_score_less_that_of_the_centre(classes):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(1500, 12))
    y = np.array(list("abcd"))[np.digitize(x[:, 0] + x[:, 3] * x[:, 4], [0, 1, 2][: classes - 1])]
    model = StreamClassifier(random_state=0, memory="128KB", class_weight="balanced").partial_fit(x, y)
    before = model._learner.state()
    found = model.explain(x[:9])
    assert found.shape == ((9, 12) if classes == 2 else (9, 12, classes))
    centre = model._learner.centre()[None]
    difference = model.decision_function(x[:9]) - model.decision_function(centre)
    assert found.sum(axis=1) == pytest.approx(difference, abs=1e-12)
    assert np.abs(found).reshape(9, 12, -1).sum(axis=(0, 2)).argmax() == 0
    assert same_state(before, model._learner.state())
    assert np.array_equal(np.concatenate([model.explain(x[i : i + 1]) for i in range(9)]), found)


def test_explain_of_a_regressor_finds_the_functions_of_the_features():
    rng = np.random.default_rng(4)
    x = rng.uniform(-2, 2, (8000, 3))
    y = 3 * x[:, 0] + 2 * np.sin(2 * x[:, 1])
    model = StreamRegressor(random_state=0).partial_fit(x, y)
    rows, centre = x[:200], model._learner.centre()
    found = model.explain(rows)
    assert found.sum(axis=1) == pytest.approx(model.predict(rows) - model.predict(centre[None]), abs=1e-12)
    expected = np.column_stack([3 * rows[:, 0], 2 * np.sin(2 * rows[:, 1]), np.zeros(200)])
    expected -= [3 * centre[0], 2 * np.sin(2 * centre[1]), 0]
    assert np.sqrt(np.mean((found - expected) ** 2, axis=0)) == pytest.approx(np.zeros(3), abs=0.1)
    several = StreamRegressor(random_state=0).partial_fit(x[:500], np.column_stack([y, -y])[:500])
    assert several.explain(x[:2]).shape == (2, 3, 2)


def test_explain_of_a_table_has_one_contribution_for_a_date_or_a_category():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(5)
    table = pandas.DataFrame(
        {
            "size": rng.normal(size=2000),
            "job": rng.choice(list("xyz"), 2000),
            "at": pandas.date_range("2026-01-01", periods=2000, freq="h"),
        }
    )
    model = StreamClassifier(random_state=0).partial_fit(table, (table["job"] == "x").astype(int))
    found = model.explain(table[:50])
    assert found.shape == (50, len(model.feature_names_in_))
    assert (np.abs(found).argmax(axis=1) == 1).all()
    assert (np.sign(found[:, 1]) == np.where(table["job"][:50] == "x", 1, -1)).all()
    missing = table[:1].assign(job=None)
    assert model.explain(missing)[0, 1] == 0
    assert model.explain(table[:0]).shape == (0, 3)


def test_explain_refuses_what_it_cannot_explain():
    with pytest.raises(NotFittedError):
        StreamClassifier().explain([[1.0]])
    x = sparse.random(50, 1000, density=0.01, format="csr", random_state=0)
    model = StreamClassifier(random_state=0).partial_fit(x, np.arange(50) % 2)
    with pytest.raises(ValueError, match="explain needs dense rows"):
        model.explain(x)
    one = StreamClassifier(random_state=0).partial_fit([[1.0, 2.0]], ["a"])
    assert not one.explain([[3.0, 4.0]]).any()
