"""A Spark application on two executor processes: learns a generated DataFrame and prints, as JSON, what Spark counted.

python spark_cluster.py FOLDER
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from pyspark import Broadcast, SparkContext

import nolana.estimators.rounds
from spark_sessions import session

PAUSE, DEADLINE = 1.0, 30.0  # seconds
LANDMARKS, FEATURES, PARTS, ROWS, ROWS_PER_ROUND = 200, 54, 4, 9000, 3000


def result_bytes(spark):
    """The bytes that the tasks of each stage returned to the driver, by the number of the stage."""
    context = spark.sparkContext
    none = context._gateway.new_array(context._jvm.double, 0)
    stages = context._jsc.sc().statusStore().stageList(None, False, False, none, None)
    return {stages.apply(i).stageId(): stages.apply(i).resultSize() for i in range(stages.size())}


def disk_bytes(spark, more_than=None):
    """The bytes of blocks on the disk of each executor: rows, and what was broadcast.

    Spark counts a little later than it works: ask until two answers are the same and are more than those before.
    """
    last, end = None, time.monotonic() + DEADLINE
    while time.monotonic() < end:
        executors = spark.sparkContext._jsc.sc().statusStore().executorList(True)
        each = [executors.apply(i) for i in range(executors.size())]
        now = np.array([executor.diskUsed() for executor in each if executor.id() != "driver"])
        if last is not None and (now == last).all() and (more_than is None or (now > more_than).all()):
            break
        last = now
        time.sleep(PAUSE)
    return now


def main(folder):
    spark = session("local-cluster[2,1,1024]", folder=folder, spark_locality_wait="0")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, FEATURES))
    y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2]
    rows = [(row, target) for row, target in zip(x.tolist(), y.tolist(), strict=True)]
    df = spark.createDataFrame(spark.sparkContext.parallelize(rows, PARTS), "x array<double>, y double")

    used, sent = [], []
    broadcast = SparkContext.broadcast

    def counted_broadcast(self, value):
        used.append(disk_bytes(spark))
        return broadcast(self, value)

    def counted_destroy(_):  # removing blocks would be counted too, at any later time
        sent.append((disk_bytes(spark, used[-1]) - used[-1]).tolist())

    SparkContext.broadcast, Broadcast.destroy = counted_broadcast, counted_destroy
    before = result_bytes(spark)
    model = nolana.NolanaRegressor(n_landmarks=LANDMARKS, forgetting=1.0)
    result = nolana.spark.fit(df, model, features="x", label="y", rows_per_round=ROWS_PER_ROUND)
    sizes = {stage: size for stage, size in result_bytes(spark).items() if stage not in before}
    one = nolana.estimators.rounds.RoundLearner(nolana.NolanaRegressor(n_landmarks=LANDMARKS, forgetting=1.0), parts=1)
    for i in range(0, ROWS, ROWS_PER_ROUND):
        one.learn(x[i : i + ROWS_PER_ROUND], y[i : i + ROWS_PER_ROUND])
    print(
        json.dumps(
            {
                "sent": sent,
                "received": [sizes[stage] for stage in sorted(sizes)],
                "rounds": [vars(r) for r in result.rounds],
                "difference": float(np.abs(result.model.predict(x[:500]) - one.predict(x[:500])).max()),
            }
        )
    )
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
