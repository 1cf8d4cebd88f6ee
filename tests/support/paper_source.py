"""A source of small made-up rows under the names of the catalogue, so that the experiments of the paper run in seconds.

webspam is not there, as on most machines.
"""

import os
import signal
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

from nolana import datasets
from nolana.research.paper.harness import Cell, Scale

TINY = Scale("tiny", 150, 1, 60, 2)


@dataclass(frozen=True)
class MadeUp:
    """Every data set of the paper but webspam, as wide as the real one."""

    rows: int = 150
    without: tuple[str, ...] = ("webspam",)

    def has(self, name):
        return not self.missing(name)

    def missing(self, name):
        return f"{name} was not found; it is at {datasets.catalogue()[name].source}" if name in self.without else ""

    def load(self, name):
        """Rows around the centres of their classes; a target that is a smooth function of the row."""
        record = datasets.catalogue()[name]
        rng = np.random.default_rng(sum(map(ord, record.files[0].name)))  # usps_halves has the rows of usps
        if record.task == "regression":
            X = rng.uniform(-1, 1, (self.rows, record.features))
            return X, 50 + 30 * np.sin(2 * X[:, 0]) + 10 * X[:, 1] * X[:, 2]
        digits = record.features == 256
        centres = rng.uniform(-1, 1, (10 if digits else 6, record.features))
        kind = rng.integers(len(centres), size=self.rows)
        X = np.clip(centres[kind] + 0.35 * rng.normal(size=(self.rows, record.features)), -1, 1)
        if record.labels == (-1, 1):
            return X, np.where(kind >= len(centres) // 2, 1, -1)
        return X, kind + 1


def in_order(cells, source, known=()):
    """The results of cells, each run here and now after those it needs, unless its result is known."""
    results = {cell.key: known[cell.key] for cell in cells if cell.key in known}
    waiting = {cell.key: cell for cell in cells if cell.key not in results}
    while waiting:
        ready = [cell for cell in waiting.values() if all(key in results for key in cell.needs)]
        assert ready, f"these wait for cells that are not in the plan: {list(waiting)}"
        for cell in ready:
            inputs = {key: results[key] for key in cell.needs}
            results[cell.key] = cell.work(source, inputs, **cell.arguments)
            del waiting[cell.key]
    return results


def drawn(_, inputs, *, seed, log, then=None):
    """A cell for the tests of the runner: notes that it runs, may end its run, and draws a number on top of the others.

    The first process that comes to a cell with `then` does that; those after it find its mark and draw.
    """
    with open(log, "a") as file:
        file.write(f"{seed}\n")
    mark = Path(f"{log}.{seed}")
    if then is not None and not mark.exists():
        mark.touch()
        if then == "raise":
            raise ArithmeticError(f"cell {seed} fails once")
        os.kill(os.getppid(), signal.SIGKILL)
    return {"value": float(np.random.default_rng(seed).normal()) + sum(one["value"] for one in inputs.values())}


def chain(log, count=6, **then):
    """Cells of which every other one needs the one before it; `then` by number, as in ``n3="raise"``."""
    cells = []
    for i in range(count):
        arguments = {"seed": i, "log": str(log), "then": then.get(f"n{i}")}
        # The long ones come first, so the numbers are the order of a run with one job.
        cells.append(Cell(f"cell {i}", drawn, arguments, (f"cell {i - 1}",) if i % 2 else (), cost=count - i))
    return cells


class Balanced(HTMLParser):
    """Reads a page and holds that every element is closed in its turn."""

    VOID = ("meta", "link", "br", "hr", "img", "col")

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.words = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        if tag == "section":
            self.ids.append(dict(attributes)["id"])
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open[-1:] == [tag], f"</{tag}> closes nothing at {self.getpos()}"
        self.open.pop()

    def handle_data(self, text):
        self.words.append(text)
