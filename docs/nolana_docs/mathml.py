"""Formulas as MathML, which browsers draw without a script and without a request to another host."""

from typing import Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert


def inline(self: Any, node: Any) -> None:
    """A formula in a sentence."""
    self.body.append(convert(node.astext()))
    raise SkipNode


def display(self: Any, node: Any) -> None:
    """A formula on a line of its own."""
    self.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True}
