"""What the service reports about itself: lines on standard error, a summary for the page, text for Prometheus."""

import contextlib
import sys
import time
import traceback
from bisect import bisect_left
from collections import Counter, deque
from typing import TYPE_CHECKING, TypedDict

from nolana.estimators.answers import change_text
from nolana.estimators.stream import StreamModel
from nolana.runs.process import resident_bytes

if TYPE_CHECKING:
    from nolana.serve.service import Service

__all__ = ["Counters", "Latency", "Summary", "note", "note_error", "prometheus", "summary"]

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
MOST_ERRORS = 20
MOST_LABELS = 8  # in quarantine, on the page
MOST_CHANGES = 8  # drift alarms with what changed, on the page
MOST_POINTS = 256  # of the score over time on the page

Samples = list[tuple[str, float | None]]  # labels and value


def note(text: str) -> None:
    """Print one line; a service must not end because it cannot be written."""
    with contextlib.suppress(OSError, ValueError):
        print(f"nolana: {text}", file=sys.stderr, flush=True)


def note_error() -> None:
    """Print the exception that is being handled, with its traceback."""
    with contextlib.suppress(OSError, ValueError):
        traceback.print_exc(file=sys.stderr)
        sys.stderr.flush()


class Latency:
    """A histogram of seconds."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.sum = 0.0

    def add(self, seconds: float) -> None:
        """Count one request."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.sum += seconds

    def quantile(self, share: float) -> float | None:
        """The upper bound of the bucket in which this share of the requests ends; None before the first request."""
        total, passed = sum(self.counts), 0
        for bound, count in zip((*BUCKETS, float("inf")), self.counts, strict=True):
            passed += count
            if total and passed >= share * total:
                return bound
        return None


