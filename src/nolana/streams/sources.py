"""Where bytes come from: a path, an open binary file or standard input, plain or compressed."""

import io
import os
import stat
import sys
from typing import Any, BinaryIO, NoReturn

from nolana.errors import StreamError
from nolana.streams.compression import MAGIC, Eager, Prefixed, damage, unpacker

__all__ = ["Bytes", "Source", "fail", "is_binary_table", "trouble"]

Source = str | os.PathLike[str] | BinaryIO

SHOWN = 40  # characters of a value in a message
HEAD = 1 << 16  # bytes read to begin with, as many as a pipe holds

FOREIGN = {
    "ZIP": b"PK\x03\x04",
    "UTF-16 text": b"\xff\xfe",
    "big-endian UTF-16 text": b"\xfe\xff",
}
TABLES = {"parquet": b"PAR1", "arrow": b"ARROW1", "arrows": b"\xff\xff\xff\xff"}


class Bytes:
    """The uncompressed bytes of a source, read once from where it stands.

    ``path`` names it in messages; ``live`` says that it is a pipe or a terminal, whose reader must not wait for
    more than there is; ``seekable`` that it is plain and can be read from any place.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.path = _name(source)
        self.packing: str | None = None
        self._mine: list[Any] = []  # what close() closes, the outermost first
        try:
            self.file = self._open()
            self.live = _is_live(self.file)
            self._origin = self._tell()
            self.head = self._read_head()
            self._file: Any = self._unpack(Prefixed(self.head, self.file))
        except BaseException:
            self.close()
            raise
        self.seekable = self.packing is None and self._origin is not None

    def read1(self, size: int, after: str = "") -> bytes:
        """What is there, at most about so many bytes, at least one unless the source ends; after stands in errors."""
        try:
            data: bytes = self._file.read1(size)
            while self.packing and not self.live and 0 < len(data) < size:  # unpackers give little at a time
                more = self._file.read1(size - len(data))
                if not more:
                    break
                data += more
        except Exception as error:
            if self.packing is None or not damage(error):
                raise
            what = f"the {self.packing} data is damaged or cut off{after}: {error}"
            raise StreamError(f"{self.path}: {what}", path=self.path) from error
        return data

    def seek(self, offset: int) -> None:
        """Goes to a place, counted from where the source stood at first; only where it is seekable."""
        self.file.seek((self._origin or 0) + offset)
        self._file = self.file

    def again(self) -> "Bytes | None":
        """The same bytes from their beginning, beside this one; None where they can be read only once."""
        if self.source == "-" or not isinstance(self.source, str | os.PathLike):
            return None
        return Bytes(self.source) if stat.S_ISREG(os.stat(self.source).st_mode) else None

    @property
    def share(self) -> float | None:
        """How much of a file was read, from 0 to 1, compressed as it is; None where nobody knows."""
        if self._origin is None:
            return None
        try:
            size = os.fstat(self.file.fileno()).st_size - self._origin
            return min(1.0, (self.file.tell() - self._origin) / size) if size > 0 else None
        except (AttributeError, OSError, ValueError):
            return None

    def close(self) -> None:
        """Closes what was opened here; a file that was passed in stays open."""
        while self._mine:
            self._mine.pop(0).close()

    def _open(self) -> Any:
        if isinstance(self.source, str) and self.source == "-":
            return sys.stdin.buffer
        if isinstance(self.source, str | os.PathLike):
            file: Any = open(self.source, "rb")  # noqa: SIM115  (closed by close)
            self._mine.append(file)
            return file
        if isinstance(self.source, io.TextIOBase):
            raise TypeError(f"{self.path} is open as text; open it as binary, mode 'rb'")
        if hasattr(self.source, "read1"):
            return self.source
        if hasattr(self.source, "read"):
            return io.BufferedReader(_Raw(self.source))
        raise TypeError(f"source must be a path or a binary file, got {type(self.source).__name__}")

    def _tell(self) -> int | None:
        try:
            return int(self.file.tell()) if self.file.seekable() and not self.live else None
        except (AttributeError, OSError):
            return None

    def _read_head(self) -> bytes:
        """The first bytes: what is there, and of a pipe that sends little as much as tells what this is."""
        known = (*MAGIC, *FOREIGN.values(), *TABLES.values())
        head: bytes = self.file.read1(HEAD)
        while any(len(head) < len(magic) and magic.startswith(head) for magic in known):
            more = self.file.read1(HEAD)
            if not more:
                break
            head += more
        return head

    def _unpack(self, file: Prefixed) -> Any:
        for kind, magic in FOREIGN.items():
            if self.head.startswith(magic):
                what = f"this is {kind}, which is not read here; convert it to UTF-8 text, plain or compressed"
                raise StreamError(f"{self.path}: {what}", path=self.path)
        found = unpacker(self.head)
        if found is None:
            return file
        self.packing, opener = found
        unpacked = opener(Eager(file))
        self._mine.insert(0, unpacked)
        return unpacked


def is_binary_table(head: bytes) -> str | None:
    """``parquet``, ``arrow`` (IPC file) or ``arrows`` (IPC stream) where bytes begin like one."""
    return next((name for name, magic in TABLES.items() if head.startswith(magic)), None)


class _Raw(io.RawIOBase):
    """A file of the user's that only has ``read``; closing this does not close it."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.name = getattr(file, "name", None)

    def fileno(self) -> int:
        """That of the user's file."""
        if not hasattr(self._file, "fileno"):
            raise io.UnsupportedOperation("fileno")
        return int(self._file.fileno())

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


def _is_live(file: Any) -> bool:
    try:
        mode = os.fstat(file.fileno()).st_mode
    except (AttributeError, OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def _name(source: Any) -> str:
    if isinstance(source, str) and source == "-":
        return "<stdin>"
    name = source if isinstance(source, str | os.PathLike) else getattr(source, "name", None)
    return os.fspath(name) if isinstance(name, str | os.PathLike) else "<stream>"


def trouble(
    path: str,
    what: str,
    *,
    line: int | None = None,
    column: int | None = None,
    name: str | None = None,
    value: str | None = None,
    unit: str = "line",
) -> StreamError:
    """``path, line 3, column 2 ("b"): what`` as an error; ``{value}`` in what becomes the value, shortened."""
    place = path
    if line is not None:
        place += f", {unit} {line}"
    if column is not None:
        place += f", column {column}" + (f" ({name})" if name else "")
    if value is not None:
        what = what.replace("{value}", repr(value if len(value) <= SHOWN else value[: SHOWN - 1] + "…"))
    return StreamError(f"{place}: {what}", path=path, line=line, column=column, value=value)


def fail(path: str, what: str, **place: Any) -> NoReturn:
    """Raises ``trouble``."""
    raise trouble(path, what, **place)
