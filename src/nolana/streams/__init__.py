"""Streams of rows out of files and pipes: CSV, JSON lines, LIBSVM, Parquet, Arrow, a block at a time.

Memory is bounded by a block and a chunk of text, whatever the length of the source.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.streams.bad_rows import BadRow, BadRows, Quarantine, Skip, policy
from nolana.streams.blocks import Block, Position
from nolana.streams.columns import Column, Target
from nolana.streams.formats import Wish
from nolana.streams.opening import begin
from nolana.streams.plan import Categories, LabelKind, Missing, Options
from nolana.streams.sources import Source
from nolana.streams.stream import Stream

__all__ = ["BadRow", "BadRows", "Block", "Position", "Quarantine", "Skip", "Stream", "open", "read"]


def open(
    source: Source,
    *,
    target: Target = None,
    features: Sequence[Column] | None = None,
    ignore: Sequence[Column] | None = None,
    format: str | None = None,
    block_rows: int = 1000,
    labels: LabelKind | None = None,
    categories: Categories = "error",
    hash_slots: int = 16,
    max_categories: int = 32,
    missing: Missing = "error",
    on_bad_row: str | BadRows = "error",
    header: bool | None = None,
    delimiter: str | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    chunk_bytes: int = 1 << 20,
    plan: Mapping[str, Any] | None = None,
    encoder: Mapping[str, Any] | None = None,
    resume: Mapping[str, Any] | None = None,
) -> Stream:
    """A stream of blocks with ``.X`` (n, d), ``.y`` (n,), ``.position`` and ``.lines`` (n,).

    What is wrong in the source raises ``nolana.errors.StreamError``, which names file, line and column.
    What a column is (a number, true or false, a date or time, a text) and what labels are, the first block tells.
    Dates and times (ISO 8601) become seconds since 1970 in UTC, true and false 1 and 0.
    A pipe or terminal gives rows as soon as they are complete, in blocks of 1 to ``block_rows``.

    Parameters
    ----------
    source : a path, a file open for reading bytes, or "-" for standard input; gzip, bzip2, xz and Zstandard (extra
        ``zstd``) are recognised by their first bytes.
    target : the column of the label, by name or index (negative from the end); by default the last column (of the
        first object of JSON lines), the label of LIBSVM. ``False``: there is none, and ``y`` is None.
    features : columns that become X, in this order, by name or index (LIBSVM: as the file counts them); by default
        all but the target.
    ignore : columns that are left out.
    format : "csv", "libsvm", "jsonl", "parquet" or "arrow" (the last two: extra ``arrow``); by default told from
        the first bytes, the name, then the first line.
    block_rows : rows of each block; the last one may be shorter.
    labels : "int", "float", "bool" or "text"; by default what all labels of the first block are.
    categories : what becomes of columns of text: "error"; "hash", +1 or -1 in one of ``hash_slots`` columns by a
        stable hash; "onehot", 1 in one of ``max_categories`` columns given in order of appearance, and of one more
        for all that come later.
    missing : what becomes of empty fields, NA, NaN, null and keys that are not there: "error"; "mean", the mean of
        the column over the rows before, 0 at first (a category: zeros); "indicator", the same and behind all
        features one column for each that is 1 where it was missing.
    on_bad_row : "error"; "skip", leave out and count (``stream.bad_rows``, ``stream.bad_rows_by_reason``);
        "quarantine=FILE", append them to a file of JSON lines too; or a ``BadRows`` object.
    header : CSV: whether the first line has the names; by default it has where none of its features is a number,
        a date or a time.
    delimiter : CSV: by default that of ``,`` ``;`` and tab which splits the first line into most fields.
    n_features : LIBSVM: d; by default the largest index, for which a file is read once before, and of any other
        source only the first block, a larger index later being an error.
    zero_based : LIBSVM: indices count from 0 instead of 1.
    chunk_bytes : bytes of text read at a time.
    plan : what ``stream.plan`` of another stream was: the same columns, by name in any order, become the same X.
    encoder : ``stream.state()["encoder"]`` of another stream: its means and categories, used as they are and not
        changed by these rows, as predictions want it.
    resume : what ``stream.state()`` of a stream of this source was: the blocks go on from there, bit for bit. A
        plain file is read from there, any other source is read again up to there. With ``"position"`` set to None
        the source is another one, and begins where the columns stood.

    Examples
    --------
    >>> import io
    >>> import nolana
    >>> file = io.BytesIO(b"width,height,kind\\n1.5,2,cat\\n3,4,dog\\n5,6,cat\\n")
    >>> with nolana.streams.open(file, block_rows=2) as stream:
    ...     for block in stream:
    ...         print(block.X.tolist(), block.y.tolist(), block.position.line)
    [[1.5, 2.0], [3.0, 4.0]] ['cat', 'dog'] 4
    [[5.0, 6.0]] ['cat'] 5
    """
    for name, value in (("block_rows", block_rows), ("chunk_bytes", chunk_bytes)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name}={value!r} must be a whole number, at least 1")
    for name, columns in (("features", features), ("ignore", ignore)):
        if isinstance(columns, str):
            raise TypeError(f"{name}={columns!r} is one text; give a list of columns, [{columns!r}]")
    own = {"header": header, "delimiter": delimiter, "n_features": n_features, "zero_based": zero_based}
    wish = Wish(
        target=target,
        features=None if features is None else list(features),
        ignore=None if ignore is None else list(ignore),
        block_rows=int(block_rows),
        own=own,
    )
    return begin(
        source,
        wish,
        format=format,
        chunk_bytes=int(chunk_bytes),
        labels=labels,
        options=Options(categories, hash_slots, max_categories, missing),
        bad=policy(on_bad_row),
        plan=plan,
        encoder=encoder,
        resume=resume,
    )


def read(source: Source, **parameters: Any) -> tuple[NDArray[np.float64], NDArray[Any] | None]:
    """All rows of a source at once, X (n, d) and y (n,); the parameters are those of ``open``.

    Examples
    --------
    >>> import io
    >>> import nolana
    >>> X, y = nolana.streams.read(io.BytesIO(b"+1 1:0.5 3:2\\n-1 2:1\\n"))
    >>> X.tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1, -1])
    """
    with open(source, **parameters) as stream:
        return stream.gather()
