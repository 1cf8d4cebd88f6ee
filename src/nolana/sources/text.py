"""A window that moves over the text of a source, and what identifies the position in it when a stream is resumed."""

import zlib
from typing import NoReturn

from nolana.errors import OtherSourceError, Place, StreamError
from nolana.sources.blocks import Checksums, Cursor, Places, SavedPosition
from nolana.sources.bytes import BYTE_ORDER_MARK, LONGEST_ROW, Bytes
from nolana.sources.messages import Messages

__all__ = ["MessageText", "Text"]

CHECKED = 4096  # bytes at the beginning, and before the position, whose checksums identify a text
LARGEST_CHECKED = 1 << 28  # bytes before a position that are read again to compare them; a larger text is trusted
SKETCHED = 1 << 16  # bytes at the beginning whose lines are sketched
SKETCH = 16  # lines of a sketch
SIMILAR = 0.5  # share of common lines from which a text is taken for a changed one


class Text(Cursor):
    """A window over the decompressed text of a source.

    ``data[start:]`` was read and is not yet consumed; ``final`` says that no text follows it.
    """

    longest = LONGEST_ROW
    line = 1  # number of the line at start
    final = False

    def __init__(self, source: Bytes, chunk_bytes: int, *, leave_last_line: bool = False) -> None:
        self.source, self.chunk_bytes = source, chunk_bytes
        self._leave_last_line = leave_last_line and source.seekable
        self.path, self.live = source.path, source.live
        self.data, self.start = b"", 0
        self._before = 0  # bytes of text before data
        self._passed = b""  # the last bytes of them
        self._head = b""
        self._sum: int | None = 0  # checksum of the text before data[summed]; None: unknown
        self._summed = 0
        self._sketch: tuple[int, list[int]] = (0, [])  # of the first bytes, and how many they are
        self._skip_mark()

    def _skip_mark(self) -> None:
        while BYTE_ORDER_MARK.startswith(self.data) and len(self.data) < len(BYTE_ORDER_MARK) and not self.final:
            self.read_more()
        if self.data.startswith(BYTE_ORDER_MARK):
            self.start = len(BYTE_ORDER_MARK)

    @property
    def offset(self) -> int:
        return self._before + self.start

    @property
    def share(self) -> float | None:
        return self.source.share

    def close(self) -> None:
        self.source.close()

    def consume(self, end: int, lines: int) -> None:
        """Moves the start of the window to ``data[end]``, over so many line ends."""
        self.start = end
        self.line += lines

    @property
    def is_too_long(self) -> bool:
        """Whether the window is longer than a row may be."""
        return len(self.data) - self.start > self.longest

    def too_long(self) -> StreamError:
        """The error about a row that has no end."""
        what = f"no row ends within {self.longest:,} bytes: a quote may not be closed"
        return StreamError(what, path=self.path, line=self.line)

    def read_more(self) -> None:
        """Drops what is consumed and reads on; StreamError if a row is longer than ``longest``."""
        if self.is_too_long:
            raise self.too_long()
        self._read()

    def skip_line(self) -> None:
        """Consumes a line of any length, of which only a piece is in memory at a time."""
        while (end := self.data.find(b"\n", self.start)) < 0 and not self.final:
            self.start = len(self.data)
            self._read()
        self.consume(len(self.data) if end < 0 else end + 1, 1)

    def _read(self) -> None:
        """Reads at least as much as the window has, so that a row without an end costs linear time."""
        rest = self.data[self.start :]
        wanted = min(len(rest), self.longest + 1 - len(rest))  # no more than shows that a row is too long
        read, final = self.source.read_piece(max(self.chunk_bytes, wanted), wanted, after=f" after line {self.line}")
        if len(self._head) < SKETCHED:
            self._head = (self._head + read)[:SKETCHED]
        self._passed = (self._passed + self.data[max(0, self.start - CHECKED) : self.start])[-CHECKED:]
        self._sum_consumed()
        self._before += self.start
        self.data, self.start, self._summed = rest + read, 0, 0
        self.final = final
        if final and self._leave_last_line:
            self._cut_last_line()

    def _cut_last_line(self) -> None:
        """Leaves a last line without a line end: it may still be written."""
        end = max(self.start, self.data.rfind(b"\n") + 1)
        if self.data[end:].strip():
            self.unfinished_line = self.line + self.data.count(b"\n", self.start)
        self.data = self.data[:end]

    def line_ends(self) -> int:
        """Number of line ends in the window."""
        return self.data.count(b"\n", self.start)

    def read_lines(self, lines: int) -> None:
        """Reads until the window has so many line ends, or a line is too long, or the text ends."""
        count = self.line_ends()
        while count < lines and not self.final and len(self.data) - self.data.rfind(b"\n") - 1 <= self.longest:
            known = len(self.data) - self.start
            self._read()
            count += self.data.count(b"\n", known)

    def reopen(self) -> "Text | None":
        """The same text from its beginning, opened a second time; None if it can be read only once."""
        other = self.source.reopen()
        return None if other is None else Text(other, self.chunk_bytes)

    def show(self, begin: int, end: int) -> str:
        """Some of the data, for a message."""
        return self.data[begin:end].decode("utf-8", "replace")

    def place(self, line: int) -> Place:
        """The place of a line that was read."""
        return Place(self.path, line)

    def refused(self, line: int) -> tuple[str, str, str] | None:
        """Why a line is no row, whatever the format: the problem, its reason in one word, and the text."""
        return None

    # Resuming

    def checksums(self) -> Checksums:
        before = (self._passed + self.data[max(0, self.start - CHECKED) : self.start])[-CHECKED:]
        self._sum_consumed()
        found: Checksums = {"head": zlib.crc32(self._head[: min(CHECKED, self.offset)]), "tail": zlib.crc32(before)}
        if self._sum is not None:
            found["text"] = self._sum
        found["lines"] = self._sketch_of(self.offset)
        return found

    def _sum_consumed(self) -> None:
        if self._sum is not None:
            self._sum = zlib.crc32(memoryview(self.data)[self._summed : self.start], self._sum)
        self._summed = self.start

    def _sketch_of(self, offset: int) -> list[int]:
        """The smallest checksums of lines at the beginning: texts that differ in few lines have most in common.

        Bottom-k sketch (A. Broder: On the resemblance and containment of documents, 1997).
        """
        size = min(SKETCHED, offset)
        if self._sketch[0] != size:
            lines = set(self._head[:size].split(b"\n"))
            self._sketch = size, sorted(map(zlib.crc32, lines))[:SKETCH]
        return list(self._sketch[1])

    def _read_head(self, offset: int) -> None:
        """Reads as much of the beginning as belongs to what identifies a text of this length."""
        while len(self._head) < min(SKETCHED, offset) and not self.final:
            self._read()

    def begins_like(self, position: SavedPosition) -> bool:
        size = min(CHECKED, int(position["offset"]))
        self._read_head(size)
        return len(self._head) >= size and zlib.crc32(self._head[:size]) == position["head"]

    def resembles(self, position: SavedPosition) -> bool:
        """Whether most lines at the beginning are those of the text of a position."""
        offset, other = int(position["offset"]), set(position.get("lines", ()))
        self._read_head(offset)
        own = set(self._sketch_of(offset))
        smallest = sorted(own | other)[:SKETCH]
        return sum(line in own and line in other for line in smallest) >= SIMILAR * max(1, len(smallest))

    def resume(self, position: SavedPosition) -> None:
        """Continues from a position of the same text; what is not a large plain file is read up to it."""
        offset, line, whole = int(position["offset"]), int(position["line"]), position.get("text")
        is_large = self.source.seekable and offset > LARGEST_CHECKED
        if is_large:
            self._seek(offset - CHECKED)
        while self._before + len(self.data) < offset and not self.final:
            self.start = len(self.data)
            self.read_more()
        if self._before + len(self.data) < offset:
            self._refuse("the text ends before it", offset, line)
        self.start, self.line = offset - self._before, line
        if is_large:
            self._sum, self._summed = whole, self.start
        own = self.checksums()
        changed = own["head"] != position["head"] or own["tail"] != position["tail"]
        if changed or ("text" in position and self._sum != whole):
            self._refuse("the text before it has changed", offset, line)
        if "text" not in position:  # a state of an older version
            self._sum = None

    def _seek(self, begin: int) -> None:
        self._read_head(SKETCHED)
        if self._before + len(self.data) < begin:
            self.source.seek(begin)
            self._before, self.data, self.start, self._passed, self.final = begin, b"", 0, b"", False

    def _refuse(self, why: str, offset: int, line: int) -> NoReturn:
        place = f"byte {offset:,} (line {line:,})"
        raise OtherSourceError(f"cannot resume at {place}: {why}", path=self.path, hint="is it another file?")


class MessageText(Text):
    """A window over messages, each a line; the position is theirs, and they know where to resume."""

    def __init__(self, source: Bytes, messages: Messages, chunk_bytes: int) -> None:
        self._messages = messages
        super().__init__(source, chunk_bytes)
        self.line = messages.first_line

    def _skip_mark(self) -> None:
        """Reads nothing: a resumed run must not wait for messages before it has begun."""

    def place(self, line: int) -> Place:
        return self._messages.place(line)

    def places(self, lines: list[int]) -> Places | None:
        return self._messages.places(lines, self.line)

    def refused(self, line: int) -> tuple[str, str, str] | None:
        return self._messages.refused(line)

    def checksums(self) -> Checksums:
        return self._messages.state(self.line)

    def begins_like(self, position: SavedPosition) -> bool:
        saved = position.get("messages")
        return saved is not None and saved["source"] == self._messages.identity

    def resembles(self, position: SavedPosition) -> bool:
        return self.begins_like(position)

    def resume(self, position: SavedPosition) -> None:
        """The messages were opened at the position."""
        self._before += int(position["offset"])
