"""Model files as such: what they hold, how they are written, what is said about those that are wrong."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.exceptions import NotFittedError

import nolana
from nolana import NolanaClassifier, NolanaRegressor, OnlineNystroem, modelfile, rivals
from nolana.errors import ModelFileError
from nolana.estimators.loading import load_with_extra
from nolana.modelfile import container

DTYPES = st.one_of(
    arrays.boolean_dtypes(),
    arrays.integer_dtypes(endianness="?"),
    arrays.unsigned_integer_dtypes(endianness="?"),
    arrays.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
    arrays.unicode_string_dtypes(endianness="?", min_len=1, max_len=4),
)
ARRAYS = DTYPES.flatmap(lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0)))
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text())
TREES = st.recursive(
    st.one_of(SCALARS, ARRAYS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=8,
)


def equal(a, b):
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(equal, a, b))
    return type(a) is type(b) and repr(a) == repr(b)  # tells 0.0 from -0.0, and knows nan


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@pytest.fixture
def model():
    x = np.random.default_rng(0).normal(size=(60, 3))
    return NolanaClassifier(n_landmarks=8).partial_fit(x, np.array(["a", "b", "c"])[np.arange(60) % 3])


@given(sections=st.dictionaries(st.text(max_size=5).filter(lambda name: name != "__metadata__"), TREES, max_size=3))
def test_what_is_written_is_read(sections, folder):
    path = folder / "tree"
    modelfile.write(path, sections)
    assert equal(modelfile.read(path), sections)
    held = safetensors.numpy.load_file(path)  # anybody's reader agrees that it is a safetensors file
    assert sum(array.nbytes for array in held.values()) == sum(a.nbytes for a in container.unpacked(path)[1].values())


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({1: 2}, "keys that are no strings"),
        ({"a": {3}}, "a/a is a set"),
        ([1, object()], "a/1 is a object"),
        (np.array([1j]), "array of complex128"),
        (np.array(["x", 1], dtype=object), "array of object"),
        (1 << 5000, "more than 4096 bits"),
    ],
)
def test_what_cannot_be_written_is_named(value, said, tmp_path):
    with pytest.raises(ModelFileError, match=said):
        modelfile.write(tmp_path / "f", {"a": value})
    assert os.listdir(tmp_path) == []


def test_extra_sections_go_with_the_estimator(model, tmp_path):
    path = tmp_path / "run.safetensors"
    extra = {"stream": {"position": 2**60, "names": ["a", "$b", "c/d"]}, "progress": {"sums": np.arange(4.0)}}
    model.save(path, extra=extra)
    again, read = load_with_extra(path)
    assert equal(read, extra)
    assert again.n_rows_ == model.n_rows_
    assert nolana.load(str(path)).n_rows_ == model.n_rows_
    with pytest.raises(ModelFileError, match="'estimator' is the estimator's own"):
        model.save(path, extra={"estimator": {}})
    modelfile.write(path, {"progress": {}})
    with pytest.raises(ModelFileError, match="no estimator in it, only progress"):
        nolana.load(path)


def test_nothing_learned_is_nothing_to_save(tmp_path):
    for kind in (NolanaClassifier, NolanaRegressor, OnlineNystroem, rivals.FOGDClassifier):
        with pytest.raises(NotFittedError, match="learned nothing yet"):
            kind().save(tmp_path / "m")
    assert os.listdir(tmp_path) == []


def own_kernel(a, b):
    return a @ b.T + 1


def test_own_objects_are_given_again(tmp_path):
    x = np.random.default_rng(0).normal(size=(40, 3))
    model = NolanaRegressor(kernel=own_kernel, n_landmarks=5, random_state=np.random.default_rng(0))
    model.partial_fit(x, x[:, 0])
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match=r"kernel was .*function own_kernel.*nolana.load\(path, kernel=\.\.\.\)"):
        nolana.load(tmp_path / "m")
    with pytest.raises(ModelFileError, match="random_state was an object of your own"):
        nolana.load(tmp_path / "m", kernel=own_kernel)
    with pytest.raises(ModelFileError, match="not callable"):
        nolana.load(tmp_path / "m", kernel="rbf", random_state=None)
    again = nolana.load(tmp_path / "m", kernel=own_kernel, random_state=None)
    assert np.array_equal(again.predict(x), model.predict(x))
    NolanaRegressor(n_landmarks=5).partial_fit(x, x[:, 0]).save(tmp_path / "m")
    with pytest.raises(ValueError, match="kernel is in the file"):
        nolana.load(tmp_path / "m", kernel=own_kernel)


def test_what_could_not_be_loaded_is_not_saved(model, tmp_path):
    class Mine(NolanaClassifier):
        pass

    x = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(ModelFileError, match="Mine is a class of your own"):
        Mine(n_landmarks=5).partial_fit(x, x[:, 0] > 0).save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="kernel='nonsense' is unknown"):
        model.set_params(kernel="nonsense").save(tmp_path / "m")
    wild = NolanaRegressor(n_landmarks=5, optimizer="sgd", learning_rate=1e9)
    with pytest.warns(nolana.errors.DivergenceWarning):
        wild.partial_fit(np.tile(x, (20, 1)), np.tile(x[:, 0], 20))
    with pytest.raises(ModelFileError, match="has diverged"):
        wild.save(tmp_path / "m")
    assert os.listdir(tmp_path) == []


# Writing: all or nothing


def test_an_older_file_is_replaced_with_its_mode_and_links_stay_links(model, tmp_path):
    path = tmp_path / "m"
    path.write_text("old")
    path.chmod(0o640)
    (tmp_path / "link").symlink_to("m")
    model.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert nolana.load(path).n_rows_ == 60
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["link", "m"]


FULL = """
import os, resource, sys, numpy as np, nolana
x = np.random.default_rng(0).normal(size=(60, 3))
model = nolana.NolanaRegressor(n_landmarks=30).partial_fit(x, x[:, 0])
model.save(sys.argv[1])
before = open(sys.argv[1], "rb").read()
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
model.partial_fit(x, x[:, 0])
try:
    model.save(sys.argv[1])
