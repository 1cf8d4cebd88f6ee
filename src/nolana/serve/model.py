"""A model that is served: estimator, columns, score and position in the log, which are saved in one model file.

One thread learns. Other threads may predict at the same time: an encoder of their own has the means and categories of
the last group that was learned.
"""

import io
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nolana import modelfile
from nolana.errors import ConflictError, ModelFileError, NolanaError, StreamError
from nolana.estimators.base import OnlineEstimator
from nolana.estimators.stream import StreamModel
from nolana.evaluate import Evaluation
from nolana.learner.rows import Matrix, MomentRows
from nolana.metrics import Predictions
from nolana.runs import Recipe, Run, Scoring, SourceOptions
from nolana.runs.checkpoints import LogPosition, SavedRun, read
from nolana.runs.recipe import task_of
from nolana.runs.source import (
    changed_state,
    changes,
    check_options,
    check_predicts,
    open_labelled,
    options_to_save,
)
from nolana.serve.refusal import Refusal
from nolana.serve.rows import TARGET, Label, RowReader, Rows
from nolana.sources.bad_rows import NewColumnCounts
from nolana.sources.blocks import joined
from nolana.sources.options import LabelKind
from nolana.sources.plan import Plan, PlannedColumn
from nolana.sources.rows import PlannedRows, encoder_of
from nolana.sources.stream import StreamState

__all__ = ["INTERVAL", "NewModel", "ServedModel", "load"]

INTERVAL = 0.9  # share of the targets between low and high
ROWS_AT_ONCE = 256  # of small requests that are learned in one call: predictions wait for the lock of the learner
WITHOUT_SOURCE: StreamState = {"version": 1, "position": None, "bad_rows": {"reasons": {}}}
LABEL_KINDS: dict[str, LabelKind] = {"U": "text", "b": "bool", "f": "float"}


