"""Progressive validation."""

import pickle

import numpy as np
import pandas
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn import metrics as oracle

from nolana import NolanaClassifier, NolanaRegressor, StreamClassifier
from nolana.evaluate import Evaluation, progressive
from nolana.evaluate.history import MOST_POINTS
from nolana.metrics import Predictions, resolve
from nolana.research.baselines import LastLabel, MajorityClass, RunningMean
from nolana.research.rivals import FOGDClassifier, RBPClassifier


class Echo:
    """Predicts the last label it learned."""

    classes_ = np.array(["a", "b"])

    def __init__(self):
        self.last = None

    def learn(self, x, y):
        scores = np.full((len(x), 2), np.nan)
        for i, label in enumerate(y):
            if self.last is not None:
                scores[i] = [self.last == "a", self.last == "b"]
            self.last = label
        return scores


def blocks(x, y, size):
    return [(x[i : i + size], y[i : i + size]) for i in range(0, len(x), size)]


def test_by_hand():
    y = np.array(list("aabbbaab"))
    x = np.zeros((8, 1))
    hits = [0, 1, 0, 1, 1, 0, 1, 0]  # the first row cannot be known
    told = []
    result = progressive(Echo(), blocks(x, y, 3), window=4, callback=told.append)
    assert result.rows == 8
    assert result.metrics == {"accuracy": np.mean(hits)}
    assert [p.rows for p in result.history] == [4, 8]
    assert [p.window["accuracy"] for p in result.history] == [0.5, 0.5]
    assert [p.overall["accuracy"] for p in result.history] == [0.5, 0.5]
    assert [p.rows for p in told] == [3, 6, 8]
    assert result.seconds >= 0
    assert result.microseconds_per_row >= 0


def test_a_last_short_window_counts():
    y = np.array(list("aabbb"))
    result = progressive(Echo(), blocks(np.zeros((5, 1)), y, 2), window=3)
    assert [p.rows for p in result.history] == [3, 5]
    assert result.history[-1].window["accuracy"] == 1.0
    assert [p.rows for p in progressive(Echo(), blocks(np.zeros((5, 1)), y, 2)).history] == [2, 4, 5]


def test_same_whatever_the_blocks(stream):
    x, y = stream
    metrics = [progressive(NolanaClassifier(n_landmarks=20), blocks(x, y, s)).metrics for s in (1, 7, 100, 600)]
    assert all(m == metrics[0] for m in metrics)


def test_regression_metrics(stream):
    x, _ = stream
    y = x[:, 0] * x[:, 1]
    result = progressive(NolanaRegressor(n_landmarks=30), blocks(x, y, 50), metrics=["rmse", "mae"])
    scores = NolanaRegressor(n_landmarks=30).learn(x, y)
    assert result.metrics["rmse"] == pytest.approx(np.sqrt(np.mean((scores - y) ** 2)))
    assert result.metrics["mae"] == pytest.approx(np.abs(scores - y).mean())


def test_blocks_may_be_objects(stream):
    x, _y = stream

    class Block:
        X, y = x[:100], stream[1][:100]

    assert progressive(NolanaClassifier(n_landmarks=5), [Block()]).rows == 100
    assert progressive(NolanaClassifier(), []).rows == 0


def test_errors_are_clear(stream):
    x, y = stream
    names = (
        "accuracy, auc, average_precision, balanced_accuracy, brier, f1, f1_macro, f1_micro, kappa, kappa_temporal, "
        "log_loss, mae, mase, precision, r2, recall, rmse"
    )
    with pytest.raises(ValueError, match=f"choose from {names}"):
        progressive(NolanaClassifier(), [(x, y)], metrics=["auc-ish"])
    with pytest.raises(ValueError, match="window=0"):
        progressive(NolanaClassifier(), [(x, y)], window=0)


# Delay, weights, checkpoints


