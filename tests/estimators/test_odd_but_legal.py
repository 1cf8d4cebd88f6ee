"""Input that is unusual and legal: the learner stays sound, or says clearly why not."""

import pickle
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from conftest import same_state
from nolana import NolanaClassifier, NolanaRegressor, OnlineNystroem
from nolana.errors import DivergenceWarning
from nolana.evaluate import progressive
from nolana.experts.spectral import Proposal


@pytest.mark.parametrize("units", [1e-3, 1.0, 1e3])
def test_scaling_with_initial_landmarks(units, rng):
    x, u = rng.normal(size=(2000, 3)), rng.normal(size=(40, 3))
    y = x[:, 0] * x[:, 1] > 0
    model = NolanaClassifier(n_landmarks=40, initial_landmarks=u * units, scale=True).fit(x * units, y)
    assert model.score(x * units, y) > 0.95


@pytest.mark.parametrize("ratio", [1, 10, 100, 1e4])
@pytest.mark.parametrize("kernel", ["polynomial", "linear"])
def test_rows_that_outgrow_the_first_ones(kernel, ratio, rng):
    """The ridge follows landmarks whose k(u, u) grows by many orders of magnitude."""
    x = rng.normal(size=(2000, 5))
    x[:100] /= ratio
    t = x[:, 0] + 0.1 * rng.normal(size=2000)
    model = NolanaRegressor(n_landmarks=10, kernel=kernel)
    scores = model.learn(x, t)
    assert np.isfinite(scores).all()
    # The width and the ridge are taken anew at 128, 256, 512 and 1024 rows; after that it must have recovered.
    assert np.sqrt(np.mean((scores[1500:] - t[1500:]) ** 2)) < 1.0
    state = model._learner.state()
    k = model._learner.kernel
    assert state["ridge"] > 1e-7 * k.diagonal(state["landmarks"], state["gamma"]).mean()


@pytest.mark.parametrize("seed", range(8))
def test_polynomials_of_rows_far_away(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(200, 3))
    x[:30] *= 1e-6
    y = (x[:, 0] > 0).astype(int)
    model = NolanaClassifier(n_landmarks=20, kernel="polynomial")
    model.learn(x[:30], y[:30])
    assert np.isfinite(model.learn(x[30:], y[30:])[20:]).all()
    u = rng.normal(size=(10, 2))
    far = NolanaClassifier(n_landmarks=10, kernel="polynomial", scale=True, initial_landmarks=u)
    assert np.isfinite(far.learn(rng.normal(size=(100, 2)) + 1000, rng.integers(0, 2, 100))[20:]).all()
    rank2 = NolanaClassifier(
        n_landmarks=10,
        kernel="polynomial",
        initial_landmarks=u,
        threshold=0.0,
        optimizer="sgd",
        solver="rank2",
        learning_rate=1e-12,
    )
    rank2.learn(rng.normal(size=(60, 2)) * 1000, rng.integers(0, 2, 60))
    assert rank2.n_rows_ == 60


@pytest.mark.parametrize("kernel", ["rbf", "cosine", "polynomial", "linear", "laplacian"])
@pytest.mark.parametrize("solver", ["exact", "rank2", "randomized"])
def test_pickles_of_decompositions_continue_bit_for_bit(kernel, solver):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(90, 3))
        y = rng.integers(0, 3, 90)
        parameters = {
            "n_landmarks": 6,
            "kernel": kernel,
            "solver": solver,
            "optimizer": "sgd",
            "scale": True,
            "learning_rate": 0.01,
        }
        a = NolanaClassifier(**parameters)
        a.learn(x[:32], y[:32])
        b = pickle.loads(pickle.dumps(a))
        assert np.array_equal(a.learn(x[32:], y[32:]), b.learn(x[32:], y[32:]))
        assert same_state(a._learner.state(), b._learner.state())