class ServedModel:
    """What learns and predicts: a run whose rows are pushed by requests.

    Parameters
    ----------
    run : the model, its score, and the log from which it learns.
    rows : of the run.
    new_columns : "error" refuses rows with keys that are not columns.
    """

    def __init__(self, run: Run, rows: PlannedRows, new_columns: str) -> None:
        self.run, self.estimator, self.evaluation, self.task = run, run.estimator, run.evaluation, run.task
        self._rows = rows
        lagged = getattr(run.estimator, "lag", None) is not None
        self.reader = RowReader(rows.plan, self.task, run.estimator._largest(), new_columns, lagged=lagged)
        self._frozen = encoder_of(rows.plan, frozen=True)
        self._lock = threading.Lock()
        self._encoder_state = rows.encoder.state()
        self._frozen_state: object = None

    @property
    def fitted(self) -> bool:
        """Whether it has learned a row."""
        return bool(self.estimator.__sklearn_is_fitted__())

    @property
    def rows(self) -> int:
        """Rows that it has learned."""
        return int(self.estimator.n_rows_) if self.fitted else 0

    @property
    def classes(self) -> list[Label]:
        """The classes that it has learned; none for regression."""
        return list(self.estimator.classes_.tolist()) if self.fitted and self.task == "classification" else []

    @property
    def log(self) -> str | None:
        """The id of its log."""
        return None if self.run.record.log is None else self.run.record.log.id

    @property
    def position(self) -> int:
        """The last record of the log that was learned."""
        return 0 if self.run.record.log is None else self.run.record.log.position

    def follow(self, log: str | None, position: int = 0) -> None:
        """The model has learned a log up to a position; None: it continues with another log."""
        self.run.record = replace(self.run.record, log=None if log is None else LogPosition(log, position))

    # Learning

    def learn(self, group: Sequence[Rows]) -> list[Predictions | Refusal]:
        """Learn the rows of requests, each predicted before; a request that the estimator refuses changes nothing."""
        outcomes: list[Predictions | Refusal] = []
        begin = 0
        while begin < len(group):
            end, count = begin + 1, len(group[begin])
            while end < len(group) and count + len(group[end]) <= ROWS_AT_ONCE:
                count += len(group[end])
                end += 1
            outcomes += self._learn_some(group[begin:end])
            begin = end
        self._encoder_state = self._rows.encoder.state()
        return outcomes

    def _learn_some(self, group: Sequence[Rows]) -> list[Predictions | Refusal]:
        before = self._rows.encoder.state()
        encoded = [self._rows.encode(rows.cells) for rows in group]
        x: Matrix | MomentRows = self.reader.matrix(joined([x for x, _ in encoded]))
        y = np.concatenate([rows.y for rows in group if rows.y is not None])
        try:
            if any(rows.moments is not None for rows in group):
                x = MomentRows(x, _joined_moments(group))
            scores = self.run.push(x, y)
        except ValueError as error:
            self._rows.encoder.restore(before)
            if len(group) == 1:
                return [Refusal.of(error, before="the rows cannot be learned")]
            return [outcome for rows in group for outcome in self._learn_some([rows])]
        for rows, (_, categories) in zip(group, encoded, strict=True):
            for column in rows.new:
                self._rows.counts.add_column(column)
            for category in categories:
                self._rows.counts.add_category(category)
        predictions = Predictions(y, scores, None if self.task == "regression" else self.estimator.classes_)
        ends = np.cumsum([0, *map(len, group)])
        return [predictions.part(a, b) for a, b in pairwise(ends)]

    # Predicting

    def encoded(self, rows: Rows) -> Matrix | MomentRows:
        """Rows as the estimator takes them, with their moment if it has a lag."""
        with self._lock:
            state = self._encoder_state
            if state is not self._frozen_state:
                self._frozen.restore(state)
                self._frozen_state = state
            x = self.reader.matrix(self._frozen.encode(rows.cells))
        if isinstance(self.estimator, StreamModel):
            x = self.estimator.at_moment(x)
        return x

    def predict(self, x: Matrix | MomentRows, level: float | None = None) -> dict[str, object]:
        """Predictions, probabilities or bounds, uncertainty of each encoded row; of classes the sets of a level."""
        model = self.estimator
        if self.task == "regression":
            if not isinstance(model, StreamModel):
                return {"predictions": model.predict(x).tolist(), "rows": model.n_rows_}
            y, low, high = model.predict(x, interval=level or INTERVAL)
            bounds = {"low": low.tolist(), "high": high.tolist(), "uncertainty": ((high - low) / 2).tolist()}
            return {"predictions": y.tolist(), **bounds, "rows": model.n_rows_}
        while True:
            classes = model.classes_
            probabilities = model.predict_proba(x)
            possible = None if level is None else self._possible(x, level)
            if np.array_equal(model.classes_, classes):  # else a new class has come in the meantime
                break
        if getattr(model, "multilabel_", False):
            wrong = np.minimum(probabilities, 1 - probabilities)
            found = {"predictions": model.predict(x).tolist(), "probabilities": probabilities.tolist()}
            return {"classes": classes.tolist(), **found, "uncertainty": wrong.tolist(), "rows": model.n_rows_}
        best = probabilities.argmax(axis=1)
        rounded = (probabilities == probabilities.max(axis=1)[:, None]).sum(axis=1).max() > 1
        if rounded or getattr(model, "class_weight", None) is not None:  # the scores decide
            scored = model.predict(x)
            best = np.searchsorted(classes, scored) if np.isin(scored, classes).all() else best
        certain, predicted = probabilities[np.arange(len(best)), best], classes[best].tolist()
        return {
            "classes": classes.tolist(),
            "predictions": predicted,
            "probabilities": probabilities.tolist(),
            "uncertainty": (1 - certain).tolist(),
            **({} if possible is None else {"sets": [classes[each].tolist() for each in possible]}),
            "rows": model.n_rows_,
        }

    def _possible(self, x: Matrix | MomentRows, level: float) -> NDArray[np.bool_]:
        """Whether each class is in the set of each row."""
        if not hasattr(self.estimator, "predict_set"):
            raise Refusal(400, "this model has no label sets; leave out the level")
        try:
            return np.asarray(self.estimator.predict_set(x, level))
        except ValueError as error:
            raise Refusal(400, str(error)) from error

    def packed(self) -> bytes:
        """The bytes of the model file."""
        return modelfile.packed(self.run.sections())


