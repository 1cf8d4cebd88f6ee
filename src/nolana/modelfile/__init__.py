"""Model files: named sections of plain data in one safetensors file, written all at once or not at all.

A section is a tree: dicts with string keys, lists, None, bools, integers, floats, strings, and NumPy arrays of
bools, numbers or strings. What is read is equal to what was written, to the last bit and with the same dtypes.
``docs/model-file.md`` has the format.

>>> import os, tempfile, numpy as np
>>> from nolana import modelfile
>>> path = os.path.join(tempfile.mkdtemp(), "run.safetensors")
>>> modelfile.write(path, {"progress": {"rows": 2**60, "best": float("inf"), "sums": np.arange(3)}})
>>> modelfile.read(path)
{'progress': {'rows': 1152921504606846976, 'best': inf, 'sums': array([0, 1, 2])}}
"""

import os
from collections.abc import Mapping

from nolana.errors import ModelFileError
from nolana.modelfile import container
from nolana.modelfile.atomic import replace_file
from nolana.modelfile.node import Node
from nolana.modelfile.tree import Tree, decoded, encoded

__all__ = ["Node", "Tree", "fingerprint", "packed", "read", "write"]

Path = str | os.PathLike[str]


def write(path: Path, sections: Mapping[str, Tree]) -> None:
    """Write the sections to one file, atomically: it is there as a whole, or what was there before still is.

    Raises `ModelFileError` if something cannot be written, because of what it is or because of the disk.
    """
    replace_file(path, packed(sections))


def packed(sections: Mapping[str, Tree]) -> bytes:
    """The bytes of a file with these sections."""
    return container.packed(*encoded(sections))


def fingerprint(sections: Mapping[str, Tree]) -> str:
    """The checksum of what `write` would write: the same for equal sections."""
    return container.checksum(container.VERSION, *encoded(sections))


def read(path: Path) -> dict[str, Tree]:
    """The sections of a file; `ModelFileError` says what is wrong with one that is not whole and nolana's."""
    text, arrays = container.unpacked(path)
    try:
        return decoded(text, arrays)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None
