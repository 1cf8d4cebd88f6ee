"""Streams of rows out of files: CSV and LIBSVM text, plain or compressed, a block at a time.

Memory is bounded by a block and a chunk of text, whatever the length of the file.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolana.streams.blocks import Block, Position
from nolana.streams.csv import Column, Target
from nolana.streams.formats import rows_of
from nolana.streams.labels import Kind
from nolana.streams.sources import Source, Text
from nolana.streams.stream import Stream

__all__ = ["Block", "Position", "Stream", "open", "read"]


def open(
    source: Source,
    *,
    target: Target = None,
    features: Sequence[Column] | None = None,
    format: str | None = None,
    block_rows: int = 1000,
    labels: Kind | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    chunk_bytes: int = 1 << 20,
) -> Stream:
    """A stream of blocks with ``.X`` (n, d), ``.y`` (n,) and ``.position``.

    What is wrong in the source raises ``nolana.errors.StreamError``, which names file, line and column.

    Parameters
    ----------
    source : a path, or a file open for reading bytes; gzip, bzip2 and xz are recognised by their first bytes.
    target : the column of the label, by name or index (negative from the end); by default the last column of CSV,
        the label of LIBSVM. ``False``: there is none, and ``y`` is None.
    features : columns that become X, in this order, by name or index (LIBSVM: as the file counts them); by default
        all but the target.
    format : "csv" or "libsvm"; by default told from the name, then from the first line.
    block_rows : rows of each block; the last one may be shorter.
    labels : "int", "float" or "text"; by default what all labels of the first block are.
    header : CSV: whether the first line has the names; by default it has where none of its features is a number.
    delimiter : CSV: by default that of ``,`` ``;`` and tab which splits the first line into most fields.
    n_features : LIBSVM: d; by default the largest index, for which a file is read once before, and of any other
        source only the first block, a larger index later being an error.
    zero_based : LIBSVM: indices count from 0 instead of 1.
    chunk_bytes : bytes of text read at a time.

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
    options = {"header": header, "delimiter": delimiter, "n_features": n_features, "zero_based": zero_based}
    text = Text(source, int(chunk_bytes))
    try:
        rows = rows_of(text, format, target, features, int(block_rows), options)
        return Stream(text, rows, int(block_rows), labels)
    except BaseException:
        text.close()
        raise


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
