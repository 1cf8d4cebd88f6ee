"""Malformed files: the small ones of the directory ``files``, and those that are too large or too binary to store."""

import gzip
import json
import shutil
from pathlib import Path

import numpy as np

SMALL = Path(__file__).parent / "files"


def make(folder):
    """Put all malformed files into a folder."""
    for path in SMALL.iterdir():
        shutil.copy(path, folder)
    for name, text in large().items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())


def xor(n, seed=0):
    """Rows of two numbers, and whether they have the same sign."""
    x = np.random.default_rng(seed).uniform(-1, 1, (n, 2)).round(4)
    return [(a, b, "yes" if a * b > 0 else "no") for a, b in x.tolist()]


def table(names, rows):
    return "\n".join([names, *(",".join(map(str, row)) for row in rows)]) + "\n"


def large():
    rows = xor(1500)
    at = 1300  # in the second block
    objects = [{"a": a, "b": b, "y": y} for a, b, y in rows]
    text = table("a,b,y", rows[:300])
    times = [f"2024-{1 + i // 672:02d}-{1 + i // 24 % 28:02d}T{i % 24:02d}:30:00" for i in range(1500)]
    towns = [f"town {i % (30 if i < at else 50)}" for i in range(1500)]
    return {
        "missing_late.csv": table("a,b,y", [*rows[:at], ("", 0.5, "yes"), *rows[at:]]),
        "text_late.csv": table("a,b,y", [*rows[:at], ("high", 0.5, "yes"), *rows[at:]]),
        "label_late.csv": table("a,b,y", [(a, b, i % 2 if i < at else "maybe") for i, (a, b, _) in enumerate(rows)]),
        "latin1_late.csv": table("a,b,y,place", [(*row, "x" * 70) for row in rows]).encode()
        + "0.5,0.5,yes,Café\n".encode("latin-1"),
        "key_late.jsonl": "".join(json.dumps(o | {"c": 1} if i >= at else o) + "\n" for i, o in enumerate(objects)),
        "category_late.csv": table("a,b,town,y", [(a, b, t, y) for (a, b, y), t in zip(rows, towns, strict=True)]),
        "leading_zeros.csv": table("zip,a,b,y", [(f"0{1234 + i % 5}", *row) for i, row in enumerate(rows[:300])]),
        "mixed.csv": table("size,a,b,y", [(i % 7 if i % 3 else "large", *row) for i, row in enumerate(rows[:300])]),
        "prose.csv": table("note,a,b,y", [(f"it was row {i} today", *row) for i, row in enumerate(rows[:300])]),
        "empty_first.csv": table("c,a,b,y", [("" if i < 1200 else i % 5, *row) for i, row in enumerate(rows)]),
        "timestamp.csv": table("timestamp,a,b,y", [(1_700_000_000 + 60 * i, *row) for i, row in enumerate(rows)]),
        "row_number.csv": table("id,a,b,y", [(i, *row) for i, row in enumerate(rows)]),
        "counter.csv": table("count,a,b,y", [(5 * i + i % 3, *row) for i, row in enumerate(rows)]),
        "unix_time.csv": table("when,a,b,y", [(1_700_000_000 + i // 4, *row) for i, row in enumerate(rows)]),
        "sorted.csv": table("a,b,y", sorted(rows)),
        "times.csv": table("when,a,b,y", [(t, *row) for t, row in zip(times, rows, strict=True)]),
        "dates.csv": table("day,a,b,y", [(t[:10], *row) for t, row in zip(times, rows, strict=True)]),
        "utf16.csv": text.encode("utf-16"),
        "utf16_unmarked.csv": text.encode("utf-16-le"),
        "utf8_mark.csv": text.encode("utf-8-sig"),
        "latin1.csv": table("a,b,place,y", [(a, b, "Café", y) for a, b, y in rows[:300]]).encode("latin-1"),
        "cut_off.csv.gz": gzip.compress(text.encode(), mtime=0)[:-20],
        "archive.zip": b"PK\x03\x04" + bytes(40),
        "array.json": json.dumps(objects[:300]),
        "pretty.json": json.dumps(objects[:300], indent=2),
        "pretty_objects.json": "".join(json.dumps(o, indent=2) + "\n" for o in objects[:300]),
        "not_finite.csv": table("a,b,y", [*rows[:20], ("inf", 0.5, "yes")]),
        "index_from_0.libsvm": "".join(f"{i % 2} 0:{a} 1:{b}\n" for i, (a, b, _) in enumerate(rows[:50])),
    }
