"""Messages of a broker as lines of text, one message a line, which the readers of JSON lines and CSV parse.

A source has one or more partitions, each a sequence of messages with increasing places: offsets, or ids. Its position
is the place of the last message of each partition that was consumed. Messages come in an order that depends on them
alone, up to the ends that the partitions had when the source was opened. The position has these ends too: what is read
after an interruption comes in the order in which it would have come without.
"""

import warnings
import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar
from urllib.parse import SplitResult

from nolana.columns.times import seconds
from nolana.errors import OtherSourceError, Place, Remedy, StreamError, StreamWarning
from nolana.sources.blocks import Checksums, Places, SavedMessages, SavedPosition
from nolana.sources.options import SourceOptions

__all__ = ["PATIENCE", "REFUSED_LINE", "Address", "Message", "MessagePlace", "Messages", "Sink"]

MessagePlace = int | str  # of a message in its partition
Ends = dict[str, MessagePlace]
Mark = tuple[MessagePlace, int | None]  # the last message that was consumed of a partition, and its checksum
PATIENCE = 30.0  # seconds without an answer after which a server is unreachable
REFUSED_LINE = b'""x x'  # instead of a message that is no row: malformed in every format
LINE_ENDS = bytes.maketrans(b"\r\n", b"  ")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
NO_VALUE = "the message has no value: it is a tombstone, which deletes its key"
EMPTY = "the message is empty"
OPEN_QUOTE = "a quote is not closed before the end of the message"


@dataclass(frozen=True)
class Address:
    """A source or sink: ``scheme://servers/name``; its ``str`` has no credentials."""

    url: SplitResult
    name: str

    @property
    def servers(self) -> str:
        """The servers without credentials."""
        return self.url.netloc.rpartition("@")[2]

    def __str__(self) -> str:
        return f"{self.url.scheme}://{self.servers}/{self.name}"


@dataclass(frozen=True, slots=True)
class Message:
    """A message; value None: a tombstone."""

    partition: str
    place: MessagePlace
    value: bytes | None

    @property
    def checksum(self) -> int:
        """It identifies the value."""
        return zlib.crc32(self.value or b"")


