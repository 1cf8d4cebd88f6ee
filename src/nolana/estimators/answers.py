"""What the default estimators can tell beside predictions: how odd is this row, what changed, why this prediction."""

import math
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.columns import Schema
from nolana.estimators.base import OnlinePredictor
from nolana.estimators.edge import blocks_for, check_features, dense
from nolana.estimators.explain import contributions
from nolana.learner.rows import MatrixLike, MomentRows
from nolana.learner.stream import StreamLearner
from nolana.learner.targets import TargetsLearner

Array = NDArray[np.float64]
Record = dict[str, Any]  # in the types of JSON


class Answers(OnlinePredictor):
    """Questions that only the default estimators answer; nothing is learned by asking."""

    _learner: StreamLearner | TargetsLearner

    @property
    def on_drift(self) -> Callable[[int], object] | None:
        """Called with the number of each row that raises the drift alarm, after the call that learned it."""
        return self._on_drift

    @on_drift.setter
    def on_drift(self, action: Callable[[int], object] | None) -> None:
        if action is not None and not callable(action):
            raise ValueError(f"on_drift={action!r} is not callable")
        if "_learner" in self.__dict__:
            with self._learner.lock:
                self._learner.take_alarms()  # earlier alarms are not reported
        self._on_drift = action

    def _report_drift(self, action: Callable[[int], object]) -> None:
        with self._learner.lock:
            rows = self._learner.take_alarms()
        for row in rows:
            action(row)

    @property
    def experts_(self) -> list[dict[str, Any]]:
        """A record for each expert: name, weight in the stack, score over the last 1,000 rows or so, bytes."""
        learner = self._read()
        with learner.lock:
            return list(learner.expert_records())

    @property
    def drift_(self) -> list[int]:
        """The rows (from 0) at which the drift alarm was raised, the last 100 of them."""
        learner = self._read()
        with learner.lock:
            return list(learner.alarms)

    @property
    def changes_(self) -> list[Record]:
        """What changed at each alarm of ``drift_``: score, features, their relevance, rates of classes or the target.

        A record has the details, and ``complete`` is true, when 256 to 511 more rows were learned.
        """
        learner = self._read()
        with learner.lock:
            records, seen = learner.changes(), self._seen_classes()
        classes = None if seen is None else dict(enumerate(seen))
        return [named_change(record, classes, self.__dict__.get("_schema")) for record in records]

    @property
    def relevance_(self) -> Array:
        """The relevance of each feature for the predictions, 1 on average (d,); of a date that of its largest part."""
        learner, schema = self._read(), self.__dict__.get("_schema")
        with learner.lock:
            found = np.asarray(learner.relevance())
        if schema is None:
            return found
        if schema.sparse:  # not measured
            return np.ones(len(schema.columns))
        return np.array([found[place].max(initial=0.0) for place in schema.places])

    @property
    def sizes_(self) -> dict[str, int]:
        """Sizes for the memory budget: landmarks, grids, slots of the hash table, recent rows."""
        return dict(self._read().sizes())

    def novelty(self, X: MatrixLike) -> Array:
        """How odd each row is among those learned last, as p-values (n,): small means odd.

        The distance of a row to its nearest neighbours among the stored rows, compared with what the last stored rows
        had when they came: p is uniform on rows like them, so that a threshold of 0.01 reports one of 100 of them. It
        needs no labels: ``learn(X)`` without y is enough. 1 for every row until 32 rows are stored.
        """
        learner = self._read()
        x = check_features(self, X, reset=False, empty=True)
        parts = [np.zeros(0)]
        for _, part in blocks_for(learner, x):
            with learner.lock:
                parts.append(learner.novelty(part))
        return np.concatenate(parts)

    def explain(self, X: MatrixLike) -> Array:
        """What each column adds to the score of a row, (n, d); (n, d, c) for c > 2 classes or c > 1 targets.

        The score is the prediction of a regressor, and ``decision_function`` of a classifier: of two classes the one of
        ``classes_[1]``, half its log-odds. The contributions of a row add up to its score less that of the centre,
        the row whose numbers are the means that features are scaled around and whose categories are missing. Columns
        are those of X: a date or a category is one.

        They are Shapley values: what a column changes if columns take their values one after the other, starting at the
        centre, averaged over the orders. All orders count if at most 10 columns differ from the centre, else 16 drawn
        ones and their reversals, the same for every call. A row costs as much as 2^p, or 32 (p + 1) predictions, p the
        columns that differ.
        """
        self._check_taught()
        if isinstance(X, MomentRows):
            raise ValueError("explain takes rows with what is known now, not those of another moment; pass rows.X")
        x = check_features(self, X, reset=False, empty=True)
        learner, schema = self._learner, self.__dict__.get("_schema")
        if learner.sparse:
            raise ValueError("explain needs dense rows, of numbers and categories: X has text, or is sparse and wide")
        columns = [slice(j, j + 1) for j in range(x.shape[1])] if schema is None else schema.places
        with learner.lock:
            centre, read = np.array(learner.centre()), self._score_reader()
        centre[[] if schema is None else schema.categories] = np.nan

        def scores(rows: Array) -> Array:  # (m, d) -> (m, c)
            with learner.lock:
                return read(learner.scores(rows))

        found = contributions(scores, dense(x, slice(None)), centre, columns)
        return np.ascontiguousarray(found[:, :, 0]) if found.shape[2] == 1 else found

    def _score_reader(self) -> Callable[[Array], Array]:
        """Makes scores that `explain` takes apart, (n, c), of outputs; those of the classes known now."""
        return np.asarray