def delayed_by_hand(learner, x, y, delay, weight=None):
    """Row by row, as the words say: row t is scored when it arrives, and row t - delay is learned then."""
    scores = []

    def learn(t):
        if weight is None:
            learner.learn(x[t : t + 1], y[t : t + 1])
        else:
            learner.learn(x[t : t + 1], y[t : t + 1], sample_weight=weight[t : t + 1])

    for t in range(len(x)):
        score = learner.scores(x[t : t + 1])[0]
        # A class that appears later takes its sorted place: the scores of a row belong to the classes of its time.
        scores.append([*zip(learner.classes_, score, strict=True)] if hasattr(learner, "classes_") else score)
        if t >= delay:
            learn(t - delay)
    for t in range(max(0, len(x) - delay), len(x)):
        learn(t)
    return scores


def hand_metrics(learner, scores, y, names, weight=None):
    rows = scores
    if hasattr(learner, "classes_"):
        last = learner.classes_.tolist()
        rows = [np.array([dict(s).get(label, -np.inf) for label in last]) for s in scores]
    told = Predictions(
        y, np.array(rows), getattr(learner, "classes_", None), weight, getattr(learner, "probabilities", None)
    )
    values = {}
    for metric in resolve(names):
        metric.update(told)
        values[metric.name] = metric.value()
    return values


class WithoutShortcut:
    """A learner with learn and scores alone."""

    def __init__(self, model):
        self.model, self.learn, self.scores = model, model.learn, model.scores

    @property
    def classes_(self):
        return self.model.classes_


LATE = {
    "newton": lambda: NolanaClassifier(n_landmarks=15),
    "logistic": lambda: NolanaClassifier(n_landmarks=15, loss="logistic"),
    "regressor": lambda: NolanaRegressor(n_landmarks=15),
    "rival": lambda: FOGDClassifier(n_components=20, random_state=0),
    "no weights": lambda: RBPClassifier(budget=10, random_state=0),
    "scaled": lambda: NolanaClassifier(n_landmarks=15, scale=True, optimizer="sgd", solver="exact"),
    "own verbs": lambda: WithoutShortcut(NolanaClassifier(n_landmarks=15)),
    "majority": MajorityClass,
    "last": LastLabel,
    "mean": RunningMean,
}


OWN_PROBABILITIES = ("newton", "logistic", "rival", "no weights", "scaled")  # more than their scores determine


def task_of(name, stream):
    x, y = stream
    if name in ("regressor", "mean"):
        return x[:150], (x[:, 0] * x[:, 1])[:150], ["rmse", "mae", "r2"]
    names = ["accuracy", "balanced_accuracy"] + (["log_loss"] if name == "majority" else [])
    return x[:150], np.array(["no", "yes", "maybe"])[y[:150]], names


@pytest.mark.parametrize("name", LATE)
@pytest.mark.parametrize("delay", [1, 3, 40, 400])
def test_late_labels_as_by_hand(name, delay, stream):
    x, y, names = task_of(name, stream)
    hand = LATE[name]()
    expected = hand_metrics(hand, delayed_by_hand(hand, x, y, delay), y, names)
    for size in (1, 7, 64, 150):
        learner = LATE[name]()
        result = progressive(learner, blocks(x, y, size), metrics=names, delay=delay)
        assert result.rows == len(x)
        assert result.metrics == expected
        assert np.array_equal(learner.scores(x), hand.scores(x), equal_nan=True)


def test_without_delay_learn_scores_as_rows_score_now(stream):
    x, y, names = task_of("logistic", stream)
    hand = LATE["logistic"]()
    expected = hand_metrics(hand, delayed_by_hand(hand, x, y, 0), y, names)
    assert progressive(LATE["logistic"](), blocks(x, y, 20), metrics=names).metrics == expected


