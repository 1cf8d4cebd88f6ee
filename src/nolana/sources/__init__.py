"""Streams of rows from files, pipes and messages: CSV, JSON lines, LIBSVM, Parquet, Arrow, one block at a time.

Memory is bounded by a block and a chunk of text, whatever the length of the source.
"""

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec

import numpy as np
from numpy.typing import NDArray

from nolana.sources.bad_rows import BadRow, BadRows, Quarantine, Skip
from nolana.sources.blocks import Block, Position
from nolana.sources.bytes import Source
from nolana.sources.declaration import declared, document, signature
from nolana.sources.formats import open_stream
from nolana.sources.options import Arguments, SourceOptions
from nolana.sources.stream import Stream

__all__ = ["BadRow", "BadRows", "Block", "Position", "Quarantine", "Skip", "SourceOptions", "Stream", "open", "read"]

P = ParamSpec("P")


def _with_keywords(
    arguments: Callable[P, Arguments],
) -> Callable[[Callable[[Source, Arguments], Stream]], Callable[Concatenate[Source, P], Stream]]:
    """Decorator: the fields of ``Arguments`` become the keyword arguments of a function, also for type checkers."""

    def decorate(function: Callable[[Source, Arguments], Stream]) -> Callable[Concatenate[Source, P], Stream]:
        @functools.wraps(function)
        def call(source: Source, **keywords: Any) -> Stream:
            for name in keywords.keys() - declared(Arguments).keys():
                raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}")
            return function(source, arguments(**keywords))  # type: ignore[call-arg]

        call.__signature__ = signature(function, Arguments)  # type: ignore[attr-defined]
        call.__doc__ = (function.__doc__ or "").replace("{parameters}", document(Arguments).lstrip())
        return call  # type: ignore[return-value]

    return decorate


@_with_keywords(Arguments)
def open(source: Source, arguments: Arguments) -> Stream:
    """A stream of blocks with ``.X`` (n, d), ``.y`` (n,), ``.position`` and ``.lines`` (n,).

    Invalid data raises ``nolana.errors.StreamError``, which names file, line and column. The kind of a column (number,
    true or false, date or time, text) and the type of labels are inferred from the first block. Dates and times
    (ISO 8601) become seconds since 1970 in UTC, true and false 1 and 0. Rows of a pipe or terminal are returned as soon
    as they are complete, in blocks of 1 to ``block_rows``.

    Parameters
    ----------
    source : a path, a file open for reading bytes, or "-" for standard input; gzip, bzip2, xz and Zstandard (extra
        ``zstd``) are detected by their first bytes. Or messages, one row each: "kafka://HOST:PORT/TOPIC" (extra
        ``kafka``), "redis://HOST:PORT/STREAM" (extra ``redis``); blocks then have their places.
    {parameters}

    Examples
    --------
    >>> import io
    >>> import nolana
    >>> file = io.BytesIO(b"width,height,kind\\n1.5,2,cat\\n3,4,dog\\n5,6,cat\\n")
    >>> with nolana.sources.open(file, block_rows=2) as stream:
    ...     for block in stream:
    ...         print(block.X.tolist(), block.y.tolist(), block.position.line)
    [[1.5, 2.0], [3.0, 4.0]] ['cat', 'dog'] 4
    [[5.0, 6.0]] ['cat'] 5
    """
    return open_stream(source, arguments)


def read(source: Source, **parameters: Any) -> tuple[NDArray[np.float64], NDArray[Any] | None]:
    """All rows of a source at once, X (n, d) and y (n,); the parameters are those of ``open``.

    Examples
    --------
    >>> import io
    >>> import nolana
    >>> X, y = nolana.sources.read(io.BytesIO(b"+1 1:0.5 3:2\\n-1 2:1\\n"))
    >>> X.tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1, -1])
    """
    with open(source, **parameters) as stream:
        return stream.gather()
