"""Split a learner into parts that learn apart, and merge them into the learner that saw all their rows.

A part records the fingerprint of its base: a checksum of all that the base had learned. The base itself stays in
memory, as long as nobody saves, copies or pickles the part.
"""

import copy
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any, TypeVar

import numpy as np

from nolana import modelfile
from nolana.estimators._sklearn import NotFittedError
from nolana.estimators.base import OnlineEstimator
from nolana.estimators.calibration import OnlineCalibration
from nolana.estimators.class_weights import ClassCounts
from nolana.estimators.labels import Labels
from nolana.estimators.model import NolanaModel
from nolana.estimators.parameters import integer
from nolana.estimators.stream import StreamModel
from nolana.learner import records
from nolana.learner.driver import Origin
from nolana.learner.landmark import mergeable_experts
from nolana.learner.merge import Alignment, frozen_copy, mergeable, merged_learner

T = TypeVar("T")
E = TypeVar("E", bound=OnlineEstimator)

MOST_PARTS = 1 << 16
PLAIN = (type(None), bool, int, float, str, list, tuple, dict)  # parameters that can be compared in any process
WHO = (
    "StreamClassifier, StreamRegressor, and NolanaClassifier and NolanaRegressor with optimizer='newton' and "
    "solver='inverse' can be merged"
)


def split_estimator(model: E, k: int) -> list[E]:
    """k frozen copies of a fitted model that record it as their base; the model does not change."""
    count = integer("k", k, 1, MOST_PARTS)
    base = settled(model)
    learner = base._learner
    origin = Origin(fingerprint(base), int(learner.rows), base=base)
    parts = []
    for _ in range(count):
        part = copy.copy(base)
        part._learner = frozen_copy(learner, origin)
        parts.append(part)
    return parts


def settled(model: E) -> E:
    """A copy of a model that can be split; a merge of parts is made ready to learn."""
    if not model.__sklearn_is_fitted__():
        raise NotFittedError(f"this {type(model).__name__} has learned nothing yet: there is nothing to split")
    check_mergeable(model)
    if model._learner.origin is not None and model._learner.origin.frozen:
        raise ValueError(
            "this is a part already; split its base, or merge it with the other parts and split the result"
        )
    base = copy.copy(model)
    base.__dict__.pop("_on_drift", None)
    if base._learner.origin is not None:
        base._learner.thaw()
    return base


def check_mergeable(model: OnlineEstimator) -> None:
    """ValueError for a model, fitted or not, whose parts could not be merged."""
    if getattr(model, "lag", None) is not None:
        raise ValueError(
            "a model with a lag cannot be split or merged: the last targets that a part knows would be those of its "
            "own rows, not those of the stream"
        )
    learner = model.__dict__.get("_learner")
    if learner is not None:
        can = mergeable(learner)
    else:
        can = isinstance(model, StreamModel) or bool(
            isinstance(model, NolanaModel) and mergeable_experts(model._spec(1)[0])
        )
    if not can:
        raise ValueError(f"parts of this {type(model).__name__} could not be merged; {WHO}")


def fingerprint(base: OnlineEstimator) -> str:
    """A checksum of everything that a model has learned."""
    return modelfile.fingerprint({"fitted": base._fitted_record(), "learner": records.record_of(base._learner)})


def merge(learners: Iterable[T], base: T | None = None) -> T:
    """The learner that saw the rows of all parts.

    Parts are what ``split`` of one model returned, after each has learned rows of its own; a merge of some of them can
    be merged with the others. For the squared loss (`NolanaRegressor`) the result is that of one process; for other
    losses it is close to it.

    Parameters
    ----------
    learners : the parts, or merges of them, of one base.
    base : the model that was split; needed where parts were saved, copied or pickled.

    Raises ValueError for learners that are not parts of this base, with other parameters, landmarks, width or grids;
    then nothing has changed.

    Examples
    --------
    >>> import numpy as np, nolana
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (3000, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = nolana.NolanaRegressor(n_landmarks=20).fit(X[:1000], y[:1000])
    >>> first, second = model.split(2)
    >>> first.partial_fit(X[1000:2000], y[1000:2000]), second.partial_fit(X[2000:], y[2000:])  # doctest: +ELLIPSIS
    (NolanaRegressor(...), NolanaRegressor(...))
    >>> nolana.merge([first, second]).n_rows_
    3000
    """
    parts: list[Any] = list(learners)
    origin, settled_base = _common_base(parts, base)
    with ExitStack() as locks:
        for part in sorted(parts, key=id):  # one order for all threads
            locks.enter_context(part._learner.lock)
        merged: T = _merged(settled_base, parts, origin)
        return merged