def test_a_trained_learner_scores_from_the_first_row(stream):
    x, y, names = task_of("newton", stream)
    hand, learner = (NolanaClassifier(n_landmarks=15).fit(x, y) for _ in range(2))
    expected = hand_metrics(hand, delayed_by_hand(hand, x, y, 30), y, names)
    assert progressive(learner, blocks(x, y, 20), metrics=names, delay=30).metrics == expected
    assert expected["accuracy"] > 0.7


@pytest.mark.parametrize("delay", [0, 9])
def test_weights_reach_the_learner_and_the_metrics(stream, delay):
    x, y, names = task_of("newton", stream)
    weight = np.random.default_rng(0).uniform(0, 2, len(x)) * (np.arange(len(x)) % 4 > 0)
    hand = NolanaClassifier(n_landmarks=15)
    expected = hand_metrics(hand, delayed_by_hand(hand, x, y, delay, weight), y, names, weight)
    triples = [(x[i : i + 20], y[i : i + 20], weight[i : i + 20]) for i in range(0, len(x), 20)]
    assert progressive(NolanaClassifier(n_landmarks=15), triples, metrics=names, delay=delay).metrics == expected

    class Block:
        X, sample_weight = x, weight

    Block.y = y
    assert progressive(NolanaClassifier(n_landmarks=15), [Block()], metrics=names, delay=delay).metrics == expected


@pytest.mark.parametrize("kind", ["sparse", "pandas", "polars", "lists"])
def test_late_rows_of_any_kind(stream, kind):
    x, y, names = task_of("newton", stream)
    rows = {"sparse": csr_array, "pandas": pandas.DataFrame, "polars": polars.DataFrame, "lists": np.ndarray.tolist}[
        kind
    ]
    given = [(rows(x[i : i + 20]), y[i : i + 20]) for i in range(0, len(x), 20)]
    late = progressive(NolanaClassifier(n_landmarks=15), given, metrics=names, delay=30)
    assert (
        late.metrics
        == progressive(NolanaClassifier(n_landmarks=15), blocks(x, y, 150), metrics=names, delay=30).metrics
    )


def test_late_rows_are_kept_though_the_block_is_used_again(stream):
    x, y, _ = task_of("newton", stream)

    def reusing():
        room, labels = np.empty((10, 4)), np.empty(10, dtype=y.dtype)
        for i in range(0, 150, 10):
            room[:], labels[:] = x[i : i + 10], y[i : i + 10]
            yield room, labels

    for delay in (4, 10, 25):
        expected = progressive(NolanaClassifier(n_landmarks=15), blocks(x, y, 10), delay=delay).metrics
        assert progressive(NolanaClassifier(n_landmarks=15), reusing(), delay=delay).metrics == expected


def through_a_file(state):
    """As dicts, lists, numbers, text, None and numeric arrays alone; anything else fails."""
    if isinstance(state, dict):
        assert all(isinstance(key, str) for key in state)
        return {key: through_a_file(value) for key, value in state.items()}
    if isinstance(state, list):
        return [through_a_file(value) for value in state]
    if isinstance(state, np.ndarray):
        assert state.dtype.kind in "fiub"
        return np.frombuffer(state.tobytes(), dtype=state.dtype).reshape(state.shape).copy()
    assert state is None or type(state) in (bool, int, float, str)
    return state


