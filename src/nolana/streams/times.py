"""Dates and times as numbers: seconds since 1970-01-01T00:00:00 UTC (ISO 8601; no zone means UTC)."""

import functools
import re
from datetime import UTC, datetime

__all__ = ["seconds"]

SHAPE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.,]+([zZ]|[+-][0-9:]+)?)?")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@functools.lru_cache(maxsize=1 << 14)  # a block is looked at twice
def seconds(text: str) -> float | None:
    """Seconds since the epoch, or None where the text is no date or time; digits behind microseconds are cut.

    Examples
    --------
    >>> seconds("1970-01-02"), seconds("1970-01-01T00:00:01.5+00:00"), seconds("tomorrow")
    (86400.0, 1.5, None)
    """
    text = text.strip()
    if not SHAPE.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
        return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH).total_seconds()
    except (ValueError, OverflowError):
        return None
