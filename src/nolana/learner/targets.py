"""Several targets, or several labels of 0 and 1: a learner for each, which share the memory."""

from dataclasses import replace
from typing import Any

import numpy as np

from nolana.errors import OptionError, Remedy
from nolana.learner.driver import Array, Driver, FairLock, Origin, State
from nolana.learner.memory import size_for, size_text
from nolana.learner.stream import StreamLearner, StreamOptions, least_memory, stream_learner


class TargetsLearner(Driver):
    """Learners of one output each, one for each column of the targets; one lock for all."""

    def __init__(self, parts: list[StreamLearner]) -> None:
        if len(parts) < 2 or len({part.n_features for part in parts}) > 1 or len({part.rows for part in parts}) > 1:
            raise ValueError("expected at least two learners of the same rows")
        if len({(part.options.task, part.outputs) for part in parts}) > 1 or parts[0].outputs > 1:
            raise ValueError("expected learners of one output each, all of numbers or all of classes")
        self.parts, self.lock, self.sparse = parts, FairLock(), parts[0].sparse
        self.n_features, self.runs_user_code, self.diverged = parts[0].n_features, False, False

    @property
    def task(self) -> str:
        return self.parts[0].options.task

    @property
    def rows(self) -> int:
        return self.parts[0].rows

    @property
    def labelled(self) -> int:
        return self.parts[0].labelled

    @property
    def origin(self) -> Origin | None:  # type: ignore[override]
        """All parts have the same."""
        return self.parts[0].origin

    @property
    def outputs(self) -> int:
        return len(self.parts)

    @property
    def repeats(self) -> bool:
        return self.parts[0].repeats

    @repeats.setter
    def repeats(self, repeats: bool) -> None:
        for part in self.parts:
            part.repeats = repeats

    @property
    def memory_bytes(self) -> int:
        return sum(part.memory_bytes for part in self.parts)

    def learn(self, x: Array, y: Array | None, weight: Array | None = None) -> Array:  # (n, d), (n, k) -> (n, k)
        """What each row scored before it was learned."""
        if y is None:
            return np.hstack([part.learn(x, None) for part in self.parts])
        columns = [np.ascontiguousarray(y[:, i : i + 1]) for i in range(self.outputs)]
        return np.hstack([part.learn(x, column, weight) for part, column in zip(self.parts, columns, strict=True)])

    def scores(self, x: Array) -> Array:
        return np.hstack([part.scores(x) for part in self.parts])

    def intervals(self, x: Array, level: float) -> Array:  # (n, d) -> (n, 2 k)
        """The scores of each row, then the half-widths of their intervals."""
        found = [part.intervals(x, level) for part in self.parts]
        return np.hstack([*(each[:, :1] for each in found), *(each[:, 1:] for each in found)])

    def centre(self) -> Array:
        return self.parts[0].centre()

    def novelty(self, x: Array) -> Array:
        """All parts store the same rows, as long as their metrics are the same: those of the first."""
        return self.parts[0].novelty(x)

    def expert_records(self) -> list[dict[str, Any]]:
        """Those of all targets, named by their target."""
        return [
            record | {"name": f"target {i}: {record['name']}"}
            for i, part in enumerate(self.parts)
            for record in part.expert_records()
        ]

    def sizes(self) -> dict[str, int]:
        """Sizes for the memory of each target."""
        return self.parts[0].sizes()

    def relevance(self) -> Array:
        """The mean over the targets (d,)."""
        return np.asarray(np.mean([part.relevance() for part in self.parts], axis=0))

    @property
    def alarms(self) -> list[int]:
        """Rows at which an alarm of any target was raised."""
        return sorted({row for part in self.parts for row in part.alarms})

    def changes(self) -> list[dict[str, Any]]:
        """Those of all targets, by row, each with the number of its target."""
        found = [record | {"target": i} for i, part in enumerate(self.parts) for record in part.changes()]
        return sorted(found, key=lambda record: (record["row"], record["target"]))

    def take_alarms(self) -> list[int]:
        """Those since the last call."""
        return sorted({row for part in self.parts for row in part.take_alarms()})

    def thaw(self) -> None:
        for part in self.parts:
            part.thaw()

    def remedies(self) -> list[str]:
        return self.parts[0].remedies()

    def state(self) -> State:
        return {f"target{i}/{name}": value for i, part in enumerate(self.parts) for name, value in part.state().items()}

    def restore(self, state: State) -> None:
        for i, part in enumerate(self.parts):
            prefix = f"target{i}/"
            own = {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
            part.restore(own)

    def __getstate__(self) -> State:
        return {"parts": [part.__getstate__() for part in self.parts]}

    def __setstate__(self, saved: State) -> None:
        parts = [StreamLearner.__new__(StreamLearner) for _ in saved["parts"]]
        for part, state in zip(parts, saved["parts"], strict=True):
            part.__setstate__(state)
        TargetsLearner.__init__(self, parts)


def targets_learner(options: StreamOptions, features: int, targets: int) -> TargetsLearner:
    """A learner of several numbers or labels in the memory of one."""
    share = replace(options, memory=options.memory // targets)
    try:
        return TargetsLearner([stream_learner(share, features, 1) for _ in range(targets)])
    except OptionError as error:
        needed = targets * least_memory(share, features)
        what = f"is too small: each of {targets} targets has {share.memory:,} bytes of it, and all need {needed:,}"
        enough = Remedy("memory", size_text(size_for(needed)), "is enough")
        raise OptionError("memory", options.memory, what, remedies=[enough]) from error
