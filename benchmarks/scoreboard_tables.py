"""The scoreboard as Markdown tables and one picture, from the cells that `scoreboard.py` measured."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

import moa_streams
from nolana.plot.figures import COLOURS, new_figure

TITLES = {
    "RTG": "random tree",
    "AGR_a": "Agrawal, abrupt",
    "AGR_g": "Agrawal, gradual",
    "LED_a": "LED, abrupt",
    "LED_g": "LED, gradual",
    "SEA_a": "SEA, abrupt",
    "RBF_m": "RBF, moderate",
    "RBF_f": "RBF, fast",
    "HYP": "hyperplane",
    "interchanging_rbf": "interchanging RBF",
    "bank_marketing": "bank marketing",
    "nycflights_late": "late flights",
    "bike_hourly": "bike",
    "metro_traffic": "metro",
    "beijing_pm25": "PM2.5",
    "air_quality_co": "CO",
}
SECOND = {"classification": ("kappa_temporal", 100.0, ".1f"), "regression": ("mase", 1.0, ".2f")}
GAP = 3  # points between a label and everything else
NEAR = 18  # points from which on a line leads from a label to its point
Cells = dict[tuple[str, str], Any]  # by stream and method


def show(cells: list[Any], names: list[str], methods: list[str], ours: str, picture: Path | None) -> None:
    """Print the tables of the streams that we have learned; draw the picture."""
    found: Cells = {(cell.stream, cell.method): cell for cell in cells}
    names = [name for name in names if (name, ours) in found]
    tasks = {cell.stream: cell.task for cell in cells}
    nominal = [m for m in methods if m.startswith(f"{ours}, ")]  # variants, beside the others but in no mean
    generated = [name for name in names if name in tasks and name in moa_streams.NAMES]
    classified = [name for name in names if tasks.get(name) == "classification"]
    real = [name for name in classified if name not in generated]
    numbers = [name for name in names if tasks.get(name) == "regression"]
    for title, streams, second in (
        ("Generators of MOA, accuracy in %", generated, False),
        ("Real streams in order, accuracy / kappa_temporal in %", real, True),
        ("Regression, R2 x 100 / MASE", numbers, True),
    ):
        if streams:
            print(f"\n{title}\n")
            print(matrix(found, streams, methods, ours, second))
    complete = [m for m in methods if m not in nominal and all((s, m) in found for s in classified)]
    if classified and ours in complete:
        print(f"\nMeans over {len(classified)} streams of classes\n")
        print(summary(found, classified, complete, ours))
        if picture is not None:
            draw(found, classified, complete, ours, picture)


def percent(value: float) -> str:
    return f"{100 * value:.2f}"


def entry(cell: Any, ours: Any, second: bool) -> str:
    """Score, second score, and if the limit was reached the rows until then and our score on them."""
    if cell is None:
        return "-"
    if cell.error:
        return "fails"
    text = percent(cell.score)
    if second:
        name, factor, form = SECOND[cell.task]
        text += f" / {factor * cell.metrics[name]:{form}}"
    if not cell.complete:
        text += f" ({cell.rows:,}: {percent(ours.score_after(cell.rows))})"
    return text


def matrix(found: Cells, streams: list[str], methods: list[str], ours: str, second: bool) -> str:
    """Methods by streams, the best complete score in bold, and the baselines."""
    lines = ["| | " + " | ".join(TITLES.get(s, s) for s in streams) + " |", "|---" * (len(streams) + 1) + "|"]
    best = {
        s: max((c.score for (stream, _), c in found.items() if stream == s and c.complete), default=np.nan)
        for s in streams
    }
    for method in methods:
        row = [found.get((s, method)) for s in streams]
        if not any(row):
            continue
        texts = [entry(cell, found.get((s, ours)), second) for s, cell in zip(streams, row, strict=True)]
        bold = [
            cell is not None and cell.complete and cell.score == best[s] for s, cell in zip(streams, row, strict=True)
        ]
        title = f"**{method}**" if method == ours else method
        lines.append(
            f"| {title} | " + " | ".join(f"**{t}**" if b else t for t, b in zip(texts, bold, strict=True)) + " |"
        )
    own = [found[s, ours] for s in streams]
    lines.insert(2, "| rows | " + " | ".join(f"{cell.length:,}" for cell in own) + " |")
    for baseline in own[0].baselines:
        texts = []
        for cell in own:
            name, factor, form = SECOND[cell.task]
            values = cell.baselines[baseline]
            first = percent(values["accuracy" if cell.task == "classification" else "r2"])
            texts.append(first + (f" / {factor * values[name]:{form}}" if second else ""))
        lines.append(f"| {baseline} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def level(cell: Any, ours: Any) -> float:
    """The score on the whole stream; of a method that did not finish, ours plus the difference on the same rows."""
    return float(cell.score + ours.score - ours.score_after(cell.rows))


def means(found: Cells, streams: list[str], methods: list[str], ours: str) -> dict[str, tuple[float, float]]:
    """Mean accuracy in percent and geometric mean of the microseconds per row."""
    return {
        m: (
            float(np.mean([100 * level(found[s, m], found[s, ours]) for s in streams])),
            float(np.exp(np.mean([np.log(found[s, m].microseconds) for s in streams]))),
        )
        for m in methods
    }


def summary(found: Cells, streams: list[str], methods: list[str], ours: str) -> str:
    """Means, ranks (1 is the best) and on how many streams we are ahead on the same rows."""
    table = np.array([[level(found[s, m], found[s, ours]) for s in streams] for m in methods])
    ranks = dict(zip(methods, (1 + (table[:, None] < table[None]).sum(axis=1)).mean(axis=1), strict=True))
    lines = [
        f"| | accuracy in % | rank | {ours} ahead, same rows | not finished | us/row | memory |",
        "|---|---|---|---|---|---|---|",
    ]
    for method, (accuracy, time) in means(found, streams, methods, ours).items():
        cells = [found[s, method] for s in streams]
        ahead = sum(found[c.stream, ours].score_after(c.rows) > c.score for c in cells)
        unfinished = sum(not c.complete for c in cells)
        memory = max(c.bytes for c in cells)
        size = "-" if not memory else f"{memory / 1024:,.0f} KB" if memory < 1 << 20 else f"{memory / 2**20:,.0f} MB"
        beside = "" if method == ours else f"{ahead} of {len(streams)}"
        title = f"**{method}**" if method == ours else method
        lines.append(
            f"| {title} | {accuracy:.2f} | {ranks[method]:.1f} | {beside} | {unfinished or ''} | {time:,.0f} | {size} |"
        )
    return "\n".join(lines)


def draw(found: Cells, streams: list[str], methods: list[str], ours: str, path: Path) -> None:
    """Mean accuracy against microseconds per row: the best place is the upper left corner."""
    matplotlib.rcParams["svg.hashsalt"] = "nolana"  # the same cells give the same file
    figure = new_figure(path, 5.8, 4.6)
    axes = figure.add_subplot()
    points = means(found, streams, methods, ours)
    for method, (accuracy, time) in points.items():
        colour = COLOURS[1] if method == ours else COLOURS[2] if "retrained" in method else COLOURS[0]
        finished = all(found[s, method].complete for s in streams)
        size = 150 if method == ours else 70
        axes.scatter(
            time, accuracy, s=size, color=colour if finished else "white", edgecolor=colour, linewidth=2, zorder=3
        )
    axes.set_xscale("log")
    times, scores = [t for _, t in points.values()], [a for a, _ in points.values()]
    axes.set_xlim(min(times) / 2, max(times) * 5)
    space = 0.12 * (max(scores) - min(scores) + 1)
    axes.set_ylim(min(scores) - space, max(scores) + space)
    axes.set_xlabel("microseconds a row (CPU time, log scale)", fontsize=13)
    axes.set_ylabel(f"accuracy in %, mean of {len(streams)} streams", fontsize=13)
    axes.tick_params(labelsize=12)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    figure.draw_without_rendering()
    label(axes, points, ours)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def label(axes: Any, points: dict[str, tuple[float, float]], ours: str) -> None:
    """A name beside each point, at the nearest place where it covers nothing; a line leads to a distant one."""
    renderer = FigureCanvasAgg(axes.figure).get_renderer()
    inside = axes.get_window_extent(renderer)
    scale = axes.figure.dpi / 72
    at = [axes.transData.transform((time, accuracy)) for accuracy, time in points.values()]
    taken = [np.array([x - 4 * scale, y - 4 * scale, x + 4 * scale, y + 4 * scale]) for x, y in at]
    for method in sorted(points, key=lambda m: (m != ours, -points[m][1])):
        accuracy, time = points[method]
        weight, size = ("bold", 15) if method == ours else ("normal", 12)
        for x, y in places():
            text = axes.annotate(
                method.replace(", retrained", ",\nretrained"),
                (time, accuracy),
                (x, y),
                textcoords="offset points",
                ha="left" if x > 1 else "right" if x < -1 else "center",
                va="center" if abs(y) < 1 else "bottom" if y > 0 else "top",
                fontsize=size,
                fontweight=weight,
                linespacing=1.0,
                arrowprops={"arrowstyle": "-", "color": "0.6", "shrinkB": 5} if np.hypot(x, y) > NEAR else None,
            )
            text.update_positions(renderer)
            box = Text.get_window_extent(text, renderer).extents + scale * GAP * np.array([-1, -1, 1, 1]) / 2
            free = all(box[0] > t[2] or box[2] < t[0] or box[1] > t[3] or box[3] < t[1] for t in taken)
            if free and box[0] > inside.x0 and box[2] < inside.x1 and box[1] > inside.y0 and box[3] < inside.y1:
                break
            text.remove()
        else:
            raise RuntimeError(f"no free place for the label of {method}")
        taken.append(box)


def places() -> Iterator[tuple[float, float]]:
    """Offsets in points: to the right, left, above, below, then between, in growing circles."""
    for radius in (9, 14, NEAR, 26, 36, 48, 60, 75, 90):
        for turn in (0, 180, 90, 270, 45, 315, 135, 225, 20, 340, 160, 200, 65, 115, 245, 295):
            yield radius * np.cos(np.radians(turn)), radius * np.sin(np.radians(turn))
