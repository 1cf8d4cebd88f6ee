"""`lag` and `group` of the default estimators."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nolana
from nolana import StreamClassifier, StreamRegressor
from nolana.errors import OptionError
from nolana.evaluate import Evaluation, progressive

ROWS = 1500


def walk(n=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.cumsum(rng.normal(size=n)) + 500


def persistent_labels(n=ROWS, seed=0, classes=3):
    """Labels that stay for ten rows, features that say little."""
    rng = np.random.default_rng(seed)
    y = np.repeat(rng.integers(0, classes, n // 10 + 1), 10)[:n]
    return rng.normal(size=(n, 3)) + 0.3 * y[:, None], y


def panel(series=200, rows=40, seed=0):
    """Series that are random walks, in turns."""
    rng = np.random.default_rng(seed)
    levels = np.cumsum(rng.normal(size=(rows, series)), axis=0)
    order = np.concatenate([rng.permutation(series) for _ in range(rows)])
    X = np.c_[rng.normal(size=len(order)), order.astype(float)]
    return X, levels[np.repeat(np.arange(rows), series), order] + X[:, 0]


def r2(scores, y):
    return 1 - np.mean((scores - y) ** 2) / np.var(y)


def blocks(model, X, y, cuts, **announced):
    pieces = zip([0, *cuts], [*cuts, len(X)], strict=True)
    return np.concatenate([model.learn(X[a:b], y[a:b], **announced) for a, b in pieces])


CASES = {
    "regression": lambda: (StreamRegressor(lag=1, random_state=0), *walk()),
    "horizon": lambda: (StreamRegressor(lag=24, random_state=0), *walk()),
    "classes": lambda: (StreamClassifier(lag=1, random_state=0), *persistent_labels()),
    "panel": lambda: (StreamRegressor(lag=1, group=1, random_state=0), *panel(50, 30)),
    "panel of classes": lambda: (StreamClassifier(lag=2, group=2, random_state=0), *panel_of_classes()),
}
cases = pytest.mark.parametrize("case", CASES)


def panel_of_classes():
    X, y = persistent_labels()
    return np.c_[X[:, :2], np.arange(len(X)) % 7], y


@cases
def test_block_split_anywhere_same_bits(case):
    model, X, y = CASES[case]()
    announced = {"classes": np.unique(y)} if isinstance(model, StreamClassifier) else {}
    expected = blocks(model, X, y, [], **announced)
    for cuts in ([700], [1, 2, 3, 512, 513, 900]):
        assert np.array_equal(blocks(CASES[case]()[0], X, y, cuts, **announced), expected)


@cases
def test_saved_copied_and_pickled_models_continue_same_bits(case, tmp_path):
    model, X, y = CASES[case]()
    model.learn(X[:800], y[:800])
    model.save(tmp_path / "model.safetensors")
    others = [nolana.load(tmp_path / "model.safetensors"), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    expected = model.learn(X[800:], y[800:])
    for other in others:
        assert np.array_equal(other.learn(X[800:], y[800:]), expected)


@cases
def test_memory_is_never_exceeded(case):
    model, X, y = CASES[case]()
    for memory in ("64KB", "512KB"):
        model.set_params(memory=memory).fit(X, y)
        assert model.memory_bytes_ <= {"64KB": 65536, "512KB": 524288}[memory]


def test_predict_equals_learn_for_lag_1_and_changes_nothing():
    X, y = walk()
    model = StreamRegressor(lag=1, random_state=0).partial_fit(X[:1000], y[:1000])
    predicted = model.predict(X[1000:1001])
    both = model.predict(X[1000:1002])
    assert both[0] == predicted[0]  # each row of a call sees the last known target
    assert model.learn(X[1000:1001], y[1000:1001]) == predicted


@cases
def test_rows_at_a_moment_predict_the_same_and_are_learned_later(case):
    model, X, y = CASES[case]()
    assert model.at_moment(X[:3]) is not None
    model.partial_fit(X[:900], y[:900])
    rows = model.at_moment(X[900:901])
    predicted = model.predict(rows)
    assert predicted == pytest.approx(model.predict(X[900:901]), rel=1e-9)
    later, twin = copy.deepcopy(model), copy.deepcopy(model)
    for other in (later, twin):
        other.partial_fit(X[901:950], y[901:950])
    later.learn(rows, y[900:901])
    twin.learn(X[900:901], y[900:901])  # with what is known now
    assert later.n_rows_ == twin.n_rows_ == 950
    assert not np.array_equal(later.scores(X[950:1000]), twin.scores(X[950:1000]))


def test_moment_holds_the_last_target():
    X, y = walk(400)
    model = StreamRegressor(lag=1, random_state=0).partial_fit(X[:300], y[:300])
    rows = model.at_moment(X[300:302])
    assert rows.moment[:, 0] == pytest.approx([y[299]] * 2)
    assert len(rows) == 2
    assert rows[1:].moment.shape == (1, rows.moment.shape[1])


def test_without_a_lag_rows_have_no_moment():
    X, y = walk(100)
    assert StreamRegressor(random_state=0).partial_fit(X, y).at_moment(X) is X


@pytest.mark.parametrize("wrong", ["width", "value", "lag"])
def test_moment_of_another_model_is_refused_and_changes_nothing(wrong):
    X, y = walk(200)
    model = StreamRegressor(lag=1, random_state=0).partial_fit(X, y)
    rows = model.at_moment(X[:1])
    moment = {"width": rows.moment[:, 1:], "value": rows.moment * 1e300, "lag": rows.moment}[wrong]
    other = StreamRegressor(random_state=0).partial_fit(X, y) if wrong == "lag" else model
    before = other.predict(X)
    with pytest.raises(ValueError, match="moment"):
        other.learn(type(rows)(X[:1], moment), y[:1])
    assert np.array_equal(other.predict(X), before)


def test_horizon_is_not_behind_no_lag_with_the_same_delay():
    """A day of 24 rows whose level wanders: the stack learns how good experts are that are a day old."""
    rng = np.random.default_rng(0)
    t = np.arange(3000)
    X, level = rng.normal(size=(3000, 2)), np.cumsum(0.3 * rng.normal(size=3000))
    y = 10 * np.sin(2 * np.pi * t / 24) + level + 3 * X[:, 0] ** 2
    found = {
        lag: progressive(StreamRegressor(lag=lag, random_state=0), [(X, y)], metrics=["r2"], delay=11).metrics["r2"]
        for lag in (12, None)
    }
    assert found[12] > found[None] + 0.1


def test_random_walk_is_as_good_as_its_last_value():
    X, y = walk(3000)
    scores = StreamRegressor(lag=1, random_state=0).learn(X, y)
    last = np.r_[y[0], y[:-1]]
    assert np.mean((scores - y)[500:] ** 2) < 1.1 * np.mean((last - y)[500:] ** 2)


def test_autoregression_is_learned():
    """y_t = .7 y_(t-1) + x_t + noise: without a lag the first term is noise."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 2)), np.zeros(4000)
    for t in range(1, 4000):
        y[t] = 0.7 * y[t - 1] + X[t, 0] + 0.5 * rng.normal()
    known, plain = (StreamRegressor(lag=lag, random_state=0).learn(X, y) for lag in (1, None))
    assert r2(known[1000:], y[1000:]) > r2(plain[1000:], y[1000:]) + 0.15


