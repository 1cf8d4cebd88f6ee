"""A Spark application that learns the CSV files of a folder as a stream, and can kill itself.

    python spark_driver.py FOLDER [BATCH PLACE]

PLACE says where in BATCH the process is killed: "learning" (half of the rows are learned), "writing" (the new model
file is not yet in its place) or "committing" (it is, and Spark has not committed the batch).
"""

import os
import signal
import sys
from pathlib import Path

import nolana
from nolana import modelfile
from spark_sessions import session


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def die_in(place):
    """From now on the process dies in this place."""
    if place == "learning":
        learn = nolana.StreamClassifier.learn

        def half(self, x, y):
            learn(self, x[: len(x) // 2], y[: len(x) // 2])
            die()

        nolana.StreamClassifier.learn = half
    if place == "writing":
        modelfile.atomic.os.replace = lambda *_: die()


def main(folder, batch=-1, place=None):
    spark = session("local[1]", folder=folder / "spark", spark_sql_shuffle_partitions="1")
    learner = nolana.spark.StreamingLearner(folder / "model", label="y")

    def process(df, number):
        if number == batch:
            die_in(place)
        learner.process(df, number)
        if number == batch:
            die()

    files = spark.readStream.schema("a double, b double, y string").option("maxFilesPerTrigger", 1)
    query = files.csv(str(folder / "rows")).writeStream.foreachBatch(process).trigger(availableNow=True)
    query.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()
    print(learner.model.n_rows_, learner.metrics)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *([int(sys.argv[2]), sys.argv[3]] if len(sys.argv) > 2 else []))