def named_change(record: Record, classes: Mapping[int, Hashable] | None, schema: Schema | None) -> Record:
    """A record of the learner by the names of columns and classes; classes: by position, None for regression."""
    complete, known = bool(record["complete"]), record["before"] >= 0
    score = math.sqrt if classes is None else lambda error: 1 - error  # of what the alarm watches
    named: Record = {
        "row": int(record["row"]),
        "complete": complete,
        "score": "rmse" if classes is None else "accuracy",
        "before": float(score(record["before"])) if known else None,
        "after": float(score(max(0.0, record["after"]))) if complete else None,
        "features": [
            {"feature": name, "shift": shift}
            | ({"before": before, "after": after} if number else {"before": None, "after": None})
            for name, number, (shift, before, after) in _by_feature(record["moved"], schema)
        ],
        "relevance": [
            {"feature": name, "before": before, "after": after}
            for name, _, (before, after) in _by_feature(record["relevance"], schema)
        ],
    }
    if classes is not None:
        rates = [entry for entry in record["rates"] if int(entry[0]) in classes]
        listed = [{"class": classes[int(k)], "before": before, "after": after} for k, before, after in rates]
        return named | {"classes": listed}
    level = {
        "before": record["level_before"] if known else None,
        "after": record["level_after"] if complete else None,
    }
    return named | {"target": level} | ({"output": record["target"]} if "target" in record else {})


def _by_feature(
    entries: list[tuple[float, ...]], schema: Schema | None
) -> list[tuple[str | int, bool, tuple[float, ...]]]:
    """Entries of encoded columns as those of columns, with whether these are numbers; a date has its first."""
    if schema is None:
        return [(int(column), True, tuple(numbers)) for column, *numbers in entries]
    found: dict[str | int, tuple[bool, tuple[float, ...]]] = {}
    for column, *numbers in entries:
        for own, place in zip(schema.columns, schema.places, strict=True):
            if place.start <= column < place.stop:
                found.setdefault(own.name, (own.kind in ("number", "boolean"), tuple(numbers)))
    return [(name, number, own) for name, (number, own) in found.items()]


def change_text(record: Record) -> str:
    """A record of ``changes_`` in a line."""
    parts = []
    titles = [each["feature"] for each in (*record["features"], *record["relevance"])]
    title = {name: f"feature {name}" if isinstance(name, int) else name for name in titles}
    if record["before"] is not None and record["after"] is not None:
        before, after = record["before"], record["after"]
        percent = record["score"] == "accuracy"
        parts.append(
            f"accuracy {100 * before:.1f} -> {100 * after:.1f} %" if percent else f"RMSE {before:.4g} -> {after:.4g}"
        )
    level = record.get("target")
    if level is not None and level["before"] is not None and level["after"] is not None:
        parts.append(f"target {level['before']:.4g} -> {level['after']:.4g}")
    for each in record["features"]:
        means = "" if each["before"] is None else f" ({each['before']:.3g} -> {each['after']:.3g})"
        parts.append(f"{title[each['feature']]} moved by {each['shift']:+.1f} sd{means}")
    for each in record["relevance"]:
        parts.append(f"relevance of {title[each['feature']]} {each['before']:.2f} -> {each['after']:.2f}")
    for each in record.get("classes", ()):
        parts.append(f"class {each['class']} {100 * each['before']:.0f} -> {100 * each['after']:.0f} %")
    output = f" of target {record['output']}" if "output" in record else ""
    what = "; ".join(parts) if record["complete"] else "details follow with the next rows"
    return f"row {record['row']:,}{output}: {what or 'the score fell, nothing else'}"
