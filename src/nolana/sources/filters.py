"""Files whose bytes are changed as they are read: decompressed, and text as the parsers expect it.

Compression is detected by the first bytes. Text becomes UTF-8 with decimal points, without comments, a JSON object a
line; all but the encoding keep the number of bytes, so that an offset in the text is an offset in the file.
"""

import bz2
import codecs
import gzip
import importlib
import lzma
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from nolana.errors import MissingExtraError

__all__ = [
    "COMPRESSIONS", "ByteFile", "Compression", "Eager", "Lines", "Objects", "Prefixed", "Transcoded", "blank_comments",
    "decimal_points", "detect_compression", "detect_encoding", "is_damage",
]  # fmt: skip

DAMAGE = (EOFError, zlib.error, lzma.LZMAError, OSError)
PIECE = 4096  # bytes of Zstandard decompressed at once: a hostile frame must not fill the memory
MARKS = {  # byte order marks; that of UTF-32 begins with that of UTF-16
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
FEWEST_PAIRS = 3  # of bytes, to be UTF-16 without a mark
LETTER = re.compile(rb"[A-Za-z][\xc0-\xfe]|[\xc0-\xfe][a-z]")  # as in "Café" and "Österreich", written in one byte
CHARACTER = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)  # of UTF-8, in several bytes
TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|["\[\]{},\r\n]', re.DOTALL)
LONGEST_STRING = 1 << 24  # bytes; a quote that is never closed must not fill the memory


class ByteFile(Protocol):
    """A file that is read once, from its beginning to its end."""

    def read1(self, size: int, /) -> bytes:
        """About so many bytes, at least one unless the file ends."""


# Compression


class Prefixed:
    """A file of which some bytes were read already."""

    def __init__(self, head: bytes, file: ByteFile) -> None:
        self._head, self._file, self._start = head, file, 0

    def read1(self, size: int) -> bytes:
        if self._start < len(self._head):
            head = self._head[self._start : self._start + size]
            self._start += len(head)
            return head
        return self._file.read1(size)


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
            self._new = importlib.import_module("zstandard").ZstdDecompressor().decompressobj
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
    open: Callable[..., gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile | Zstandard]


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


# Text


def detect_encoding(head: bytes) -> str:
    """The encoding of a text with these first bytes: UTF-16 by its mark or its zeros, Latin-1 by letters of one byte.

    Examples
    --------
    >>> detect_encoding("a,b".encode("utf-16")), detect_encoding("Café,1".encode("latin-1")), detect_encoding(b"a,b")
    ('utf-16', 'latin-1', 'utf-8')
    >>> detect_encoding("a,b,c,d".encode("utf-16-le"))
    'utf-16-le'
    """
    for mark, name in MARKS.items():
        if head.startswith(mark):
            return name
    first, second = (head[place : len(head) & ~1 : 2] for place in (0, 1))
    for name, zeros, others in (("utf-16-le", second, first), ("utf-16-be", first, second)):
        if len(zeros) >= FEWEST_PAIRS and zeros.count(0) > len(zeros) / 2 and others.count(0) == 0:
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
        return "utf-8"
    except UnicodeDecodeError:
        pass
    if b"\0" in head or b"\xff" in head or CHARACTER.search(head) or not LETTER.search(head):
        return "utf-8"  # with some invalid bytes
    return "latin-1" if re.search(rb"[\x80-\x9f]", head) is None else "cp1252"


class Transcoded:
    """A file of another encoding as UTF-8; UnicodeDecodeError if it is in yet another one."""

    def __init__(self, file: ByteFile, encoding: str) -> None:
        self._file, self._decoder = file, codecs.getincrementaldecoder(encoding)()

    def read1(self, size: int) -> bytes:
        while True:
            data = self._file.read1(size)
            text = self._decoder.decode(data, final=not data).encode("utf-8", "replace")
            if text or not data:
                return text


class Lines:
    """A file in which some whole lines are changed at a time."""

    def __init__(self, file: ByteFile, change: Callable[[bytes], bytes]) -> None:
        self._file, self._change = file, change
        self._rest: list[bytes] = []  # the last line as far as it has come

    def read1(self, size: int) -> bytes:
        while True:
            data = self._file.read1(size)
            lines, end, rest = data.rpartition(b"\n")
            if end or not data:
                whole = b"".join([*self._rest, lines, end])
                self._rest = [rest]
                return self._change(whole)
            self._rest.append(rest)


def blank_comments(mark: str) -> Callable[[bytes], bytes]:
    """Lines that begin with a mark become blanks.

    Examples
    --------
    >>> blank_comments("#")(b"a,b\\n# x\\n1,2\\n")
    b'a,b\\n   \\n1,2\\n'
    """
    comment = re.compile(rb"^[ \t]*" + re.escape(mark.encode()) + rb"[^\r\n]*", re.MULTILINE)
    return lambda lines: comment.sub(lambda found: b" " * len(found[0]), lines)


def decimal_points(delimiter: str | None) -> Callable[[bytes], bytes]:
    """Fields that are a number with a comma get a point, and those with a point a comma: 1.5 must not be read as 1.5.

    Between commas a number with a comma is quoted. A second call restores the text.

    Examples
    --------
    >>> decimal_points(";")(b"-1,5;2.5;a,b;3\\n")
    b'-1.5;2,5;a,b;3\\n'
    >>> decimal_points(",")(b'"1,5",2,5\\n')
    b'"1.5",2,5\\n'
    """
    between = b'";\t|' + re.escape((delimiter or ";").encode())
    begin, end = (rb"(^|[" + between + rb"])", rb"(?=[" + between + rb"\r\n]|\Z)")
    if delimiter == ",":
        begin, end = rb'((?:^|,) *")', rb'(?=")'
    number = re.compile(begin + rb"( *[+-]?)(\d*)([.,])(\d*)((?:[eE][+-]?\d+)? *)" + end, re.MULTILINE)
    swap = {b",": b".", b".": b","}

    def change(found: re.Match[bytes]) -> bytes:
        before, sign, whole, point, rest, after = found.groups()
        return before + sign + whole + swap[point] + rest + after if whole or rest else found[0]

    return lambda lines: number.sub(change, lines)


class Objects:
    """A JSON array of objects, or objects of several lines, as one object a line.

    Line ends in an object become blanks; of an array the brackets become blanks and the commas line ends.
    """

    def __init__(self, file: ByteFile, *, array: bool) -> None:
        self._file, self._array = file, array
        self._depth, self._rest = 0, b""

    def read1(self, size: int) -> bytes:
        while True:
            data = self._file.read1(max(size, len(self._rest)))
            done = self._change(self._rest + data, final=not data)
            if done or not data:
                return done

    def _change(self, data: bytes, final: bool) -> bytes:
        out, end = bytearray(data), len(data)
        for token in TOKEN.finditer(data):
            at, mark = token.start(), token[0]
            if mark == b'"':  # a string that is not complete
                if not final and len(data) - at < LONGEST_STRING:
                    end = at
                    break
            elif mark in (b"{", b"["):
                if self._array and self._depth == 0:
                    out[at : at + 1] = b" "
                self._depth += 1
            elif mark in (b"}", b"]"):
                self._depth = max(0, self._depth - 1)
                if self._array and self._depth == 0:
                    out[at : at + 1] = b" "
            elif mark == b",":
                if self._array and self._depth == 1:
                    out[at : at + 1] = b"\n"
            elif len(mark) == 1 and self._depth:
                out[at : at + 1] = b" "
        self._rest = data[end:]
        return bytes(out[:end])