def test_targets_within_the_lag_are_no_input():
    """y_t = .9 y_(t-1) + noise: R2 is .81 with the last target, .9^20 = .12 with that of 10 rows before."""
    rng = np.random.default_rng(0)
    e, X, y = rng.normal(size=5000), rng.normal(size=(5000, 1)), np.zeros(5000)
    for t in range(1, 5000):
        y[t] = 0.9 * y[t - 1] + e[t]
    found = {}
    for lag in (1, 10):  # with the labels that are there in time, no others are learned
        model = StreamRegressor(lag=lag, random_state=0)
        found[lag] = progressive(model, [(X, y)], metrics=["r2"], delay=lag - 1).metrics["r2"]
    assert found[1] > 0.75
    assert found[10] < 0.2


def test_last_label_is_used():
    X, y = persistent_labels(3000)
    right = {}
    for lag in (1, None):
        model = StreamClassifier(lag=lag, random_state=0)
        scores = model.learn(X, y)
        right[lag] = np.mean(model.classes_[np.argmax(scores[500:], axis=1)] == y[500:])
    last = np.mean(y[500:] == y[499:-1])
    assert right[1] > right[None] + 0.1
    assert right[1] > last - 0.01


def test_independent_labels_lose_nothing():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (4000, 2))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    scores = [StreamClassifier(lag=lag, random_state=0).learn(X, y)[500:, 1] > 0 for lag in (1, None)]
    known, plain = (np.mean(each == y[500:]) for each in scores)
    assert known > plain - 0.003


