"""Docstrings of the project as reStructuredText.

`name : meaning` and `name : type, default=value` become definitions, sections become rubrics, Markdown tables become
list tables, and drawn trees become literal text.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

SECTIONS = ("Parameters", "Attributes", "Examples", "References", "Returns", "Notes")
DEFINITION = re.compile(r"^([A-Za-z_*][\w, *.]*?) : (.*)$")


def rewrite(lines: list[str]) -> list[str]:
    """The lines of a docstring in the markup that Sphinx reads."""
    result: list[str] = []
    section = ""
    for empty, group in groupby(lines, key=lambda line: not line.strip()):
        paragraph = list(group)
        if empty:
            result += paragraph
            continue
        if paragraph[0] in SECTIONS and len(paragraph) > 1 and set(paragraph[1]) == {"-"}:
            section = paragraph[0]
            result += [f".. rubric:: {section}", ""]
            paragraph = paragraph[2:]
        if paragraph and paragraph[0].startswith("| "):
            result += table(paragraph)
        elif any("├" in line for line in paragraph) or (section != "Examples" and is_aligned(paragraph)):
            result += ["::", "", *("    " + line for line in paragraph)]
        elif section == "Examples":
            result += paragraph
        else:
            result += definitions(paragraph, section)
    return result


def definitions(paragraph: list[str], section: str = "") -> Iterator[str]:
    """`name : meaning` or `name : type, default=value`, with further lines indented."""
    before = ""
    for line, after in zip(paragraph, [*paragraph[1:], ""], strict=True):
        found = DEFINITION.match(line)
        if found:
            if before and not before.startswith("    "):
                yield ""
            names = found[1].replace("*", r"\*").replace("_,", r"\_,")
            starts_sentence = after[:4].isspace() and after.strip()[:1].isupper()
            is_type = len(found[2]) < 40 and starts_sentence  # a longer text, or one that goes on, is a meaning
            if section == "Attributes" or "default=" in found[2] or is_type:
                before = f"**{names}** : {found[2]}".replace("_,)", r"\_,)")
            else:
                yield f"**{names}**"
                before = f"    {found[2]}"
        else:  # a name above its meaning, as River writes them, or text
            before = f"**{line}**" if section == "Parameters" and line[0] != " " and after[:1] == " " else line
        yield before


def is_aligned(paragraph: list[str]) -> bool:
    """Whether the lines are indented columns, a name and its meaning."""
    return all(line.startswith("    ") for line in paragraph) and any("  " in line.strip() for line in paragraph)


def table(lines: list[str]) -> Iterator[str]:
    """A table of Markdown; a row whose first cell is empty continues the one above."""
    rows: list[list[str]] = []
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if set("".join(cells)) == {"-"}:
            continue
        if cells[0] or not rows:
            rows.append(cells)
        else:
            rows[-1] = [f"{a} {b}".strip() for a, b in zip(rows[-1], cells, strict=True)]
    yield from (".. list-table::", "    :header-rows: 1", "")
    for row in rows:
        yield from (f"    {'-' if k else '* -'} {cell}".replace("    -", "      -", 1) for k, cell in enumerate(row))
    yield ""


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite in place, as Sphinx expects."""
    lines[:] = rewrite(lines)


def skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Members that belong to scikit-learn are documented there."""
    home = getattr(getattr(obj, "fget", obj), "__module__", None) or ""
    return True if home.startswith("sklearn") else None


def setup(app: Any) -> dict[str, bool]:
    """Register both."""
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