def _common_base(parts: list[Any], base: Any) -> tuple[Origin, Any]:
    """The base of all parts; ValueError where they have none in common."""
    if not parts:
        raise ValueError("merge needs at least one part, got none")
    for i, part in enumerate(parts):
        learner = getattr(part, "__dict__", {}).get("_learner")
        if learner is None or learner.origin is None:
            raise ValueError(
                f"learner {i} is no part: it was not made by split, or it learned after it was merged. "
                "Use parts = model.split(k), and let the parts learn"
            )
        if type(part) is not type(parts[0]):
            raise ValueError(f"parts of one model are of one class, got {_name(parts[0])} and {_name(part)}")
    if len({id(part) for part in parts}) < len(parts):
        raise ValueError("a part is there twice; its rows would count twice")
    origins = [part._learner.origin for part in parts]
    if len({(origin.fingerprint, origin.rows) for origin in origins}) > 1:
        raise ValueError("the parts come from different bases; merge only parts of one split")
    if base is None:
        base = next((origin.base for origin in origins if origin.base is not None), None)
        if base is None:
            raise ValueError(
                "these parts do not have their base with them, because they were saved, copied or pickled; pass "
                "base=, the model that was split"
            )
    else:
        if type(base) is not type(parts[0]):
            raise ValueError(f"base is of class {_name(base)}, the parts of class {_name(parts[0])}")
        # Parts of an earlier version know their base as its file has it.
        loaded = getattr(base.__dict__.get("_learner"), "loaded", None)
        base = settled(base)
        if loaded != (origins[0].fingerprint, base._learner.rows) and fingerprint(base) != origins[0].fingerprint:
            raise ValueError(
                "base is not the model that these parts were split from, or it has learned since; pass that model as "
                "it was, for example loaded from its file"
            )
    for part in parts:
        _check_parameters(base, part)
    return Origin(origins[0].fingerprint, origins[0].rows, frozen=False, base=base), base


def _name(estimator: object) -> str:
    return type(estimator).__name__


def _check_parameters(base: OnlineEstimator, part: OnlineEstimator) -> None:
    """ValueError where a part has other parameters than its base."""
    theirs = part.get_params(deep=False)
    for name, value in base.get_params(deep=False).items():
        other = theirs[name]
        if isinstance(value, np.ndarray):
            same = np.array_equal(value, other)
        elif isinstance(value, dict):  # weights of classes; files have them as floats
            same = value == other
        else:  # objects of the user's own are copies after pickling
            same = repr(value) == repr(other) if isinstance(value, PLAIN) else type(value) is type(other)
        if name not in ("max_iter", "shuffle", "random_state") and not same:
            raise ValueError(
                f"a part has {name}={other!r}, its base {name}={value!r}; parts keep the parameters of their base"
            )
    first, second = base._learner, part._learner
    if first.n_features != second.n_features:
        raise ValueError(f"a part has {second.n_features} features, its base {first.n_features}")


def _merged(base: Any, parts: list[Any], origin: Origin) -> Any:
    result = copy.copy(base)
    learners = [part._learner for part in parts]
    if hasattr(base, "_labels") and base._labels.seen:
        labels, alignments = aligned_labels(base._labels, [part._labels for part in parts])
        if labels.seen > max(2, base._labels.seen):
            base._learner.check_outputs(labels.seen)
        result._labels = labels
        result._publish()
        merge_class_parts(result, base, parts)
    else:
        alignments = [Alignment()] * (1 + len(parts))
        if hasattr(base, "_centre"):
            merge_centres(result, base, parts)
    result._learner = merged_learner(base._learner, learners, origin, alignments)
    return result


def aligned_labels(base: Labels, parts: list[Labels]) -> tuple[Labels, list[Alignment]]:
    """The classes of all, and how the outputs of base and parts become theirs."""
    labels = copy.deepcopy(base)
    for part in parts:
        assert part.classes is not None
        labels.announce(part.classes)
    seen: set[Any] = {label for part in parts for label in part.position}
    new = sorted(seen - set(base.position))
    changes = [change for label in new if (change := labels.see(label)) is not None]
    alignments = [Alignment(changes, [], ())]
    for part in parts:
        own = copy.deepcopy(part)
        own.announce(np.asarray(labels.classes))
        missing = [label for label in labels.position if label not in part.position]
        changes = [change for label in missing if (change := own.see(label)) is not None]
        order = [own.position[label] for label in labels.position]
        absent = tuple(labels.position[label] for label in missing) if labels.seen > 2 else ()
        alignments.append(Alignment(changes, order, absent))
    if not new:
        alignments = [Alignment()] * len(alignments)
    return labels, alignments


def merge_class_parts(result: Any, base: Any, parts: list[Any]) -> None:
    """Counts of classes, and the calibration of scores that are no log-odds."""
    counts = [part.__dict__["_class_counts"] for part in parts if "_class_counts" in part.__dict__]
    if counts:
        result._class_counts = ClassCounts.merged(base.__dict__.get("_class_counts", ClassCounts()), counts)
    if base._calibration is not None:
        rows = [int(part._learner.rows - base._learner.rows) for part in parts]
        others = [part._calibration for part in parts]
        result._calibration = OnlineCalibration.merged(base._calibration, others, rows)


def merge_centres(result: Any, base: Any, parts: list[Any]) -> None:
    """The sums of the targets add up."""
    first, others = base._centre, [part._centre for part in parts]
    result._centre.weight = first.weight + sum(other.weight - first.weight for other in others)
    total = first.total + sum(other.total - first.total for other in others)
    result._centre.total = total if isinstance(total, np.ndarray) else float(total)
