"""One file over HTTP into a file that says it is partial, resumed where an earlier transfer broke off.

Beside ``NAME.part`` stands ``NAME.part.json``: the address and what the server called this version of the file (its
ETag, else its date, and its length). Only the rest of that very version is asked for (``Range`` with ``If-Range``,
RFC 9110, 13 and 14); a server that has another version, or knows no ranges, sends all and the transfer begins anew.
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
from typing import Any

from nolana.errors import DataError

__all__ = ["Progress", "discard", "settle", "transfer"]

# The name of a file, how many bytes of it are here, and how many it has: None where the server does not say.
Progress = Callable[[str, int, int | None], None]

CHUNK = 1 << 16
PATIENCE = 60.0  # seconds without a byte
RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
BEYOND = re.compile(r"bytes \*/(\d+)")
PARTIAL, BEYOND_END = 206, 416


@dataclass(frozen=True)
class Version:
    """Which version of a file a partial one is of."""

    url: str
    validator: str | None
    length: int | None

    @classmethod
    def of(cls, url: str, headers: Message, length: int | None) -> "Version":
        """As a server describes it; a weak ETag does not promise the same bytes."""
        tag = headers.get("ETag")
        strong = tag if tag and not tag.startswith("W/") else None
        return cls(url, strong or headers.get("Last-Modified"), length)


def transfer(url: str, part: Path, name: str, progress: Progress | None = None) -> None:
    """Downloads `url` into `part`, or the rest of it.

    A transfer that breaks off leaves what came, for the next one to go on from, and raises DataError.
    """
    if not re.match(r"https?://", url):
        raise DataError(f"{url} is not an address that can be downloaded from; it must begin with http:// or https://")
    report = progress or (lambda _name, _done, _total: None)
    with _writing(part):
        version = _recorded(part, url)
        have = part.stat().st_size if version else 0
    try:
        with _request(url, version, have) as answer:
            _receive(answer, url, part, version, have, name, report)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != BEYOND_END or not have:
            raise DataError(
                f"{url}: the server says {error.code} {error.reason}; if it is a mirror, is NOLANA_DATA_URL right?"
            ) from error
        if _length_beyond(error.headers) != have:  # what is here is no beginning of what the server has
            discard(part)
            transfer(url, part, name, progress)
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(f"cannot download {url}: {reason}; is this machine online?") from error


def discard(part: Path) -> None:
    """Removes a partial file and what is known of it."""
    with _writing(part):
        part.unlink(missing_ok=True)
        _beside(part).unlink(missing_ok=True)


def settle(part: Path, path: Path) -> None:
    """Gives a partial file that is complete its name."""
    with _writing(path):
        os.replace(part, path)
    discard(part)


def _request(url: str, version: Version | None, have: int) -> Any:
    headers = {"User-Agent": "nolana"}
    if version and have:
        headers["Range"] = f"bytes={have}-"
        if version.validator:
            headers["If-Range"] = version.validator
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=PATIENCE)


def _receive(
    answer: Any, url: str, part: Path, version: Version | None, have: int, name: str, report: Progress
) -> None:
    total = _length(answer.headers)
    if answer.status == PARTIAL:
        begin, total = _range(answer.headers)
        if version is None or begin != have or (version.length is not None and total != version.length):
            discard(part)
            raise DataError(f"{url} has changed since the last attempt, whose part is removed; run it again")
    else:
        have = 0
        with _writing(part):
            part.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(b"")  # before its description: an old part must not pass for one of this version
            _beside(part).write_text(json.dumps(asdict(Version.of(url, answer.headers, total))))
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


def _next(answer: Any, url: str, name: str, done: int, total: int | None) -> bytes:
    try:
        chunk: bytes = answer.read(CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _broken(url, name, done, total, str(error) or type(error).__name__) from error
    return chunk


def _broken(url: str, name: str, done: int, total: int | None, why: str) -> DataError:
    size = "" if total is None else f" of {total:,}"
    return DataError(
        f"{url} broke off after {done:,}{size} bytes ({why}); run it again to go on from there with {name}"
    )


@contextmanager
def _writing(part: Path) -> Iterator[None]:
    """A fault of this machine must not be taken for one of the network."""
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot write {part}: {error.strerror or error}") from error


def _beside(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _recorded(part: Path, url: str) -> Version | None:
    """What a partial file is of; None where it is not there, or not of this address, or nobody knows."""
    with contextlib.suppress(FileNotFoundError, ValueError, TypeError):
        version = Version(**json.loads(_beside(part).read_text()))
        known = version.validator is not None or version.length is not None
        if version.url == url and known and part.is_file():
            return version
    return None


def _length(headers: Message) -> int | None:
    given = headers.get("Content-Length", "")
    return int(given) if given.isdecimal() else None


def _range(headers: Message) -> tuple[int, int | None]:
    """Where a partial answer begins, and the length of the whole."""
    match = RANGE.fullmatch(headers.get("Content-Range", ""))
    if match is None:
        return -1, None
    return int(match[1]), None if match[2] == "*" else int(match[2])


def _length_beyond(headers: Message) -> int | None:
    match = BEYOND.fullmatch(headers.get("Content-Range", ""))
    return int(match[1]) if match else None
