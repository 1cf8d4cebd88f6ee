"""LIBSVM text: how wide its rows are; the rows themselves are parsed by the engine.

``label [qid:n] index:value ... [# comment]``, indices ascending (C.-C. Chang, C.-J. Lin: LIBSVM, ACM TIST 2, 2011).
"""

import sys
from collections.abc import Sequence

import numpy as np

from nolana._backend import engine
from nolana.streams.csv import Column, Target
from nolana.streams.labels import Part
from nolana.streams.sources import Text, fail

__all__ = ["LibsvmRows"]

LARGEST_BLOCK = 1 << 31  # bytes; a width that was only guessed may not ask for more


class LibsvmRows:
    """The rows of a LIBSVM text, dense."""

    feature_names: list[str] | None = None
    label_place: tuple[int, str | None] = (1, None)

    def __init__(
        self,
        text: Text,
        *,
        target: Target,
        features: Sequence[Column] | None,
        block_rows: int,
        n_features: int | None,
        zero_based: bool,
    ) -> None:
        if target is not None and target is not False:
            raise ValueError(f"target={target!r}: in LIBSVM text the label stands first; leave target out, or False")
        if n_features is not None and (isinstance(n_features, bool) or n_features < 1):
            raise ValueError(f"n_features={n_features!r} is not a number of features")
        self._text, self._base = text, 0 if zero_based else 1
        self.has_target = target is None
        self._given = n_features is not None
        width = self._measure(block_rows, features) if n_features is None else int(n_features)
        chosen = list(range(width)) if features is None else [self._index(j, width) for j in features]
        if len(set(chosen)) < len(chosen) or not chosen:
            raise ValueError(f"features={list(features or ())!r} must name at least one index, and each only once")
        self.n_features = len(chosen)
        self._places = np.full(width, -1, dtype=np.int64)
        self._places[chosen] = np.arange(len(chosen))

    def parse(self, limit: int) -> Part:
        """At most so many rows of the window."""
        text = self._text
        data, line = text.data, text.line
        x, spans, end, lines, problem = engine().libsvm_rows(
            data, text.start, text.final, limit, self._places, self.n_features, self._base, self.has_target
        )
        if problem is not None:
            self._complain(problem)
        text.take(end, lines)
        return Part(x, spans, data, line)

    def _measure(self, block_rows: int, features: Sequence[Column] | None) -> int:
        """The width from the largest index: of the whole text where it can be read twice, else of the first block.

        A first pass costs the decompression and little else (covtype: 1.7 s of 3.6 s); n_features saves it.
        """
        other = self._text.again()
        bound = self._extent_of_block(block_rows) if other is None else self._extent_of_all(other)
        width = bound - self._base
        if width < 1:
            fail(self._text, "there is no index:value from which to tell the number of features; give n_features")
        size = 8 * max(width, block_rows * (width if features is None else len(features)))
        if size > LARGEST_BLOCK:
            fail(
                self._text,
                f"the largest index is {bound - 1}, and a block of {block_rows} dense rows would take {size:.1e} "
                "bytes; give features=, a smaller block_rows=, or n_features= to insist",
            )
        return width

    @staticmethod
    def _extent_of_all(text: Text) -> int:
        bound = 0
        try:
            while True:
                here, _, end = engine().libsvm_extent(text.data, text.start, text.final, sys.maxsize)
                bound = max(bound, int(here))
                text.take(end, 0)
                if text.final:
                    return bound
                text.more()
        finally:
            text.close()

    def _extent_of_block(self, block_rows: int) -> int:
        text = self._text
        while True:
            bound, rows, _ = engine().libsvm_extent(text.data, text.start, text.final, block_rows)
            if rows == block_rows or text.final:
                return int(bound)
            text.more(longest=None)

    def _index(self, which: Column, width: int) -> int:
        if isinstance(which, bool) or not isinstance(which, int | np.integer):
            raise TypeError(f"features: LIBSVM text knows columns by index only, got {which!r}")
        if not 0 <= which - self._base < width:
            raise ValueError(f"features: index {which} is not in {self._base}..{width - 1 + self._base}")
        return int(which) - self._base

    def _complain(self, problem: tuple[str, int, int, int, int]) -> None:
        kind, lines, column, begin, end = problem
        line, token = self._text.line + lines, self._text.show(begin, end)
        index, _, value = token.partition(":")
        width = len(self._places)
        name = None
        if kind in ("number", "finite", "empty"):
            name = f"index {index}"
            what = {"empty": "the value is empty"}.get(
                kind, f"{{value}} is not a {'finite ' * (kind == 'finite')}number"
            )
        else:
            value = token
            what = {
                "label": "{value} is not a label; a line begins with its label (target=False where there is none)",
                "pair": "{value} is not index:value",
                "base": "{value}: indices count from 1; zero_based=True if they count from 0",
                "order": "{value}: indices must ascend",
                "beyond": "{value}: the index is beyond "
                + (
                    f"n_features={width}"
                    if self._given
                    else f"the {width} features of the first block; give n_features"
                ),
            }[kind]
        fail(self._text, what, line=line, column=column, name=name, value=value)