@dataclass(frozen=True)
class NewModel:
    """A model that does not exist yet: the first request to learn decides its columns.

    Parameters
    ----------
    options, recipe, scoring : as for `nolana.runs.start`.
    """

    options: SourceOptions
    recipe: Recipe
    scoring: Scoring

    @property
    def target(self) -> str:
        """The key of the label."""
        return self.options.target if isinstance(self.options.target, str) else TARGET

    def create(self, text: bytes, log: str) -> ServedModel:
        """The model of a log, before its first row; Refusal if it cannot learn these rows."""
        trial = self._build(text)
        [outcome] = trial.learn([trial.reader.read_logged(text)])
        if isinstance(outcome, Refusal):
            raise outcome
        model = self._build(text)
        model.follow(log)
        return model

    def _build(self, text: bytes) -> ServedModel:
        options = SourceOptions(**(self.options.specified | {"target": self.target, "format": "jsonl"}))
        source = io.BytesIO(text)
        source.name = "the request"  # in messages
        try:
            with open_labelled(source, options, self.recipe.task, only_numbers=not self.recipe.takes_tables) as stream:
                first = next(stream, None)
                if first is None or first.y is None:
                    raise Refusal(400, "there are no rows")
                task = self.recipe.infer_task(first.y, self.target).task
                stream.read_labels_for(task)
                plan = Plan.from_dict(stream.plan)
            estimator = self.recipe.build(task)
            self.scoring.check(estimator)
        except (StreamError, ValueError) as error:
            raise Refusal.of(error, before="no model can be made of these rows") from error
        record = SavedRun(None, True, options_to_save(self.options, stream), WITHOUT_SOURCE | {"plan": plan.as_dict()})
        return _served(estimator, self.scoring.new_evaluation(), record, self.options.new_columns)


def _joined_moments(group: Sequence[Rows]) -> NDArray[np.float64]:
    """Those of all rows, infinite for rows without one."""
    size = max(rows.moments.shape[1] for rows in group if rows.moments is not None)
    without = [np.full((len(rows), size), np.inf) for rows in group]
    return np.concatenate(
        [none if rows.moments is None else rows.moments for rows, none in zip(group, without, strict=True)]
    )


def _served(estimator: OnlineEstimator, evaluation: Evaluation, record: SavedRun, new_columns: str) -> ServedModel:
    rows = PlannedRows(Plan.from_dict(record.stream["plan"]), None, NewColumnCounts("", "row", "ignore"))
    if "encoder" in record.stream:
        rows.restore(record.stream)
    return ServedModel(Run(estimator, evaluation, record, rows=rows), rows, new_columns)


def load(path: str | os.PathLike[str], new: NewModel) -> ServedModel:
    """The model of a file; ConflictError if an option contradicts it."""
    estimator, saved = read(path)
    name, options = os.fspath(path), new.options
    check_predicts(estimator, path)
    if estimator.__sklearn_is_fitted__() and not estimator._is_taught:
        what = "the model has learned rows without labels alone, and cannot predict yet"
        raise ConflictError(what, place=name, hint="learn rows with labels into it first")
    try:
        new.recipe.check(estimator)
        if saved is None:
            evaluation = new.scoring.new_evaluation()
            plan = _plan_of(estimator, options).as_dict()
            saved = SavedRun(None, True, {}, WITHOUT_SOURCE | {"plan": plan})
        else:
            check_options(options, saved)
            evaluation = new.scoring.resume_evaluation(saved.evaluation)
            changed = changes(options, Plan.from_dict(saved.stream["plan"]))
            stream = changed_state(saved.stream, options)
            saved = replace(saved, stream=stream, options=saved.options | changed)
    except ConflictError as error:
        raise error.changed(place=name, hint="leave it out, or choose another model file") from error
    try:
        return _served(estimator, evaluation, saved, options.new_columns)
    except (NolanaError, OSError):
        raise
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError) as error:
        raise ModelFileError.of(error, f"{name}: run") from error


def _plan_of(estimator: OnlineEstimator, options: SourceOptions) -> Plan:
    """The plan of an estimator that was saved without a run: its feature names, or numbers from 1."""
    schema, names = estimator.__dict__.get("_schema"), getattr(estimator, "feature_names_in_", None)
    width = int(estimator.n_features_in_)
    columns = tuple(PlannedColumn(name) for name in (range(width) if names is None else map(str, names)))
    labels: LabelKind = "float"
    if task_of(estimator) == "classification":
        labels = LABEL_KINDS.get(estimator.classes_.dtype.kind, "int")
    target = options.target if isinstance(options.target, str) else None
    known = None if names is None else tuple(map(str, names))
    if schema is not None:
        return Plan.of_schema(schema, "jsonl", target=target, labels=labels, known=known)
    encoding = SourceOptions(**(options.specified | {"only_numbers": not estimator._takes_tables})).columns_as_numbers
    return Plan("jsonl", columns, target=target, labels=labels, width=width, options=encoding, known=known)
