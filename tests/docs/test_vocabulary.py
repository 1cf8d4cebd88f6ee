"""One word for each concept: phrases that the documentation, docstrings and messages do not use, and what to write."""

import ast
import re
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
INSTEAD = {
    r"change that is followed|follow(s|ed|ing)? (the )?changes?\b": "tracks concept drift",
    r"nothing to tune": "no hyperparameters to tune",
    r"targets? that (is a|are) numbers?|numbers as targets": "scalar targets, regression",
    r"whole numbers?\b|\b(integers?|numbers?) of 16 bits": "integer, int16",
    r"other texts|texts that (is|are)": "strings",
    r"table of cells": "hash table",
    r"slots? that (is|are) shared": "collision",
    r"round(s|ed|ing)? at random": "stochastic rounding",
    r"\b(buy|buys|buying|bought)\b": "allocate",
    r"ha(s|d|ve) not happened": "transactional: unchanged if it raises",
    r"requests wait\b": "queue full, requests are queued",
    r"client has left": "client disconnected",
    r"process(es)? (\d+ )?learns? into": "locked by process 7",
    r"never stops? to learn": "never stops learning",
    r"giv(e|es|en|ing) (a landmark |landmarks |them |it )?away": "drops landmarks",
    r"ma(ke|kes|de) no sense": "invalid",
    r"\b(go|goes|went|going|gone) on\b": "resume, continue",
    r"can(not)? be told(?! apart)": "infer",
    r"\bcontestants?\b": "method",
}


def texts():
    """The name and the prose of each file: pages, strings of Python, the C++ core, the live page."""
    pages = [*REPO.glob("*.md"), *(REPO / "docs").rglob("*.md"), REPO / "src/nolana/serve/page.html"]
    for path in [*pages, *(REPO / "core").rglob("*.[ch]pp")]:
        text = path.read_text()
        yield path, text.partition("\n## 0.2.0 ")[0] if path.name == "CHANGELOG.md" else text
    for path in [*(REPO / "src").rglob("*.py"), *(REPO / "examples").glob("*.py")]:
        strings = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
        yield path, "\n\n".join(node.value for node in strings if isinstance(node.value, str))


TEXTS = [(str(path.relative_to(REPO)), " ".join(text.split())) for path, text in texts()]


@pytest.mark.parametrize("pattern", INSTEAD)
def test_phrase_is_not_used(pattern):
    found = [
        f"{name}: ...{text[max(0, match.start() - 40) : match.end() + 20]}..."
        for name, text in TEXTS
        for match in re.finditer(pattern, text, re.IGNORECASE)
    ]
    assert found == [], f"write: {INSTEAD[pattern]}"


def test_prose_of_all_kinds_is_searched():
    """A phrase that each kind of file has is found in it."""
    names = {Path(name).suffix for name, text in TEXTS if re.search(r"\b(row|rows)\b", text)}
    assert names == {".md", ".py", ".html", ".cpp", ".hpp"}
