"""The formats by name, which of them a source is in, and the reader of each."""

import re
from dataclasses import dataclass
from typing import Any

from nolana.streams.arrow import ArrowReader
from nolana.streams.columns import Column, Target
from nolana.streams.csv import CsvReader
from nolana.streams.jsonl import JsonReader
from nolana.streams.libsvm import LibsvmReader
from nolana.streams.plan import Plan
from nolana.streams.reader import Reader
from nolana.streams.sources import Bytes, fail, is_binary_table
from nolana.streams.text import Text

__all__ = ["FORMATS", "Wish", "guess", "reader_of"]

FORMATS = ("csv", "libsvm", "jsonl", "parquet", "arrow")
ENDINGS = {
    "csv": ("csv", "tsv"),
    "libsvm": ("libsvm", "svm", "svmlight"),
    "jsonl": ("jsonl", "ndjson", "json"),
    "parquet": ("parquet", "pq"),
    "arrow": ("arrow", "arrows", "feather", "ipc"),
}
PACKED = re.compile(r"\.(gz|bz2|xz|zst)$", re.IGNORECASE)
LIBSVM_LINE = re.compile(rb"\s*(\S+\s+)?(qid:\S+\s+)?[0-9]+:[^\s:,;]+([ \t]+[0-9]+:[^\s:,;]+)*\s*(#.*)?")
OWN: dict[str, dict[str, Any]] = {  # options of one format alone, with their defaults
    "csv": {"header": None, "delimiter": None},
    "libsvm": {"n_features": None, "zero_based": False},
}


@dataclass(frozen=True)
class Wish:
    """What the caller of ``open`` asks for, as far as it concerns the reader."""

    target: Target
    features: list[Column] | None
    ignore: list[Column] | None
    block_rows: int
    own: dict[str, Any]  # header, delimiter, n_features, zero_based


def named_format(path: str) -> str | None:
    """The format that the ending of a name tells."""
    ending = PACKED.sub("", path).rpartition(".")[2].lower()
    return next((name for name, endings in ENDINGS.items() if ending in endings), None)


def guess(text: Text) -> str:
    """The format of a text, from its name, then from its first line."""
    named = named_format(text.path)
    if named is not None:
        return named
    while not text.final and not _first_line(text)[1]:
        text.more()
    line = _first_line(text)[0]
    if line.lstrip().startswith(b"{"):
        return "jsonl"
    if LIBSVM_LINE.fullmatch(line):
        return "libsvm"
    if any(mark in line for mark in (b",", b";", b"\t")):
        return "csv"
    fail(text.path, f"neither its name nor its first line tells the format; give format=, one of: {', '.join(FORMATS)}")


def _first_line(text: Text) -> tuple[bytes, bool]:
    """The first line that says something, and whether it is complete."""
    lines = text.data[text.start :].split(b"\n")
    for place, line in enumerate(lines):
        if line.strip() and not line.lstrip().startswith(b"#"):
            return line, place < len(lines) - 1
    return b"", False


def reader_of(source: Bytes, format: str | None, chunk_bytes: int, wish: Wish, plan: Plan | None) -> Reader:
    """The reader of a source in the format given, told by its bytes or its name, or that of the plan."""
    if format is not None and format not in FORMATS:
        raise ValueError(f"format={format!r} is not one of: {', '.join(FORMATS)}, or None to guess")
    table = is_binary_table(source.head) if source.packing is None else None
    name = format or (None if table is None else table.rstrip("s")) or named_format(source.path)
    if name in ("parquet", "arrow"):
        _refuse_foreign(source, name, wish)
        return ArrowReader(source, name)
    text = Text(source, chunk_bytes)
    if name is None:
        name = (
            guess(text) if plan is None else plan.format if plan.format in ("csv", "libsvm", "jsonl") else guess(text)
        )
    _refuse_foreign(source, name, wish)
    if (plan is not None) and (plan.columns is None) != (name == "libsvm"):
        raise ValueError(f"the plan is for format {plan.format!r}; {source.path} is read as {name!r}")
    if name == "jsonl":
        return JsonReader(text, wish.block_rows, None if plan is None else _planned_names(plan, wish.target))
    if name == "libsvm":
        return _libsvm(text, wish, plan)
    return _csv(text, wish, plan)


def _refuse_foreign(source: Bytes, name: str, wish: Wish) -> None:
    for other, defaults in OWN.items():
        for option, default in defaults.items():
            if other != name and wish.own[option] is not default:
                raise ValueError(
                    f"{option}={wish.own[option]!r} is for format {other!r}; {source.path} is read as {name!r}"
                )


def _planned_names(plan: Plan, target: Target) -> list[str]:
    """The keys a plan asks for: a row of JSON lines need not have them all."""
    goal = plan.target if target is None else target
    names = [column.column for column in plan.columns or ()] + ([] if goal is None or goal is False else [goal])
    unnamed = [name for name in names if not isinstance(name, str)]
    if unnamed:
        raise ValueError(f"the plan knows column {unnamed[0]!r} by its index only; JSON lines have names")
    return [str(name) for name in names]


def _csv(text: Text, wish: Wish, plan: Plan | None) -> CsvReader:
    header, delimiter = wish.own["header"], wish.own["delimiter"]
    if plan is None:
        return CsvReader(
            text,
            target=wish.target,
            features=wish.features,
            ignore=wish.ignore,
            header=header,
            delimiter=delimiter,
        )
    if header is None:
        header = plan.named or bool(plan.header)
    # which columns are meant, the plan says; here it only matters that there are some
    return CsvReader(
        text, target=False, features=None, ignore=None, header=header, delimiter=delimiter or plan.delimiter
    )


def _libsvm(text: Text, wish: Wish, plan: Plan | None) -> LibsvmReader:
    if plan is None:
        return LibsvmReader(
            text,
            target=wish.target,
            features=wish.features,
            ignore=wish.ignore,
            block_rows=wish.block_rows,
            n_features=wish.own["n_features"],
            zero_based=wish.own["zero_based"],
        )
    chosen: list[Column] | None = None if plan.chosen is None else list(plan.chosen)
    return LibsvmReader(
        text,
        target=False if plan.target is None else wish.target,
        features=chosen,
        ignore=None,
        block_rows=wish.block_rows,
        n_features=plan.width,
        zero_based=plan.zero_based,
    )
