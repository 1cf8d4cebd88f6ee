"""Dates and times as numbers: seconds since 1970-01-01T00:00:00 UTC (ISO 8601; no zone means UTC)."""

import functools
from datetime import UTC, datetime

__all__ = ["seconds"]

SEPARATORS = ("", "T", " ")
NAIVE, AWARE = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)


@functools.lru_cache(maxsize=1 << 14)  # a block is looked at twice
def seconds(text: str) -> float | None:
    """Seconds since the epoch, or None where the text is no date or time; digits behind microseconds are cut.

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
