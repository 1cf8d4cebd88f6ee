"""The width of one-hot columns: by what the first block has, stored in the plan."""

import io
import json
import os

import numpy as np
import pytest

from nolana import streams
from nolana.serve.rows import RowReader
from nolana.sources.plan import Plan

OPTIONS = {"categories": "onehot", "new_columns": "ignore"}


def table(colours, towns):
    return ("colour,n,town,y\n" + "".join(f"{c},1.5,{t},0\n" for c, t in zip(colours, towns, strict=True))).encode()


FIRST = table(["red", "green", "blue"] * 100, [f"town {i % 20}" for i in range(300)])
LATE = table(["red", "ochre", "black", "white"] * 75, [f"town {i % 50}" for i in range(300)])


def open_first(**options):
    return streams.open(io.BytesIO(FIRST), **(OPTIONS | options))


def test_one_hot_width_follows_the_categories_of_the_first_block():
    with open_first() as stream:
        columns = {column["column"]: column.get("slots") for column in stream.plan["columns"]}
        assert columns == {"colour": 3 + 0 + 1, "n": None, "town": 20 + 5 + 1}
        assert stream.n_features == 4 + 1 + 1 + 26 + 1 == Plan.from_dict(stream.plan).n_features


def test_one_hot_width_of_few_rows_is_the_maximum():
    with streams.open(io.BytesIO(FIRST[:1000]), **OPTIONS) as stream:
        assert stream.n_features == 33 + 1 + 33


def test_one_hot_width_that_is_set_is_exact():
    with open_first(max_categories=7) as stream:
        assert stream.n_features == 8 + 1 + 8


def test_one_hot_width_of_many_categories_is_bounded():
    text = table(["red"] * 300, [f"town {i}" for i in range(300)])
    with streams.open(io.BytesIO(text), **OPTIONS) as stream:
        assert stream.n_features == 3 + 1 + 33


def test_one_hot_width_of_a_pipe_does_not_depend_on_when_its_rows_come():
    end, begin = os.pipe()
    with os.fdopen(begin, "wb") as sender:
        sender.write(FIRST)
    with os.fdopen(end, "rb") as pipe, streams.open(pipe, **OPTIONS) as stream:
        assert stream.n_features == 33 + 1 + 33


def test_later_category_takes_the_spare_slot_and_others_share_the_last():
    with open_first() as stream:
        stream.gather()
        state = json.loads(json.dumps(stream.state(), default=np.ndarray.tolist))
    with streams.open(io.BytesIO(LATE), resume=state | {"position": None}, new_columns="ignore") as stream:
        X, _ = stream.gather()
        assert stream.new_categories == {"colour": 150, "town": 24 * 6}
    assert X[:4, :5].argmax(axis=1).tolist() == [0, 3, 4, 4]
    assert (X[:, :5].sum(axis=1) == 1).all()


def test_one_hot_width_of_a_plan_of_0_2_stays_32():
    with open_first() as stream:
        stream.gather()
        plan, encoder = stream.plan, stream.state()["encoder"]
    for column in plan["columns"]:
        column.pop("slots", None)  # which 0.2 did not have
    with streams.open(io.BytesIO(FIRST), plan=plan, encoder=encoder) as stream:
        assert stream.n_features == 33 + 1 + 33
        assert stream.plan["columns"] == plan["columns"]
    assert RowReader(Plan.from_dict(plan), "classification", 1e6).width == 67


def test_one_hot_width_of_served_rows_is_that_of_the_stream():
    with open_first() as stream:
        plan = json.loads(json.dumps(stream.plan))
        assert RowReader(Plan.from_dict(plan), "classification", 1e6).width == stream.n_features


@pytest.mark.parametrize("slots", [0, 33, True, "4"])
def test_plan_with_invalid_slots_is_refused(slots):
    with open_first() as stream:
        plan = stream.plan
    plan["columns"][0]["slots"] = slots
    with pytest.raises(ValueError, match="slots"):
        streams.open(io.BytesIO(FIRST), plan=plan)
