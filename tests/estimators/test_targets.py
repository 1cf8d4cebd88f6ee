"""Several targets in one regressor."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from sklearn.metrics import r2_score
from sklearn.multioutput import MultiOutputRegressor

import nolana
from nolana import NolanaRegressor, StreamRegressor, rivals
from nolana.errors import ModelFileError

REGRESSORS = {
    "newton": lambda: NolanaRegressor(n_landmarks=30),
    "sgd": lambda: NolanaRegressor(n_landmarks=30, optimizer="sgd", loss="epsilon_insensitive"),
    "uncentred": lambda: NolanaRegressor(n_landmarks=30, center=False),
    "stream": lambda: StreamRegressor(memory="192KB", random_state=0),
    **{
        name: method.regressor
        for name, method in rivals.catalogue().items()
        if method.regressor is not None and name != "PassiveAggressive"
    },
}
SEPARATE = ("newton", "sgd", "uncentred", "FOGD", "NOGD", "KernelOGD")  # nothing that the targets share is learned
every_regressor = pytest.mark.parametrize("name", REGRESSORS)


def data(n=1200):
    x = np.random.default_rng(0).uniform(-1, 1, (n, 2))
    return x, np.stack([x[:, 0], 3 * x[:, 1] - 2, x[:, 0] * x[:, 1]], axis=1)


@every_regressor
def test_every_target_is_learned(name):
    x, y = data()
    model = REGRESSORS[name]().set_params(random_state=0)
    scores = model.learn(x[:1000], y[:1000])
    assert scores.shape == (1000, 3)
    assert model.predict(x).shape == (1200, 3)
    if name in SEPARATE:
        fixed = {"regularization": 0.01} if name == "newton" else {}  # the targets share an estimated level of noise
        scores = REGRESSORS[name]().set_params(random_state=0, **fixed).learn(x[:1000], y[:1000])
        alone = [REGRESSORS[name]().set_params(random_state=0, **fixed) for _ in range(3)]
        single = np.stack([m.learn(x[:1000], y[:1000, i]) for i, m in enumerate(alone)], axis=1)
        assert np.allclose(scores, single, rtol=0, atol=1e-9)
    error = model.predict(x[1000:]) - y[1000:]
    assert (error.std(axis=0)[:2] < 0.7 * y.std(axis=0)[:2]).all()
    assert np.isfinite(error).all()
    assert model.score(x, y) == pytest.approx(r2_score(y, model.predict(x)))


@pytest.mark.parametrize("name", ["newton", "sgd", "uncentred", "stream"])
def test_split_copy_and_file_continue_bit_for_bit(name, tmp_path):
    x, y = data()
    weight = np.random.default_rng(1).integers(0, 3, len(x)).astype(float)
    whole, parts = REGRESSORS[name](), REGRESSORS[name]()
    scores = whole.learn(x, y, sample_weight=weight)
    cuts = [0, 1, 2, 3, 100, 512, 513, 1100, 1200]
    for i, j in itertools.pairwise(cuts):
        assert np.array_equal(parts.learn(x[i:j], y[i:j], sample_weight=weight[i:j]), scores[i:j])
        parts.save(tmp_path / "m")
        parts = [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)), lambda _: nolana.load(tmp_path / "m")][i % 3](
            parts
        )
    assert np.array_equal(whole.predict(x), parts.predict(x))


def test_intervals_and_memory_bytes_the_default_learner():
    x, y = data(3000)
    y = y + np.random.default_rng(2).normal(size=y.shape) * [0.3, 0.2, 0.1]
    model = StreamRegressor(memory="192KB", random_state=0).partial_fit(x[:2000], y[:2000])
    assert model.memory_bytes_ <= 192 << 10
    middle, low, high = model.predict(x[2000:], interval=0.9)
    assert middle.shape == low.shape == high.shape == (1000, 3)
    covered = ((y[2000:] >= low) & (y[2000:] <= high)).mean(axis=0)
    assert ((covered > 0.83) & (covered < 0.97)).all()  # widths follow the last 256 rows, so they vary by a few points
    assert {record["name"].split(":")[0] for record in model.experts_} == {"target 0", "target 1", "target 2"}
    assert model.relevance_.shape == (2,)
    assert model.drift_ == []
    repr(model)
    with pytest.raises(ValueError, match="memory=32768 is too small for 40 targets, 819 bytes for each") as caught:
        StreamRegressor(memory="32KB").partial_fit(x, np.ones((3000, 40)))
    enough = caught.value.remedies[0].value
    assert StreamRegressor(memory=enough).partial_fit(x[:20], np.ones((20, 40))).n_rows_ == 20


@pytest.mark.parametrize("name", ["newton", "stream"])
def test_the_number_of_targets_is_fixed(name):
    x, y = data(50)
    model = REGRESSORS[name]().partial_fit(x, y)
    with pytest.raises(ValueError, match="y has 1 targets for each row, but this model has learned 3"):
        model.partial_fit(x[:1], y[:1, 0])
    with pytest.raises(ValueError, match="y has 2 targets for each row, but this model has learned 3"):
        model.partial_fit(x, y[:, :2])
    bad = y.copy()
    bad[7, 2] = np.inf
    before = model.predict(x)
    with pytest.raises(ValueError, match="at row 7, column 2: inf"):
        model.partial_fit(x, bad)
    assert np.array_equal(before, model.predict(x))
    assert model.fit(x, y[:, 0]).predict(x).shape == (50,)


def test_a_file_whose_learners_do_not_belong_together_is_refused(tmp_path):
    x, y = data(50)
    model = REGRESSORS["stream"]().partial_fit(x, y)
    model._learner.parts[1].learn(x[:1], y[:1, 1:2])
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="at least two learners of the same rows"):
        nolana.load(tmp_path / "m")


def test_the_remedy_of_a_method_for_one_target():
    x, y = data(300)
    with pytest.raises(ValueError, match=r"sklearn.multioutput.MultiOutputRegressor\(PassiveAggressiveRegressor\(\)\)"):
        rivals.PassiveAggressiveRegressor().partial_fit(x, y)
    assert MultiOutputRegressor(rivals.PassiveAggressiveRegressor()).fit(x, y).predict(x).shape == (300, 3)
