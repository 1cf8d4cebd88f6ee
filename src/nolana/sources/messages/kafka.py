"""Topics of Apache Kafka; librdkafka reads and writes them (the extra ``kafka``).

Partitions are assigned, not subscribed: there is no consumer group to rebalance, and offsets are stored in the model
file alone. Of the next messages of all partitions the one with the earliest timestamp comes first, of equal ones that
of the lowest partition. This order has no memory: it follows from the offsets to begin at.
"""

import heapq
import re
import time
import warnings
from collections import deque
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, TypeVar

from nolana.errors import MissingExtraError, OptionError, OtherSourceError, Remedy, StreamError, StreamWarning
from nolana.sources.messages.base import PATIENCE, Address, Ends, Mark, Message, MessagePlace, Messages, Sink
from nolana.sources.options import SourceOptions

try:
    import confluent_kafka as kafka
except ModuleNotFoundError:
    raise MissingExtraError(
        'topics of Kafka need the package confluent-kafka; pip install "nolana[kafka]"', name="confluent_kafka"
    ) from None

__all__ = ["KafkaSink", "KafkaTopic"]

Client = TypeVar("Client", kafka.Consumer, kafka.Producer)
Answer = TypeVar("Answer")

POLL = 0.2  # seconds after which a signal is handled
BATCH = 10_000  # messages received at once
MOST_HELD = 1 << 25  # bytes of messages that wait for those of other partitions
QUEUED = 1 << 14  # kilobytes of messages in librdkafka
OVERHEAD = 200  # bytes of a message beside its value
MOST_NAMES = 10  # topics in a message
OWN = {  # decided here
    "bootstrap.servers", "group.id", "enable.auto.commit", "auto.offset.reset", "enable.partition.eof", "error_cb",
}  # fmt: skip


