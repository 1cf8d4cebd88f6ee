"""Download of one file over HTTP into a partial file, which a later call resumes.

``NAME.part.json`` describes ``NAME.part``: the address and the version of the file on the server (its ETag, else its
date, and its length). Only the rest of the same version is requested (``Range`` with ``If-Range``, RFC 9110, 13 and
14); a server that has another version or does not support ranges sends the whole file, and the transfer starts again.
"""

import contextlib
import http.client
import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from email.message import Message
from pathlib import Path

from nolana.errors import DataError

__all__ = ["Progress", "discard", "settle", "transfer"]

# The name of a file, its bytes so far, and its length: None if the server does not report it.
Progress = Callable[[str, int, int | None], None]

CHUNK = 1 << 16
TIMEOUT = 60.0  # seconds without a byte
RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
LENGTH_ONLY = re.compile(r"bytes \*/(\d+)")
PARTIAL, RANGE_NOT_SATISFIABLE = 206, 416


@dataclass(frozen=True)
class Version:
    """The version on the server that a partial file belongs to."""

    url: str
    validator: str | None
    length: int | None

    @classmethod
    def of(cls, url: str, headers: Message, length: int | None) -> "Version":
        """The version in the headers of a response; a weak ETag does not guarantee equal bytes."""
        tag = headers.get("ETag")
        strong = tag if tag and not tag.startswith("W/") else None
        return cls(url, strong or headers.get("Last-Modified"), length)


def transfer(url: str, part: Path, name: str, progress: Progress | None = None) -> None:
    """Download `url`, or the rest of it, into `part`.

    An interrupted transfer leaves the partial file, which the next call resumes, and raises DataError.
    """
    if not re.match(r"https?://", url):
        raise DataError(f"{url} cannot be downloaded; an address must begin with http:// or https://")
    report = progress or (lambda _name, _done, _total: None)
    with _writing(part):
        version = _recorded(part, url)
        have = part.stat().st_size if version else 0
    try:
        with _request(url, version, have) as answer:
            _receive(answer, url, part, version, have, name, report)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != RANGE_NOT_SATISFIABLE or not have:
            raise DataError(
                f"{url}: the server says {error.code} {error.reason}; for a mirror, check NOLANA_DATA_URL"
            ) from error
        if _complete_length(error.headers) != have:  # the partial file is not the beginning of the file on the server
            discard(part)
            transfer(url, part, name, progress)
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(f"cannot download {url}: {reason}; is this machine online?") from error


def discard(part: Path) -> None:
    """Remove a partial file and its description."""
    with _writing(part):
        part.unlink(missing_ok=True)
        _description(part).unlink(missing_ok=True)


def settle(part: Path, path: Path) -> None:
    """Rename a complete partial file to its final name."""
    with _writing(path):
        os.replace(part, path)
    discard(part)


def _request(url: str, version: Version | None, have: int) -> http.client.HTTPResponse:
    headers = {"User-Agent": "nolana"}
    if version and have:
        headers["Range"] = f"bytes={have}-"
        if version.validator:
            headers["If-Range"] = version.validator
    answer: http.client.HTTPResponse = urllib.request.urlopen(
        urllib.request.Request(url, headers=headers), timeout=TIMEOUT
    )
    return answer


def _receive(
    answer: http.client.HTTPResponse,
    url: str,
    part: Path,
    version: Version | None,
    have: int,
    name: str,
    report: Progress,
) -> None:
    total = _length(answer.headers)
    if answer.status == PARTIAL:
        begin, total = _range(answer.headers)
        if version is None or begin != have or (version.length is not None and total != version.length):
            discard(part)
            raise DataError(f"{url} has changed since the last attempt, whose partial file is removed; run it again")
    else:
        have = 0
        with _writing(part):
            part.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(b"")  # before its description: an old part must not be taken for this version
            _description(part).write_text(json.dumps(asdict(Version.of(url, answer.headers, total))))
    done = have
    report(name, done, total)
    with _writing(part), open(part, "ab") as file:
        while chunk := _next(answer, url, name, done, total):
            file.write(chunk)
            done += len(chunk)
            report(name, done, total)
        file.flush()
        os.fsync(file.fileno())
    if total is not None and done != total:
        raise _broken(url, name, done, total, "the connection was closed")


def _next(answer: http.client.HTTPResponse, url: str, name: str, done: int, total: int | None) -> bytes:
    try:
        chunk = answer.read(CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _broken(url, name, done, total, str(error) or type(error).__name__) from error
    return chunk


def _broken(url: str, name: str, done: int, total: int | None, why: str) -> DataError:
    size = "" if total is None else f" of {total:,}"
    return DataError(f"{url} broke off after {done:,}{size} bytes ({why}); run it again to resume {name}")


@contextmanager
def _writing(part: Path) -> Iterator[None]:
    """Report local write errors as such, not as network errors."""
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot write {part}: {error.strerror or error}") from error


def _description(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _recorded(part: Path, url: str) -> Version | None:
    """The version of a partial file; None if it is missing, unknown, or from another address."""
    with contextlib.suppress(FileNotFoundError, ValueError, TypeError):
        version = Version(**json.loads(_description(part).read_text()))
        known = version.validator is not None or version.length is not None
        if version.url == url and known and part.is_file():
            return version
    return None


def _length(headers: Message) -> int | None:
    length = headers.get("Content-Length", "")
    return int(length) if length.isdecimal() else None


def _range(headers: Message) -> tuple[int, int | None]:
    """The first byte of a partial response, and the length of the whole file."""
    match = RANGE.fullmatch(headers.get("Content-Range", ""))
    if match is None:
        return -1, None
    return int(match[1]), None if match[2] == "*" else int(match[2])


def _complete_length(headers: Message) -> int | None:
    match = LENGTH_ONLY.fullmatch(headers.get("Content-Range", ""))
    return int(match[1]) if match else None
