"""The formats, and which of them a source is in."""

import re

from nolana.errors import OptionError, Remedy
from nolana.sources.arrow import ArrowReader, ParquetReader
from nolana.sources.compression import COMPRESSIONS
from nolana.sources.csv import CsvReader
from nolana.sources.jsonl import JsonReader
from nolana.sources.libsvm import LibsvmReader
from nolana.sources.options import SourceOptions
from nolana.sources.plan import Plan
from nolana.sources.reader import Reader
from nolana.sources.sources import Bytes, fail

__all__ = ["FORMATS", "MAGIC", "detect", "open_reader"]

# In the order in which they are asked whether they recognise a first line; CSV recognises nearly everything.
FORMATS: dict[str, type[Reader]] = {
    format.format: format for format in (JsonReader, LibsvmReader, CsvReader, ParquetReader, ArrowReader)
}
MAGIC = tuple(magic for format in FORMATS.values() for magic in format.magic)
COMPRESSED = re.compile(rf"\.({'|'.join(c.ending for c in COMPRESSIONS)})$", re.IGNORECASE)


def detect(source: Bytes, plan: Plan | None = None) -> type[Reader]:
    """The format of a source: by its first bytes, its name, the format of the plan, then its first line."""
    if source.compression is None:
        for format in FORMATS.values():
            if any(source.head.startswith(magic) for magic in format.magic):
                return format
    ending = COMPRESSED.sub("", source.path).rpartition(".")[2].lower()
    for format in FORMATS.values():
        if ending in format.endings:
            return format
    planned = None if plan is None else FORMATS.get(plan.format)
    if planned is not None and not planned.magic:
        return planned
    line = source.first_line()
    if source.messages is not None and not line:
        remedies = [Remedy("follow", True, "waits for some")]
        fail(source.path, "there are no messages with rows", remedies=remedies)
    for format in FORMATS.values():
        if format.recognises(line):
            return format
    remedies = [Remedy("format", ..., f"sets it to one of: {', '.join(FORMATS)}")]
    fail(source.path, "the format cannot be detected from the name or the first line", remedies=remedies)


def open_reader(source: Bytes, options: SourceOptions, plan: Plan | None) -> Reader:
    """The reader of a source, in the format of the options or the detected one."""
    format = detect(source, plan) if options.format is None else FORMATS[options.format]
    defaults = type(options)()
    for name, value in options.specified.items():
        owners = [other.format for other in FORMATS.values() if name in other.own_options]
        if owners and format.format not in owners and value != getattr(defaults, name):
            raise OptionError(name, value, f"is for format {owners[0]!r}; {source.path} is read as {format.format!r}")
    if plan is not None and (plan.columns is None) != format.indexed:
        expected = "index:value" if plan.columns is None else "columns"
        fail(source.path, f"expected {expected} as in the {plan.format} source of the plan, got {format.format}")
    return format(source, options, plan)
