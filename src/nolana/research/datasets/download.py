"""Download of data sets over HTTP: an interrupted transfer is resumed, and a file is checked before it gets its name.

``NAME.part`` has the bytes so far, and ``NAME.part.json`` describes them: the address and the version of the file on
the server (its ETag, else its date, and its length). Only the rest of the same version is requested (``Range`` with
``If-Range``, RFC 9110, 13 and 14); a server that has another version or does not support ranges sends the whole file,
and the transfer starts again.
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
from http import HTTPStatus
from pathlib import Path

from nolana.errors import DataError, StreamError
from nolana.research.datasets.collection import DataSet, File, record_of
from nolana.research.datasets.collection import base_url as collection_at
from nolana.research.datasets.places import Directory, Look, explain_missing, find, user_directory
from nolana.research.datasets.rows import check

__all__ = ["Progress", "get"]

# The name of a file, its bytes so far, and its length: None if the server does not report it.
Progress = Callable[[str, int, int | None], None]

CHUNK = 1 << 16
TIMEOUT = 60.0  # seconds without a byte
RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")


def get(
    which: str | DataSet,
    directory: Directory | None = None,
    *,
    base_url: str | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Download the missing files of a data set, and return the paths of all of them.

    A file is written as ``NAME.part``, read, and gets its name only if it has the rows and features of the catalogue.
    An interrupted transfer leaves the part, and the next call resumes it; a file with other content is removed, because
    it could not be resumed.

    Parameters
    ----------
    which : a name of the catalogue, or a record.
    directory : where to write the files; by default, if the data set is not on this machine, ``nolana`` in
        XDG_DATA_HOME or ~/.local/share.
    base_url : a mirror of the collection; by default NOLANA_DATA_URL, else the LIBSVM site.
    progress : is called with the name of a file, its bytes so far, and its length or None.

    Raises ``nolana.errors.DataError`` with the reason and the address.
    """
    record = record_of(which)
    if directory is None:
        with contextlib.suppress(DataError):
            return find(record)
    target = user_directory() if directory is None else Path(directory).expanduser()
    if target is None:
        raise DataError("there is no home directory to download to; name a directory with directory= or --data")
    local = Look.at(target, record)
    if any(file.folder is None for file, path in zip(record.files, local.paths, strict=True) if path is None):
        raise DataError(explain_missing(record, [local]))
    report = progress or (lambda _name, _done, _total: None)
    return [
        path or _fetch(record, file, _Transfer(str(file.url(collection_at(base_url))), target / file.name, report))
        for file, path in zip(record.files, local.paths, strict=True)
    ]


def _fetch(record: DataSet, file: File, transfer: "_Transfer") -> Path:
    transfer.run()
    try:
        check(record, file, transfer.part)
    except (DataError, StreamError) as error:
        transfer.discard()
        raise DataError(
            f"what {transfer.url} sent is not {file.name} of the data set {record.name}, and is removed: {error}"
        ) from error
    with _writing(transfer.path):
        os.replace(transfer.part, transfer.path)
    transfer.discard()
    return transfer.path


@dataclass(frozen=True)
class _Version:
    """The version on the server that a partial file belongs to."""

    url: str
    validator: str | None
    length: int | None

    @classmethod
    def of(cls, url: str, headers: Message, length: int | None) -> "_Version":
        """The version in the headers of a response; a weak ETag does not guarantee equal bytes."""
        tag = headers.get("ETag")
        strong = tag if tag and not tag.startswith("W/") else None
        return cls(url, strong or headers.get("Last-Modified"), length)


