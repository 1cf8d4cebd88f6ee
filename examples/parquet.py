"""Out of core: a Parquet file that is larger than the memory of the model, read in blocks and learned once."""

import os
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import nolana
from nolana import StreamClassifier, evaluate, sources

folder = tempfile.mkdtemp()
path = os.path.join(folder, "clicks.parquet")
rng = np.random.default_rng(3)
n = 200_000
age, hour, price = rng.integers(18, 80, n), rng.integers(0, 24, n), rng.exponential(20, n)
click = (np.sin(hour / 3) + np.cos(age / 9) - price / 30 + 0.3 * rng.normal(size=n)) > 0
pq.write_table(pa.table({"age": age, "hour": hour, "price": price, "click": click}), path)

model = StreamClassifier(memory="256KB", random_state=0)
with sources.open(path, target="click") as blocks:
    result = evaluate.progressive(model, blocks, metrics=["accuracy", "auc"])
print(f"{result.rows:,} rows from {os.path.getsize(path):,} bytes")
print(f"accuracy {100 * result.metrics['accuracy']:.1f} %, AUC {result.metrics['auc']:.3f}")
print(f"model: {model.memory_bytes_:,} bytes")

model.save(os.path.join(folder, "clicks.nolana"))
again = nolana.load(os.path.join(folder, "clicks.nolana"))
assert (again.predict_proba([[30, 12, 10.0]]) == model.predict_proba([[30, 12, 10.0]])).all()
