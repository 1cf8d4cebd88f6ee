"""A window that moves over the text of a source, and the checksums that identify the text when a stream is resumed."""

import zlib
from typing import Any, NoReturn

from nolana.errors import OtherSourceError, StreamError
from nolana.streams.blocks import Position
from nolana.streams.sources import BYTE_ORDER_MARK, LONGEST_ROW, Bytes, stream_error

__all__ = ["Text"]

CHECKED = 4096  # bytes at the beginning, and before the position, whose checksums identify a text


class Text:
    """A window over the decompressed text of a source.

    ``data[start:]`` was read and is not yet consumed; ``final`` says that no text follows it.
    """

    longest = LONGEST_ROW

    def __init__(self, source: Bytes, chunk_bytes: int) -> None:
        self.source, self.chunk_bytes = source, chunk_bytes
        self.path, self.live = source.path, source.live
        self.data, self.start, self.final = b"", 0, False
        self._before = 0  # bytes of text before data
        self._passed = b""  # the last bytes of them
        self._head = b""
        self.line = 1  # number of the line at start
        while BYTE_ORDER_MARK.startswith(self.data) and len(self.data) < len(BYTE_ORDER_MARK) and not self.final:
            self.read_more()
        if self.data.startswith(BYTE_ORDER_MARK):
            self.start = len(BYTE_ORDER_MARK)

    @property
    def offset(self) -> int:
        """Bytes of text before the first one that is not yet consumed."""
        return self._before + self.start

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
        what = f"no row ends within {self.longest:,} bytes; is a quote not closed?"
        return stream_error(self.path, what, line=self.line)

    def read_more(self) -> None:
        """Drops what is consumed and reads on; StreamError where a row is longer than ``longest``."""
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
        size = max(self.chunk_bytes, min(len(rest), self.longest + 1 - len(rest)))
        read, final = self.source.read_piece(size, len(rest), after=f" after line {self.line}")
        if len(self._head) < CHECKED:
            self._head = (self._head + read)[:CHECKED]
        self._passed = (self._passed + self.data[max(0, self.start - CHECKED) : self.start])[-CHECKED:]
        self._before += self.start
        self.data, self.start = rest + read, 0
        self.final = final

    def line_ends(self) -> int:
        """Number of line ends in the window."""
        return self.data.count(b"\n", self.start)

    def read_lines(self, lines: int) -> None:
        """Reads until the window has so many line ends, or a line is too long, or the text ends."""
        count = self.line_ends()
        while count < lines and not self.final and len(self.data) - self.data.rfind(b"\n") <= self.longest:
            known = len(self.data) - self.start
            self._read()
            count += self.data.count(b"\n", known)

    def reopen(self) -> "Text | None":
        """The same text from its beginning, opened a second time; None where it can be read only once."""
        other = self.source.reopen()
        return None if other is None else Text(other, self.chunk_bytes)

    def show(self, begin: int, end: int) -> str:
        """Some of the data, for a message."""
        return self.data[begin:end].decode("utf-8", "replace")

    # Resuming

    def checksums(self) -> dict[str, int]:
        """Checksums of the beginning of the text and of the bytes just before the position."""
        before = (self._passed + self.data[max(0, self.start - CHECKED) : self.start])[-CHECKED:]
        return {"head": zlib.crc32(self._head[: self.offset]), "tail": zlib.crc32(before)}

    def resume(self, position: Position, checksums: dict[str, Any]) -> None:
        """Continues from a position of the same text; what is not a plain file is read up to it."""
        if self.source.seekable and position.offset - CHECKED > self._before + len(self.data):
            self._seek(position.offset - CHECKED)
        while self._before + len(self.data) < position.offset and not self.final:
            self.start = len(self.data)
            self.read_more()
        if self._before + len(self.data) < position.offset:
            self._refuse("the text ends before it", position)
        self.start, self.line = position.offset - self._before, position.line
        if self.checksums() != {name: int(checksums[name]) for name in ("head", "tail")}:
            self._refuse("the text before it has changed", position)

    def _seek(self, begin: int) -> None:
        while len(self._head) < CHECKED and not self.final:  # the checksum of the beginning needs it
            self.start = len(self.data)
            self.read_more()
        if self._before + len(self.data) < begin:
            self.source.seek(begin)
            self._before, self.data, self.start, self._passed, self.final = begin, b"", 0, b"", False

    def _refuse(self, why: str, position: Position) -> NoReturn:
        place = f"byte {position.offset:,} (line {position.line:,})"
        raise OtherSourceError(
            f"{self.path}: cannot resume at {place}: {why}; is it another file?", path=self.path, line=position.line
        )