@dataclass(frozen=True)
class _Transfer:
    """A file on its way from `url` to `path`."""

    url: str
    path: Path
    report: Progress

    @property
    def part(self) -> Path:
        return self.path.with_name(self.path.name + ".part")

    @property
    def description(self) -> Path:
        return self.path.with_name(self.path.name + ".part.json")

    def run(self) -> None:
        """Download the file, or the rest of it.

        An interrupted transfer leaves the partial file, which the next call resumes, and raises DataError.
        """
        if not re.match(r"https?://", self.url):
            raise DataError(f"{self.url} cannot be downloaded; an address must begin with http:// or https://")
        with _writing(self.part):
            version = self._recorded()
            have = self.part.stat().st_size if version else 0
        try:
            with self._request(version, have) as answer:
                self._receive(answer, version, have)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not have:
                raise DataError(
                    f"{self.url}: the server says {error.code} {error.reason}; for a mirror, check NOLANA_DATA_URL"
                ) from error
            if _range(error.headers) != (None, have):  # the partial file is not the beginning of the file on the server
                self.discard()
                self.run()
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise DataError(f"cannot download {self.url}: {reason}; is this machine online?") from error

    def discard(self) -> None:
        """Remove the partial file and its description."""
        with _writing(self.part):
            self.part.unlink(missing_ok=True)
            self.description.unlink(missing_ok=True)

    def _recorded(self) -> _Version | None:
        """The version of the partial file; None if it is missing, unknown, or from another address."""
        with contextlib.suppress(FileNotFoundError, ValueError, TypeError):
            version = _Version(**json.loads(self.description.read_text()))
            known = version.validator is not None or version.length is not None
            if version.url == self.url and known and self.part.is_file():
                return version
        return None

    def _request(self, version: _Version | None, have: int) -> http.client.HTTPResponse:
        headers = {"User-Agent": "nolana"}
        if version and have:
            headers["Range"] = f"bytes={have}-"
            if version.validator:
                headers["If-Range"] = version.validator
        answer: http.client.HTTPResponse = urllib.request.urlopen(
            urllib.request.Request(self.url, headers=headers), timeout=TIMEOUT
        )
        return answer

    def _receive(self, answer: http.client.HTTPResponse, version: _Version | None, have: int) -> None:
        if answer.status == HTTPStatus.PARTIAL_CONTENT:
            begin, total = _range(answer.headers)
            if version is None or begin != have or (version.length is not None and total != version.length):
                self.discard()
                raise DataError(
                    f"{self.url} has changed since the last attempt, whose partial file is removed; run it again"
                )
        else:
            have, length = 0, answer.headers.get("Content-Length", "")
            total = int(length) if length.isdecimal() else None
            with _writing(self.part):
                self.part.parent.mkdir(parents=True, exist_ok=True)
                self.part.write_bytes(b"")  # before its description: an old part must not be taken for this version
                self.description.write_text(json.dumps(asdict(_Version.of(self.url, answer.headers, total))))
        done = have
        self.report(self.path.name, done, total)
        with _writing(self.part), open(self.part, "ab") as file:
            while chunk := self._next(answer, done, total):
                file.write(chunk)
                done += len(chunk)
                self.report(self.path.name, done, total)
            file.flush()
            os.fsync(file.fileno())
        if total is not None and done != total:
            raise self._broken(done, total, "the connection was closed")

    def _next(self, answer: http.client.HTTPResponse, done: int, total: int | None) -> bytes:
        try:
            return answer.read(CHUNK)
        except (OSError, http.client.HTTPException) as error:
            raise self._broken(done, total, str(error) or type(error).__name__) from error

    def _broken(self, done: int, total: int | None, why: str) -> DataError:
        size = "" if total is None else f" of {total:,}"
        again = f"run it again to resume {self.path.name}"
        return DataError(f"{self.url} broke off after {done:,}{size} bytes ({why}); {again}")


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Report local write errors as such, not as network errors."""
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from error


def _range(headers: Message) -> tuple[int | None, int | None]:
    """The first byte of a partial response, and the length of the whole file; None if a header does not say it."""
    match = RANGE.fullmatch(headers.get("Content-Range", ""))
    begin, length = match.groups() if match else (None, None)
    return None if begin is None else int(begin), None if length in (None, "*") else int(length)
