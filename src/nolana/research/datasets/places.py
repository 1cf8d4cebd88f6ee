"""Where data sets stand on this machine, and where they are put."""

import os
from dataclasses import dataclass
from pathlib import Path

from nolana.errors import DataError
from nolana.research.datasets.collection import DataSet, File, base_url, record_of

Directory = str | os.PathLike[str]


def places(directory: Directory | None = None) -> list[Path]:
    """The directories that are searched: `directory`, those of NOLANA_DATA, the user's own."""
    named = [] if directory is None else [os.fspath(directory)]
    named += [part for part in os.environ.get("NOLANA_DATA", "").split(os.pathsep) if part]
    found = [Path(name).expanduser() for name in named]
    own = user_directory()
    return list(dict.fromkeys(found if own is None else [*found, own]))


def user_directory() -> Path | None:
    """Where downloads go: ``nolana`` in XDG_DATA_HOME, else in ~/.local/share; None for a user without a home."""
    return _home("XDG_DATA_HOME", ".local/share")


def cache_directory() -> Path | None:
    """Where parsed rows are cached: ``nolana`` in XDG_CACHE_HOME, else in ~/.cache; None for a user without a home."""
    return _home("XDG_CACHE_HOME", ".cache")


def _home(variable: str, default: str) -> Path | None:
    named = Path(os.environ.get(variable, ""))
    if named.is_absolute():  # the XDG specification has relative paths ignored
        return named / "nolana"
    try:
        return Path.home() / default / "nolana"
    except RuntimeError:
        return None


def find(which: str | DataSet, directory: Directory | None = None) -> list[Path]:
    """The files of a data set, from the first directory that has them all.

    Parameters
    ----------
    which : a name of the catalogue, or a record.
    directory : is searched first; then those of NOLANA_DATA (separated as in PATH), then ``nolana`` in XDG_DATA_HOME
        or ~/.local/share, where ``get`` puts what it downloads.

    Raises ``nolana.errors.DataError`` if no directory has it, which says where it was looked for and where to get it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import nolana
    >>> directory = tempfile.mkdtemp()
    >>> _ = (Path(directory) / "cpusmall_scale").write_text("90 1:0.5\\n")
    >>> [path.name for path in nolana.research.datasets.find("cpusmall", directory)]
    ['cpusmall_scale']
    """
    record = record_of(which)
    looked = [Look.at(place, record) for place in places(directory)]
    for look in looked:
        paths = [path for path in look.paths if path is not None]
        if len(paths) == len(record.files):
            return paths
    raise DataError(explain_missing(record, looked))


@dataclass(frozen=True)
class Look:
    """What a directory has of a data set: a path for each of its files, None for one that is not there."""

    place: Path
    paths: list[Path | None]

    @classmethod
    def at(cls, place: Path, record: DataSet) -> "Look":
        """Looks for every file."""
        return cls(place, [_first(place, file) for file in record.files])

    def __str__(self) -> str:
        there = [path.name for path in self.paths if path is not None]
        return f"{self.place} (which has only {', '.join(there)})" if there else str(self.place)


def _first(place: Path, file: File) -> Path | None:
    return next((place / name for name in file.names() if (place / name).is_file()), None)


def explain_missing(record: DataSet, looked: list[Look]) -> str:
    """What was looked for and where, and how to get it."""
    files = " and ".join(file.name for file in record.files)
    searched = ", ".join(map(str, looked)) or "no directory at all"
    missing = f"the data set {record.name} is not on this machine: looked for {files} in {searched}"
    urls = [url for file in record.files if (url := file.url(base_url())) is not None]
    if not urls:
        return (
            f"{missing}; nolana cannot download it: see {record.source}, and put it into one of these directories "
            f"(NOLANA_DATA may name more) as CSV with a header, {record.features} features and the label last"
        )
    return (
        f"{missing}; get it with `nolana data get {record.name}`, or take {' and '.join(urls)} yourself (see "
        f"{record.source}) and put it into one of these directories (NOLANA_DATA may name more)"
    )
