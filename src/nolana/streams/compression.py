"""Which compression a file has, told by its first bytes, and its contents unpacked as they come."""

import bz2
import gzip
import importlib
import lzma
import zlib
from collections.abc import Callable
from typing import Any

from nolana.errors import MissingExtraError

__all__ = ["MAGIC", "Eager", "Prefixed", "damage", "unpacker"]

DAMAGE = (EOFError, zlib.error, lzma.LZMAError, OSError)
PIECE = 4096  # bytes of Zstandard unpacked at once: a hostile frame must not fill the memory


class Prefixed:
    """A file some bytes of which have been read already."""

    def __init__(self, head: bytes, file: Any) -> None:
        self._head, self._file, self._given = head, file, 0

    def read1(self, size: int) -> bytes:
        """What is there, at most so many bytes, at least one unless the file ends."""
        if self._given < len(self._head):
            head = self._head[self._given : self._given + size]
            self._given += len(head)
            return head
        data: bytes = self._file.read1(size)
        return data


class Eager:
    """A file whose ``read`` gives what is there instead of waiting until the size is full."""

    def __init__(self, file: Prefixed) -> None:
        self.read = file.read1

    def seekable(self) -> bool:
        """No: it is read once."""
        return False


class Zstandard:
    """The contents of Zstandard frames, one after the other."""

    def __init__(self, file: Eager) -> None:
        try:
            self._new: Callable[[], Any] = importlib.import_module("zstandard").ZstdDecompressor().decompressobj
        except ModuleNotFoundError:
            raise MissingExtraError(
                'reading Zstandard needs the package zstandard; pip install "nolana[zstd]", or unpack the file first'
            ) from None
        self._file, self._waiting, self._frame = file, b"", self._new()
        self._started = False  # whether the frame has begun

    def read1(self, size: int) -> bytes:
        """Something of the contents; b"" at their end only."""
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
        """There is nothing to close: the file belongs to another."""


OPENERS: dict[str, tuple[bytes, Callable[[Any], Any]]] = {
    "gzip": (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file, mode="rb")),
    "bzip2": (b"BZh", bz2.BZ2File),
    "xz": (b"\xfd7zXZ\x00", lzma.LZMAFile),
    "Zstandard": (b"\x28\xb5\x2f\xfd", Zstandard),
}
MAGIC = tuple(magic for magic, _ in OPENERS.values())


def unpacker(head: bytes) -> tuple[str, Callable[[Any], Any]] | None:
    """Name and opener of the compression that begins so; None where it is none of them."""
    for name, (magic, opener) in OPENERS.items():
        if head.startswith(magic):
            return name, opener
    return None


def damage(error: Exception) -> bool:
    """Whether an error says that compressed data is damaged."""
    return isinstance(error, DAMAGE) or type(error).__module__.startswith("zstandard")
