"""nolana.spark.fit beside one process: held-out accuracy on covtype, and the speed of one and of two workers.

    python benchmarks/spark.py                 both; needs Java, pyspark and NOLANA_DATA
    python benchmarks/spark.py accuracy
    python benchmarks/spark.py speed

Unfair: one process moves its maps with every row, parts are frozen; Spark also reads, shuffles and serialises the rows,
which one process does not have to. A speed-up is no claim where the machine was not idle, so the idle share of its
processors in the two seconds before each run is printed beside it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import nolana
from merging import idle_share
from streams import STREAMS, print_setting, shuffled

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from spark_sessions import session

PARTS, ROWS_PER_ROUND = 8, 20_000
IDLE = 0.9  # below this no speed-up is claimed


def data_frame(spark, x, y, partitions=PARTS):
    """The rows as columns, in so many partitions and in their order."""
    import pyarrow as pa

    names = [f"x{i}" for i in range(x.shape[1])]
    columns = [*(pa.array(column) for column in x.T), pa.array(y), pa.array(np.arange(len(y)))]
    df = spark.createDataFrame(pa.table(columns, names=[*names, "y", "row"]))
    return df.repartitionByRange(partitions, "row").sortWithinPartitions("row"), names


def accuracy(rows, held_out, seeds):
    """One process beside Spark: the share of held-out rows that is predicted, for each seed."""
    x, y = STREAMS["covtype"].load()
    with tempfile.TemporaryDirectory() as folder:
        spark = session(folder=folder)
        print(
            f"\ncovtype, {rows:,} rows learned, {held_out:,} held out, {PARTS} partitions, {ROWS_PER_ROUND:,} a round"
        )
        print(f"{'seed':<8}{'one process':>14}{'Spark':>10}")
        table = []
        for seed in range(seeds):
            x_seed, y_seed = shuffled(x, y, seed)
            new, truth = x_seed[rows : rows + held_out], y_seed[rows : rows + held_out]
            one = nolana.StreamClassifier(random_state=seed).partial_fit(x_seed[:rows], y_seed[:rows])
            df, names = data_frame(spark, x_seed[:rows], y_seed[:rows])
            model = nolana.StreamClassifier(random_state=seed)
            many = nolana.spark.fit(df, model, features=names, label="y", rows_per_round=ROWS_PER_ROUND).model
            table.append([float(np.mean(each.predict(new) == truth)) for each in (one, many)])
            print(f"{seed:<8}{100 * table[-1][0]:>13.2f}%{100 * table[-1][1]:>9.2f}%", flush=True)
        means = 100 * np.mean(table, axis=0)
        print(f"{'mean':<8}{means[0]:>13.2f}%{means[1]:>9.2f}%   difference {means[1] - means[0]:+.2f} points")
        spark.stop()
    return means


def timed(workers, rows, landmarks):
    """Seconds of the rounds of a fit on so many executors, in this process: it has one session."""
    x, y = STREAMS["covtype"].load()
    x, y = shuffled(x, y, 0)
    with tempfile.TemporaryDirectory() as folder:
        spark = session(f"local-cluster[{workers},1,1024]", folder=folder, java="")
        df, names = data_frame(spark, x[:rows], y[:rows])
        model = nolana.NolanaClassifier(n_landmarks=landmarks)
        nolana.spark.fit(df.limit(4000), model, features=names, label="y", rows_per_round=2000)  # processes start
        result = nolana.spark.fit(df, model, features=names, label="y", rows_per_round=ROWS_PER_ROUND)
        spark.stop()
    rounds = result.rounds[1:]  # the leader of the first one has more rows
    return {"seconds": sum(r.seconds for r in rounds), "rows": sum(r.rows for r in rounds)}


def speed(rows, landmarks):
    """One worker beside two, and one plain process."""
    x, y = STREAMS["covtype"].load()
    x, y = shuffled(x, y, 0)
    print(f"\nNolanaClassifier(n_landmarks={landmarks}) on covtype, {rows:,} rows, microseconds a row")
    print(f"{'':<22}{'us/row':>8}{'idle before':>14}")
    idle = idle_share()
    model, begin = nolana.NolanaClassifier(n_landmarks=landmarks), time.perf_counter()
    model.partial_fit(x[:rows], y[:rows])
    results = [("one plain process", 1e6 * (time.perf_counter() - begin) / rows, idle)]
    for workers in (1, 2):
        idle = idle_share()
        words = [sys.executable, __file__, "timed", "--workers", str(workers), "--rows", str(rows)]
        done = subprocess.run(
            [*words, "--landmarks", str(landmarks)], check=True, capture_output=True, text=True, timeout=1800
        )
        found = json.loads(done.stdout.splitlines()[-1])
        results.append((f"Spark, {workers} worker(s)", 1e6 * found["seconds"] / found["rows"], idle))
    for name, microseconds, idle in results:
        print(f"{name:<22}{microseconds:>8.1f}{100 * idle:>13.0f}%")
    ratio = results[1][1] / results[2][1]
    if min(idle for _, _, idle in results) < IDLE:
        print("The machine was busy: the times are no measurement.")
    else:
        print(f"Two workers are {ratio:.2f} times as fast as one, {results[0][1] / results[2][1]:.2f} as one process.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("all", "accuracy", "speed", "timed"), default="all")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--held-out", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--landmarks", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if options.what == "timed":
        print(json.dumps(timed(options.workers, options.rows, options.landmarks)))
    else:
        print_setting(None)
        if options.what in ("all", "accuracy"):
            accuracy(options.rows, options.held_out, options.seeds)
        if options.what in ("all", "speed"):
            speed(options.rows, options.landmarks)
