"""Where text comes from: a path or a binary file, plain or compressed, as a window that moves over it."""

import bz2
import gzip
import io
import lzma
import os
import stat
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO, NoReturn

from nolana.errors import StreamError

__all__ = ["Source", "Text", "fail"]

Source = str | os.PathLike[str] | BinaryIO

LONGEST_ROW = 1 << 26  # bytes; a quote that is never closed must not swallow the whole stream
SHOWN = 40  # characters of a value in a message

OPENERS: dict[str, tuple[bytes, Callable[[Any], Any]]] = {
    "gzip": (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file, mode="rb")),
    "bzip2": (b"BZh", bz2.BZ2File),
    "xz": (b"\xfd7zXZ\x00", lzma.LZMAFile),
}
FOREIGN = {
    "Zstandard": b"\x28\xb5\x2f\xfd",
    "ZIP": b"PK\x03\x04",
    "UTF-16 text": b"\xff\xfe",
    "big-endian UTF-16 text": b"\xfe\xff",
}
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Text:
    """A window over the uncompressed text of a source.

    ``data[start:]`` is what has been read and not yet taken; ``final`` says that nothing comes behind it.
    """

    def __init__(self, source: Source, chunk_bytes: int) -> None:
        self.source, self.chunk_bytes = source, chunk_bytes
        self.path = _name(source)
        self._mine: list[Any] = []  # what close() closes, the outermost first
        self._packing: str | None = None
        try:
            self._file = self._unpack(self._open())
            self.data, self.start, self.final = b"", 0, False
            self._before = 0  # bytes of text before data
            self.line = 1  # number of the line at start
            while len(self.data) < len(BYTE_ORDER_MARK) and not self.final:
                self.more()
            if self.data.startswith(BYTE_ORDER_MARK):
                self.start = len(BYTE_ORDER_MARK)
        except BaseException:
            self.close()
            raise

    @property
    def offset(self) -> int:
        """Bytes of text before what has not been taken yet."""
        return self._before + self.start

    def take(self, end: int, lines: int) -> None:
        """What stands before ``data[end]``, with so many line ends, is done."""
        self.start = end
        self.line += lines

    def more(self, longest: int | None = LONGEST_ROW) -> None:
        """Drops what is done and reads on, so much that a row that does not end costs linear time."""
        rest = self.data[self.start :]
        if longest is not None and len(rest) > longest:
            fail(self, f"no row ends within {longest:,} bytes; is a quote not closed?", line=self.line)
        try:
            read = self._file.read1(max(self.chunk_bytes, len(rest)))
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
            if self._packing is None:
                raise
            fail(self, f"the {self._packing} data is damaged or cut off after line {self.line}: {error}")
        self._before += self.start
        self.data, self.start = rest + read, 0
        self.final = not read

    def again(self) -> "Text | None":
        """The same text from its beginning, beside this one; None where it can be read only once."""
        if not isinstance(self.source, str | os.PathLike) or not stat.S_ISREG(os.stat(self.source).st_mode):
            return None
        return Text(self.source, self.chunk_bytes)

    def show(self, begin: int, end: int) -> str:
        """Some of the data as it stands in a message."""
        return self.data[begin:end].decode("utf-8", "replace")

    def close(self) -> None:
        """Closes what was opened here; a file that was passed in stays open."""
        while self._mine:
            self._mine.pop(0).close()

    def _open(self) -> Any:
        if isinstance(self.source, str | os.PathLike):
            file: Any = open(self.source, "rb")  # noqa: SIM115  (closed by close)
            self._mine.append(file)
            return file
        if isinstance(self.source, io.TextIOBase):
            raise TypeError(f"{self.path} is open as text; open it as binary, mode 'rb'")
        if hasattr(self.source, "peek") and hasattr(self.source, "read1"):
            return self.source
        if hasattr(self.source, "read"):
            return io.BufferedReader(_Raw(self.source))
        raise TypeError(f"source must be a path or a binary file, got {type(self.source).__name__}")

    def _unpack(self, file: Any) -> Any:
        head = file.peek(8)
        for kind, magic in FOREIGN.items():
            if head.startswith(magic):
                fail(self, f"this is {kind}, which is not read here; convert it to UTF-8 text, plain, gz, bz2 or xz")
        for kind, (magic, opener) in OPENERS.items():
            if head.startswith(magic):
                self._packing = kind
                unpacked = opener(file)
                self._mine.insert(0, unpacked)
                return unpacked
        return file


class _Raw(io.RawIOBase):
    """A file of the user's that only has ``read``; closing this does not close it."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """What one ``read`` gives."""
        data = self._file.read(len(buffer))
        if not isinstance(data, bytes):
            raise TypeError(f"read() of the source gives {type(data).__name__}, not bytes; open it as binary")
        buffer[: len(data)] = data
        return len(data)


def _name(source: Any) -> str:
    name = source if isinstance(source, str | os.PathLike) else getattr(source, "name", None)
    return os.fspath(name) if isinstance(name, str | os.PathLike) else "<stream>"


def fail(
    text: Text,
    what: str,
    *,
    line: int | None = None,
    column: int | None = None,
    name: str | None = None,
    value: str | None = None,
) -> NoReturn:
    """Raises ``path, line 3, column 2 ("b"): what``; ``{value}`` in what becomes the value, shortened."""
    place = text.path
    if line is not None:
        place += f", line {line}"
    if column is not None:
        place += f", column {column}" + (f" ({name})" if name else "")
    if value is not None:
        what = what.replace("{value}", repr(value if len(value) <= SHOWN else value[: SHOWN - 1] + "…"))
    raise StreamError(f"{place}: {what}", path=text.path, line=line, column=column, value=value)
