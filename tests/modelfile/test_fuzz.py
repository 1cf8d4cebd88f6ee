"""Files that were damaged, or made to harm: an error that says so, or a learner that works; never a crash, a hang or
memory that the file's size does not account for."""

import copy
import json
import random
import resource
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import is_regressor

import nolana
from conftest import effort
from nolana import NolanaClassifier, NolanaRegressor, OnlineNystroem, modelfile, rivals
from nolana.errors import ModelFileError
from nolana.modelfile import container, tree

X = np.random.default_rng(0).normal(size=(40, 2))
LABELS = np.array(["no", "yes", "perhaps"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 1)]
MODELS = {
    "newton": lambda: NolanaClassifier(n_landmarks=3, threshold=0.0).partial_fit(X, LABELS),
    "filling": lambda: NolanaClassifier(n_landmarks=30, random_state=np.random.RandomState(0)).partial_fit(
        X[:9], X[:9, 0] > 0
    ),
    "regressor": lambda: NolanaRegressor(n_landmarks=3, scale=True).partial_fit(X, X[:, 0]),
    "spectral": lambda: NolanaRegressor(
        n_landmarks=4, optimizer="sgd", solver="exact", initial_landmarks=X[:4], threshold=0.1
    ).partial_fit(X, X[:, 0]),
    "map": lambda: OnlineNystroem(n_landmarks=4, solver="rank2", rank=3).partial_fit(X),
    "nogd": lambda: rivals.NOGDClassifier(n_landmarks=3).partial_fit(X, LABELS),
    "fogd": lambda: rivals.FOGDRegressor(n_components=3, random_state=0).partial_fit(X, X[:, 0]),
    "dual": lambda: rivals.DualSGDClassifier(budget=3, merged=2, n_components=2, random_state=0).partial_fit(X, LABELS),
    "nearest": lambda: rivals.BPAClassifier(budget=3, projection="nearest", gamma=1.0).partial_fit(X, LABELS),
    "projectron": lambda: rivals.ProjectronClassifier(budget=4, gamma=1.0).partial_fit(X, LABELS),
    "norma": lambda: rivals.KernelOGDClassifier(regularization=0.1, gamma=1.0).partial_fit(X, LABELS),
    "passive": lambda: rivals.PassiveAggressiveClassifier().partial_fit(X, LABELS),
}


def behaviour(model):
    """What a model does next: reading, and learning on."""
    if isinstance(model, OnlineNystroem):
        return model.partial_fit(X[:6]).transform(X[:6])
    y = X[:6, 0] if is_regressor(model) else model.classes_[np.arange(6) % len(model.classes_)]
    return np.concatenate([np.ravel(model.learn(X[:6], y)), [model.n_rows_, model.memory_bytes_ > 0]])


@contextmanager
def memory_bounded():
    """A gigabyte more than there is now; beyond it allocations fail, and with them the test."""
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + (1 << 30), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


# Damage


