"""The formats by name, and which of them a text is in."""

import re
from collections.abc import Sequence
from typing import Any, Protocol

from nolana.streams.csv import Column, CsvRows, Target
from nolana.streams.labels import Part
from nolana.streams.libsvm import LibsvmRows
from nolana.streams.sources import Text, fail

__all__ = ["FORMATS", "Rows", "guess", "rows_of"]

FORMATS = ("csv", "libsvm")
ENDINGS = {"csv": "csv", "tsv": "csv", "libsvm": "libsvm", "svm": "libsvm", "svmlight": "libsvm"}
PACKED = re.compile(r"\.(gz|bz2|xz)$", re.IGNORECASE)
LIBSVM_LINE = re.compile(rb"\s*(\S+\s+)?(qid:\S+\s+)?[0-9]+:[^\s:,;]+([ \t]+[0-9]+:[^\s:,;]+)*\s*(#.*)?")
DEFAULTS: dict[str, dict[str, Any]] = {
    "csv": {"header": None, "delimiter": None},
    "libsvm": {"n_features": None, "zero_based": False},
}


class Rows(Protocol):
    """What a format makes of a text."""

    n_features: int
    feature_names: list[str] | None
    has_target: bool

    @property
    def label_place(self) -> tuple[int, str | None]:
        """Number and name of the label's column."""

    def parse(self, limit: int) -> Part:
        """At most so many rows of what the window holds; StreamError at the first that is wrong."""


def guess(text: Text) -> str:
    """The format of a text, from its name, then from its first line."""
    ending = PACKED.sub("", text.path).rpartition(".")[2].lower()
    if ending in ENDINGS:
        return ENDINGS[ending]
    while not text.final and not _first_line(text)[1]:
        text.more()
    line = _first_line(text)[0]
    if LIBSVM_LINE.fullmatch(line):
        return "libsvm"
    if any(mark in line for mark in (b",", b";", b"\t")):
        return "csv"
    fail(text, f"neither its name nor its first line tells the format; give format=, one of: {', '.join(FORMATS)}")


def _first_line(text: Text) -> tuple[bytes, bool]:
    """The first line that says something, and whether it is complete."""
    lines = text.data[text.start :].split(b"\n")
    for place, line in enumerate(lines):
        if line.strip() and not line.lstrip().startswith(b"#"):
            return line, place < len(lines) - 1
    return b"", False


def rows_of(
    text: Text,
    format: str | None,
    target: Target,
    features: Sequence[Column] | None,
    block_rows: int,
    options: dict[str, Any],
) -> Rows:
    """The rows of a text in the format given or guessed; an option of another format is refused."""
    if format is not None and format not in FORMATS:
        raise ValueError(f"format={format!r} is not one of: {', '.join(FORMATS)}, or None to guess")
    name = format or guess(text)
    for other, defaults in DEFAULTS.items():
        for option, default in defaults.items():
            if other != name and options[option] is not default:
                raise ValueError(
                    f"{option}={options[option]!r} is for format {other!r}; {text.path} is read as {name!r}"
                )
    own = {option: options[option] for option in DEFAULTS[name]}
    if name == "csv":
        return CsvRows(text, target=target, features=features, **own)
    return LibsvmRows(text, target=target, features=features, block_rows=block_rows, **own)
