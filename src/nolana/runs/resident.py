"""The memory of this process."""

import os
from pathlib import Path

__all__ = ["resident_bytes"]


def resident_bytes() -> int | None:
    """Bytes of this process that are in memory now; None where the system does not report them.

    Examples
    --------
    >>> (resident_bytes() or 1 << 20) >= 1 << 20
    True
    """
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