def test_independent_targets_lose_nothing():
    """Columns that say nothing are constant from the first rows on: landmarks and grids are not drawn for them."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.5, 1.5, (3000, 8))
    y = np.hypot(np.cos(X[:, 0]) + np.cos(X[:, 0] + X[:, 1]) + X[:, 2], np.sin(X[:, 0]) + X[:, 3] * X[:, 4])
    known, plain = (StreamRegressor(lag=lag, random_state=0).learn(X, y) for lag in (1, None))
    assert r2(known, y) > r2(plain, y) - 0.005


def test_group_has_its_own_last_target():
    X, y = panel()
    own = StreamRegressor(lag=1, group=1, random_state=0).learn(X, y)
    category = StreamRegressor(lag=1, categorical_features=[1], random_state=0).learn(X, y)
    none = StreamRegressor(lag=1, random_state=0).learn(X, y)
    assert r2(own[2000:], y[2000:]) > r2(none[2000:], y[2000:]) + 0.5
    assert r2(own[2000:], y[2000:]) > r2(category[2000:], y[2000:])


def test_group_of_a_frame_by_name():
    X, y = panel(20, 30)
    frame = pd.DataFrame({"x": X[:, 0], "store": [f"store {int(i)}" for i in X[:, 1]]})
    model = StreamRegressor(lag=1, group="store", random_state=0)
    scores = model.learn(frame, y)
    assert np.isfinite(scores).all()
    assert [column.kind for column in model.schema_.columns] == ["number", "category"]
    assert model.predict(frame[:3]).shape == (3,)


def test_file_of_a_loaded_model_has_the_same_bytes(tmp_path):
    X, y = walk(700)
    model = StreamRegressor(lag=2, random_state=0).partial_fit(X, y)
    model.save(tmp_path / "a")
    nolana.load(tmp_path / "a").save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_fit_takes_rows_in_order_once():
    X, y = walk()
    a = StreamRegressor(lag=1, random_state=0).fit(X, y)
    b = StreamRegressor(lag=1, random_state=0).partial_fit(X, y)
    assert a.n_iter_ == 1
    assert np.array_equal(a.predict(X[:5]), b.predict(X[:5]))


def test_several_targets_have_a_lag_each():
    X, y = walk()
    scores = StreamRegressor(lag=1, random_state=0).learn(X, np.c_[y, -y])
    assert r2(scores[500:, 1], -y[500:]) > 0.9


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lag": 0}, "lag=0"),
        ({"lag": 2049}, "lag=2049"),
        ({"lag": 1.5}, "lag=1.5"),
        ({"group": 0}, "needs a lag"),
        ({"lag": 1, "group": 7}, "group=.*7"),
        ({"lag": 1, "group": 1.5}, "group=1.5"),
        ({"lag": 1, "max_iter": 3}, "max_iter=3 does not fit lag=1"),
    ],
)
def test_invalid_parameters_are_refused(parameters, message):
    X, y = walk(20)
    model = StreamRegressor(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("estimator", [StreamClassifier, StreamRegressor])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"group": "store"}, "group='store' needs a lag"),
        ({"lag": 1, "group": True}, "group=True is"),
        ({"lag": 1, "group": "shop"}, "group='shop' is no column of X, which has columns 'x', 'store'"),
        ({"lag": 1, "group": 2}, "group=2 is no column"),
    ],
)
def test_learn_refuses_invalid_groups_as_fit_does(estimator, parameters, message):
    X = pd.DataFrame({"x": np.arange(20.0), "store": ["a", "b"] * 10})
    for verb in ("learn", "partial_fit", "fit"):
        model = estimator(**parameters)
        with pytest.raises(OptionError, match=message):
            getattr(model, verb)(X, np.arange(20) % 2)
        assert not hasattr(model, "n_features_in_")


def test_rows_without_labels_are_refused_with_a_lag():
    X, y = walk(100)
    model = StreamRegressor(lag=1, random_state=0).partial_fit(X, y)
    before = model.predict(X)
    with pytest.raises(OptionError, match="lag=1 needs the label of each row"):
        model.learn(X[:3])
    with pytest.raises(OptionError, match="lag=1 needs the label of each row"):
        StreamRegressor(lag=1).partial_fit(X, None)
    assert np.array_equal(model.predict(X), before)
    assert model.n_rows_ == 100


def test_moments_are_refused_by_verbs_that_have_no_use_for_them():
    X, y = walk(100)
    model = StreamRegressor(lag=1, random_state=0).partial_fit(X, y)
    rows = model.at_moment(X[:3])
    with pytest.raises(ValueError, match=r"pass rows\.X"):
        model.explain(rows)
    with pytest.raises(ValueError, match=r"pass rows\.X"):
        model.at_moment(rows)
    assert model.explain(rows.X).shape == (3, X.shape[1])


def test_model_with_a_lag_is_not_split():
    X, y = walk(100)
    with pytest.raises(ValueError, match="a model with a lag cannot be split"):
        StreamRegressor(lag=1).partial_fit(X, y).split(2)


def test_delay_longer_than_the_lag_is_refused():
    X, y = walk(100)
    with pytest.raises(OptionError, match="delay=3 is longer than lag=2") as caught:
        progressive(StreamRegressor(lag=2), [(X, y)], delay=3)
    assert caught.value.remedies[0].option == "lag"
    assert progressive(StreamRegressor(lag=4), [(X, y)], delay=3).rows == 100


def test_delay_is_by_default_that_of_the_lag():
    X, y = walk(300)
    by_default, late = (
        progressive(StreamRegressor(lag=8, random_state=0), [(X, y)], **delay).metrics for delay in ({}, {"delay": 7})
    )
    assert by_default == late
    at_once = [
        progressive(StreamRegressor(lag=1, random_state=0), [(X, y)], **delay).metrics for delay in ({}, {"delay": 0})
    ]
    assert at_once[0] == at_once[1]


@pytest.mark.parametrize("cut", [3, 40, 150])
def test_evaluation_with_a_lag_and_a_delay_is_resumed_bit_for_bit(cut):
    X, y = walk(200)
    whole, model = Evaluation(metrics=["rmse"], delay=4), StreamRegressor(lag=5, random_state=0)
    expected = whole.run(model, [(X, y)]).metrics
    first, model = Evaluation(metrics=["rmse"], delay=4), StreamRegressor(lag=5, random_state=0)
    first.step(model, (X[:cut], y[:cut]))
    resumed = Evaluation(metrics=["rmse"], delay=4)
    resumed.restore(pickle.loads(pickle.dumps(first.state())))
    assert resumed.run(copy.deepcopy(model), [(X[cut:], y[cut:])]).metrics == expected


def test_rows_of_weight_0_are_not_known_later():
    X, y = walk(300)
    a = StreamRegressor(lag=1, random_state=0).partial_fit(X[:200], y[:200])
    b = StreamRegressor(lag=1, random_state=0).partial_fit(X[:200], y[:200], sample_weight=np.ones(200))
    b.learn(X[200:250], y[200:250], sample_weight=np.zeros(50))
    assert np.array_equal(a.predict(X[250:]), b.predict(X[250:]))


@settings(max_examples=15, deadline=None)
@given(
    lag=st.integers(1, 40),
    cut=st.integers(1, 299),
    seed=st.integers(0, 1000),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    offset=st.sampled_from([0.0, 1e5]),
)
def test_any_lag_cut_and_unit_is_finite_and_split_anywhere(lag, cut, seed, scale, offset):
    X, y = walk(300, seed)
    y = scale * (y + offset)
    whole, parts = (StreamRegressor(lag=lag, memory="64KB", random_state=0) for _ in range(2))
    expected = whole.learn(X, y)
    assert np.isfinite(expected).all()
    assert np.array_equal(blocks(parts, X, y, [cut]), expected)


def test_group_of_encoded_rows_that_is_a_number_names_what_helps(tmp_path):
    lines = [f"{i % 5},{i % 7},{i * i % 11}.5\n" for i in range(300)]
    (tmp_path / "u.csv").write_text("user_id,a,y\n" + "".join(lines))
    with nolana.sources.open(tmp_path / "u.csv", target="y") as stream:
        block = next(stream)
    with pytest.raises(OptionError, match=r"as in nolana\.sources\.open") as caught:
        StreamRegressor(lag=1, group="user_id").learn(block.X, block.y)
    [remedy] = caught.value.remedies
    with nolana.sources.open(tmp_path / "u.csv", target="y", **{remedy.option: remedy.value}) as stream:
        block = next(stream)
    assert np.isfinite(StreamRegressor(lag=1, group="user_id").learn(block.X, block.y)).all()
