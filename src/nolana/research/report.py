"""A report as one self-contained HTML file: text, tables, and figures as inline SVG."""

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

__all__ = ["Block", "Figure", "Grid", "Lead", "Section", "Text", "page"]

STYLE = """
:root { color-scheme: light; --ink: #1c2024; --soft: #5b6570; --line: #d9dee3; --tint: #f5f7f9; --mark: #e8f1fa; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.5rem 5rem; max-width: 72rem; color: var(--ink); background: #fff;
  font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.4rem; margin: 3.2rem 0 .6rem; padding-top: 1rem; border-top: 1px solid var(--line); }
p { max-width: 46rem; }
nav ul { list-style: none; padding: 0; columns: 2; max-width: 46rem; }
a { color: #0b5cad; text-decoration: none; } a:hover { text-decoration: underline; }
p, li { overflow-wrap: anywhere; }
.lead { color: var(--soft); font-size: 1.08rem; }
.answer { font-size: 1.08rem; font-weight: 600; border-left: .25rem solid #0b5cad; padding-left: .8rem; }
.scroll { overflow-x: auto; margin: 1.2rem 0; }
table { border-collapse: collapse; font-size: .8rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding-bottom: .4rem; }
caption span { display: inline-block; max-width: min(46rem, calc(100vw - 3rem)); }
th, td { padding: .28rem .42rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; background: var(--tint); }
th:first-child, td:first-child { text-align: left; }
th.text, td.text { text-align: left; white-space: normal; min-width: 16rem; }
td.mark { background: var(--mark); font-weight: 600; }
figure { margin: 1.4rem 0; } figure svg { max-width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: .9rem; max-width: 46rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; font-size: .9rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; } code { font-size: .9em; }
@media (max-width: 40rem) { body { padding: 1.2rem 1rem 3rem; } nav ul { columns: 1; } h1 { font-size: 1.5rem; }
  th.text, td.text { min-width: 9rem; } figure { overflow-x: auto; } figure svg { max-width: none; width: 42rem; } }
@media print { body { max-width: none; padding: 0; } h2 { break-after: avoid; } figure, table { break-inside: avoid; } }
"""


LONG_CELL = 40  # characters; a column with a longer cell is left-aligned and may break into lines


class Block(Protocol):
    """A part of a section."""

    def html(self) -> str: ...


@dataclass(frozen=True)
class Text:
    """A paragraph; line breaks in `words` are ignored."""

    words: str

    def html(self) -> str:
        return f"<p>{html.escape(' '.join(self.words.split()))}</p>"


@dataclass(frozen=True)
class Lead(Text):
    """The first paragraph of a section: its answer."""

    def html(self) -> str:
        return super().html().replace("<p>", '<p class="answer">', 1)


@dataclass(frozen=True)
class Grid:
    """A table; the cells in `marked` (row, column) are highlighted."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    marked: frozenset[tuple[int, int]] = frozenset()

    def html(self) -> str:
        head = "".join(self._heading(j, cell) for j, cell in enumerate(self.head))
        body = "".join(
            "<tr>" + "".join(self._cell(i, j, cell) for j, cell in enumerate(row)) + "</tr>\n"
            for i, row in enumerate(self.rows)
        )
        return (
            f'<div class="scroll"><table><caption><span>{html.escape(self.caption)}</span></caption>\n'
            f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
        )

    def _is_text(self, j: int) -> bool:
        return any(len(row[j]) > LONG_CELL for row in self.rows)

    def _heading(self, j: int, cell: str) -> str:
        kind = ' class="text"' if self._is_text(j) else ""
        return f'<th scope="col"{kind}>{html.escape(cell)}</th>'

    def _cell(self, i: int, j: int, cell: str) -> str:
        kind = "mark" if (i, j) in self.marked else "text" if self._is_text(j) else ""
        return f'<td class="{kind}">{html.escape(cell)}</td>' if kind else f"<td>{html.escape(cell)}</td>"


@dataclass(frozen=True)
class Figure:
    """A figure, as the text of an SVG."""

    svg: str
    caption: str

    def html(self) -> str:
        drawing = self.svg[self.svg.index("<svg") :]
        return f"<figure>{drawing}<figcaption>{html.escape(self.caption)}</figcaption></figure>"


@dataclass(frozen=True)
class Section:
    """A heading and the blocks below it."""

    anchor: str
    title: str
    blocks: Sequence[Block] = field(default_factory=list)

    def html(self) -> str:
        inner = "\n".join(block.html() for block in self.blocks)
        return f'<section id="{html.escape(self.anchor)}"><h2>{html.escape(self.title)}</h2>\n{inner}\n</section>'


def page(title: str, lead: str, facts: Sequence[tuple[str, str]], sections: Sequence[Section]) -> str:
    """The whole report: title, lead, table of contents, sections, and the facts about the run."""
    contents = "".join(f'<li><a href="#{html.escape(s.anchor)}">{html.escape(s.title)}</a></li>' for s in sections)
    made = "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>" for name, value in facts)
    body = "\n".join(section.html() for section in sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{html.escape(title)}</h1>
<p class="lead">{html.escape(lead)}</p>
<nav><ul>{contents}</ul></nav>
{body}
<section id="made"><h2>About this run</h2><dl>{made}</dl></section>
</body>
</html>
"""
