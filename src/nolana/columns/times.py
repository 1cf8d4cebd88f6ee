"""Dates and times as numbers: seconds since 1970-01-01T00:00:00 UTC (ISO 8601; no zone means UTC)."""

import functools
from collections.abc import Sequence
from datetime import UTC, date, datetime

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "NOT_A_TIME", "PARTS", "circles", "column", "infer_parts", "microseconds", "microseconds_as_seconds", "parts",
    "seconds",
]  # fmt: skip

# Parts as plain numbers are those of plans (`sources.plan`). XOR, 20,000 rows, one a minute, the last 5,000: 99.4 %
# without a time, 98.5 % with hour and weekday, 98.0 % with the day of the year too. So the day of the year must earn
# its place there: see `infer_parts`.
PARTS = ("hour", "weekday", "day of year")
DAY = 86400.0
YEAR = 365 * DAY

SEPARATORS = ("", "T", " ")
SHAPE = np.frombuffer(b"0000-00-00T00:00:00", dtype=np.uint8)
DIGITS, MARKS = [0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18], [4, 7, 13, 16]
MICROSECONDS = 1_000_000
NOT_A_TIME = np.iinfo(np.int64).min  # a missing time in microseconds, as in datetime64
PERIODS = {"hour": 24.0, "weekday": 7.0, "day of year": 366.0}
NAIVE, AWARE = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)


@functools.lru_cache(maxsize=1 << 14)  # the first block is read twice
def seconds(text: str) -> float | None:
    """Seconds since the epoch, or None if the text is not a date or time; digits after microseconds are cut off.

    Examples
    --------
    >>> seconds("1970-01-02"), seconds("1970-01-01T00:00:01.5+00:00"), seconds("tomorrow")
    (86400.0, 1.5, None)
    """
    text = text.strip()
    if (
        text[4:5] != "-" or text[7:8] != "-" or text[10:11] not in SEPARATORS
    ):  # other forms of ISO 8601 look like numbers
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment - (NAIVE if moment.tzinfo is None else AWARE)).total_seconds()
    except (ValueError, OverflowError):
        return None


def column(texts: Sequence[str | None]) -> NDArray[np.float64]:
    """``seconds`` of each text, NaN if it is not a date or time.

    Examples
    --------
    >>> column(["1970-01-02", "tomorrow", "1970-01-01T00:00:01"]).tolist()
    [86400.0, nan, 1.0]
    """
    fast = _plain(texts)
    return np.array([seconds(text or "") for text in texts], dtype=np.float64) if fast is None else fast


def infer_parts(times: NDArray[np.float64]) -> tuple[str, ...]:
    """The parts of these times of the first block that a learner can use: the hour, if there is a time of day; the
    weekday; the day of the year where they cover a year, for until then it only grows.

    Examples
    --------
    >>> infer_parts(np.array([0.0, 86400.0])), infer_parts(np.array([0.0, 5400.0])), infer_parts(np.array([0.0, 4e7]))
    (('weekday',), ('hour', 'weekday'), ('hour', 'weekday', 'day of year'))
    """
    has = {"hour": (times % DAY != 0).any(), "weekday": True, "day of year": times.max() - times.min() >= YEAR}
    return tuple(name for name in PARTS if has[name])


def parts(times: NDArray[np.float64], names: Sequence[str]) -> NDArray[np.float64]:
    """These parts (n, p) of seconds since the epoch: hour (0 to 24), weekday (0 is Monday), day of the year (from 0).

    Examples
    --------
    >>> parts(np.array([86400.0 * 31 + 5400]), PARTS).tolist()  # Sunday, 1970-02-01, half past one
    [[1.5, 6.0, 31.0625]]
    """
    days = np.floor(times / DAY)
    dates = days.astype(np.int64).astype("datetime64[D]")
    day_of_year = (dates - dates.astype("datetime64[Y]").astype("datetime64[D]")).astype(np.float64)
    time_of_day = times / DAY - days
    by_name = {"hour": 24 * time_of_day, "weekday": (days + 3) % 7, "day of year": day_of_year + time_of_day}
    return np.column_stack([by_name[name] for name in names])


def circles(times: NDArray[np.float64], names: Sequence[str]) -> NDArray[np.float64]:
    """Sine and cosine of these parts (n, 2 p), so that the last hour is next to the first; NaN where a time is NaN.

    Examples
    --------
    >>> circles(np.array([0.0, 6 * 3600, np.nan]), ["hour"]).round(9).tolist()
    [[0.0, 1.0], [1.0, 0.0], [nan, nan]]
    """
    out = np.full((len(times), 2 * len(names)), np.nan)
    present = np.isfinite(times)
    if present.any():
        turns = parts(times[present], names) / [PERIODS[name] for name in names]
        for i in range(len(names)):
            angle = np.ascontiguousarray(2 * np.pi * turns[:, i])  # a strided array would take another path of NumPy
            out[present, 2 * i], out[present, 2 * i + 1] = np.sin(angle), np.cos(angle)
    return out


def microseconds(value: date | np.datetime64) -> int:
    """Of a date or time of Python, NumPy or pandas, since the epoch; what is shorter is cut off.

    Examples
    --------
    >>> microseconds(datetime(1970, 1, 2)), microseconds(np.datetime64("1970-01-01T00:00:01"))
    (86400000000, 1000000)
    """
    if isinstance(value, np.datetime64):
        return int(value.astype("datetime64[us]").astype(np.int64))
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    off = value.replace(tzinfo=None) - NAIVE if value.tzinfo is None else value - AWARE
    return int(off.days * 86400 + off.seconds) * MICROSECONDS + int(off.microseconds)


def microseconds_as_seconds(times: NDArray[np.int64]) -> NDArray[np.float64]:
    """Seconds since the epoch, NaN where there is none; the same bits whatever unit a library stores."""
    whole, rest = np.divmod(times, MICROSECONDS)
    return np.where(times == NOT_A_TIME, np.nan, whole + rest / MICROSECONDS)


def _plain(texts: Sequence[str | None]) -> NDArray[np.float64] | None:
    """All at once where each is a valid ``YYYY-MM-DDThh:mm:ss`` (or a blank for T), as most are; else None."""
    if not texts or any(text is None or len(text) != len(SHAPE) or not text.isascii() for text in texts):
        return None
    raw = "".join(texts).encode()  # type: ignore[arg-type]
    letters = np.frombuffer(raw, dtype=np.uint8).reshape(len(texts), len(SHAPE))
    digits = letters[:, DIGITS] - ord("0")  # smaller letters wrap around
    formed = (digits <= 9).all() and (letters[:, MARKS] == SHAPE[MARKS]).all()
    if not formed or not np.isin(letters[:, 10], (ord("T"), ord(" "))).all() or not digits[:, :4].any(axis=1).all():
        return None
    try:
        moments = np.frombuffer(raw, dtype=f"S{len(SHAPE)}").astype("datetime64[s]")
    except ValueError:
        return None
    return moments.astype(np.int64).astype(np.float64)
