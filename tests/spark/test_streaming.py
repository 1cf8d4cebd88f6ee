"""Each batch is learned once, in an order that depends on the rows alone."""

import numpy as np
import pytest

import nolana
from nolana.errors import ConflictError, StreamError

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning")


def batches(spark, count=3, rows=200):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(count, rows, 3)).round(1)  # with equal rows
    kinds = np.array(["same", "other"])
    for part in x:
        y = kinds[(part[:, 0] * part[:, 1] > 0).astype(int)]
        yield spark.createDataFrame(
            [(*row, str(label)) for row, label in zip(part.tolist(), y, strict=True)],
            "a double, b double, c double, y string",
        )


def test_batches_in_any_order_of_rows_end_in_the_same_bytes(spark, tmp_path):
    one, two = (nolana.spark.StreamingLearner(tmp_path / name) for name in ("one", "two"))
    for i, batch in enumerate(batches(spark)):
        one.process(batch, i)
        one.process(batch, i)  # as after a crash between the write of the file and Spark's commit
        two.process(batch.orderBy("c").repartition(4), i)
        if i == 1:  # a new process
            two = nolana.spark.StreamingLearner(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert one.model.n_rows_ == 600
    assert one.metrics == two.metrics
    assert one.metrics["accuracy"] > 0.7
    rows = next(batches(spark)).select("c", "b", "a")
    got = nolana.spark.predict(rows, tmp_path / "one").collect()
    x = np.array([(row.a, row.b, row.c) for row in got])
    assert [row.prediction for row in got] == nolana.load(tmp_path / "one").predict(x).tolist()


def test_the_order_of_a_column_is_the_order_of_learning(spark, tmp_path):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 2))
    y = x[:, 0] * x[:, 1]
    when = rng.permutation(300)
    df = spark.createDataFrame(
        [(int(t), *row, float(target)) for t, row, target in zip(when, x.tolist(), y, strict=True)],
        ["t", "a", "b", "y"],
    )
    model = nolana.NolanaRegressor(n_landmarks=20)
    learner = nolana.spark.StreamingLearner(tmp_path / "model", model=model, order="t")
    learner.process(df, 0)
    order = np.argsort(when)
    model.learn(x[order], y[order])
    assert np.array_equal(nolana.load(tmp_path / "model").predict(x), model.predict(x))
    with pytest.raises(
        ConflictError, match="order=\\['a'\\] differs from the model, which was made with order=\\['t'\\]"
    ):
        nolana.spark.StreamingLearner(tmp_path / "model", order="a").process(df, 1)


def test_a_batch_of_another_query_is_refused_until_it_has_a_name(spark, tmp_path):
    first, second, third = batches(spark)
    learner = nolana.spark.StreamingLearner(tmp_path / "model")
    learner.process(first, 0)
    with pytest.raises(ConflictError, match=r"batch 0 has other rows than before.*query="):
        learner.process(second, 0)
    learner.process(second, 1)
    with pytest.raises(ConflictError, match="batch 0 comes after batch 1"):
        learner.process(first, 0)
    before = (tmp_path / "model").read_bytes()
    named = nolana.spark.StreamingLearner(tmp_path / "model", query="other")
    named.process(third, 0)
    assert (tmp_path / "model").read_bytes() != before
    learner.process(second, 1)  # is in the file still
    assert nolana.load(tmp_path / "model").n_rows_ == 600


def test_an_invalid_row_leaves_the_file_as_it_was(spark, tmp_path):
    good = next(batches(spark))
    rows = [(1.0, float("inf"), 0.0, "same"), (1.0, 1.0, 0.0, None), (9.0, 9.0, 9.0, "same")]
    bad = spark.createDataFrame(rows, good.schema)
    learner = nolana.spark.StreamingLearner(tmp_path / "model")
    learner.process(good, 0)
    before = (tmp_path / "model").read_bytes()
    problem = r'column [24] \("[by]"\): (the value is null|.inf. is not a)'
    with pytest.raises(StreamError, match=rf'(?s){problem}.*The row is {{"a": 1.0, "b": (Infinity|1.0),'):
        learner.process(bad.union(good), 1)
    assert (tmp_path / "model").read_bytes() == before
    tolerant = nolana.spark.StreamingLearner(tmp_path / "model", on_bad_row="skip")
    tolerant.process(bad.union(good), 1)
    assert tolerant.model.n_rows_ == 401
    assert dict(tolerant.bad_rows) == {"number": 1, "label": 1}
    tolerant.process(good.limit(0), 2)
    assert nolana.load(tmp_path / "model").n_rows_ == 401
