"""Keys of categories: the same in C++ and Python, on every machine, and spread evenly."""

import json
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolana.backend import text_parsers
from nolana.columns import key, keys
from nolana.columns.keys import hash_bytes, hash_strings, number_keys

ANY_TEXT = st.text(st.characters(), max_size=40)  # half surrogate pairs too


@given(st.lists(ANY_TEXT | st.binary(max_size=40) | st.none(), max_size=20))
def test_core_and_python_hash_alike(values):
    assert np.array_equal(text_parsers().hash_strings(values), hash_strings(values), equal_nan=True)


@pytest.mark.parametrize("length", [*range(18), 10_000])
def test_core_and_python_hash_every_length_alike(length):
    data = bytes(i % 251 for i in range(length))
    assert text_parsers().hash_strings([data])[0] == hash_bytes(data)


def test_keys_never_change():
    """Model files depend on them."""
    expected = {
        "": 1268940075430861.0,
        "red": 2028101819905204.0,
        "Zürich": 1960023083545147.0,
        "x" * 100: 159758336918665.0,
    }
    assert {text: key(text) for text in expected} == expected


def test_key_of_equal_numbers_booleans_and_strings_is_the_same():
    assert len({key(value) for value in (5, 5.0, "5", b"5", np.int8(5), np.float32(5), Decimal("5.0"))}) == 1
    assert key(True) == key("true") == key(np.bool_(True)) != key(1)
    assert key(-0.0) == key(0)
    assert key(0.1) == key("0.1")
    assert key(2**70) == key(str(2**70)) == key(float(2**70))
    assert key(date(1970, 1, 2)) == key(datetime(1970, 1, 2)) == key(np.datetime64("1970-01-02")) == key(86400)


def test_keys_of_other_white_space_case_and_unicode_form_differ():
    assert len({key(text) for text in ("é", "e\u0301", "É", " é", "é ", "é\0")}) == 6


def test_missing_values_have_no_key():
    assert np.isnan(keys([None, float("nan"), np.float32("nan"), np.datetime64("NaT")])).all()


def test_key_refuses_what_is_no_value():
    for value in ({}, [], object(), 1j):
        with pytest.raises(TypeError, match="no value of a table"):
            key(value)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=10))
def test_keys_of_an_array_are_those_of_its_values(values):
    assert np.array_equal(number_keys(np.array(values, dtype=np.int64)), keys(values))


@given(
    st.lists(ANY_TEXT.filter(lambda text: text.isprintable() or text.isascii()), min_size=1, max_size=10), st.booleans()
)
def test_keys_of_fields_are_those_of_their_strings(texts, as_json):
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    quoted = [json.dumps(t, ensure_ascii=False) if as_json else '"' + t.replace('"', '""') + '"' for t in texts]
    fields = [field.encode() for field in quoted]
    ends = np.cumsum([len(field) + 1 for field in fields])
    spans = np.column_stack([ends - [len(field) + 1 for field in fields], ends - 1]).astype(np.int64)
    found = text_parsers().hash_fields(b",".join(fields) + b",", spans, json=as_json)
    escaped = np.array([as_json and "\\" in field for field in quoted])
    assert np.array_equal(found, np.where(escaped, np.nan, keys(texts)), equal_nan=True)


def test_fields_without_quotes_and_missing_fields():
    spans = np.array([[0, 3], [-1, 0], [3, 3], [4, 5]], dtype=np.int64)
    assert np.array_equal(text_parsers().hash_fields(b'red,"', spans), [*keys(["red", None, "", '"'])], equal_nan=True)
    with pytest.raises(ValueError, match="span"):
        text_parsers().hash_fields(b"red", np.array([[0, 4]], dtype=np.int64))


def test_keys_are_even_and_do_not_collide():
    """Chi squared of 1,023 degrees of freedom exceeds 1,200 with probability 1e-4."""
    found = keys([f"user_{i}" for i in range(200_000)]).astype(np.int64)
    assert len(np.unique(found)) == len(found)
    assert 0 <= found.min() <= found.max() < 2**52
    for shift in (0, 10, 21, 42):
        counts = np.bincount((found >> shift) % 1024, minlength=1024)
        mean = len(found) / 1024
        assert ((counts - mean) ** 2 / mean).sum() < 1200
