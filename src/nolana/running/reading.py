"""How the source of a run is read."""

import os
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from nolana import streams
from nolana.errors import ConflictError
from nolana.streams.columns import Column
from nolana.streams.plan import Categories, LabelKind, Missing, Plan

__all__ = ["FIRST_ROWS", "Reading", "can_go_back"]

FIRST_ROWS = 1000  # rows that decide what columns and labels are


def can_go_back(source: str) -> bool:
    """Whether a source is a file, of which a place can be found again; standard input may be one."""
    try:
        mode = os.fstat(0).st_mode if source == "-" else os.stat(source).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode)


@dataclass(frozen=True)
class Reading:
    """What is asked of the reader; the parameters are those of `nolana.streams.open`, None: not said."""

    target: Column | None = None
    features: tuple[Column, ...] | None = None
    ignore: tuple[Column, ...] | None = None
    format: str | None = None
    labels: LabelKind | None = None
    categories: Categories | None = None
    hash_slots: int | None = None
    max_categories: int | None = None
    missing: Missing | None = None
    header: bool | None = None
    delimiter: str | None = None
    n_features: int | None = None
    zero_based: bool | None = None
    on_bad_row: str = "error"

    def asked(self) -> dict[str, Any]:
        """What was said about the columns, as plain data: what a later run must not contradict."""
        of_one_source = ("format", "header", "delimiter", "on_bad_row")
        said = {name: value for name, value in asdict(self).items() if value is not None and name not in of_one_source}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in said.items()}

    def open(self, source: str, *, labels: LabelKind | None = None) -> streams.Stream:
        """The stream from its beginning; `labels` where nothing was said about them."""
        return streams.open(
            source,
            **self._said("target", "features", "ignore", "categories", "hash_slots", "max_categories", "missing"),
            **self._said("n_features", "zero_based"),
            **self._of_source(),
            labels=self.labels or labels,
        )

    def resume(self, source: str, state: Mapping[str, Any]) -> streams.Stream:
        """The stream from where the state is, the columns as they were."""
        return streams.open(source, resume=state, **self._of_source())

    def open_to_predict(self, source: str, state: Mapping[str, Any]) -> streams.Stream:
        """The stream from its beginning, columns and encoder of a state, without labels."""
        return streams.open(source, plan=state["plan"], encoder=state["encoder"], target=False, **self._of_source())

    def open_without_labels(self, source: str) -> streams.Stream:
        """The stream from its beginning, all columns features but those that are ignored and the target."""
        ignore = [*(self.ignore or ()), *(() if self.target is None else (self.target,))] or None
        names = ("features", "categories", "hash_slots", "max_categories", "missing", "n_features", "zero_based")
        return streams.open(source, target=False, ignore=ignore, **self._said(*names), **self._of_source())

    def _said(self, *names: str) -> dict[str, Any]:
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def _of_source(self) -> dict[str, Any]:
        said = self._said("format", "header", "delimiter", "on_bad_row")
        return said | {"block_rows": FIRST_ROWS}

    def check(self, plan: Mapping[str, Any], before: Mapping[str, Any]) -> None:
        """ConflictError where something else is asked than the plan of a model says, and than was asked before."""
        planned = Plan.from_dict(plan)
        columns = None if planned.columns is None else [column.column for column in planned.columns]
        there = {
            "target": planned.target,
            "features": columns,
            "labels": planned.labels,
            "n_features": planned.width,
            "zero_based": planned.zero_based,
            **asdict(planned.options),
        }
        for name, value in self.asked().items():
            if value not in (before.get(name), there.get(name)):
                made = before.get(name, there.get(name))
                raise ConflictError(f"{name}={value!r} is asked for, but the model was made with {name}={made!r}")
