"""The default classifier on real rows: Spark beside one process."""

import os

import numpy as np
import pytest

import nolana
from conftest import effort
from nolana import datasets

ROWS, HELD_OUT, SEEDS = 120_000, 20_000, effort(thorough=1, endurance=3)


def test_held_out_accuracy_is_within_half_a_point_of_one_process(spark):
    if "NOLANA_DATA" not in os.environ:
        pytest.skip("needs real data; set NOLANA_DATA")
    import pyarrow as pa

    x, y = datasets.load("covtype")
    names = [f"x{i}" for i in range(x.shape[1])]
    found = []
    for seed in range(SEEDS):
        order = np.random.default_rng(seed).permutation(len(x))
        rows, new = order[:ROWS], order[ROWS : ROWS + HELD_OUT]
        one = nolana.StreamClassifier(random_state=seed).partial_fit(x[rows], y[rows])
        columns = [*(pa.array(column) for column in x[rows].T), pa.array(y[rows]), pa.array(np.arange(ROWS))]
        df = spark.createDataFrame(pa.table(columns, names=[*names, "y", "row"]))
        df = df.repartitionByRange(8, "row").sortWithinPartitions("row")  # the order of the rows decides the result
        model = nolana.StreamClassifier(random_state=seed)
        many = nolana.spark.fit(df, model, features=names, label="y", rows_per_round=20_000).model
        found.append([np.mean(each.predict(x[new]) == y[new]) for each in (one, many)])
    one, many = np.mean(found, axis=0)
    assert many > one - 0.005
