"""LIBSVM text of more than 256 features: sparse blocks, the same rows as dense ones, and the command on them."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from commands import call
from nolana import streams


def write(path, rows, features, seed=0):
    """Rows whose class is the word of theirs."""
    rng = np.random.default_rng(seed)
    x = sp.random(rows, features, 40 / features, "csr", random_state=seed)
    y = rng.integers(0, 2, rows)
    x = sp.lil_matrix(x)
    for i in range(rows):
        x[i, 7 + 3 * y[i]] = 1.0
    x = x.tocsr()
    dump_svmlight_file(x, y, str(path), zero_based=False)
    return x, y


@pytest.mark.parametrize("block_rows", [1, 7, 1000])
def test_wide_rows_are_sparse(tmp_path, block_rows):
    x, y = write(tmp_path / "wide.libsvm", 60, 3000)
    with streams.open(tmp_path / "wide.libsvm", block_rows=block_rows, n_features=3000) as stream:
        blocks = list(stream)
    assert all(block.X.format == "csr" and block.X.shape == (len(block.y), 3000) for block in blocks)
    assert np.allclose(sp.vstack([block.X for block in blocks]).toarray(), x.toarray(), rtol=1e-12)
    assert np.array_equal(np.concatenate([block.y for block in blocks]), y)
    dense, labels = streams.read(tmp_path / "wide.libsvm", n_features=3000)
    assert isinstance(dense, np.ndarray)
    assert np.array_equal(labels, y)


def test_malformed_rows_are_left_out(tmp_path):
    path = tmp_path / "wide.libsvm"
    path.write_text("1 5:2\n0 7:x\n1 9:3 300:1\n\n0 8:1 2:1\n1 4:5\n")
    with streams.open(path, on_bad_row="skip", n_features=300, block_rows=2) as stream:
        blocks = list(stream)
        assert stream.bad_rows == 2
    assert np.flatnonzero(sp.vstack([block.X for block in blocks]).toarray().sum(axis=0)).tolist() == [3, 4, 8, 299]


def test_the_command_learns_wide_rows(tmp_path):
    """50,000 features: dense rows would not fit into the memory of the default learner at all."""
    source, model = tmp_path / "wide.libsvm", tmp_path / "model"
    _, y = write(source, 1500, 50_000)
    done = call("learn", source, "--model", model, "--json", folder=tmp_path)
    assert done.code == 0, done.err
    facts = json.loads(done.out)
    assert facts["rows"] == 1500
    assert facts["metrics"]["accuracy"] > 0.9
    predicted = call("predict", source, "--model", model, folder=tmp_path).out.splitlines()[1:]
    assert (np.array(predicted, int) == y).mean() > 0.9
