"""A learner for Structured Streaming: each batch is learned once, also after a crash.

Spark repeats a batch that it has not committed. The section ``spark`` of the model file says which batch was learned
last, and is written with the model in one step, so that a repeated batch is recognised. Checksums of its rows tell it
from a batch of another query with the same number.
"""

import copy
import os
import zlib
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nolana.columns import EncodedRows
from nolana.errors import ConflictError, ModelFileError, Remedy
from nolana.estimators._sklearn import is_classifier
from nolana.estimators.base import OnlineEstimator, OnlinePredictor
from nolana.estimators.loading import load_with_extra
from nolana.metrics.label_index import Labels
from nolana.modelfile import Node
from nolana.modelfile.atomic import file_identity, remove_leftovers
from nolana.runs.checkpoints import SECTION as RUN
from nolana.runs.checkpoints import check_writable
from nolana.runs.lock import ModelLock
from nolana.runs.recipe import Recipe, Scoring
from nolana.spark.columns import Columns, Features, check_frame, choose, pyspark, quoted
from nolana.spark.predict import SECTION
from nolana.spark.rows import XY, check_policy, count_bad, pack, unpack

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["StreamingLearner"]

MOST_QUERIES = 1000  # whose last batch a model file remembers


class StreamingLearner:
    """Learns the batches of ``foreachBatch`` into a model file, each once.

    The driver learns the rows of a batch one after the other, in an order that depends on the rows alone: whatever
    was interrupted, the model file ends with the same bytes. `metrics` are the progressive metrics of all rows.

    Parameters
    ----------
    model_path : the model file. It is read if it exists, and written after each batch, with the number of the batch, in
        one step. On a cluster it must be where the driver runs again after a crash.
    model : an estimator to begin with if there is no file; None: the default of ``nolana learn`` for these labels.
    features : columns, or one column of vectors or arrays; None: those of the file, else all but the label
        and the columns of ``order``.
    label : the column of the label; None: that of the file, else the last column.
    order : columns to sort the rows of a batch by, for example a time. None: the order of the rows is a permutation
        that depends on their values alone.
    on_bad_row : "error": an invalid row ends the query, and nothing of its batch is learned; "skip": invalid rows are
        left out and counted in `bad_rows`.
    metrics : names, see `nolana.metrics`; None: accuracy or rmse.
    query : a name for the query. A second query that learns into the same file needs another name, because its
        batches have the same numbers.

    Examples
    --------
    >>> import nolana
    >>> learner = nolana.spark.StreamingLearner("model.safetensors", label="y")
    >>> rows.writeStream.foreachBatch(learner.process).option("checkpointLocation", "log").start()  # doctest: +SKIP
    """

    def __init__(
        self,
        model_path: str | os.PathLike[str],
        *,
        model: OnlinePredictor | None = None,
        features: Features | None = None,
        label: str | None = None,
        order: str | Sequence[str] | None = None,
        on_bad_row: str = "error",
        metrics: Sequence[str] | None = None,
        query: str = "",
    ) -> None:
        check_policy(on_bad_row)
        check_writable(model_path)
        self.path, self._new_model = Path(model_path), model
        self._features, self._label, self._on_bad_row, self._query = features, label, on_bad_row, query
        self._order = [order] if isinstance(order, str) else list(order or ())
        self._scoring = Scoring(None if metrics is None else tuple(metrics))
        self._written: tuple[int, ...] | None = None  # what identifies the file that is loaded
        self._forget()

    def _forget(self) -> None:
        """The next batch loads the file again."""
        self.model: OnlineEstimator | None = None
        self._evaluation = self._scoring.new_evaluation()
        self._batches: dict[str, dict[str, int]] = {}
        self.bad_rows: Counter[str] = Counter()
        self._written = None

    @property
    def metrics(self) -> dict[str, float]:
        """The progressive metrics of all rows."""
        return self._evaluation.metrics

    def process(self, batch_df: "DataFrame", batch_id: int) -> None:
        """Learn a batch and write the file; a batch that is in the file already is left out.

        It fails as a whole: after an error the file is as it was before.
        """
        check_frame(batch_df)
        with ModelLock(self.path):
            remove_leftovers(self.path)
            try:
                self._load()
                if self._learn(batch_df, int(batch_id)):
                    self._save()
            except BaseException:
                self._forget()  # rows may be learned that are not in the file
                raise

    # The rows of a batch

    def _learn(self, df: "DataFrame", batch: int) -> bool:
        """Learn a batch; False: it was learned before, or is empty."""
        last = self._batches.get(self._query)
        if last is not None and batch < last["batch"]:
            raise self._other_query(batch, last["batch"])
        rows = df.drop(*self._order) if self._features is None else df
        columns = choose(rows, self._features, self._label, self.model or self._new_model)
        sums, bad = {"rows": 0, "x": 0, "y": 0}, Counter[str]()
        blocks = _counted(self._rows(df, columns, bad), sums)
        if last is not None and batch == last["batch"]:
            deque(blocks, maxlen=0)
            if {"batch": batch} | sums != last:
                raise self._other_query(batch, batch)
            return False
        first = next(blocks, None)
        if first is None:
            return False
        if self.model is None:
            self.model = self._start(first[1], columns.label)
        blocks = chain([first], blocks)
        if not is_classifier(self.model):
            blocks = ((x, y.astype(np.float64)) for x, y in blocks)
        self._evaluation.run(self.model, blocks)
        self.bad_rows += bad
        self._features = columns.features[0] if columns.vector else list(columns.features)
        self._label = columns.label
        self._batches.pop(self._query, None)
        self._batches[self._query] = {"batch": batch} | sums
        return True

    def _start(self, y: Labels, label: str | None) -> OnlinePredictor:
        """The estimator that learns the first row."""
        if self._new_model is not None:
            return copy.deepcopy(self._new_model)
        recipe = Recipe()
        new: OnlinePredictor = recipe.build(recipe.infer_task(y, label).task)
        return new

    def _rows(self, df: "DataFrame", columns: Columns, bad: Counter[str]) -> Iterator[XY]:
        """The valid rows of a batch in an order that depends on their values and on nothing else.

        One partition, because one process learns them: a sort over several would read the batch twice.
        """
        functions = pyspark("sql.functions")
        rows = columns.project(df, *self._order)
        others = [name for name in rows.columns if name not in self._order]
        keys = [functions.col(quoted(name)) for name in others]
        order = [functions.col(quoted(name)) for name in self._order]
        rows = rows.repartition(1).sortWithinPartitions(*order, functions.xxhash64(*keys), *keys)
        for record in pack(rows, columns, self._on_bad_row).toLocalIterator():
            count_bad(record, bad)
            if record.data is None:
                continue
            x, y = unpack(record.data)
            same = x + 0.0  # Spark sorts -0.0 and 0.0 as equals, so they must be
            yield (EncodedRows.of(same, x.schema) if isinstance(x, EncodedRows) and x.schema is not None else same), y

    def _other_query(self, batch: int, last: int) -> ConflictError:
        what = "comes after batch {expected}" if batch < last else "has other rows than before"
        return ConflictError(
            f"batch {batch} {what}: it is of another query, or its checkpoint is of an earlier time",
            place=str(self.path),
            value=batch,
            expected=last,
            remedies=[Remedy("query", ..., "names the query, so that its rows are learned")],
        )

    # The model file

    def _load(self) -> None:
        """Read the file, unless it is the one that was written last."""
        found = file_identity(self.path)
        if found == self._written:
            return
        self._forget()
        if found is None:
            return
        self.model, extra = load_with_extra(self.path)
        if RUN in extra:
            raise ConflictError(
                "it belongs to `nolana learn`, which resumes it",
                place=str(self.path),
                hint="save its model in another file for Spark: nolana.load(path).save(other)",
            )
        if SECTION in extra:
            try:
                self._restore(Node(extra[SECTION], SECTION))
            except ConflictError as error:
                raise error.changed(place=str(self.path)) from error
            except ValueError as error:
                raise ModelFileError.of(error, str(self.path)) from error
        self._written = found

    def _restore(self, node: Node) -> None:
        fields = node.fields("features", "label", "order", "bad_rows", "batches", "evaluation")
        stored = fields["features"]
        features = stored.text() if isinstance(stored.value, str) else [name.text() for name in stored.items()]
        order = [name.text() for name in fields["order"].items()]
        mine = self._features if self._features is None or isinstance(self._features, str) else list(self._features)
        for name, own, saved in (
            ("features", mine, features),
            ("label", self._label, fields["label"].text()),
            ("order", self._order or None, order),
        ):
            if own is not None and own != saved:
                raise ConflictError.differs(name, own, saved)
        self._features, self._label, self._order = features, fields["label"].text(), order
        self.bad_rows = Counter({reason: count.integer() for reason, count in fields["bad_rows"].entries().items()})
        for query, batch in fields["batches"].entries().items():
            numbers = batch.fields("batch", "rows", "x", "y")
            self._batches[query] = {name: number.integer() for name, number in numbers.items()}
        fields["evaluation"].entries()
        self._evaluation = self._scoring.resume_evaluation(fields["evaluation"].value)

    def _save(self) -> None:
        last = list(self._batches)[-MOST_QUERIES:]
        self._batches = {query: self._batches[query] for query in last}
        section = {
            "features": self._features,
            "label": self._label,
            "order": self._order,
            "bad_rows": dict(sorted(self.bad_rows.items())),
            "batches": self._batches,
            "evaluation": self._evaluation.state() | {"seconds": 0.0},  # times differ, and the file must not
        }
        assert self.model is not None
        self.model.save(self.path, extra={SECTION: section})
        self._written = file_identity(self.path)


def _counted(blocks: Iterator[XY], sums: dict[str, int]) -> Iterator[XY]:
    """The same blocks; their rows are counted, with checksums of X and of y, however they are cut into blocks."""
    for x, y in blocks:
        labels = y.tobytes()
        if y.dtype.kind == "U":
            labels = ("\0".join(y.tolist()) + "\0").encode("utf-8", "surrogatepass")
        sums["rows"] += len(x)
        sums["x"], sums["y"] = zlib.crc32(x.tobytes(), sums["x"]), zlib.crc32(labels, sums["y"])
        yield x, y
