"""Runs with a lag: the group by its name, and what contradicts the model file."""

import numpy as np
import pytest

from nolana.errors import ConflictError, OptionError
from nolana.runs import Recipe, Scoring, SourceOptions, resume, start


@pytest.fixture
def sales(tmp_path):
    """Two hundred rows of five stores."""
    rng = np.random.default_rng(0)
    store, x = rng.integers(0, 5, 200), rng.normal(size=200)
    y = 10.0 * store + x + np.cumsum(rng.normal(size=200))
    path = tmp_path / "sales.csv"
    rows = zip(x, store, store % 2, y, strict=True)
    path.write_text("x,store,region,sales\n" + "".join(f"{a},s{b},r{c},{d}\n" for a, b, c, d in rows))
    return str(path)


def recipe(**parameters):
    return Recipe("regression", parameters)


def test_group_is_found_by_name_and_resumed(sales, tmp_path):
    options = SourceOptions(target="sales")
    run = start(sales, options, recipe(lag=1, group="store"), Scoring())
    run.process()
    run.save(tmp_path / "model.safetensors")
    again, _ = resume(
        tmp_path / "model.safetensors", sales, options, recipe(lag=1, group="store"), Scoring(), again=True
    )
    assert again.estimator.n_rows_ == 200
    with pytest.raises(ConflictError, match="group='region' differs"):
        resume(tmp_path / "model.safetensors", sales, options, recipe(group="region"), Scoring(), again=True)


def test_unknown_group_is_refused(sales):
    with pytest.raises(
        ValueError, match="group='city' is no column of the rows; they have columns 'x', 'store', 'region'"
    ):
        start(sales, SourceOptions(target="sales"), recipe(lag=1, group="city"), Scoring()).process()


def test_delay_longer_than_the_lag_is_refused(sales):
    with pytest.raises(OptionError, match="delay=3 is longer than lag=2"):
        start(sales, SourceOptions(target="sales"), recipe(lag=2), Scoring(delay=3))