except nolana.errors.ModelFileError as error:
    assert open(sys.argv[1], "rb").read() == before
    assert nolana.load(sys.argv[1]).n_rows_ == 60
    print(error, os.listdir(os.path.dirname(sys.argv[1])))
"""


def test_a_disk_without_room_leaves_the_old_file(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "m")], capture_output=True, text=True, check=False, timeout=60
    )
    assert "File too large; a file that was there before is as it was ['m']" in done.stdout, done.stderr


def test_places_where_nothing_can_be_written(model, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "nowhere" / "m", tmp_path / "file" / "m", tmp_path / "folder"):
        with pytest.raises(ModelFileError, match="cannot write"):
            model.save(place)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]
    for place in (tmp_path / "nowhere" / "m", tmp_path / "folder"):
        with pytest.raises(ModelFileError, match="cannot read"):
            nolana.load(place)


def test_interrupted_before_the_rename(model, tmp_path, monkeypatch):
    """Whatever stops the writing, the old file is there and nothing else."""
    model.save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()

    def stop(*_):
        raise KeyboardInterrupt

    for call in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, call, stop)
            with pytest.raises(KeyboardInterrupt):
                model.save(tmp_path / "m")
        assert os.listdir(tmp_path) == ["m"]
        assert (tmp_path / "m").read_bytes() == before


# Reading: what is wrong is said


def rewritten(path, change):
    """The file with another header, which `change` makes in place."""
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + raw[8 + length :])


def own(change):
    def outer(header):
        text = json.loads(header["__metadata__"]["nolana"])
        change(text)
        header["__metadata__"]["nolana"] = json.dumps(text)

    return outer


LANDMARKS = "estimator/learner/learned/landmarks"
WRONG = {
    "made by a newer nolana: format version 7, this one reads up to 2": own(lambda t: t.update(version=7)),
    "has no version": own(lambda t: t.update(version="1")),
    "checksum does not fit": own(lambda t: t["sections"]["estimator"]["parameters"].update(n_landmarks=10**12)),
    "of something else: it was not made by nolana": lambda h: h.pop("__metadata__"),
    "bytes are missing": lambda h: h.update(more={"dtype": "F64", "shape": [9], "data_offsets": [0, 72]}) or shift(h),
    r'"estimator/learner/learned/landmarks" has shape \[8, 4\] and dtype F64, but 192 bytes': lambda h: h[
        LANDMARKS
    ].update(shape=[8, 4]),
    "has dtype 'F8'; expected one of F64": lambda h: h[LANDMARKS].update(dtype="F8"),
    r"begins at byte \d+, expected \d+": lambda h: h[LANDMARKS].update(
        data_offsets=[n + 8 for n in h[LANDMARKS]["data_offsets"]]
    ),
    "expected at most 8 counts": lambda h: h[LANDMARKS].update(shape=[-8, -3]),
}


def shift(header):
    for name, entry in header.items():
        if name not in ("__metadata__", "more"):
            entry["data_offsets"] = [n + 72 for n in entry["data_offsets"]]


@pytest.mark.parametrize("said", WRONG)
def test_a_wrong_header_is_explained(said, model, tmp_path):
    model.save(tmp_path / "m")
    rewritten(tmp_path / "m", WRONG[said])
    with pytest.raises(ModelFileError, match=said) as caught:
        nolana.load(tmp_path / "m")
    assert str(tmp_path / "m") in str(caught.value)


def test_files_of_other_kinds(model, tmp_path):
    path = tmp_path / "m"
    for content in (b"", b"1234567", b"\0" * 100, b"a,b\n1,2\n" * 50, (2).to_bytes(8, "little") + b"[]"):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match="not a safetensors file"):
            nolana.load(path)
    safetensors.numpy.save_file({"w": np.zeros(3)}, path, metadata={"format": "np"})
    with pytest.raises(ModelFileError, match="was not made by nolana"):
        nolana.load(path)
    model.save(path)
    raw = path.read_bytes()
    path.write_bytes(raw[:-1])
    with pytest.raises(ModelFileError, match="truncated: 1 bytes are missing"):
        nolana.load(path)
    path.write_bytes(raw + b"\0")
    with pytest.raises(ModelFileError, match="bytes after the end"):
        nolana.load(path)
    path.write_bytes(raw[:200])
    with pytest.raises(ModelFileError, match="truncated, or not a safetensors file"):
        nolana.load(path)


def test_a_landmark_budget_that_the_file_does_not_warrant(tmp_path):
    """Room for landmarks to come is in the file as zeros; without them a large learner is refused unmade."""
    x = np.random.default_rng(0).normal(size=(20, 3))
    model = NolanaClassifier(n_landmarks=4000).partial_fit(x, x[:, 0] > 0)
    model.save(tmp_path / "m")
    assert 9 * 10**5 < os.path.getsize(tmp_path / "m") < 2 * 10**6
    assert np.array_equal(nolana.load(tmp_path / "m").predict(x), model.predict(x))
    sections = modelfile.read(tmp_path / "m")
    room = sections["estimator"]["learner"].pop("room")
    assert not room.any()
    modelfile.write(tmp_path / "m", sections)
    with pytest.raises(ModelFileError, match=r"a learner of 1\.31e\+08 bytes in a record of"):
        nolana.load(tmp_path / "m")