class Messages(ABC):
    """The messages of a source as a file of lines, read once from a position; a source is a subclass.

    Parameters
    ----------
    address : of the source.
    options : of the source.
    position : of `state`; None: it is read from where the options say.
    """

    fields: ClassVar[tuple[str, ...]]  # the names of a place in messages and outputs
    unit: ClassVar[str] = "message"

    identity: str  # of the source, whatever its servers are called; set by _connect

    def __init__(self, address: Address, options: SourceOptions, position: SavedPosition | None) -> None:
        self.address, self.name, self.options = address, str(address), options
        self.live = options.follow
        self.encoding = str(options.encoding or (position and position.get("encoding")) or "utf-8")
        self.first_line = 1 if position is None else int(position["line"])
        self._line = self.first_line  # of the first message of _window
        self._window: deque[tuple[str, MessagePlace, int]] = deque()  # not consumed: partition, place, checksum
        self._refused: dict[int, tuple[str, str, str]] = {}  # by line: problem, reason, text
        self._quotes = self._line  # the next line whose quotes are checked
        try:
            self._connect()
            saved = None if position is None else self._saved(position)
            ranges = {partition: self._range(partition) for partition in self._partitions()}
            marks = {} if saved is None else {str(p): _mark_of(mark) for p, mark in saved["marks"].items()}
            self._others = {p: mark for p, mark in marks.items() if p not in ranges}  # not read now
            self._marks = {p: self._mark(p, marks.get(p), *ends) for p, ends in ranges.items()}
            self._starts = {p: place for p, (place, _) in self._marks.items()}
            last: Ends = {p: end for p, (_, end) in ranges.items()}
            before = {} if saved is None else {p: place for p, place in saved["ends"].items() if p in ranges}
            self._ends: deque[tuple[int, Ends]] = deque([(self._line, last)])  # from a line on
            self._later: Ends | None = None  # the ends after those of the position
            if any(self._key(before[p]) > self._key(self._marks[p][0]) for p in before):
                self._later = last
                self._ends[0] = (self._line, self._starts | before)
            self._begin(self._marks)
            self._set_ends(self._ends[0][1])
        except BaseException:
            self.close()
            raise

    # A source

    @abstractmethod
    def _connect(self) -> None:
        """Connects, and sets ``identity``."""

    @abstractmethod
    def _partitions(self) -> list[str]:
        """The partitions to read."""

    @abstractmethod
    def _range(self, partition: str) -> tuple[MessagePlace, MessagePlace]:
        """The place before the first message that is there, and the last place."""

    @abstractmethod
    def _place_before(self, partition: str, time: float) -> MessagePlace:
        """The place before the first message of a time (seconds since 1970) or later."""

    @abstractmethod
    def _key(self, place: MessagePlace) -> tuple[int, ...]:
        """What orders places; ValueError if it is none."""

    @abstractmethod
    def _fields(self, partition: str, place: MessagePlace) -> tuple[MessagePlace, ...]:
        """A place as the values of ``fields``."""

    @abstractmethod
    def _begin(self, marks: dict[str, Mark]) -> None:
        """Begins after these places; OtherSourceError if the message at one has another checksum."""

    @abstractmethod
    def _set_ends(self, ends: Ends) -> None:
        """Lets `_take` return messages up to these places."""

    @abstractmethod
    def _take(self) -> Message | None:
        """The next message; None: the ends are reached."""

    @abstractmethod
    def _wait(self) -> Ends:
        """The next ends, when there are more messages."""

    @abstractmethod
    def close(self) -> None:
        """Closes connections; after an error there may be none."""

    # Where it begins

    def _saved(self, position: SavedPosition) -> SavedMessages:
        saved = position.get("messages")
        if not saved or saved.get("source") != self.identity:
            raise OtherSourceError("the position is one of another source", path=self.name)
        return saved

    def _mark(self, partition: str, mark: Mark | None, first: MessagePlace, last: MessagePlace) -> Mark:
        """Where a partition continues, or begins if it has no position."""
        where = self.options.specified.get("from_")
        if mark is None:
            return self._start(partition, where or "earliest", first, last), None
        place = self._key(mark[0])
        if place > self._key(last):
            what = f"cannot resume after {self._words(partition, mark[0])}: it ends at {self._words(partition, last)}"
            raise OtherSourceError(what, path=self.name, hint="was it deleted and created again?")
        if place >= self._key(first):
            return mark
        what = self._lost(self._words(partition, mark[0]))
        if where is None:
            remedies = [Remedy("from_", "earliest", "continues with the first message that is still there")]
            raise StreamError(what, path=self.name, remedies=remedies)
        start = self._start(partition, where, first, last)
        note = f"{what}; reading continues after {self._words(partition, start)}"
        warnings.warn(StreamWarning(note, place=self.name), stacklevel=1)
        return start, None

    def _start(self, partition: str, where: str, first: MessagePlace, last: MessagePlace) -> MessagePlace:
        if where in ("earliest", "latest"):
            return first if where == "earliest" else last
        time = seconds(where)
        assert time is not None  # checked with the options
        return max(first, self._place_before(partition, time), key=self._key)

    def _lost(self, mark: str) -> str:
        """What happened if the first message that is there is behind the one after a place."""
        return f"messages after {mark} were deleted before they were read"

    def _words(self, partition: str, place: MessagePlace) -> str:
        return ", ".join(f"{name} {value}" for name, value in self._named(partition, place))

    def _named(self, partition: str, place: MessagePlace) -> tuple[tuple[str, MessagePlace], ...]:
        return tuple(zip(self.fields, self._fields(partition, place), strict=True))

    # Lines

    def read1(self, size: int) -> bytes:
        """About so many bytes of whole lines; fewer only at the ends of the partitions, none if nothing follows."""
        lines: list[bytes] = []
        count = 0
        while count < size:
            message = self._take()
            if message is None:
                if lines or not self._extend():
                    break
                continue
            lines.append(self._line_of(message))
            count += len(lines[-1]) + 1
        return b"\n".join([*lines, b""])

    def _extend(self) -> bool:
        """Moves the ends on; False: nothing follows."""
        if self._later is not None:
            ends, self._later = self._later, None
        elif self.live:
            ends = self._wait()
        else:
            return False
        self._ends.append((self._line + len(self._window), ends))
        self._set_ends(ends)
        return True

    def _line_of(self, message: Message) -> bytes:
        number = self._line + len(self._window)
        self._window.append((message.partition, message.place, message.checksum))
        if message.value is None:
            return self._refuse(number, NO_VALUE, "tombstone", "")
        value = message.value.removeprefix(BYTE_ORDER_MARK)
        if self.encoding != "utf-8":
            try:
                value = value.decode(self.encoding).encode()
            except UnicodeDecodeError as error:
                what = f"the text is not {self.encoding} ({error.reason})"
                return self._refuse(number, what, "encoding", value.decode("utf-8", "replace"))
        line = value.translate(LINE_ENDS).strip()
        return line or self._refuse(number, EMPTY, "format", "")

    def _refuse(self, line: int, problem: str, reason: str, text: str) -> bytes:
        self._refused[line] = problem, reason, text
        return REFUSED_LINE

    def refuse_open_quotes(self, lines: bytes) -> bytes:
        """The next lines of CSV, in which a quote that is not closed must not reach into the next message."""
        checked = []
        for line in lines.split(b"\n")[:-1]:
            if line.count(b'"') % 2:
                line = self._refuse(self._quotes, OPEN_QUOTE, "format", line.decode("utf-8", "replace"))
            checked.append(line)
            self._quotes += 1
        return b"\n".join([*checked, b""])

    def refused(self, line: int) -> tuple[str, str, str] | None:
        """Why a message is no row: the problem, its reason in one word, and the text; None: it may be one."""
        return self._refused.get(line)

    # Places

    def place(self, line: int) -> Place:
        """The place of a message that is not consumed."""
        partition, place, _ = self._window[line - self._line]
        return Place(self.name, line, unit=self.unit, message=self._named(partition, place))

    def places(self, lines: Iterable[int], until: int) -> Places:
        """The places of some messages, by field; all messages before the line ``until`` are consumed."""
        window = list(islice(self._window, until - self._line))
        found = [self._fields(*window[line - self._line][:2]) for line in lines]
        self._consume(until)
        return {name: [fields[i] for fields in found] for i, name in enumerate(self.fields)}

    def _consume(self, line: int) -> None:
        while self._line < line:
            partition, place, checksum = self._window.popleft()
            self._marks[partition] = place, checksum
            self._refused.pop(self._line, None)
            self._line += 1
        while len(self._ends) > 1 and self._ends[1][0] <= line:
            self._ends.popleft()

    def state(self, line: int) -> Checksums:
        """The position before a line; all messages before it are consumed."""
        self._consume(line)
        marks = {p: list(mark) for p, mark in (self._others | self._marks).items()}
        ends = self._ends[0][1]
        return {
            "head": zlib.crc32(self.identity.encode()),
            "tail": zlib.crc32(str(sorted(marks.items())).encode()),
            "messages": {"source": self.identity, "marks": marks, "ends": ends},
        }

    @property
    def share(self) -> float | None:
        """The part of the messages that was read, if places are numbers."""
        ends = self._later or self._ends[-1][1]
        places = [(self._starts[p], self._marks[p][0], end) for p, end in ends.items()]
        if self.live or not all(isinstance(place, int) for each in places for place in each):
            return None
        total = sum(int(end) - int(start) for start, _, end in places)
        return sum(int(mark) - int(start) for start, mark, _ in places) / total if total else None


def _mark_of(saved: list[int | str | None]) -> Mark:
    place, checksum = saved
    if place is None or isinstance(checksum, str):
        raise ValueError(f"{saved!r} is not a place of a message and its checksum")
    return place, checksum


class Sink(ABC):
    """Where predictions are sent, as a file of lines of text: each line is a message, sent when it is flushed."""

    def __init__(self, address: Address, options: SourceOptions) -> None:
        self.address, self.name, self.options = address, str(address), options
        self._text: list[str] = []

    def write(self, text: str) -> int:
        """Some lines."""
        self._text.append(text)
        return len(text)

    def flush(self) -> None:
        """Sends the lines; StreamError if one of them cannot be sent."""
        lines, self._text = "".join(self._text).encode().splitlines(), []
        if lines:
            self._send(lines)

    @abstractmethod
    def _send(self, values: list[bytes]) -> None:
        """Sends messages, and waits until the server has them."""

    @abstractmethod
    def close(self) -> None:
        """Closes the connection."""
