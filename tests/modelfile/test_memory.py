"""How much memory a record may ask for: what version 1 wrote is enough, and no spec takes more than is counted."""

import numpy as np
import pytest

import nolana
from nolana import NolanaClassifier, OnlineNystroem, StreamClassifier, StreamRegressor, modelfile, rivals
from nolana.errors import ModelFileError
from nolana.learner.room import bytes_needed

X = np.random.default_rng(0).normal(size=(40, 2))
Y = X[:, 0] > 0


@pytest.mark.parametrize("features", [2, 100_000])
@pytest.mark.parametrize("landmarks", [2, 100, 4000])
@pytest.mark.parametrize(
    "kind", [NolanaClassifier, OnlineNystroem, lambda **k: NolanaClassifier.paper(threshold=1.0, **k)]
)
def test_landmarks_need_no_more_than_version_1_allowed_for(kind, landmarks, features):
    spec = kind(n_landmarks=landmarks)._spec(features)[0]
    m = landmarks + 8
    for outputs in (0, 1, 10):
        assert bytes_needed(spec, features, outputs) <= 8 * (m * (features + m + outputs + 64) + 8 * features)


@pytest.mark.parametrize("name", sorted(rivals.catalogue().keys() - {"NOGD", "FOGD"}))
def test_rivals_need_no_more_than_version_1_allowed_for(name):
    spec = rivals.at_equal_budget(name, n_landmarks=1000, n_features=50, random_state=0)._spec(50)
    budget = spec.arguments.get("budget", 0) + 9
    draws, wide = len(spec.arguments.get("projections", ())) + 8, 50 + 3 + 16
    square = budget * budget if name.startswith("Projectron") else 0
    assert bytes_needed(spec, 50, 3) <= 8 * (budget * wide + 4 * draws * wide + square)


def sections(model, tmp_path):
    model.partial_fit(X, Y).save(tmp_path / "m")
    return modelfile.read(tmp_path / "m")


def load(tree, tmp_path):
    modelfile.write(tmp_path / "n", tree)
    return nolana.load(tmp_path / "n")


NEWTON = {"class": "Newton", "loss": {"class": "Squared"}, "noise": 1.0, "prior": 1.0, "move_noise": 0.0}


def test_a_covariance_over_many_projections_is_refused_before_it_is_made(tmp_path):
    tree = sections(rivals.FOGDClassifier(n_components=3, random_state=0, gamma=1.0), tmp_path)
    spec = tree["estimator"]["learner"]["spec"]
    spec["maps"][0]["projections"] = np.zeros((60_000, 2))
    spec["experts"][0]["head"] = NEWTON
    with pytest.raises(ModelFileError, match="nolana writes none so small"):
        load(tree, tmp_path)


def test_many_experts_are_refused_before_they_are_made(tmp_path):
    tree = sections(NolanaClassifier(n_landmarks=3), tmp_path)
    spec = tree["estimator"]["learner"]["spec"]
    spec["experts"] *= 100
    spec["combiner"] = {"class": "Mean"}
    with pytest.raises(ModelFileError, match="one map and one expert"):
        load(tree, tmp_path)
    spec["maps"][0]["capacity"] = 2500
    with pytest.raises(ModelFileError, match="nolana writes none so small"):
        load(tree, tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [("weights", np.array(1.0)), ("gamma", 10**400), ("gamma", -1.0), ("ridge", -1.0), ("rows", 10**400)],
    ids=str,
)
def test_learned_values_out_of_range_are_refused(name, value, tmp_path):
    tree = sections(NolanaClassifier(n_landmarks=3), tmp_path)
    tree["estimator"]["learner"]["learned"][name] = value
    with pytest.raises(ModelFileError):
        load(tree, tmp_path)


def test_a_driver_refuses_what_it_cannot_run(tmp_path):
    tree = sections(OnlineNystroem(n_landmarks=30, solver="randomized", rank=3), tmp_path)
    learner = tree["estimator"]["learner"]
    learner["options"]["rank"] = 2
    with pytest.raises(ModelFileError, match="rank cuts the inverse of a LandmarkMap"):
        load(tree, tmp_path)
    learner["options"]["rank"] = None
    learner["spec"]["maps"][0]["solver"]["iterations"] = 2**53
    with pytest.raises(ModelFileError, match="iterations"):
        load(tree, tmp_path)


@pytest.mark.parametrize(
    ("map", "name", "value"),
    [
        ("LandmarkMap", "capacity", 20_000),
        ("BinMap", "table", 2**31),
        ("BinMap", "grids", 10**9),
        ("NeighbourMap", "windows", np.array([2.0**30])),
        ("NeighbourMap", "windows", np.array([1e300])),
    ],
    ids=str,
)
def test_maps_of_a_stream_learner_are_refused_before_they_are_made(map, name, value, tmp_path):
    tree = sections(StreamClassifier(memory="64KB"), tmp_path)
    (own,) = (each for each in tree["estimator"]["learner"]["spec"]["maps"] if each["class"] == map)
    own[name] = value
    with pytest.raises(ModelFileError, match="nolana writes none so small"):
        load(tree, tmp_path)


@pytest.mark.parametrize("map", ["BinMap", "NeighbourMap"])
@pytest.mark.parametrize("value", [np.ones(3), np.full(352, -1.0), np.ones((3, 2)), 1.0, "0.2", [1.0]], ids=str)
def test_drawn_numbers_that_do_not_fit_are_refused(map, value, tmp_path):
    tree = sections(StreamClassifier(memory="64KB"), tmp_path)
    (own,) = (each for each in tree["estimator"]["learner"]["spec"]["maps"] if each["class"] == map)
    own["drawn"] = value
    with pytest.raises(ModelFileError, match="drawn"):
        load(tree, tmp_path)


def altered(value):
    """What a field of a learned state must not be."""
    if isinstance(value, np.ndarray):
        return [value[..., None], value.astype(np.float64 if value.dtype == np.float32 else np.float32), 1.0]
    return [np.zeros(2), float("nan"), "text"]


@pytest.mark.parametrize("kind", [StreamClassifier, StreamRegressor])
def test_every_learned_value_of_a_stream_learner_is_checked(kind, tmp_path):
    model = kind(memory="64KB", random_state=0)
    model.partial_fit(X, X[:, 0] if kind is StreamRegressor else Y).save(tmp_path / "m")
    tree = modelfile.read(tmp_path / "m")
    learned = tree["estimator"]["learner"]["learned"]
    for name, value in list(learned.items()):
        for wrong in altered(value):
            learned[name] = wrong
            with pytest.raises(ModelFileError):
                load(tree, tmp_path)
        learned[name] = value
    assert np.array_equal(load(tree, tmp_path).predict(X), model.predict(X))
    learned["more"] = 1.0
    with pytest.raises(ModelFileError, match="does not belong"):
        load(tree, tmp_path)
