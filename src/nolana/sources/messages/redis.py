"""Streams of Redis (the extra ``redis``): entries in the order of their ids.

The fields of an entry are its columns; an entry whose only field is ``value`` has a JSON object or a line of CSV in it.
"""

import functools
import json
import os
import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, unquote

from nolana.errors import MissingExtraError, OtherSourceError, StreamError
from nolana.sources.messages.base import PATIENCE, Address, Ends, Mark, Message, MessagePlace, Messages, Sink
from nolana.sources.options import SourceOptions

try:
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry
except ModuleNotFoundError:
    raise MissingExtraError('streams of Redis need the package redis; pip install "nolana[redis]"') from None

__all__ = ["RedisSink", "RedisStream"]

BATCH = 1000  # entries of a request
POLL = 200  # milliseconds after which a signal is handled
ID = re.compile(r"(\d{1,20})-(\d{1,20})")
LARGEST = 2**64 - 1  # sequence number
ONLY = ""  # the name of the only partition
VALUE = b"value"  # the field that has the whole row


def client(address: Address) -> redis.Redis:
    """A client of redis-py that is connected; StreamError if the server is not reached."""
    url = address.url
    try:
        port, database = url.port or 6379, int(parse_qs(url.query).get("db", ["0"])[0])
    except ValueError:
        raise StreamError("the port or the database is not a number", path=str(address)) from None
    connect = functools.partial(
        redis.Redis,
        host=url.hostname or "localhost",
        port=port,
        db=database,
        username=unquote(url.username or "") or None,
        password=unquote(url.password or "") or os.environ.get("REDISCLI_AUTH") or None,
        ssl=url.scheme == "rediss",
        socket_connect_timeout=PATIENCE,
        socket_timeout=PATIENCE,
    )
    with connect(retry=Retry(NoBackoff(), 0)) as first:  # a name or password that is wrong is reported at once
        _ask(address, first.ping)
    return connect()


def _ask(address: Address, question: Callable[..., Any], *arguments: object, **options: object) -> Any:
    try:
        return question(*arguments, **options)
    except (redis.exceptions.AuthenticationError, redis.exceptions.NoPermissionError):
        hint = "is the password in the environment variable REDISCLI_AUTH?"
        raise StreamError("the server refuses the user or the password", path=str(address), hint=hint) from None
    except redis.exceptions.ConnectionError as error:
        what = f"the server does not answer: {str(error).rstrip('.')}"
        raise StreamError(what, path=str(address)) from None
    except redis.exceptions.RedisError as error:
        raise StreamError(f"it cannot be read or written: {error}", path=str(address)) from None


class RedisStream(Messages):
    """The entries of a stream."""

    fields = ("id",)

    _client: redis.Redis

    def _connect(self) -> None:
        self._client = client(self.address)
        self.identity = f"redis {self._client.connection_pool.connection_kwargs['db']} {self.address.name}"
        kind = _ask(self.address, self._client.type, self.address.name).decode()
        if kind != "stream":
            what = f"there is no stream {self.address.name!r}" + ("" if kind == "none" else f": this key is a {kind}")
            raise StreamError(what, path=self.name)
        self._buffer: deque[tuple[bytes, dict[bytes, bytes]]] = deque()
        self._taken, self._last = "0-0", "0-0"

    def _partitions(self) -> list[str]:
        return [ONLY]

    def _range(self, partition: str) -> tuple[MessagePlace, MessagePlace]:
        facts = _ask(self.address, self._client.xinfo_stream, self.address.name)
        last = facts["last-generated-id"].decode()
        if facts["first-entry"] is None:
            return last, last
        first = facts["first-entry"][0].decode()
        if facts.get("entries-added") == facts["length"]:  # nothing was ever deleted
            return "0-0", last
        milliseconds, sequence = self._key(first)
        before = (milliseconds, sequence - 1) if sequence else (milliseconds - 1, LARGEST)
        return f"{before[0]}-{before[1]}", last

    def _place_before(self, partition: str, time: float) -> MessagePlace:
        return f"{max(1, int(time * 1000)) - 1}-{LARGEST}"

    def _key(self, place: MessagePlace) -> tuple[int, int]:
        parts = ID.fullmatch(str(place))
        if parts is None:
            raise ValueError(f"{place!r} is no id of a stream")
        return int(parts[1]), int(parts[2])

    def _fields(self, partition: str, place: MessagePlace) -> tuple[str]:
        return (str(place),)

    def _begin(self, marks: dict[str, Mark]) -> None:
        place, checksum = marks[ONLY]
        self._taken = str(place)
        found = _ask(self.address, self._client.xrange, self.address.name, self._taken, self._taken)
        if checksum is not None and found and Message(ONLY, place, _value(found[0][1])).checksum != checksum:
            what = f"cannot resume after id {place}: this entry has changed"
            raise OtherSourceError(what, path=self.name, hint="was the stream deleted and created again?")

    def _lost(self, mark: str) -> str:
        return f"the entry with {mark}, the last one read, was deleted, and entries after it may have been too"

    def _set_ends(self, ends: Ends) -> None:
        self._last = str(ends[ONLY])

    def _take(self) -> Message | None:
        if not self._buffer and self._key(self._taken) < self._key(self._last):
            after = f"({self._taken}"
            entries = _ask(self.address, self._client.xrange, self.address.name, after, self._last, count=BATCH)
            self._buffer.extend(entries)
        if not self._buffer:
            self._taken = self._last  # the last entries were deleted
            return None
        place, fields = self._buffer.popleft()
        self._taken = place.decode()
        return Message(ONLY, self._taken, _value(fields))

    def _wait(self) -> Ends:
        while True:
            reply = _ask(self.address, self._client.xread, {self.address.name: self._taken}, count=BATCH, block=POLL)
            if reply:
                entries = reply[0][1] if isinstance(reply, list) else next(iter(reply.values()))[0]
                return {ONLY: entries[-1][0].decode()}

    def close(self) -> None:
        if "_client" in self.__dict__:
            self._client.close()
            del self._client


def _value(fields: Mapping[bytes, bytes]) -> bytes:
    """An entry as a line: the field ``value`` if there is no other, otherwise an object of its fields."""
    if len(fields) == 1 and VALUE in fields:
        return fields[VALUE]
    decoded = {name.decode("utf-8", "replace"): value.decode("utf-8", "replace") for name, value in fields.items()}
    return json.dumps(decoded, ensure_ascii=False).encode()


class RedisSink(Sink):
    """A stream that predictions are appended to, each in the field ``value``."""

    def __init__(self, address: Address, options: SourceOptions) -> None:
        super().__init__(address, options)
        self._client = client(address)

    def _send(self, values: list[bytes]) -> None:
        pipeline = self._client.pipeline(transaction=False)
        for value in values:
            pipeline.xadd(self.address.name, {VALUE: value})
        _ask(self.address, pipeline.execute)

    def close(self) -> None:
        self._client.close()
