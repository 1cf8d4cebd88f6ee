"""Generated streams that change, and dirty data: what the default learner must reach, predict then learn.

Bounds on changing streams are such that the landmark learner of v0.1 (`before`),
misses them. Dirty data is compared with the same rows when clean.
"""

import functools

import numpy as np
import pytest

from nolana import NolanaClassifier, StreamClassifier, StreamRegressor

ROWS = 12_000


def accuracy(x, y, first=1000, truth=None, weight=None, kind=StreamClassifier, **parameters):
    """The share of right predictions from row `first` on; `truth` are labels to score by."""
    model = kind(**({"random_state": 0} | parameters))
    scores = model.learn(x, y, sample_weight=weight)
    labels = model.classes_[np.nan_to_num(scores, nan=-np.inf).argmax(axis=1)]
    return float((labels == (y if truth is None else truth))[first:].mean())


def before(x, y, first=1000):
    """The learner of v0.1."""
    return accuracy(x, y, first, kind=NolanaClassifier, n_landmarks=100, scale=True, forgetting=1.0)


# Streams that change: rows and labels


def rotating_xor(n=ROWS, seed=0):
    """The axes of XOR turn once every 6,000 rows."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 2))
    angle = 2 * np.pi * np.arange(n) / 6000
    u = np.cos(angle) * x[:, 0] + np.sin(angle) * x[:, 1]
    v = np.cos(angle) * x[:, 1] - np.sin(angle) * x[:, 0]
    return x, (u * v > 0).astype(int)


def label_swap(n=ROWS, seed=0):
    """A circle whose inside and outside swap every 2,000 rows."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    inside = (x**2).sum(axis=1) < 2.4
    return x, (inside ^ (np.arange(n) // 2000 % 2 == 1)).astype(int)


def recurring(n=ROWS, seed=0):
    """Three concepts by turns, 1,000 rows each."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    concepts = [x[:, 0] * x[:, 1] > 0, x[:, 2] + x[:, 3] > 0, x[:, 0] ** 2 + x[:, 3] ** 2 < 1.4]
    return x, np.choose(np.arange(n) // 1000 % 3, concepts).astype(int)


def moving_gaussians(dimensions, n=ROWS, seed=0):
    """Five classes, each a Gaussian whose centre goes round a circle in 3,000 rows, through the others' places."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 5, n)
    angle = 2 * np.pi * (np.arange(n) / 3000 + y / 5)
    x = 0.6 * rng.normal(size=(n, dimensions))
    x[:, :2] += 2 * np.column_stack([np.cos(angle), np.sin(angle)])
    return x @ np.linalg.qr(rng.normal(size=(dimensions, dimensions)))[0], y


def irrelevant(n=ROWS, seed=0):
    """XOR of two features among 20."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 20))
    return x, (x[:, 3] * x[:, 11] > 0).astype(int)


def heavy_tails(n=ROWS, seed=0):
    """Cauchy features; the label depends on ranks."""
    rng = np.random.default_rng(seed)
    x = rng.standard_cauchy((n, 4))
    return x, ((x[:, 0] > 0) ^ (np.abs(x[:, 1]) > 1)).astype(int)


CHANGING = {
    # name: stream, and what it must reach; measured, v0.1 and the stream learner:
    "rotating xor": (rotating_xor, 0.92),  # .527, .939
    "label swap": (label_swap, 0.90),  # .590, .919
    "recurring concepts": (recurring, 0.86),  # .705, .886
    "moving gaussians, 2": (functools.partial(moving_gaussians, 2), 0.92),  # .180, .934
    "moving gaussians, 20": (functools.partial(moving_gaussians, 20), 0.86),  # .330, .880
    "irrelevant features": (irrelevant, 0.93),  # .661, .950
    "heavy tails": (heavy_tails, 0.80),  # .521, .822
}


@pytest.mark.parametrize("name", CHANGING)
def test_changing_streams(name):
    make, bound = CHANGING[name]
    x, y = make()
    assert before(x, y) < bound
    assert accuracy(x, y) >= bound


def balanced_accuracy(kind, **parameters):
    """100:1, the rare class in four small clusters: the mean recall of both classes."""
    rng = np.random.default_rng(0)
    n = 30_000
    y = (rng.random(n) < 0.01).astype(int)
    x = rng.normal(size=(n, 3))
    corner = rng.choice([-1.5, 1.5], size=(n, 2))
    x[y == 1, :2] = corner[y == 1] + 0.25 * rng.normal(size=(int(y.sum()), 2))
    model = kind(**parameters)
    scores = model.learn(x, y)
    found = model.classes_[np.nan_to_num(scores, nan=-np.inf).argmax(axis=1)]
    return np.mean([(found == c)[5000:][y[5000:] == c].mean() for c in (0, 1)])


def test_imbalance():
    assert balanced_accuracy(NolanaClassifier, n_landmarks=100, scale=True, forgetting=1.0) < 0.6
    assert balanced_accuracy(StreamClassifier, random_state=0, class_weight="balanced") >= 0.7


def test_balanced_weights_are_those_of_the_classes():
    assert balanced_accuracy(StreamClassifier, random_state=0, class_weight="balanced") >= 0.85


def test_an_inverted_concept_after_200_000_rows():
    """What was learned from 200,000 rows is unlearned within 2,000."""
    rng = np.random.default_rng(0)
    n = 210_000
    x = rng.normal(size=(n, 4))
    y = ((x[:, 0] * x[:, 1] > 0) ^ (np.arange(n) >= 200_000)).astype(int)
    assert before(x, y, first=202_000) < 0.85  # .794
    assert accuracy(x, y, first=202_000) >= 0.97  # .985


# Dirty data

POINT = 0.01


@functools.cache
def clean():
    """Three classes of 6 features, about 90 % to be had."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(8000, 6)) * [1, 10, 0.1, 1, 5, 1] + [0, 100, 0, -3, 0, 1]
    z = (x - [0, 100, 0, -3, 0, 1]) / [1, 10, 0.1, 1, 5, 1]
    score = np.column_stack([z[:, 0] * z[:, 1], z[:, 2] + 0.5 * z[:, 3], np.abs(z[:, 4]) - 0.8])
    return x, (score + 0.1 * rng.gumbel(size=score.shape)).argmax(axis=1)


@functools.cache
def clean_accuracy(first=1000):
    return accuracy(*clean(), first)


@pytest.mark.parametrize("value", [-9999.0, 1e6])
@pytest.mark.parametrize("row", [3, 50, 1000])
def test_one_wild_cell(value, row):
    x, y = clean()
    x = x.copy()
    x[row, 1] = value
    assert accuracy(x, y) >= clean_accuracy() - POINT


def test_missing_values_written_as_a_number():
    x, y = clean()
    x = x.copy()
    x[np.random.default_rng(1).random(x.shape) < 0.002] = -9999.0
    assert accuracy(x, y) >= clean_accuracy() - POINT


@pytest.mark.parametrize("start", [0.0, 1.7e9])
def test_a_counter_or_time_column(start):
    x, y = clean()
    assert accuracy(np.column_stack([x, start + np.arange(len(x))]), y) >= clean_accuracy() - POINT


@pytest.mark.parametrize("feature", [0, 1, 2])
def test_a_feature_that_changes_its_unit(feature):
    x, y = clean()
    x = x.copy()
    x[len(x) // 2 :, feature] *= 1000
    assert accuracy(x, y) >= clean_accuracy() - POINT


def test_twenty_rows_of_a_million():
    x, y = clean()
    weight = np.ones(len(y))
    weight[np.random.default_rng(1).choice(len(y), 20, replace=False)] = 1e6
    assert accuracy(x, y, weight=weight) >= clean_accuracy() - POINT


def test_ten_noise_features():
    x, y = clean()
    noise = np.random.default_rng(1).normal(size=(len(x), 10))
    assert accuracy(np.column_stack([x, noise]), y) >= clean_accuracy() - 3 * POINT


def test_noise_features_beside_an_interaction():
    """XOR of two features among 14, another function than that of `clean`."""
    rng = np.random.default_rng(100)
    x = rng.normal(size=(8000, 14))
    y = ((x[:, 0] * x[:, 1] > 0) ^ (x[:, 2] > 0.8)).astype(int)
    assert accuracy(x, y) >= 0.84  # .868; .681 by probes of the cells alone


def test_calibration_changes_no_prediction():
    """Under random labels the correction is large; the best class stays the best."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4000, 3))
    y = np.where(rng.random(4000) < 0.3, rng.integers(0, 3, 4000), np.abs(x).argmax(axis=1))
    model = StreamClassifier(random_state=0)
    model.learn(x, y)
    state = model._learner.state()
    assert np.abs(state["calibration"]).max() > 0.2
    scores = model._learner.scores(x[:500])
    model._learner.restore(state | {"calibration": np.zeros(8)})
    assert np.array_equal(scores.argmax(axis=1), model._learner.scores(x[:500]).argmax(axis=1))


def test_flipped_labels():
    x, y = clean()
    rng = np.random.default_rng(1)
    flipped = np.where(rng.random(len(y)) < 0.05, (y + rng.integers(1, 3, len(y))) % 3, y)
    seeds = range(8)  # the loss of one seed is 0.7 to 1.2 points
    lost = [accuracy(x, y, random_state=s) - accuracy(x, flipped, truth=y, random_state=s) for s in seeds]
    assert np.mean(lost) <= POINT


def r2(x, y, truth=None, first=1000, weight=None):
    truth = y if truth is None else truth
    scores = StreamRegressor(random_state=0).learn(x, y, sample_weight=weight)
    return float(1 - ((scores - truth)[first:] ** 2).mean() / truth[first:].var())


@functools.cache
def numbers():
    """A smooth function with noise: R2 about .92."""
    rng = np.random.default_rng(9)
    x = rng.normal(size=(8000, 4))
    return x, np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.25 * rng.normal(size=8000)


def test_wild_targets():
    x, y = numbers()
    assert r2(x, y) >= 0.9
    wild = y + np.where(np.random.default_rng(1).random(len(y)) < 0.01, 1e4, 0.0)
    assert r2(x, wild, truth=y) >= 0.88


@pytest.mark.parametrize("value", [-1e12, 1e12, 1e4])
@pytest.mark.parametrize("row", [3, 50, 1000])
def test_one_wild_target(value, row):
    x, y = numbers()
    wild = y.copy()
    wild[row] = value
    assert r2(x, wild, truth=y) >= r2(x, y) - 0.02


def test_a_linear_target_under_heavy_noise():
    """500 rows, a tenth of the variance to be explained: not worse than the mean, on average over streams.

    One stream says little: R2 is from -.080 to .058, with a deviation of .029. Hence 30 of them: .014 +- .005.
    """
    found = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(500, 5))
        y = x @ rng.normal(size=5)
        found.append(r2(x, y / y.std() + 3 * rng.normal(size=500), first=0))
    assert np.mean(found) >= 0


def test_a_target_that_changes_its_unit():
    """R2 of the second half, whose targets are 1,000 times those of the first."""
    x, y = numbers()
    y = y * np.where(np.arange(len(y)) < 4000, 1.0, 1000.0)
    assert r2(x, y, first=5000) >= 0.85  # .935


def test_a_target_that_changes_its_level():
    x, y = numbers()
    assert r2(x, y + np.where(np.arange(len(y)) < 4000, 0.0, 1000.0), first=5000) >= 0.85  # .896


# Drift alarms


@pytest.mark.parametrize("seed", range(6))
def test_no_false_alarm(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(20_000, 4))
    noise = rng.random(20_000) < (0.02, 0.1, 0.3)[seed % 3]
    y = (x[:, 0] * x[:, 1] > 0) ^ noise
    assert StreamClassifier(random_state=seed).partial_fit(x, y).drift_ == []


@pytest.mark.parametrize("seed", range(4))
def test_no_false_alarm_of_a_regressor(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(20_000, 3))
    noise = rng.standard_t(4, 20_000) if seed % 2 else rng.normal(size=20_000)
    assert StreamRegressor(random_state=seed).partial_fit(x, np.sin(2 * x[:, 0]) + 0.3 * noise).drift_ == []


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("swap", [1000, 5000])
def test_a_swap_is_found_within_50_rows(seed, swap):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(swap + 500, 4))
    y = (x[:, 0] + 0.5 * x[:, 1] > 0) ^ (np.arange(swap + 500) >= swap)
    alarms = StreamClassifier(random_state=seed).partial_fit(x, y).drift_
    assert len([row for row in alarms if row < swap]) == 0
    assert any(swap <= row < swap + 50 for row in alarms)


# Calibration


def calibration_error(x, y, first=1000, bins=15):
    """Mean distance between confidence and accuracy, by bins of the confidence."""
    model = StreamClassifier(random_state=0)
    p = model.probabilities(model.learn(x, y))[first:]
    right = model.classes_[p.argmax(axis=1)] == y[first:]
    confidence = p.max(axis=1)
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    return sum(
        abs(right[place == b].mean() - confidence[place == b].mean()) * (place == b).mean()
        for b in range(bins)
        if (place == b).any()
    )


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3])
def test_probabilities_are_calibrated(noise):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(ROWS, 4))
    y = ((x[:, 0] * x[:, 1] > 0) ^ (rng.random(ROWS) < noise)).astype(int)
    assert calibration_error(x, y) <= 0.02


def test_probabilities_of_three_classes_are_calibrated():
    assert calibration_error(*clean()) <= 0.02


@pytest.mark.parametrize("name", CHANGING)
def test_probabilities_are_calibrated_under_change(name):
    assert calibration_error(*CHANGING[name][0]()) <= 0.05


# Surprises


@pytest.mark.parametrize("label", [1, 2], ids=["a wrong label", "a new class"])
def test_one_row_that_contradicts_does_not_turn_predictions_around(label):
    """Rows that were certain for long count more than one that is not."""
    rng = np.random.default_rng(0)
    t = rng.integers(0, 2, 6000)
    x = np.array([[-3.0, 0.0], [3.0, 0.0]])[t] + 0.3 * rng.normal(size=(6000, 2))
    model = StreamClassifier(random_state=0).partial_fit(x[:5000], t[:5000])
    model.partial_fit(np.array([[-3.0, 0.0]]), [label])
    far = np.abs(x[5000:] - [-3.0, 0.0]).max(axis=1) > 0.3  # what is beside the row itself may change
    assert np.mean(model.predict(x[5000:][far]) == t[5000:][far]) >= 0.99