@pytest.mark.parametrize("name", ["logistic", "regressor", "last", "rival"])
@given(
    stop=st.integers(0, 150),
    size=st.integers(1, 60),
    window=st.none() | st.integers(1, 70),
    delay=st.integers(0, 60),
)
@settings(max_examples=15)
def test_a_run_goes_on_where_it_stopped(name, stop, size, window, delay, stream):
    x, y, names = task_of(name, stream)
    names = [*names, "log_loss"] if name in OWN_PROBABILITIES else names
    all_blocks = [b for part in ((x[:stop], y[:stop]), (x[stop:], y[stop:])) for b in blocks(*part, size)]
    first = -(-stop // size)  # blocks before the stop
    options = {"metrics": names, "window": window, "delay": delay}
    whole = progressive(LATE[name](), all_blocks, **options)

    class Stop(Exception):
        pass

    learner, begun, told = LATE[name](), Evaluation(**options), []

    def callback(progress):
        told.append(progress)
        if len(told) == first:
            raise Stop

    if first:
        with pytest.raises(Stop):
            begun.run(learner, all_blocks, callback)
    resumed = Evaluation(**options)
    resumed.restore(through_a_file(begun.state()))
    assert repr(resumed.state()) == repr(begun.state())
    result = resumed.run(pickle.loads(pickle.dumps(learner)), all_blocks[first:])
    assert result.rows == whole.rows
    assert repr(result.metrics) == repr(whole.metrics)
    assert repr(result.history) == repr(whole.history)


def test_default_metrics_are_remembered(stream):
    x, y = stream
    learner, begun, resumed = NolanaClassifier(n_landmarks=10), Evaluation(), Evaluation()
    begun.run(learner, [(x[:100], y[:100])])
    resumed.restore(begun.state())
    assert resumed.metrics == begun.metrics
    assert resumed.run(learner, [(x[100:], y[100:])]).rows == 600


def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(stream):
    x, y = stream
    begun = Evaluation(metrics=["accuracy"], window=50, delay=5)
    with pytest.raises(StopIteration):
        begun.run(NolanaClassifier(n_landmarks=10), [(x, y)], lambda _: next(iter(())))
    state = begun.state()
    for options, words in (
        ({"metrics": ["accuracy"], "window": 50}, "delay=5, this one has delay=0"),
        ({"metrics": ["accuracy"], "delay": 5}, "window=50, this one has window=None"),
        ({"metrics": ["log_loss"], "delay": 5, "window": 50}, r"metrics=\['accuracy'\], this one has"),
    ):
        with pytest.raises(ValueError, match=words):
            Evaluation(**options).restore(state)
    for wrong in (
        {},
        [],
        state | {"overall": []},
        state | {"rows": -1},
        state | {"since": 51},
        state | {"recent": [{}]},
        state | {"late": state["late"] | {"y": state["late"]["y"][1:]}},
        state | {"history": state["history"] | {"overall": np.zeros((1, 1))}},
        state | {"history": state["history"] | {"stride": 0}},
    ):
        fresh = Evaluation(metrics=["accuracy"], window=50, delay=5)
        with pytest.raises(ValueError, match=r"state|history|late"):
            fresh.restore(wrong)
        assert repr(fresh.state()) == repr(Evaluation(metrics=["accuracy"], window=50, delay=5).state())


def test_the_history_is_bounded_and_ends_with_the_last_row():
    n = 5 * MOST_POINTS + 3
    y = np.arange(n) % 3
    result = progressive(MajorityClass(), blocks(np.zeros((n, 1)), y, 1000), window=1)
    rows = [point.rows for point in result.history]
    assert len(rows) <= MOST_POINTS
    assert len(rows) > MOST_POINTS // 2
    assert rows[-1] == n
    assert set(np.diff(rows[:-1])) == {rows[0]}  # equally spaced
    assert result.history[-1].overall == result.metrics
    every = {}
    majority = MajorityClass()
    for i in range(n):
        (score,) = majority.learn(np.zeros((1, 1)), y[i : i + 1])
        every[i + 1] = float(i > 0 and np.argmax(score) == np.flatnonzero(majority.classes_ == y[i])[0])
    assert all(point.window["accuracy"] == every[point.rows] for point in result.history)


def test_metric_objects_are_patterns(stream):
    x, _ = stream
    y = x[:, 0] * x[:, 1]

    class Largest:
        name = "largest error"

        def __init__(self):
            self.most = float("nan")

        def update(self, rows):
            self.most = float(np.fmax(self.most, np.abs(rows.errors).max()))

        def value(self):
            return self.most

        def state(self):
            return {"most": self.most}

        def restore(self, state):
            self.most = state["most"]

    mine = Largest()
    result = progressive(NolanaRegressor(n_landmarks=10), blocks(x, y, 50), metrics=[mine, "mae"], window=300)
    errors = np.abs(NolanaRegressor(n_landmarks=10).learn(x, y) - y)
    assert np.isnan(mine.most)
    assert result.metrics["largest error"] == errors.max()
    assert [p.window["largest error"] for p in result.history] == [errors[:300].max(), errors[300:].max()]


def test_what_cannot_be_evaluated_is_said(stream):
    x, y = stream
    with pytest.raises(ValueError, match="delay=3 needs a learner with scores"):
        progressive(Echo(), [(x, y)], delay=3)
    with pytest.raises(ValueError, match="delay=-1"):
        progressive(Echo(), [(x, y)], delay=-1)
    with pytest.raises(ValueError, match="a block has no y"):
        progressive(NolanaClassifier(), [(x, None)])
    with pytest.raises(ValueError, match="'log_loss' needs probabilities, but Echo has none; add the method"):
        progressive(Echo(), [(x[:5], np.array(list("aabba")))], metrics=["log_loss"])

    class Nameless:
        def learn(self, x, _y):
            return np.zeros((len(x), 2))

    with pytest.raises(ValueError, match="has no classes_ to name the columns"):
        progressive(Nameless(), [(x, y)])


def test_probabilities_of_scores_are_those_of_the_estimator(stream):
    x, y = stream
    model = NolanaClassifier(n_landmarks=20, loss="logistic")
    model.learn(x[:300], y[:300])
    own = model.probabilities(model.scores(x[300:]))
    start = np.full(own.shape, 1 / own.shape[1])
    assert np.allclose((300 * own + start) / 301, model.predict_proba(x[300:]), rtol=1e-12)
    result = progressive(model, [(x[300:301], y[300:301])], metrics=["log_loss"])
    twin = NolanaClassifier(n_landmarks=20, loss="logistic")
    twin.learn(x[:300], y[:300])
    p = twin.predict_proba(x[300:301])[0, np.flatnonzero(twin.classes_ == y[300])[0]]
    assert result.metrics["log_loss"] == pytest.approx(-np.log(p), rel=1e-12)
    assert not hasattr(NolanaClassifier(), "probabilities")


def losses_by_hand(learner, x, y, delay, weight=None):
    """-log of the probability that predict_proba had for the label when the row arrived."""
    p = np.zeros(len(x))

    def learn(t):
        own = {} if weight is None else {"sample_weight": weight[t : t + 1]}
        learner.learn(x[t : t + 1], y[t : t + 1], **own)

    for t in range(len(x)):
        if learner.__sklearn_is_fitted__():
            now = dict(zip(learner.classes_.tolist(), learner.predict_proba(x[t : t + 1])[0], strict=True))
            p[t] = now.get(y[t], 0.0)
        if t >= delay:
            learn(t - delay)
    return -np.log(np.maximum(p, np.finfo(float).eps))


@pytest.mark.parametrize("name", OWN_PROBABILITIES)
@pytest.mark.parametrize("delay", [0, 1, 30])
def test_log_loss_of_classifiers_is_of_the_probability_before_the_row(name, delay, stream):
    x, y, _ = task_of(name, stream)
    expected = losses_by_hand(LATE[name](), x, y, delay)
    for size in (1, 40, 150):
        result = progressive(LATE[name](), blocks(x, y, size), metrics=["accuracy", "log_loss"], delay=delay)
        assert result.metrics["log_loss"] == pytest.approx(np.mean(expected), rel=1e-9)
        alone = progressive(LATE[name](), blocks(x, y, size), metrics=["accuracy"], delay=delay)
        assert result.metrics["accuracy"] == alone.metrics["accuracy"]


def test_log_loss_of_weighted_rows_and_of_frames(stream):
    x, y, _ = task_of("newton", stream)
    weight = np.random.default_rng(0).uniform(0, 2, len(x)) * (np.arange(len(x)) % 4 > 0)
    expected = losses_by_hand(LATE["newton"](), x, y, 0, weight)
    result = progressive(LATE["newton"](), [(x, y, weight)], metrics=["log_loss"])
    assert result.metrics["log_loss"] == pytest.approx(np.average(expected, weights=weight), rel=1e-9)
    expected = losses_by_hand(LATE["newton"](), x, y, 9)
    frames = [(pandas.DataFrame(x[i : i + 20]), y[i : i + 20]) for i in range(0, 150, 20)]
    result = progressive(LATE["newton"](), frames, metrics=["log_loss"], delay=9)
    assert result.metrics["log_loss"] == pytest.approx(np.mean(expected), rel=1e-9)
    with pytest.raises(ValueError, match="RBPClassifier defines no weights"):
        progressive(LATE["no weights"](), [(x, y, weight)], metrics=["log_loss"])


def test_learn_proba_returns_what_learn_and_predict_proba_return(stream):
    x, y, _ = task_of("newton", stream)
    for loss in ("squared_hinge", "logistic"):
        model, twin = (NolanaClassifier(n_landmarks=15, loss=loss).partial_fit(x[:50], y[:50]) for _ in range(2))
        before = twin.predict_proba(x[50:51])
        scores, probabilities = model.learn_proba(x[50:], y[50:])
        assert np.array_equal(scores, twin.learn(x[50:], y[50:]))
        assert np.allclose(probabilities[:1], before, rtol=1e-12)
        assert np.allclose(probabilities.sum(axis=1), 1)
        now, certain = model.scores_proba(x)
        assert np.array_equal(now, twin.scores(x))
        assert np.array_equal(certain, twin.predict_proba(x))


# Several targets


def two_targets(stream):
    x, _ = stream
    return x, np.column_stack([x[:, 0] * x[:, 1], 100 + 30 * x[:, 2]])


@pytest.mark.parametrize("delay", [0, 20])
def test_metrics_of_several_targets_are_the_means_of_scikit_learn(stream, delay):
    x, y = two_targets(stream)
    names = ["rmse", "mae", "r2"]
    hand = NolanaRegressor(n_landmarks=30)
    scores = hand.learn(x, y) if delay == 0 else np.stack(np.broadcast_arrays(*delayed_by_hand(hand, x, y, delay)))
    expected = {
        "rmse": oracle.root_mean_squared_error(y, scores),
        "mae": oracle.mean_absolute_error(y, scores),
        "r2": oracle.r2_score(y, scores),
    }
    results = [
        progressive(NolanaRegressor(n_landmarks=30), blocks(x, y, size), metrics=names, delay=delay).metrics
        for size in (1, 50, 600)
    ]
    assert results[0] == results[1] == results[2]
    assert results[0] == pytest.approx(expected, rel=1e-9)
    weight = np.random.default_rng(0).uniform(0, 2, len(x))
    weighted = progressive(NolanaRegressor(n_landmarks=30), [(x, y, weight)], metrics=names).metrics
    scores = NolanaRegressor(n_landmarks=30).learn(x, y, sample_weight=weight)
    assert weighted["r2"] == pytest.approx(oracle.r2_score(y, scores, sample_weight=weight), rel=1e-9)
    assert weighted["mae"] == pytest.approx(oracle.mean_absolute_error(y, scores, sample_weight=weight), rel=1e-9)


@pytest.mark.parametrize("delay", [0, 20])
def test_a_run_of_several_targets_resumes(stream, delay):
    x, y = two_targets(stream)
    options = {"metrics": ["rmse", "mae", "r2"], "window": 70, "delay": delay}
    whole = progressive(NolanaRegressor(n_landmarks=15), blocks(x, y, 50), **options)
    learner, begun, resumed = NolanaRegressor(n_landmarks=15), Evaluation(**options), Evaluation(**options)
    with pytest.raises(StopIteration):
        begun.run(learner, blocks(x, y, 50), lambda progress: next(iter(range(progress.rows < 300 - delay))))
    resumed.restore(through_a_file(begun.state()))
    result = resumed.run(learner, blocks(x[300:], y[300:], 50))
    assert (result.metrics, repr(result.history)) == (whole.metrics, repr(whole.history))


def test_scores_of_another_shape_than_the_targets_are_refused(stream):
    x, y = two_targets(stream)

    class One:
        def learn(self, x, _y):
            return np.zeros(len(x))

    with pytest.raises(ValueError, match=r"scores of shape \(600,\) for targets of shape \(600, 2\)"):
        progressive(One(), [(x, y)])


@pytest.mark.parametrize("name", ["newton", "regressor", "no weights"])
def test_scores_and_late_learning_by_turns_in_one_call(name, stream):
    x, y, _ = task_of(name, stream)
    turns, call = LATE[name](), LATE[name]()
    scores = []
    for i in range(50):
        score = turns.scores(x[50 + i : 51 + i])[0]
        scores.append((score, getattr(turns, "classes_", ())))
        turns.learn(x[i : i + 1], y[i : i + 1])
    together = call.learn_late(x[50:100], x[:50], y[:50])
    for (one, classes), row in zip(scores, together, strict=True):
        if np.ndim(one):
            known = np.isin(call.classes_, classes)
            assert np.array_equal(one, row[known], equal_nan=True)
            assert np.isneginf(row[~known]).all()
        else:
            assert one == row
    bad = x[50:100].copy()
    bad[49, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        call.learn_late(bad, x[:50], y[:50])
    with pytest.raises(ValueError, match="equally large"):
        call.learn_late(x[:3], x[:2], y[:2])
    assert np.array_equal(call.scores(x), turns.scores(x), equal_nan=True)


def test_empty_blocks_of_a_late_stream_are_passed_over(stream):
    x, y, _ = task_of("newton", stream)
    given = [(x[:0], y[:0]), *blocks(x, y, 50), (x[:0], y[:0])]
    result = progressive(NolanaClassifier(n_landmarks=15), given, delay=10)
    assert result.metrics == progressive(NolanaClassifier(n_landmarks=15), blocks(x, y, 50), delay=10).metrics


def test_the_recent_score_is_of_the_last_window_however_long_the_history():
    """The history keeps ever fewer points; the score of the last window must not grow old with them."""
    wrong_until = 4_000
    X, truth = np.zeros((5_000, 1)), np.where(np.arange(5_000) < wrong_until, "b", "a")
    learner = LastLabel()
    learner.learn(X[:1], ["a"])
    evaluation = Evaluation(metrics=["accuracy"], window=2)
    evaluation.run(learner, [(X[:wrong_until], truth[:wrong_until])])
    assert evaluation.recent == {"accuracy": 1.0}
    evaluation.run(learner, [(X[:3], np.array(["a", "b", "c"]))])  # a whole window of errors, and half of another
    assert evaluation.recent == {"accuracy": 0.0}
    resumed = Evaluation(metrics=["accuracy"], window=2)
    resumed.restore(evaluation.state())
    assert resumed.recent == evaluation.recent


@pytest.mark.parametrize("parameters", [{}, {"lag": 6}])
def test_late_rows_may_be_dicts(parameters, stream):
    x, y = stream
    records = [{"a": float(row[0]), "c": "x" if row[1] > 0 else "z"} for row in x[:300]]
    frame, labels = pandas.DataFrame(records), y[:300]
    expected, found = (
        progressive(StreamClassifier(random_state=0, memory="64KB", **parameters), rows, delay=5).metrics
        for rows in (
            [(frame[i : i + 40], labels[i : i + 40]) for i in range(0, 300, 40)],
            [(records[i : i + 40], labels[i : i + 40]) for i in range(0, 300, 40)],
        )
    )
    assert found == expected
