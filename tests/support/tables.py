"""Small tables of any content, and how they are read back: shared by the tests of the formats."""

import io

import numpy as np
import pytest
from hypothesis import strategies as st

from nolana import streams
from nolana.errors import StreamError

NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**6), 10**6).map(float)
NAMES = st.lists(st.text(max_size=6), min_size=2, max_size=5, unique=True)
LABELS = st.sampled_from(
    [st.integers(-(2**63), 2**63 - 1), NUMBERS, st.booleans(), st.text(max_size=5).map(lambda t: t.rstrip("\0"))]
)


def read(text, **parameters):
    return streams.read(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **parameters)


def refusal(text, **parameters):
    with pytest.raises(StreamError) as caught:
        read(text, **parameters)
    return str(caught.value)


def same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def is_text(text):
    """What UTF-8 can say."""
    try:
        return bool(text.encode()) or True
    except UnicodeEncodeError:
        return False


@st.composite
def tables(draw):
    """Names, X (n, d), labels of one type."""
    names = draw(NAMES.filter(lambda names: all(map(is_text, names))))
    d = len(names) - 1
    rows = draw(st.lists(st.lists(NUMBERS, min_size=d, max_size=d), min_size=1, max_size=12))
    kind = draw(LABELS)
    labels = draw(
        st.lists(kind.filter(lambda v: not isinstance(v, str) or is_text(v)), min_size=len(rows), max_size=len(rows))
    )
    return names, np.array(rows), labels


def check(X, labels, found):
    assert same(found[0], X)
    assert found[1].tolist() == labels
    assert all(isinstance(a, type(b)) for a, b in zip(found[1].tolist(), labels, strict=True))