def damaged(raw, rng):
    """Flips, cuts, insertions and header edits."""
    raw = bytearray(raw)
    kind = rng.randrange(6)
    place = rng.randrange(len(raw))
    if kind == 0:
        raw[place] ^= 1 << rng.randrange(8)
    elif kind == 1:
        for _ in range(rng.randrange(1, 20)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
    elif kind == 2:
        del raw[place:]
    elif kind == 3:
        raw[place:place] = rng.randbytes(rng.randrange(1, 17))
    elif kind == 4:
        del raw[place : place + rng.randrange(1, 17)]
    else:
        return edited(bytes(raw), rng)
    return bytes(raw)


ODD = [
    0,
    1,
    -1,
    7,
    2**31,
    2**63,
    2**64,
    10**12,
    1e308,
    None,
    True,
    "F32",
    "",
    "U8",
    "__metadata__",
    [],
    {},
    [2],
    [0, 0],
]


def edited(raw, rng):
    """A header of valid JSON that lies."""
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    name = rng.choice(list(header))
    entry = header[name]
    what = rng.randrange(5)
    if what == 0:
        entry[rng.choice(list(entry))] = rng.choice(ODD)
    elif what == 1 and "shape" in entry:
        entry[rng.choice(["shape", "data_offsets"])][: rng.randrange(1, 3)] = [rng.choice(ODD)]
    elif what == 2:
        header[rng.choice([*header, "new"])] = header.pop(name)
    elif what == 3:
        del header[name]
    else:
        own = json.loads(header["__metadata__"]["nolana"])
        altered(own, rng, PLAIN)
        header["__metadata__"]["nolana"] = json.dumps(own)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + raw[8 + length :]


# Malice: contents that lie under a checksum that is right

NUMBERS = [0.0, -0.0, -1.0, 0.5, 1e-320, 1e15, 1e60, 1e308, -1e308, np.nan, np.inf, -np.inf, 2.0**63, 1e300]
LEAVES = [
    *(None, True, False, 0, 1, -1, 2, 3, 4, 1000, 2**31, 2**53, 2**63, 2**64, 10**12, -(2**70)),
    *("rbf", "linear", "nolana", "rival", "newton", "sgd", "paper", "none", "Projectron", "NolanaClassifier", "x", ""),
    *([], {}, [1], {"given": "kernel", "was": ""}),
    *(np.zeros(0), np.zeros((0, 2)), np.zeros((2, 0)), np.ones((3, 2)), np.ones(3), np.array(1.0), np.ones((1, 1, 1))),
    *(np.ones(3, np.float32), np.arange(3), np.array(["a", "b"]), np.array([], dtype="<U1"), np.ones(3, bool)),
    *NUMBERS,
]
PLAIN = [leaf for leaf in LEAVES if not isinstance(leaf, np.ndarray)]


def places(value):
    """Every container and key in a tree."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def altered(value, rng, leaves=LEAVES):
    """One random change in place."""
    holder, key = rng.choice(list(places(value)))
    old = holder[key]
    what = rng.randrange(8)
    if isinstance(old, np.ndarray) and old.size and what < 5:
        holder[key] = altered_array(old.copy(), rng)
    elif what == 5:
        del holder[key]
    elif what == 6 and isinstance(holder, dict):
        holder[rng.choice(["new", *holder])] = old
    elif what == 7:
        other, name = rng.choice(list(places(value)))
        holder[key] = copy.deepcopy(other[name])
    else:
        holder[key] = copy.deepcopy(rng.choice(leaves))


def altered_array(array, rng):
    what = rng.randrange(6)
    if what == 0 and array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            array.flat[rng.randrange(array.size)] = rng.choice(NUMBERS)
    elif what == 1:
        array = array[: rng.randrange(len(array))] if array.ndim else array.reshape(1)
    elif what == 2:
        array = np.concatenate([array, array]) if array.ndim else array
    elif what == 3:
        array = array.T.copy()
    elif what == 4:
        array = array.reshape(-1)
    else:
        array = array[..., None]
    return array


def outcome(path, use):
    """What `use` says of the loaded model, or None where the file was refused."""
    try:
        model = nolana.load(path)
    except ModelFileError:
        return None
    return use(model)


def try_damage(count, seed, tmp_path):
    rng, path, kept = random.Random(seed), tmp_path / "m", 0
    originals = {}
    for name, make in MODELS.items():
        make().save(path)
        originals[name] = path.read_bytes(), behaviour(nolana.load(path))
    for _ in range(count):
        raw, expected = originals[rng.choice(list(originals))]
        path.write_bytes(damaged(raw, rng))
        found = outcome(path, behaviour)
        kept += found is not None
        assert found is None or np.array_equal(found, expected, equal_nan=True)
    return kept


def careful(model):
    """A model that was made up may overflow or be refused, but in Python."""
    try:
        behaviour(model)
    except (ValueError, ArithmeticError) as error:
        return error
    return True


def try_malice(count, seed, tmp_path):
    rng, path, kept = random.Random(seed), tmp_path / "m", 0
    originals = {}
    for name, make in MODELS.items():
        make().save(path)
        originals[name] = modelfile.read(path)
    for _ in range(count):
        sections = copy.deepcopy(originals[rng.choice(list(originals))])
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            altered(sections["estimator"], rng)
        path.write_bytes(container.packed(*tree.encoded(sections)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kept += outcome(path, careful) is not None
    return kept


def test_damage(tmp_path):
    with memory_bounded():
        kept = try_damage(1200, 0, tmp_path)
    assert kept < 120  # a flip in the padding of the header harms nobody


def test_malice(tmp_path):
    with memory_bounded():
        kept = try_malice(1000, 0, tmp_path)
    assert 50 < kept < 600  # some lies are models all the same


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1, 1 + effort(thorough=2, endurance=5)))
def test_much_damage_and_malice(seed, tmp_path):
    with memory_bounded():
        try_damage(effort(thorough=2000, endurance=10_000), seed, tmp_path)
        try_malice(effort(thorough=2000, endurance=10_000), seed, tmp_path)
