"""Sources of bytes: a path, an open binary file or standard input, plain or compressed."""

import codecs
import errno
import io
import os
import stat
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

from nolana.errors import Remedy, StreamError
from nolana.sources.filters import (
    COMPRESSIONS,
    MARKS,
    ByteFile,
    Compression,
    Eager,
    Prefixed,
    Transcoded,
    detect_compression,
    detect_encoding,
    is_damage,
)
from nolana.sources.messages.base import REFUSED_LINE, Messages

__all__ = ["BYTE_ORDER_MARK", "LONGEST_ROW", "Bytes", "Source"]

Source = str | os.PathLike[str] | BinaryIO

LONGEST_ROW = 1 << 26  # bytes; a quote that is never closed must not fill the memory
HEAD = 1 << 16  # bytes read at first, as many as a pipe holds
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

ZIP = b"PK\x03\x04"


class Bytes:
    """The decompressed bytes of a source, read once from its current position.

    ``messages`` are those of a source of messages, as lines of text; None: it is a file.

    ``path`` is its name in messages. ``live``: it is a pipe or a terminal, whose reader must not wait for more bytes
    than have come. ``seekable``: it is plain and can be read from any position.

    Parameters
    ----------
    source : a path, a binary file, "-" for standard input, or messages, which are closed with it.
    magic : first bytes of the binary formats; of a pipe that sends little, as many bytes are read as decide
        between them.
    encoding : of text; None: detected from the first bytes.
    """

    def __init__(self, source: Source | Messages, magic: tuple[bytes, ...] = (), encoding: str | None = None) -> None:
        self.source, self._magic, self._encoding = source, magic, encoding
        self.messages = source if isinstance(source, Messages) else None
        self.path = _name(source)
        self.compression: Compression | None = None
        self._ends_with_return: bool | None = None  # whether lines end with CR alone; None: not yet known
        self._closers: list[Callable[[], None]] = []  # of what was opened here, the outermost first
        try:
            self.file = self._open()
            self.live = self._is_live()
            self._origin = self._tell()
            self.head = self._read_head()
            self._file: ByteFile = self._decompress(Prefixed(self.head, self.file))
            self.seekable = self.compression is None and self._origin is not None
            self.encoding = self._transcode(encoding)
        except BaseException:
            self.close()
            raise

    def read1(self, size: int, after: str = "") -> bytes:
        """At most about so many bytes, at least one unless the source ends; ``after`` is a place for errors."""
        try:
            data = self._file.read1(size)
            if self.compression and not self.live and 0 < len(data) < size:  # decompressors return little at a time
                parts, count = [data], len(data)
                while count < size and (more := self._file.read1(size - count)):
                    parts.append(more)
                    count += len(more)
                data = b"".join(parts)
        except UnicodeDecodeError as error:
            remedies = [Remedy("encoding", ..., "names another one")]
            what = f"the text is not {self.encoding}{after} ({error.reason})"
            raise StreamError(what, path=self.path, remedies=remedies) from error
        except Exception as error:
            if self.compression is None and isinstance(error, OSError):
                raise StreamError(f"it cannot be read{after}: {error.strerror or error}", path=self.path) from error
            if self.compression is None or not is_damage(error):
                raise
            what = f"the {self.compression.name} data is damaged or cut off{after}: {error}"
            raise StreamError(what, path=self.path) from error
        if self._ends_with_return is None:
            self._ends_with_return = self._detect_return(data)
        return data.replace(b"\r", b"\n") if self._ends_with_return else data

    def _detect_return(self, data: bytes) -> bool | None:
        """Whether the lines of a text end with CR alone, as old Macs wrote them; None if no line ends in it."""
        if b"\n" in data or data.startswith(self._magic):
            return False
        return True if b"\r" in data[:-1] else None  # after the last byte LF may follow

    def read_piece(self, size: int, wanted: int, after: str = "") -> tuple[bytes, bool]:
        """Bytes with a line end, or at least the wanted number, and whether the source ends after them.

        A pipe returns little at a time: pieces of a long line are joined once, not after each read.
        """
        parts = [self.read1(size, after)]
        count = len(parts[0])
        while parts[-1] and count < wanted and b"\n" not in parts[-1]:
            parts.append(self.read1(size, after))
            count += len(parts[-1])
        return b"".join(parts), not parts[-1]

    def first_line(self) -> bytes:
        """The first line of text that is neither blank nor a comment, without consuming it."""
        data, line, complete = b"", b"", False
        while not complete and len(data) <= LONGEST_ROW:
            more, final = self.read_piece(HEAD, len(data), after=" in the first line")
            data += more
            lines = data.removeprefix(BYTE_ORDER_MARK).split(b"\n")
            place = next((i for i, x in enumerate(lines) if self._may_be_row(x)), None)
            line = b"" if place is None else lines[place]
            complete = final or (place is not None and place < len(lines) - 1)
        self._file = Prefixed(data, self._file)
        return line

    def _may_be_row(self, line: bytes) -> bool:
        refused = self.messages is not None and line == REFUSED_LINE
        return bool(line.strip()) and not line.lstrip().startswith(b"#") and not refused

    def filter(self, wrap: Callable[[ByteFile], ByteFile]) -> None:
        """Changes the text before it is read on."""
        self._file, self.seekable = wrap(self._file), False

    def _transcode(self, encoding: str | None) -> str:
        """Turns text of another encoding into UTF-8; the name of its encoding."""
        if self.messages is not None:
            return self.messages.encoding
        if encoding is None:
            head = self._first_bytes()
            encoding = "utf-8" if head.startswith(self._magic) else detect_encoding(head)
        encoding = codecs.lookup(encoding).name
        head = self._first_bytes() if encoding in ("utf-16", "utf-32") else b""
        if head and not head.startswith(tuple(MARKS)):
            remedies = [
                Remedy("encoding", f"{encoding}-le", "reads it as Windows writes it"),
                Remedy("encoding", f"{encoding}-be", "the other way round"),
            ]
            what = f"{encoding} needs a byte order mark, and this text begins without one"
            raise StreamError(what, path=self.path, remedies=remedies)
        if encoding != "utf-8":
            self.filter(lambda file: Transcoded(file, encoding))
        return encoding

    def _first_bytes(self) -> bytes:
        """Of the text, without consuming them."""
        if self.compression is None:
            return self.head
        head = self.read1(HEAD, after=" after line 1")
        self._file = Prefixed(head, self._file)
        return head

    def seek(self, offset: int) -> None:
        """Moves to an offset from the first position; only if the source is seekable."""
        self.file.seek((self._origin or 0) + offset)
        self._file = self.file

    def reopen(self) -> "Bytes | None":
        """The same bytes from their beginning, opened a second time; None if they can be read only once."""
        if self.source == "-" or not isinstance(self.source, str | os.PathLike):
            return None
        return Bytes(self.source, self._magic, self._encoding) if stat.S_ISREG(os.stat(self.source).st_mode) else None

    @property
    def share(self) -> float | None:
        """The part of the file that was read, from 0 to 1 of its compressed size; None if it is unknown."""
        if self.messages is not None:
            return self.messages.share
        if self._origin is None:
            return None
        try:
            size = os.fstat(self.file.fileno()).st_size - self._origin
            return min(1.0, (self.file.tell() - self._origin) / size) if size > 0 else None
        except (AttributeError, OSError, ValueError):
            return None

    def close(self) -> None:
        """Closes what was opened here; a file that the caller opened stays open."""
        while self._closers:
            self._closers.pop(0)()

    def _open(self) -> Any:
        if isinstance(self.source, str) and self.source == "-":
            if sys.stdin is None:
                raise OSError(errno.EBADF, "standard input is closed")
            return sys.stdin.buffer
        if isinstance(self.source, str | os.PathLike):
            file = open(self.source, "rb")  # noqa: SIM115  (closed by close)
            self._closers.append(file.close)
            return file
        if isinstance(self.source, Messages):
            self._closers.append(self.source.close)
            return self.source
        if isinstance(self.source, io.TextIOBase):
            raise TypeError(f"{self.path} is open as text; open it as binary, mode 'rb'")
        if hasattr(self.source, "read1"):
            return self.source
        if hasattr(self.source, "read"):
            return _OnlyRead(self.source)
        raise TypeError(f"source must be a path or a binary file, got {type(self.source).__name__}")

    def _is_live(self) -> bool:
        if self.messages is not None:
            return self.messages.live
        try:
            mode = os.fstat(self.file.fileno()).st_mode
        except (AttributeError, OSError, ValueError):
            return False
        return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)

    def _tell(self) -> int | None:
        try:
            return int(self.file.tell()) if self.file.seekable() and not self.live else None
        except (AttributeError, OSError):
            return None

    def _read_head(self) -> bytes:
        """The first bytes that come, and more while they could still become one of the known beginnings."""
        if self.messages is not None:
            return b""  # no message is compressed, or a table
        known = (*(compression.magic for compression in COMPRESSIONS), ZIP, *self._magic)
        head: bytes = self.file.read1(HEAD)
        while any(len(head) < len(magic) and magic.startswith(head) for magic in known):
            more = self.file.read1(HEAD)
            if not more:
                break
            head += more
        return head

    def _decompress(self, file: Prefixed) -> ByteFile:
        if self.head.startswith(ZIP):
            what = "this is ZIP, which is not supported; convert it to UTF-8 text, plain or compressed"
            raise StreamError(what, path=self.path)
        self.compression = detect_compression(self.head)
        if self.compression is None:
            return file
        decompressed = self.compression.open(Eager(file))
        self._closers.insert(0, decompressed.close)
        return decompressed


class _OnlyRead:
    """A file of the caller's that only has ``read``."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def fileno(self) -> int:
        return self._file.fileno()

    def read1(self, size: int) -> bytes:
        data = self._file.read(size)
        if not isinstance(data, bytes):
            raise TypeError(f"read() of the source returns {type(data).__name__}, not bytes; open it as binary")
        return data


def _name(source: object) -> str:
    if isinstance(source, str) and source == "-":
        return "<stdin>"
    name = source if isinstance(source, str | os.PathLike) else getattr(source, "name", None)
    return os.fspath(name) if isinstance(name, str | os.PathLike) else "<stream>"
