"""Hostile tables through the estimators: millions of long strings, thousands of columns, columns of mixed types."""

import datetime as dt
import decimal
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import effort
from environments import environment, output
from nolana import StreamClassifier, StreamRegressor
from nolana.columns import encode, infer_schema, table_of
from nolana.errors import ColumnsError
from nolana.runs import resident_bytes

# What a column of objects may hold, and what no row can.
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.floats(), st.text(max_size=5), st.binary(max_size=5),
    st.dates(), st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)), st.decimals(-9, 9, allow_nan=False),
    st.fractions(-9, 9), st.sampled_from([pd.NA, pd.NaT, np.float32(0.5), np.int8(3), np.bool_(True), np.str_("s"),
                                          decimal.Decimal("NaN")]),
)  # fmt: skip
NO_VALUES = st.sampled_from([[1], (), {}, {1}, 1j, object(), 10**400, float("inf")])


@given(st.lists(VALUES | NO_VALUES, min_size=1, max_size=12), st.data())
def test_column_of_mixed_objects_is_encoded_alike_in_parts_or_refused(values, data):
    frame = pd.DataFrame({"c": pd.Series(values, dtype=object), "x": range(len(values))})
    try:
        schema = infer_schema(table_of(frame))
        rows = encode(schema, frame)
    except ColumnsError:
        return
    assert not np.isinf(rows).any()
    cut = data.draw(st.integers(0, len(values)))
    parts = [encode(schema, frame[:cut]), encode(schema, frame[cut:])]
    assert np.vstack(parts).tobytes() == np.asarray(rows).tobytes()


@pytest.mark.parametrize("make", [StreamClassifier, StreamRegressor])
def test_thousands_of_columns_are_learned_in_the_memory_that_the_error_names(make):
    rng, y = np.random.default_rng(0), np.arange(60) % 2
    frame = pd.DataFrame({f"c{j}": rng.integers(0, 9, 60).astype(str if j % 2 else float) for j in range(2000)})
    with pytest.raises(ValueError, match="is too small: 2,000 features need") as caught:
        make(random_state=0, memory="64KB").learn(frame, y)
    [enough] = [remedy.value for remedy in caught.value.settings if remedy.value != 65536][-1:]
    model = make(random_state=0, memory=enough)
    model.learn(frame, y)
    assert model.memory_bytes_ <= 4 << 20
    assert len(model.predict(frame)) == 60


@pytest.mark.soak
def test_a_million_distinct_strings_of_10_kb_stay_in_memory():
    """In blocks of 500 rows; in the second half the process does not grow by as much as ten blocks are long."""
    blocks, model, tail = effort(thorough=60, endurance=2000), StreamClassifier(random_state=0), "x" * 10_000
    sizes, resident = [], []
    for block in range(blocks):
        users = [f"{500 * block + i:07d}{tail}" for i in range(500)]
        model.learn(pd.DataFrame({"user": users, "a": np.arange(500.0)}), np.arange(500) % 2)
        sizes.append(model.memory_bytes_)
        resident.append(resident_bytes())
    assert max(sizes) <= 512 * 1024
    assert resident[-1] - resident[blocks // 2] < 10 * 500 * 10_000
    assert model.predict_proba(pd.DataFrame({"user": ["new"], "a": [1.0]})).shape == (1, 2)


# Versions of pandas

LEARNED = """
import hashlib, sys
import numpy as np, pandas as pd
from nolana import StreamRegressor
from nolana.columns import encode

rng = np.random.default_rng(0)
n = 400
words = np.array(["red", "", " red", "RED", "gr\\u00fcn", "gru\\u0308n"], dtype=object)[rng.integers(0, 6, n)]
gaps = rng.random(n) < 0.1
moments = pd.Timestamp("2024-02-28") + pd.to_timedelta(rng.integers(0, 10**7, n), unit="s")
numbers = rng.normal(size=n)
frame = pd.DataFrame({
    "float": np.where(gaps, np.nan, numbers), "single": numbers.astype(np.float32),
    "small": rng.integers(0, 9, n, dtype=np.int8), "large": rng.integers(0, 2**62, n),
    "nullable": pd.array([None if g else int(i) for g, i in zip(gaps, range(n))], dtype="Int64"),
    "flag": gaps, "maybe": pd.array([None if g else bool(i % 2) for g, i in zip(gaps, range(n))], dtype="boolean"),
    "object": pd.Series([None if g else w for g, w in zip(gaps, words)], dtype=object),
    "inferred": [None if g else w for g, w in zip(gaps, words)],
    "string": pd.array([None if g else w for g, w in zip(gaps, words)], dtype="string"),
    "category": pd.Categorical(words), "codes": pd.Categorical(rng.integers(0, 9, n)), "moment": moments,
    "zone": moments.tz_localize("Europe/Oslo", ambiguous=True, nonexistent="shift_forward"),
    "duration": moments - moments[0], "iso": [None if g else str(m) for g, m in zip(gaps, moments)],
    "mixed": pd.Series([[1, "1", 2.5, True, None][i % 5] for i in range(n)], dtype=object),
})
model = StreamRegressor(random_state=0)
scores = model.learn(frame, np.where(gaps, 1.0, numbers))
digest = hashlib.sha256(np.asarray(encode(model.schema_, frame)).tobytes() + np.asarray(scores).tobytes())
print(pd.__version__.split(".")[0], digest.hexdigest(), model.schema_.describe())
"""


@pytest.mark.soak
def test_frames_of_pandas_2_and_3_give_the_same_bits(tmp_path):
    same = [f"{name}=={__import__(name).__version__}" for name in ("numpy", "scipy")]
    python = environment(tmp_path / "env", "pandas<3", *same)
    (old, second), (new, third) = (output(each, LEARNED).split(" ", 1) for each in (python, Path(sys.executable)))
    assert (old, new) == ("2", "3")
    assert second == third
