"""Compression, detected by the first bytes of a file, and the contents decompressed as they come."""

import bz2
import gzip
import importlib
import lzma
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nolana.errors import MissingExtraError

__all__ = ["COMPRESSIONS", "Compression", "Eager", "Prefixed", "detect_compression", "is_damage"]

DAMAGE = (EOFError, zlib.error, lzma.LZMAError, OSError)
PIECE = 4096  # bytes of Zstandard decompressed at once: a hostile frame must not fill the memory


class Prefixed:
    """A file of which some bytes were read already."""

    def __init__(self, head: bytes, file: Any) -> None:
        self._head, self._file, self._start = head, file, 0

    def read1(self, size: int) -> bytes:
        """At most so many bytes, at least one unless the file ends."""
        if self._start < len(self._head):
            head = self._head[self._start : self._start + size]
            self._start += len(head)
            return head
        data: bytes = self._file.read1(size)
        return data


class Eager:
    """A file whose ``read`` returns the bytes that have come instead of waiting until the size is full."""

    def __init__(self, file: Prefixed) -> None:
        self.read = file.read1

    def seekable(self) -> bool:
        return False


class Zstandard:
    """The contents of consecutive Zstandard frames."""

    def __init__(self, file: Eager) -> None:
        try:
            self._new: Callable[[], Any] = importlib.import_module("zstandard").ZstdDecompressor().decompressobj
        except ModuleNotFoundError:
            raise MissingExtraError(
                'reading Zstandard needs the package zstandard; pip install "nolana[zstd]", or decompress the file'
            ) from None
        self._file, self._waiting, self._frame = file, b"", self._new()
        self._started = False  # whether the frame has begun

    def read1(self, size: int) -> bytes:
        """Some of the contents; b"" at their end only."""
        out: list[bytes] = []
        count = 0
        while count < size:
            if not self._waiting:
                if count:
                    break
                self._waiting = self._file.read(1 << 16)
                if not self._waiting:
                    if self._started:
                        raise EOFError("Compressed file ended before the end-of-stream marker was reached")
                    return b""
            piece, self._waiting = self._waiting[:PIECE], self._waiting[PIECE:]
            out.append(self._frame.decompress(piece))
            count += len(out[-1])
            self._started = True
            if self._frame.eof:
                self._waiting = self._frame.unused_data + self._waiting
                self._frame, self._started = self._new(), False
        return b"".join(out)

    def close(self) -> None:
        """Does nothing: the file belongs to another object."""


@dataclass(frozen=True)
class Compression:
    """A compression: its name in messages, file ending, first bytes, and what decompresses a file."""

    name: str
    ending: str
    magic: bytes
    open: Callable[[Any], Any]


COMPRESSIONS = (
    Compression("gzip", "gz", b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file, mode="rb")),
    Compression("bzip2", "bz2", b"BZh", bz2.BZ2File),
    Compression("xz", "xz", b"\xfd7zXZ\x00", lzma.LZMAFile),
    Compression("Zstandard", "zst", b"\x28\xb5\x2f\xfd", Zstandard),
)


def detect_compression(head: bytes) -> Compression | None:
    """The compression of a file with these first bytes; None if it is not compressed."""
    return next((compression for compression in COMPRESSIONS if head.startswith(compression.magic)), None)


def is_damage(error: Exception) -> bool:
    """Whether an error says that compressed data is damaged."""
    return isinstance(error, DAMAGE) or type(error).__module__.startswith("zstandard")