class Counters:
    """Counts since the service was started."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.rows = self.duplicates = self.overloads = self.quarantined = 0
        self.checkpoints = self.checkpoint_failures = self.log_failures = 0
        self.requests: Counter[tuple[str, int]] = Counter()
        self.latency: dict[str, Latency] = {}
        self.errors: deque[dict[str, object]] = deque(maxlen=MOST_ERRORS)

    def answered(self, endpoint: str, status: int, seconds: float) -> None:
        """Count a request and its answer."""
        self.requests[endpoint, status] += 1
        self.latency.setdefault(endpoint, Latency()).add(seconds)

    def refused(self, endpoint: str, status: int, message: str) -> None:
        """Remember an error for the page."""
        age = time.monotonic() - self.begun
        self.errors.append({"at": age, "endpoint": endpoint, "status": status, "message": message[:300]})


class Summary(TypedDict, total=False):
    """The model at a moment; before its first row only the first four."""

    model: str
    read_only: bool
    rows: int
    quarantine: list[tuple[str, int]]  # labels and rows
    estimator: str
    task: str
    bytes: int
    position: int  # in the log
    score: dict[str, float]
    recent_score: dict[str, float]
    baselines: dict[str, dict[str, float]]
    recent_rows: int
    metric: str | None  # of the history
    history: list[tuple[int, float, float]]  # rows, over the window, over all rows
    experts: list[dict[str, object]]
    drift: list[int]
    changes: list[str]
    drift_alarms: int


def summary(service: "Service") -> Summary:
    """The model as it is now; called by the thread that learns."""
    model = service.model
    facts: Summary = {"model": service.path.name, "read_only": service.log is None, "rows": 0}
    if service.log is not None and service.log.quarantine.rows:
        facts["quarantine"] = [(str(label), rows) for label, rows in service.log.quarantine.listed(MOST_LABELS)]
    if model is None or not model.fitted:
        return facts
    estimator, evaluation = model.estimator, model.evaluation
    stream = isinstance(estimator, StreamModel)
    history = evaluation.history
    history = history[:: -max(1, -(-len(history) // MOST_POINTS))][::-1]  # with the last one
    name = next(iter(evaluation.metrics), None)
    return {
        **facts,
        "estimator": type(estimator).__name__,
        "task": model.task,
        "rows": model.rows,
        "bytes": estimator.memory_bytes_,
        "position": model.position,
        "score": evaluation.metrics,
        "recent_score": evaluation.recent,
        "baselines": evaluation.baselines,
        "recent_rows": evaluation.recent_rows,
        "metric": name,
        "history": [(point.rows, point.window[name], point.overall[name]) for point in history if name is not None],
        "experts": estimator.experts_ if stream else [],
        "drift": estimator.drift_ if stream else [],
        "changes": [change_text(each) for each in estimator.changes_[-MOST_CHANGES:]] if stream else [],
        "drift_alarms": len(estimator.drift_) if stream else 0,
    }


def prometheus(service: "Service") -> str:
    """The metrics in the text format of Prometheus."""
    counters, facts, log = service.counters, service.summary, service.log
    lag = facts.get("position", 0) - service.checkpoint_position
    baselines: Samples = [
        (f'{{baseline="{name}",metric="{metric}"}}', value)
        for name, metrics in facts.get("baselines", {}).items()
        for metric, value in metrics.items()
    ]
    samples: list[tuple[str, str, Samples]] = [
        ("rows_total", "Rows that the model has learned.", _one(facts["rows"])),
        ("rows_learned_total", "Rows learned since the service was started.", _one(counters.rows)),
        ("score", "Score of all rows, each predicted before it was learned.", _named(facts.get("score", {}))),
        ("recent_score", "The same for the last rows.", _named(facts.get("recent_score", {}))),
        ("baseline_score", "Of the best constant and of the last label or value.", baselines),
        ("drift_alarms", "Drift alarms of the model, at most 100.", _one(facts.get("drift_alarms", 0))),
        ("model_bytes", "Bytes of state and scratch of the model.", _one(facts.get("bytes", 0))),
        ("queue_requests", "Requests that wait for the log.", _one(service.waiting)),
        ("duplicates_total", "Requests whose id was learned before.", _one(counters.duplicates)),
        ("quarantined_rows_total", "Rows that were put into quarantine.", _one(counters.quarantined)),
        ("overloads_total", "Requests refused because too many waited.", _one(counters.overloads)),
        ("checkpoints_total", "Model files written.", _one(counters.checkpoints)),
        ("checkpoint_failures_total", "Model files not written.", _one(counters.checkpoint_failures)),
        ("log_failures_total", "Transactions that the log could not write.", _one(counters.log_failures)),
        ("log_lag_records", "Records learned and not yet in the model file.", _one(lag)),
        ("resident_bytes", "Memory of the process.", _one(resident_bytes())),
    ]
    if log is not None:
        held = log.quarantine
        samples += [
            ("log_records", "Records in the log.", _one(log.last - log.deleted)),
            ("log_bytes", "Bytes of the log on the disk.", _one(log.bytes)),
            ("quarantine_rows", "Rows in quarantine: their label is no class.", _one(held.rows)),
            ("quarantine_labels", "Labels in quarantine.", _one(len(held.counts))),
            ("quarantine_dropped_rows_total", "Rows that the quarantine had no room for.", _one(held.dropped)),
            ("waiting_requests", "Predicted requests that wait for labels.", _one(log.waiting)),
        ]
    requests: Samples = [(f'{{endpoint="{e}",status="{s}"}}', n) for (e, s), n in sorted(counters.requests.items())]
    samples.append(("requests_total", "Requests by endpoint and status.", requests))
    lines: list[str] = []
    for name, text, values in samples:
        kind = "counter" if name.endswith("_total") else "gauge"
        lines += [f"# HELP nolana_{name} {text}", f"# TYPE nolana_{name} {kind}"]
        lines += [f"nolana_{name}{labels} {_number(value)}" for labels, value in values if value is not None]
    lines += _histograms(counters)
    return "\n".join(lines) + "\n"


def _one(value: float | None) -> Samples:
    return [("", value)]


def _named(metrics: dict[str, float]) -> Samples:
    return [(f'{{metric="{metric}"}}', value) for metric, value in metrics.items()]


def _histograms(counters: Counters) -> list[str]:
    name = "nolana_request_seconds"
    lines = [f"# HELP {name} Seconds from the first byte of a request to its answer.", f"# TYPE {name} histogram"]
    for endpoint, latency in sorted(counters.latency.items()):
        passed = 0
        for bound, count in zip((*map(str, BUCKETS), "+Inf"), latency.counts, strict=True):
            passed += count
            lines.append(f'{name}_bucket{{endpoint="{endpoint}",le="{bound}"}} {passed}')
        lines.append(f'{name}_sum{{endpoint="{endpoint}"}} {_number(latency.sum)}')
        lines.append(f'{name}_count{{endpoint="{endpoint}"}} {passed}')
    return lines


def _number(value: float) -> str:
    return "NaN" if value != value else repr(value)