def client(
    kind: type[Client], address: Address, options: SourceOptions, defaults: Mapping[str, object]
) -> "tuple[Client, Reasons]":
    """A client of confluent_kafka, and why its servers are not reached."""
    reasons = Reasons()
    settings = {"bootstrap.servers": address.servers, "error_cb": reasons, "log_level": 0, **defaults}
    settings |= {} if options.kafka_config is None else _properties(options.kafka_config)
    try:
        return kind(settings), reasons
    except kafka.KafkaException as error:
        # The error may quote a value, and values may be secrets.
        problem = error.args[0].str()
        named = [name for name in settings if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", problem)]
        why = "is not a property of Kafka, or has an invalid value"
        why = f"{named[0]} {why}" if named else problem.partition(":")[0]
        raise OptionError("kafka_config", options.kafka_config, f"cannot be used: {why}") from None


def _properties(path: str) -> dict[str, str]:
    """The properties of a file: ``name=value`` on each line, ``#`` begins a comment."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise OptionError("kafka_config", path, f"cannot be read: {error.strerror or error}") from error
    properties = {}
    for number, line in enumerate(text.splitlines(), 1):
        name, equals, value = (part.strip() for part in line.partition("="))
        if not name or name.startswith("#"):
            continue
        if not equals:
            raise OptionError("kafka_config", path, f"has no name=value on line {number}")
        if name in OWN:
            raise OptionError("kafka_config", path, f"sets {name} on line {number}, which is decided by the command")
        properties[name] = value
    return properties


class Reasons:
    """The last error of a client: why it does not answer."""

    def __init__(self) -> None:
        self.last = ""

    def __call__(self, error: kafka.KafkaError) -> None:
        if error.name() != "_ALL_BROKERS_DOWN":
            self.last = error.str()

    def __str__(self) -> str:
        return self.last.partition(" (after ")[0].replace("/bootstrap:", ":")


def _metadata(client: Client, reasons: Reasons, address: Address) -> Any:
    """The cluster and its topics; StreamError if it is not reached, or has no such topic."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return client.list_topics(timeout=3.0)
        except kafka.KafkaException as error:
            client.poll(0)  # calls reasons
            # A name that is not known, or a port that nobody listens to: waiting does not help.
            if str(reasons) or time.monotonic() > deadline:
                why = str(reasons) or error.args[0].str()
                raise StreamError(f"no broker answers: {why}", path=str(address)) from None


class KafkaTopic(Messages):
    """The messages of a topic."""

    fields = ("partition", "offset")

    _consumer: kafka.Consumer

    def _connect(self) -> None:
        if "@" in self.address.url.netloc:
            remedies = [Remedy("kafka_config", ..., "reads user and password from a file")]
            raise StreamError("an address of Kafka takes no credentials", path=self.name, remedies=remedies)
        settings = {
            "group.id": "nolana",  # required, and not used: nothing is subscribed or committed
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "queued.max.messages.kbytes": QUEUED,
        }
        self._consumer, self._reasons = client(kafka.Consumer, self.address, self.options, settings)
        metadata = _metadata(self._consumer, self._reasons, self.address)
        topic = metadata.topics.get(self.address.name)
        if topic is None:
            self._check_access()
        if topic is None or not topic.partitions:
            names = sorted((name for name in metadata.topics if not name.startswith("__")), key=self._distance)
            has = ", ".join(map(repr, names[:MOST_NAMES])) + (", ..." if len(names) > MOST_NAMES else "")
            has = f"the topics are: {has}" if names else "the cluster has no topics"
            raise StreamError(f"there is no topic {self.address.name!r}; {has}", path=self.name)
        self._known = sorted(topic.partitions)
        self.identity = f"kafka {metadata.cluster_id} {self.address.name}"
        self._buffers: dict[int, deque[kafka.Message]] = {}
        self._at_end: set[int] = set()
        self._paused: set[int] = set()
        self._missing: set[int] = set()  # partitions that have not reached their ends, whose next message is not here
        self._heads: list[tuple[int, int]] = []  # a heap of timestamp and partition of the next messages
        self._limits: dict[int, int] = {}  # the last offset of each partition
        self._taken: dict[int, int] = {}
        self._held = 0  # bytes of the buffers
        self._warned = False  # that no broker answers

    def _distance(self, name: str) -> float:
        """How little a name has in common with the topic, which may be misspelt."""
        return -SequenceMatcher(None, name, self.address.name).ratio()

    def _check_access(self) -> None:
        """StreamError if the topic is not listed for another reason than that it does not exist."""
        asked = self._ask(self._consumer.list_topics, self.address.name).topics[self.address.name].error
        if asked is not None and asked.name() != "UNKNOWN_TOPIC_OR_PART":
            raise StreamError(f"it cannot be read: {asked.str()}", path=self.name)

    def _partitions(self) -> list[str]:
        chosen = self.options.partitions or self._known
        if absent := [str(p) for p in chosen if p not in self._known]:
            what = f"has {', '.join(absent)}; the partitions of {self.name} are {self._known[0]} to {self._known[-1]}"
            raise OptionError("partitions", list(chosen), what)
        return [str(p) for p in sorted(chosen)]

    def _range(self, partition: str) -> tuple[MessagePlace, MessagePlace]:
        low, high = self._ask(self._consumer.get_watermark_offsets, self._partition(int(partition)))
        return low - 1, high - 1

    def _place_before(self, partition: str, time: float) -> MessagePlace:
        asked = self._partition(int(partition), int(time * 1000))
        offset = int(self._ask(self._consumer.offsets_for_times, [asked])[0].offset)
        return offset - 1 if offset >= 0 else self._range(partition)[1]

    def _ask(self, question: Callable[..., Answer | None], about: object) -> Answer:
        try:
            answer = question(about, timeout=PATIENCE)
        except kafka.KafkaException as error:
            raise StreamError(f"it cannot be read: {error.args[0].str()}", path=self.name) from None
        if answer is None:
            raise StreamError(f"no broker answers within {PATIENCE:.0f} seconds", path=self.name)
        return answer

    def _partition(self, partition: int, offset: int = -1) -> kafka.TopicPartition:
        return kafka.TopicPartition(self.address.name, partition, offset)

    def _key(self, place: MessagePlace) -> tuple[int]:
        if isinstance(place, bool) or not isinstance(place, int):
            raise ValueError(f"{place!r} is no offset")
        return (place,)

    def _fields(self, partition: str, place: MessagePlace) -> tuple[int, int]:
        return int(partition), int(place)

    def _begin(self, marks: dict[str, Mark]) -> None:
        """The last message of each partition is read once more, unless it was deleted, and compared."""
        self._taken = {int(p): int(place) for p, (place, _) in marks.items()}
        self._buffers = {p: deque() for p in self._taken}
        sums = {int(p): checksum for p, (_, checksum) in marks.items() if checksum is not None}
        begins = {p: place + (p not in sums) for p, place in self._taken.items()}
        self._consumer.assign([self._partition(p, offset) for p, offset in begins.items()])
        waiting = set(sums)
        deadline = time.monotonic() + PATIENCE
        while waiting := {p for p in waiting if not self._buffers[p] and p not in self._at_end}:
            self._receive(deadline)
        for p, checksum in sums.items():
            if self._buffers[p] and _known(self._buffers[p][0].offset()) == self._taken[p]:
                message = self._buffers[p].popleft()
                self._held -= len(message) + OVERHEAD
                if Message(str(p), self._taken[p], message.value()).checksum != checksum:
                    what = f"cannot resume after partition {p}, offset {self._taken[p]}: this message has changed"
                    raise OtherSourceError(what, path=self.name, hint="was the topic deleted and created again?")

    def _set_ends(self, ends: Ends) -> None:
        self._limits = {int(p): int(last) for p, last in ends.items()}
        self._heads = []
        self._missing = {p for p, last in self._limits.items() if self._taken[p] < last}
        self._settle()

    def _settle(self) -> None:
        """Finds the next messages of the missing partitions among those received, and which have reached their ends."""
        for p in list(self._missing):
            if self._buffers[p]:
                head = self._buffers[p][0]
                if _known(head.offset()) <= self._limits[p]:
                    heapq.heappush(self._heads, (head.timestamp()[1], p))
            elif p not in self._at_end:
                continue
            self._missing.discard(p)

    def _take(self) -> Message | None:
        deadline = time.monotonic() + PATIENCE
        while self._missing:
            self._receive(None if self.live else deadline)
            self._settle()
        if not self._heads:
            return None
        _, p = heapq.heappop(self._heads)
        message = self._buffers[p].popleft()
        self._taken[p] = _known(message.offset())
        self._held -= len(message) + OVERHEAD
        if self._taken[p] < self._limits[p]:
            self._missing.add(p)
            self._settle()
        if self._paused:
            self._resume(self._paused if self._held < MOST_HELD // 2 else self._paused - {*self._with_messages()})
        return Message(str(p), self._taken[p], message.value())

    def _with_messages(self) -> list[int]:
        return [p for p, buffer in self._buffers.items() if buffer]

    def _resume(self, partitions: set[int]) -> None:
        """Partitions of which too many messages waited; one without messages is always read."""
        if partitions:
            self._consumer.resume([self._partition(p) for p in sorted(partitions)])
            self._paused = self._paused - partitions

    def _wait(self) -> Ends:
        """Ends are what was received: with some partitions no messages may come for long."""
        while not self._with_messages():
            self._receive(None)
        return {
            str(p): _known(self._buffers[p][-1].offset()) if self._buffers[p] else self._taken[p]
            for p in sorted(self._buffers)
        }

    def _receive(self, deadline: float | None) -> None:
        """Some messages, if any come soon; StreamError after the deadline."""
        first = self._consumer.poll(POLL)
        if first is None:
            if deadline is not None and time.monotonic() > deadline:
                why = str(self._reasons) or f"nothing came for {PATIENCE:.0f} seconds"
                raise StreamError(f"no broker answers: {why}", path=self.name)
            if deadline is None and str(self._reasons) and not self._warned:
                self._warned = True
                what = f"no broker answers: {self._reasons}. Reading continues when one does"
                warnings.warn(StreamWarning(what, place=self.name), stacklevel=1)
            return
        for message in [first, *self._consumer.consume(BATCH, 0)]:
            p, error = _known(message.partition()), message.error()
            if error is None:
                self._at_end.discard(p)
                self._buffers[p].append(message)
                self._held += len(message) + OVERHEAD
                self._warned, self._reasons.last = False, ""
                if self._held >= MOST_HELD and p not in self._paused:
                    self._paused = self._paused | {p}
                    self._consumer.pause([self._partition(p)])
            elif error.name() == "_PARTITION_EOF":
                self._at_end.add(p)
            elif error.name() == "_AUTO_OFFSET_RESET":
                what = f"partition {p}, offset {message.offset()} was deleted before it was read"
                remedies = [Remedy("from_", "earliest", "continues with the first message that is still there")]
                raise StreamError(what, path=self.name, remedies=remedies)
            elif not error.retriable() and error.name() not in ("_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE"):
                raise StreamError(f"it cannot be read: {error.str()}", path=self.name)

    def close(self) -> None:
        if "_consumer" in self.__dict__:
            self._consumer.close()
            del self._consumer


def _known(number: int | None) -> int:
    assert number is not None  # offset and partition of a message that was received
    return number


class KafkaSink(Sink):
    """A topic that predictions are sent to."""

    def __init__(self, address: Address, options: SourceOptions) -> None:
        super().__init__(address, options)
        settings = {"enable.idempotence": True, "message.timeout.ms": int(PATIENCE * 1000)}
        self._producer, reasons = client(kafka.Producer, address, options, settings)
        _metadata(self._producer, reasons, address)
        self._failed: kafka.KafkaError | None = None

    def _send(self, values: list[bytes]) -> None:
        for value in values:
            while True:
                try:
                    self._producer.produce(self.address.name, value=value, on_delivery=self._delivered)
                    break
                except BufferError:  # the queue is full
                    self._producer.poll(POLL)
        while self._producer.flush(POLL) and self._failed is None:
            pass
        if self._failed is not None:
            raise StreamError(f"predictions cannot be sent: {self._failed.str()}", path=self.name)

    def _delivered(self, error: kafka.KafkaError | None, _: kafka.Message) -> None:
        if error is not None:
            self._failed = error

    def close(self) -> None:
        """Every message was flushed."""
