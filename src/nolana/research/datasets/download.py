"""Download of data sets: a file gets its final name after its content has been checked."""

import contextlib
from pathlib import Path

from nolana.errors import DataError, StreamError
from nolana.research.datasets.collection import base_url as collection_at
from nolana.research.datasets.collection import record_of
from nolana.research.datasets.places import Directory, Look, explain_missing, find, user_directory
from nolana.research.datasets.records import DataSet, File
from nolana.research.datasets.rows import check
from nolana.research.datasets.transfer import Progress, discard, settle, transfer

__all__ = ["get"]


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
    return [
        path or _fetch(record, file, target, collection_at(base_url), progress)
        for file, path in zip(record.files, local.paths, strict=True)
    ]


def _fetch(record: DataSet, file: File, directory: Path, base: str, progress: Progress | None) -> Path:
    path, url = directory / file.name, str(file.url(base))
    part = path.with_name(path.name + ".part")
    transfer(url, part, file.name, progress)
    try:
        check(record, file, part)
    except (DataError, StreamError) as error:
        discard(part)
        raise DataError(
            f"what {url} sent is not {file.name} of the data set {record.name}, and is removed: {error}"
        ) from error
    settle(part, path)
    return path
