"""What a model can tell beside its predictions: how odd is this row, what changed, why this prediction."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.columns import Schema
from nolana.estimators._sklearn import check_is_fitted
from nolana.estimators.base import OnlineEstimator
from nolana.estimators.edge import blocks_for, check_features, dense
from nolana.estimators.explain import contributions
from nolana.learner.rows import MatrixLike

Array = NDArray[np.float64]


class Answers(OnlineEstimator):
    """Questions that only the default estimators answer; nothing is learned by asking."""

    def novelty(self, X: MatrixLike) -> Array:
        """How odd each row is among those learned last, as p-values (n,): small means odd.

        The distance of a row to its nearest neighbours among the stored rows, compared with what the last stored rows
        had when they came: p is uniform on rows like them, so that a threshold of 0.01 reports one of 100 of them. It
        needs no labels: ``learn(X)`` without y is enough. 1 for every row until 32 rows are stored.
        """
        check_is_fitted(self)
        x = check_features(self, X, self._largest(), reset=False, empty=True)
        parts = [np.zeros(0)]
        for _, part in blocks_for(self._learner, x):
            with self._learner.lock:
                parts.append(self._learner.novelty(part))
        return np.concatenate(parts)

    @property
    def changes_(self) -> list[dict[str, Any]]:
        """What changed at each alarm of ``drift_``: score, features, their relevance, rates of classes or the target.

        A record has the details, and ``complete`` is true, when 256 to 511 more rows were learned.
        """
        learner = self._read()
        labels: Any = self.__dict__.get("_labels")
        with learner.lock:
            records = learner.changes()
            classes = None if labels is None else {i: label for label, i in labels.position.items()}
        return [self._named_change(record, classes) for record in records]

    def _named_change(self, record: Mapping[str, Any], classes: Mapping[int, Any] | None) -> dict[str, Any]:
        """A record of the learner by the names of columns and classes."""
        complete, known = bool(record["complete"]), record["before"] >= 0
        score = math.sqrt if classes is None else lambda error: 1 - error  # of what the alarm watches
        named: dict[str, Any] = {
            "row": int(record["row"]),
            "complete": complete,
            "score": "rmse" if classes is None else "accuracy",
            "before": float(score(record["before"])) if known else None,
            "after": float(score(max(0.0, record["after"]))) if complete else None,
            "features": [
                {"feature": name, "shift": shift}
                | ({"before": before, "after": after} if number else {"before": None, "after": None})
                for (name, number), shift, before, after in self._by_feature(record["moved"])
            ],
            "relevance": [
                {"feature": name, "before": before, "after": after}
                for (name, _), before, after in self._by_feature(record["relevance"])
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

    def _by_feature(self, entries: list[tuple[float, ...]]) -> list[tuple[Any, ...]]:
        """Entries of encoded columns as those of columns, with whether these are numbers; a date has its first."""
        schema: Schema | None = self.__dict__.get("_schema")
        found: dict[Any, tuple[Any, ...]] = {}
        for column, *numbers in entries:
            if schema is None:
                found[int(column), True] = tuple(numbers)
                continue
            for own, place in zip(schema.columns, schema.places, strict=True):
                if place.start <= column < place.stop:
                    found.setdefault((own.name, own.kind in ("number", "boolean")), tuple(numbers))
        return [(key, *numbers) for key, numbers in found.items()]

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
        x = check_features(self, X, self._largest(), reset=False, empty=True)
        learner, schema = self._learner, self.__dict__.get("_schema")
        if learner.sparse:
            raise ValueError("explain needs dense rows, of numbers and categories: X has text, or is sparse and wide")
        columns = [slice(j, j + 1) for j in range(x.shape[1])] if schema is None else schema.places
        classes: Any = self.__dict__.get("classes_")
        with learner.lock:
            centre = np.array(learner.centre())
        centre[[] if schema is None else schema.categories] = np.nan

        def scores(rows: Array) -> Array:  # (m, d) -> (m, c)
            with learner.lock:
                f = learner.scores(rows)
                if classes is None:
                    return np.asarray(f)
                found = self._by_column(f, 0.0)[:, np.searchsorted(self.classes_, classes)]
                return np.asarray(found[:, 1:] if len(classes) == 2 else found)

        found = contributions(scores, dense(x, slice(None)), centre, columns)
        return np.ascontiguousarray(found[:, :, 0]) if found.shape[2] == 1 else found


def change_text(record: Mapping[str, Any]) -> str:
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