@pytest.mark.parametrize("kind", [NolanaClassifier, NolanaRegressor])
def test_pickles_while_another_thread_learns_are_of_one_moment(kind):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 3))
    y = np.arange(3000) // 60 if kind is NolanaClassifier else x[:, 0]
    model = kind(n_landmarks=10, regularization=0.05)  # a regressor of given regularization has a running mean
    model.learn(x[:5], y[:5])
    taken, done = [], threading.Event()

    def take():
        while not done.is_set():
            taken.append(pickle.dumps(model))

    reader = threading.Thread(target=take, daemon=True)
    reader.start()
    for i in range(5, 3000, 5):
        model.learn(x[i : i + 5], y[i : i + 5])
    done.set()
    reader.join(60)
    assert not reader.is_alive()
    for raw in taken[:: max(1, len(taken) // 200)]:
        twin = pickle.loads(raw)
        if kind is NolanaRegressor:
            assert twin._targets.weight == twin.n_rows_
        else:
            assert twin._learner.outputs == twin._targets.labels.outputs
            assert len(twin.predict(x[:3])) == 3


def test_a_diverged_model_is_said_to_be_one(rng):
    x = rng.normal(size=(600, 3)) * 30
    t = x[:, 0]
    model = NolanaRegressor(n_landmarks=30, optimizer="sgd", kernel="linear", scale=False)
    with pytest.warns(DivergenceWarning, match="learning_rate"), np.errstate(all="ignore"):
        result = progressive(model, [(x[i : i + 50], t[i : i + 50]) for i in range(0, 600, 50)], window=100)
    assert not np.isfinite(result.metrics["rmse"])
    assert not np.isfinite(result.history[-1].window["rmse"])
    decayed = NolanaClassifier(optimizer="sgd", regularization=10.0, n_landmarks=10)
    assert np.isfinite(decayed.learn(x, (t > 0).astype(int))[20:]).all()


def test_targets_as_a_column(stream):
    x, y = stream
    with pytest.warns(UserWarning, match="column-vector"):
        column = progressive(NolanaClassifier(n_landmarks=20), [(x, y[:, None])]).metrics
    assert column == progressive(NolanaClassifier(n_landmarks=20), [(x, y)]).metrics


def test_one_landmark_and_one_feature(rng):
    x = rng.normal(size=(300, 1))
    model = NolanaClassifier(n_landmarks=1).fit(x, x[:, 0] > 0)
    assert model.gamma_ == 1.0
    assert np.abs(model.decision_function(x)).min() > 0
    assert NolanaRegressor(n_landmarks=1, kernel="linear").fit(x, 3 * x[:, 0]).score(x, 3 * x[:, 0]) > 0.9


def test_threshold_zero_moves_also_while_places_are_free(rng):
    x = rng.normal(size=(2000, 1))
    model = NolanaClassifier(n_landmarks=100, threshold=0.0).fit(x, x[:, 0] > 0)
    assert len(model.landmarks_) < 100
    assert model.n_moves_ == 2000 - len(model.landmarks_)


def test_hundreds_of_classes(rng):
    x = rng.normal(size=(1500, 2))
    y = np.arange(1500) % 500
    model = NolanaClassifier(n_landmarks=20)
    model.learn(x, y)
    assert model.decision_function(x[:2]).shape == (2, 500)
    assert model.learn(x[:1], y[:1]).shape == (1, 500)
    held = sum(a.nbytes for a in model._targets.labels.target_rows.values())
    assert held < 0.1 * model.memory_bytes_


def test_sparse_input_is_left_as_it_was():
    x = sp.csr_matrix((np.ones(4), np.array([1, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, 3))
    before = x.copy()
    x.data.flags.writeable = False
    x.indices.flags.writeable = False
    NolanaClassifier(n_landmarks=2).learn(x, [0, 1])
    assert np.array_equal(x.indices, before.indices)
    assert x.nnz == 4


def test_labels_keep_their_kind(rng):
    x = rng.normal(size=(40, 2))
    big = np.where(np.arange(40) % 2, np.uint64(7), np.uint64(2**63 + 1))
    model = NolanaClassifier(n_landmarks=5).fit(x, big)
    assert model.classes_.dtype == np.uint64
    assert model.score(x, big) >= 0
    for strange in (np.array([b"a", b"b"]), np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[ns]")):
        with pytest.raises(ValueError, match="Unknown label type"):
            NolanaClassifier().learn(x[:2], strange)
    text = NolanaClassifier(n_landmarks=5).partial_fit(x, np.where(np.arange(40) % 2, "a", "b"))
    with pytest.raises(ValueError, match=r"1d|labels"):
        text.learn(x[:1], "a")
    text.learn(x[:1], ["a much longer label"])
    assert "a much longer label" in text.classes_


def test_rows_of_weight_zero_alone_teach_nothing(rng):
    x = rng.normal(size=(5, 2))
    model = NolanaClassifier().partial_fit(x, [0, 1, 0, 1, 0], sample_weight=np.zeros(5))
    with pytest.raises(NotFittedError):
        model.predict(x)
    assert model.partial_fit(x, [0, 1, 0, 1, 0]).predict(x).shape == (5,)


def test_map_keeps_its_width_until_the_next_fit(stream):
    x, _ = stream
    model = OnlineNystroem(n_landmarks=20).fit(x)
    model.set_params(n_landmarks=10)
    assert model.transform(x).shape[1] == 20
    assert model.fit(x).transform(x).shape[1] == 10


@pytest.mark.parametrize("kernel", ["rbf", "linear", "polynomial", "cosine", "laplacian"])
@pytest.mark.parametrize("scale", [1e-160, 1e-150, 1e-100, 1e15])
def test_extreme_units(kernel, scale, rng):
    x = rng.normal(size=(100, 2)) * scale
    assert np.isfinite(NolanaClassifier(kernel=kernel, n_landmarks=5).learn(x, rng.integers(0, 2, 100))[20:]).all()


def test_an_own_policy_may_hold_anything(stream):
    x, y = stream

    class Guarded:
        def __init__(self):
            self.lock = threading.Lock()

        def propose(self, x, distances, landmarks, counts, threshold):
            return None

    model = NolanaClassifier(n_landmarks=5, landmarks=Guarded())
    model.learn(x[:50], y[:50])
    model.learn(x[50:], y[50:])
    assert model.n_rows_ == 600

    class Lost:
        def propose(self, x, distances, landmarks, counts, threshold):
            return Proposal(0, np.full_like(x, np.nan), 1.0)

    with pytest.raises(ValueError, match="not finite"):
        NolanaClassifier(n_landmarks=5, landmarks=Lost()).learn(x, y)


MESSAGES = [
    ({"max_iter": 0}, "max_iter"),
    ({"max_iter": 1.5}, "max_iter"),
    ({"initial_landmarks": "foo", "n_landmarks": 5}, "initial_landmarks must be an array of numbers"),
    ({"initial_landmarks": np.full((5, 4), np.nan), "n_landmarks": 5}, "NaN or infinity in row 0"),
    ({"ridge": 1.0}, "ridge"),
    ({"ridge": np.inf}, "ridge"),
    ({"coef0": np.inf}, "coef0"),
    ({"optimizer": "sgd", "learning_rate": np.inf}, "learning_rate"),
    ({"regularization": np.inf}, "regularization"),
    ({"scale": "no"}, "scale='no' is neither True nor False"),
    ({"landmarks": object()}, "object with propose"),
]


@pytest.mark.parametrize(("parameters", "said"), MESSAGES, ids=[said for _, said in MESSAGES])
def test_messages(parameters, said, stream):
    x, y = stream
    with pytest.raises(ValueError, match=said):
        NolanaClassifier(**parameters).fit(x, y)


def test_announced_nan_is_named(stream):
    x, y = stream
    with pytest.raises(ValueError, match="classes contains NaN"):
        NolanaClassifier().learn(x, y.astype(float), classes=[0.0, 1.0, np.nan])
