"""A window that moves over the text of a source, and the marks by which a text is known again."""

import zlib
from typing import Any

from nolana.errors import OtherSourceError
from nolana.streams.blocks import Position
from nolana.streams.sources import Bytes, fail

__all__ = ["Text"]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MARKED = 4096  # bytes of the beginning, and before the position, by which a text is known again


class Text:
    """A window over the uncompressed text of a source.

    ``data[start:]`` is what has been read and not yet taken; ``final`` says that nothing comes behind it.
    """

    longest = 1 << 26  # bytes of a row; a quote that is never closed must not swallow the whole stream

    def __init__(self, source: Bytes, chunk_bytes: int) -> None:
        self.source, self.chunk_bytes = source, chunk_bytes
        self.path, self.live = source.path, source.live
        self.data, self.start, self.final = b"", 0, False
        self._before = 0  # bytes of text before data
        self._passed = b""  # the last bytes of them
        self._head = b""
        self.line = 1  # number of the line at start
        while BYTE_ORDER_MARK.startswith(self.data) and len(self.data) < len(BYTE_ORDER_MARK) and not self.final:
            self.more()
        if self.data.startswith(BYTE_ORDER_MARK):
            self.start = len(BYTE_ORDER_MARK)

    @property
    def offset(self) -> int:
        """Bytes of text before what has not been taken yet."""
        return self._before + self.start

    def take(self, end: int, lines: int) -> None:
        """What stands before ``data[end]``, with so many line ends, is done."""
        self.start = end
        self.line += lines

    def more(self) -> None:
        """Drops what is done and reads on; StreamError where a row is longer than ``longest``."""
        if len(self.data) - self.start > self.longest:
            fail(self.path, f"no row ends within {self.longest:,} bytes; is a quote not closed?", line=self.line)
        self._read_on()

    def _read_on(self) -> None:
        """Reads as much as there is, so that a row that does not end costs linear time."""
        rest = self.data[self.start :]
        read = self.source.read1(max(self.chunk_bytes, len(rest)), after=f" after line {self.line}")
        if len(self._head) < MARKED:
            self._head = (self._head + read)[:MARKED]
        self._passed = (self._passed + self.data[max(0, self.start - MARKED) : self.start])[-MARKED:]
        self._before += self.start
        self.data, self.start = rest + read, 0
        self.final = not read

    def line_ends(self) -> int:
        """Line ends of the window."""
        return self.data.count(b"\n", self.start)

    def hold(self, lines: int) -> None:
        """Reads on until the window has so many line ends, or a line is too long, or the text ends."""
        count = self.line_ends()
        while count < lines and not self.final and len(self.data) - self.data.rfind(b"\n") <= self.longest:
            known = len(self.data) - self.start
            self._read_on()
            count += self.data.count(b"\n", known)

    @property
    def share(self) -> float | None:
        """How much was read, from 0 to 1; None where nobody knows."""
        return self.source.share

    def again(self) -> "Text | None":
        """The same text from its beginning, beside this one; None where it can be read only once."""
        other = self.source.again()
        return None if other is None else Text(other, self.chunk_bytes)

    def show(self, begin: int, end: int) -> str:
        """Some of the data as it stands in a message."""
        return self.data[begin:end].decode("utf-8", "replace")

    def close(self) -> None:
        """Closes the source, unless it was passed in open."""
        self.source.close()

    # Knowing the place again

    def marks(self) -> dict[str, int]:
        """Checksums of the beginning of the text and of what stands just before the position."""
        before = (self._passed + self.data[max(0, self.start - MARKED) : self.start])[-MARKED:]
        return {"head": zlib.crc32(self._head[: self.offset]), "tail": zlib.crc32(before)}

    def jump(self, position: Position, marks: dict[str, Any]) -> None:
        """Goes on from a position of the same text: a plain file from there, any other by reading up to it."""
        if self.source.seekable and position.offset - MARKED > self._before + len(self.data):
            self._seek(position.offset - MARKED)
        while self._before + len(self.data) < position.offset and not self.final:
            self.start = len(self.data)
            self.more()
        if self._before + len(self.data) < position.offset:
            self._refuse("it ends before that", position)
        self.start, self.line = position.offset - self._before, position.line
        if self.marks() != {name: int(marks[name]) for name in ("head", "tail")}:
            self._refuse("what stands before it is not what was read then", position)

    def _seek(self, begin: int) -> None:
        while len(self._head) < MARKED and not self.final:  # the beginning is one of the marks
            self.start = len(self.data)
            self.more()
        if self._before + len(self.data) < begin:
            self.source.seek(begin)
            self._before, self.data, self.start, self._passed, self.final = begin, b"", 0, b"", False

    def _refuse(self, what: str, position: Position) -> None:
        place = f"byte {position.offset:,} (line {position.line:,})"
        raise OtherSourceError(
            f"{self.path}: cannot go on from {place}: {what}; is it another file?", path=self.path, line=position.line
        )
