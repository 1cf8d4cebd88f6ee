"""Sources and sinks that are no files: topics of Kafka, streams of Redis; ``scheme://servers/name``."""

import importlib
import re
from dataclasses import dataclass
from types import ModuleType
from urllib.parse import urlsplit

from nolana.errors import OptionError, Remedy
from nolana.sources.blocks import SavedPosition
from nolana.sources.messages.base import Address, Messages, Sink
from nolana.sources.options import SourceOptions

__all__ = ["SCHEMES", "Messages", "Sink", "address", "is_address", "open_messages", "open_sink"]


@dataclass(frozen=True)
class Scheme:
    """A kind of address: its form, the module with its source and its sink, the options that files do not have."""

    form: str
    module: str  # loaded when it is needed
    source: str
    sink: str
    options: tuple[str, ...] = ("from_", "follow")

    def load(self) -> ModuleType:
        """Its module; MissingExtraError if the package that it needs is not installed."""
        return importlib.import_module(f"nolana.sources.messages.{self.module}")


SCHEMES = {
    "kafka": Scheme(
        "kafka://HOST:PORT/TOPIC",
        "kafka",
        "KafkaTopic",
        "KafkaSink",
        ("from_", "follow", "partitions", "kafka_config"),
    ),
    "redis": Scheme("redis://HOST:PORT/STREAM", "redis", "RedisStream", "RedisSink"),
    "rediss": Scheme("rediss://HOST:PORT/STREAM", "redis", "RedisStream", "RedisSink"),
}
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def is_address(source: object) -> bool:
    """Whether a source is an address, not a file.

    >>> is_address("kafka://localhost:9092/events"), is_address("events.csv")
    (True, False)
    """
    return isinstance(source, str) and SCHEME.match(source) is not None


def address(source: str) -> Address:
    """The parts of an address; ValueError if it does not have the form of its scheme.

    >>> str(address("redis://user:secret@localhost:6379/events"))
    'redis://localhost:6379/events'
    """
    url = urlsplit(source)
    forms = ", ".join(scheme.form for scheme in SCHEMES.values())
    if url.scheme not in SCHEMES:
        raise ValueError(f"{url.scheme}:// is no source; use a file, or {forms}")
    servers, name = url.netloc.rpartition("@")[2], url.path.removeprefix("/")
    if not servers or not name or "/" in name:
        raise ValueError(f"the address is not of the form {SCHEMES[url.scheme].form}")
    return Address(url, name)


def open_messages(source: object, options: SourceOptions, position: SavedPosition | None) -> Messages | None:
    """The messages of a source, from a position on; None: it is a file."""
    found = address(source) if isinstance(source, str) and is_address(source) else None
    scheme = None if found is None else SCHEMES[found.url.scheme]
    for name in {name for each in SCHEMES.values() for name in each.options} & options.specified.keys():
        if scheme is None or name not in scheme.options:
            owners = [form for form, each in SCHEMES.items() if name in each.options]
            what = f"is for sources {', '.join(f'{owner}://' for owner in owners)}; this one is {found or 'a file'}"
            raise OptionError(name, options.specified[name], what)
    if found is None or scheme is None:
        return None
    if options.header:
        remedies = [Remedy("names", ..., "names the columns")]
        raise OptionError("header", True, "is for files, and each message is a row", remedies=remedies)
    opened: Messages = getattr(scheme.load(), scheme.source)(found, options, position)
    return opened


def open_sink(source: str, options: SourceOptions) -> Sink:
    """Where predictions are sent."""
    found = address(source)
    scheme = SCHEMES[found.url.scheme]
    sink: Sink = getattr(scheme.load(), scheme.sink)(found, options)
    return sink
