"""Split and merge for every estimator: what stays, what adds up, what is refused."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import nolana
from nolana import modelfile
from nolana.engine.experts.bins.bin_map import BinMap
from nolana.errors import ModelFileError

OF_MAPS = ("landmarks", "counts", "gamma", "ridge", "threshold", "inverse", "moves", "keys", "scales")
OF_SCALING = ("center", "factor", "metric", "late", "moved")


def rows(n, seed=0, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.array(list("abcdef"))[np.minimum(3 * np.abs(X[:, 0] * X[:, 1]), classes - 1).astype(int)]


MODELS = {
    "stream": lambda: nolana.StreamClassifier(random_state=0),
    "small": lambda: nolana.StreamClassifier(memory="64KB", random_state=0, class_weight="balanced"),
    "hinge": lambda: nolana.NolanaClassifier(n_landmarks=40),
    "logistic": lambda: nolana.NolanaClassifier(n_landmarks=40, loss="logistic", landmarks="window"),
}
NUMBERS = {
    "stream": lambda: nolana.StreamRegressor(random_state=0),
    "newton": lambda: nolana.NolanaRegressor(n_landmarks=40, landmarks="weighted"),
}


def fitted(make, rows_learned=2100):
    X, y = rows(rows_learned)
    model = make()
    model.learn(X, y if hasattr(model, "predict_proba") else X[:, 0] * X[:, 1])
    return model


def learned(part, X, y):
    part.learn(X, y if hasattr(part, "predict_proba") else X[:, 0] * X[:, 1])
    return part


def state(model):
    return model._learner.state()


def same(first, second):
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


def outputs(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


ALL = {**MODELS, **{f"numbers-{name}": make for name, make in NUMBERS.items()}}


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_frozen_parts_do_not_change_their_maps(make):
    """Rows in other units and places, which would re-scale, grow and move the maps of a plain copy."""
    model = fitted(make, 700)
    part, plain, before = model.split(1)[0], copy.copy(model), state(model)
    X, y = rows(1500, seed=1)
    after, moved = (state(learned(each, 50 * X + 20, y)) for each in (part, plain))
    changed = []
    for name, value in before.items():
        short = name.rpartition("/")[2]
        if (short in OF_MAPS and not name.startswith("expert")) or (short in OF_SCALING and "scaling" in name):
            assert np.array_equal(after[name], value), name
            changed.append(not np.array_equal(moved[name], value))
        elif short in ("relevance", "probed", "sample", "last_nearest", "placed", "tolerance", "count_unit"):
            assert name not in after
    assert sum(changed) >= 3
    assert not np.array_equal(outputs(part, X), outputs(model, X))
    assert same(before, state(model))


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_a_block_of_a_part_may_be_split_anywhere(make):
    model = fitted(make)
    whole, pieces = model.split(2)
    X, y = rows(900, seed=1)
    learned(whole, X, y)
    for own in (slice(0, 1), slice(1, 70), slice(70, 900)):
        learned(pieces, X[own], y[own])
    assert same(state(whole), state(pieces))


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_saved_loaded_and_pickled_parts_give_the_same_learner(make, tmp_path):
    model = fitted(make)
    parts = [learned(part, *rows(300 + 200 * i, seed=i + 1)) for i, part in enumerate(model.split(3))]
    merged = nolana.merge(parts)
    model.save(tmp_path / "base")
    for i, part in enumerate(parts):
        part.save(tmp_path / f"{i}")
    loaded, base = [nolana.load(tmp_path / f"{i}") for i in range(3)], nolana.load(tmp_path / "base")
    pickled = pickle.loads(pickle.dumps(parts))
    with pytest.raises(ValueError, match="pass base="):
        nolana.merge(loaded)
    for others in (
        nolana.merge(loaded, base=base),
        nolana.merge(pickled, base=model),
        nolana.merge(loaded, base=model),
    ):
        assert same(state(others), state(merged))
    merged.save(tmp_path / "merged")
    again = nolana.load(tmp_path / "merged")
    tree = nolana.merge([nolana.merge(parts[:2]), parts[2]])
    two = nolana.merge(loaded[:2], base=model)
    two.save(tmp_path / "two")
    assert same(state(nolana.merge([nolana.load(tmp_path / "two"), loaded[2]], base=model)), state(tree))
    X, y = rows(600, seed=9)
    learned(again, X, y), learned(merged, X, y)
    assert same(state(again), state(merged))


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_counts_add_up_and_the_order_of_merging_hardly_matters(make):
    model = fitted(make)
    parts = [learned(part, *rows(400 + 100 * i, seed=i + 1)) for i, part in enumerate(model.split(4))]
    merged, tree = nolana.merge(parts), nolana.merge([nolana.merge(parts[:3]), parts[3]])
    n = 2100 + 4 * 400 + 600
    assert merged.n_rows_ == tree.n_rows_ == n
    for name, value in state(merged).items():
        short = name.rpartition("/")[2]
        if short in ("rows", "stacked", "alarm_rows"):
            assert value == state(model)[name] + n - 2100, name
        if short == "counts" and name.startswith("expert") and hasattr(model, "predict_proba"):
            assert value.sum() == state(model)[name].sum() + n - 2100
    if getattr(merged._targets, "counts", None) is not None:
        assert sum(merged._targets.counts.rows.values()) == n
    X = rows(500, seed=99)[0]
    assert np.abs(outputs(merged, X) - outputs(tree, X)).max() < 0.05


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_classes_first_seen_in_a_part_are_aligned_by_label(make):
    """Base: a and b. One part sees e and c, another d, the third nothing new; order of appearance differs."""
    X, y = rows(9000, classes=6)
    first = np.flatnonzero(np.isin(y, ["a", "b"]))[:2100]
    rest = np.setdiff1d(np.arange(len(X)), first)
    model = make()
    model.learn(X[first], y[first])
    groups = [
        np.concatenate([rest[y[rest] == "e"][:50], rest[np.isin(y[rest], ["a", "c", "e"])][:1500]]),
        rest[np.isin(y[rest], ["a", "b", "d"])][:1500],
        rest[np.isin(y[rest], ["a", "b"])][:100],
    ]
    parts = model.split(3)
    for part, own in zip(parts, groups, strict=True):
        part.learn(X[own], y[own])
    merged = nolana.merge(parts)
    assert merged.classes_.tolist() == ["a", "b", "c", "d", "e"]
    seen = np.isin(y, merged.classes_)
    accuracy = merged.score(X[seen], y[seen])
    assert accuracy > max(part.score(X[seen], y[seen]) for part in parts) - (0.1 if model.memory_bytes_ < 1e5 else 0)
    predicted = merged.predict(X[seen])
    assert {"c", "d"} <= set(predicted)  # a class of either part
    swapped = nolana.merge(parts[::-1])
    assert np.abs(swapped.predict_proba(X) - merged.predict_proba(X)).max() < 0.05
    merged.learn(X[rest[:500]], y[rest[:500]])
    assert merged.classes_.tolist() == list("abcdef")


@pytest.mark.parametrize(("first", "classes"), [(40, 1), (200, 2), (200, 3)])
def test_class_first_seen_in_parts_of_a_young_base_is_learned(first, classes):
    """Where the next anchor would clear the cells of the base, a new class must not change its grids."""
    X, y = rows(2000, classes=4)
    model = nolana.StreamClassifier(random_state=0)
    early = np.flatnonzero(np.isin(y, list("abcd")[:classes]))[:first]
    model.learn(X[early], y[early])
    parts = model.split(2)
    for i, part in enumerate(parts):
        part.learn(X[500 + 600 * i : 1100 + 600 * i], y[500 + 600 * i : 1100 + 600 * i])
    merged = nolana.merge(parts)
    assert merged.classes_.tolist() == list("abcd")
    assert merged.score(X, y) > max(part.score(X, y) for part in parts) - 0.05


def test_a_class_that_most_parts_never_saw_stays_improbable():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 4))
    y = np.argmax(X[:, :3] + rng.normal(size=(10_000, 3)), axis=1)
    y[2100:2105] = 3  # five rows of one part
    for sets in ([nolana.experts.Linear()], None):
        model = nolana.StreamClassifier(experts=sets, random_state=0).partial_fit(X[:2000], y[:2000])
        parts = model.split(8)
        for i, part in enumerate(parts):
            part.learn(X[2000 + 1000 * i : 3000 + 1000 * i], y[2000 + 1000 * i : 3000 + 1000 * i])
        assert nolana.merge(parts).predict_proba(X)[:, 3].mean() < 0.005


def test_split_of_a_learner_of_one_row_is_refused():
    model = nolana.StreamRegressor(random_state=0).partial_fit([[1.0, 2.0]], [3.0])
    with pytest.raises(ValueError, match=r"1 row; learn more rows"):
        model.split(2)


def test_parts_of_a_base_of_one_class_merge_their_classes():
    X, y = rows(3000)
    model = nolana.NolanaClassifier(n_landmarks=30)
    model.learn(X[y == "b"][:300], y[y == "b"][:300])
    first, second = model.split(2)
    first.learn(X[y != "a"][:600], y[y != "a"][:600])
    second.learn(X[y != "c"][:600], y[y != "c"][:600])
    merged = nolana.merge([first, second])
    assert merged.classes_.tolist() == ["a", "b", "c"]
    assert merged.score(X, y) > 0.6


def test_rows_of_parts_take_turns_in_the_windows():
    model = fitted(MODELS["stream"])
    parts = [learned(part, *rows(300, seed=i + 1)) for i, part in enumerate(model.split(2))]
    merged = nolana.merge(parts)
    (e, size) = next((name, len(v)) for name, v in state(merged).items() if name.endswith("/targets") and len(v) == 100)
    assert size == 100
    own = [state(part)[e] for part in parts]
    turns = np.stack([part[-50:] for part in own], axis=1).ravel()
    assert sorted(state(merged)[e]) == sorted(turns)
    recent = {name: value for name, value in state(merged).items() if name.endswith("/recent")}
    ((name, stored),) = recent.items()
    assert np.array_equal(stored[: len(stored) - 600], state(model)[name][-(len(stored) - 600) :])  # of the base


@pytest.mark.parametrize("rows_of", ["classes", "numbers"])
def test_merge_of_sparse_rows_is_close_to_one_process(rows_of):
    rng = np.random.default_rng(0)
    X = sparse.random(4000, 600, density=0.02, format="csr", random_state=0, data_rvs=lambda n: rng.integers(1, 4, n))
    target = np.asarray(X[:, :300].sum(axis=1)).ravel() - np.asarray(X[:, 300:].sum(axis=1)).ravel()
    make, y = (nolana.StreamClassifier, target > 0) if rows_of == "classes" else (nolana.StreamRegressor, target)
    model = make(random_state=0)
    model.learn(X[:2000], y[:2000])
    parts = model.split(4)
    for i, part in enumerate(parts):
        part.learn(X[2000 + i :: 4], y[2000 + i :: 4])
    merged = nolana.merge(parts)
    one = make(random_state=0).fit(X, y)
    assert merged.score(X, y) > one.score(X, y) - 0.05
    assert merged.score(X, y) > model.score(X, y)


def test_several_targets_of_the_default_regressor(tmp_path):
    X, _ = rows(4000)
    Y = np.column_stack([X[:, 0] * X[:, 1], X[:, 2] + 3])
    model = nolana.StreamRegressor(random_state=0)
    model.learn(X[:2100], Y[:2100])
    parts = model.split(2)
    for part, own in zip(parts, (slice(2100, 3000), slice(3000, 4000)), strict=True):
        part.learn(X[own], Y[own])
    merged = nolana.merge(parts)
    assert merged.n_rows_ == 4000
    assert merged.score(X, Y) > model.score(X, Y)
    parts[0].save(tmp_path / "part")
    again = nolana.merge([nolana.load(tmp_path / "part"), parts[1]], base=model)
    assert np.array_equal(again.predict(X), merged.predict(X))
    merged.learn(X[:100], Y[:100])
    assert merged.n_rows_ == 4100


@pytest.mark.filterwarnings("ignore::nolana.errors.SketchWarning")
def test_merge_of_sketched_rows_is_exact():
    X = sparse.random(2000, 3000, density=0.01, format="csr", random_state=0)
    y = np.asarray(X[:, :1500].sum(axis=1)).ravel()
    model = nolana.NolanaRegressor(n_landmarks=20)
    model.learn(X[:600], y[:600])
    one, parts = model.split(1), model.split(3)
    one[0].learn(X[600:], y[600:])
    for i, part in enumerate(parts):
        part.learn(X[600 + i :: 3], y[600 + i :: 3])
    wanted, merged = nolana.merge(one), nolana.merge(parts)
    assert np.abs(wanted.predict(X) - merged.predict(X)).max() < 1e-8
    merged.learn(X[:10], y[:10])


def test_a_kernel_of_the_users_own_survives_pickling():
    model = nolana.NolanaRegressor(n_landmarks=10, kernel=_kernel, landmarks=_Policy())
    X, _ = rows(300)
    model.learn(X[:200], X[:200, 0])
    part = pickle.loads(pickle.dumps(model.split(1)[0]))
    part.learn(X[200:], X[200:, 0])
    assert nolana.merge([part], base=model).n_rows_ == 300


def _kernel(X, Z):
    return np.exp(-0.1 * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


class _Policy:
    def propose(self, x, distances, landmarks, counts, threshold):
        return None


# Refused


def refused(parts, match, **arguments):
    before = [state(part) for part in parts if hasattr(part, "_learner")]
    with pytest.raises(ValueError, match=match):
        nolana.merge(parts, **arguments)
    assert all(same(old, state(part)) for old, part in zip(before, parts, strict=False))


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_wrong_parts_are_refused_and_nothing_changes(make):
    model, other = fitted(make), fitted(make, 2200)
    parts = [learned(part, *rows(200, seed=i)) for i, part in enumerate(model.split(2))]
    stranger = learned(other.split(1)[0], *rows(200))
    refused([], "at least one part")
    refused([model], "not made by split")
    refused([parts[0], stranger], "different bases")
    refused([parts[0], parts[0]], "twice")
    refused(parts, "not the model that these parts were split from", base=other)
    learned(model, *rows(10, seed=5))
    refused(parts, "it has learned since", base=model)
    refused(parts, "of class|merged", base=nolana.NolanaClassifier.paper(5, 0.0).fit(*rows(50)))
    merged = nolana.merge(parts)
    learned(merged, *rows(10, seed=6))
    refused([merged], "learned after it was merged")
    with pytest.raises(ValueError, match="part already"):
        parts[0].split(2)


def test_other_parameters_landmarks_widths_and_grids_are_refused():
    model = fitted(MODELS["hinge"])
    first, second = model.split(2)
    refused([first, second.set_params(n_landmarks=41)], "n_landmarks=41")
    second.set_params(n_landmarks=40)
    changed = state(second)
    changed["landmarks"][0, 0] += 1e-9
    second._learner.restore(changed)
    refused([first, second], "landmarks")
    first, second = model.split(2)
    second._learner.restore(state(second) | {"gamma": 0.123})
    refused([first, second], "gamma")
    model = fitted(MODELS["stream"])
    first, second = model.split(2)
    refused([first, second.set_params(memory="1MB")], "memory='1MB'")
    first, second = model.split(2)
    spec = second._learner.spec
    maps = [
        replace(map, arguments={**map.arguments, "seed": 12345}) if map.kind is BinMap else map
        for map in spec.arguments["maps"]
    ]
    second._learner.spec = replace(spec, arguments={**spec.arguments, "maps": maps})
    refused([first, second], "seed")


@pytest.mark.parametrize(
    "model",
    [
        nolana.NolanaClassifier(optimizer="sgd"),
        nolana.NolanaClassifier.paper(10, 0.0),
        nolana.OnlineNystroem(n_landmarks=5),
        nolana.research.rivals.FOGDClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_split_of_unsupported_model_names_the_supported_ones(model):
    with pytest.raises(Exception, match="nothing to split"):
        model.split(2)
    X, y = rows(60)
    model.partial_fit(X, y)
    with pytest.raises(ValueError, match="StreamClassifier, StreamRegressor"):
        model.split(2)
    with pytest.raises(ValueError, match="k="):
        fitted(MODELS["hinge"]).split(0)


def test_file_with_invalid_origin_is_refused(tmp_path):
    part = fitted(MODELS["hinge"]).split(1)[0]
    part.save(tmp_path / "part")
    sections = modelfile.read(tmp_path / "part")
    for origin in ({"fingerprint": "x", "rows": 10**6, "frozen": False}, {"fingerprint": 3, "rows": 1, "frozen": True}):
        sections["estimator"]["learner"]["origin"] = origin
        modelfile.write(tmp_path / "changed", sections)
        with pytest.raises(ModelFileError, match="origin"):
            nolana.load(tmp_path / "changed")
