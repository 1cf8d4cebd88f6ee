"""Writes the files of the sessions in docs/command.md: visits.csv, new.csv, walk.csv, big.csv and log.jsonl."""

import json
from pathlib import Path

import numpy as np


def visits(rows: int, seed: int) -> list[str]:
    """Lines of a time, two numbers, a country, and whether the visitor returns."""
    rng = np.random.default_rng(seed)
    start = np.datetime64("2025-03-01T00:00:00")
    when = start + np.cumsum(rng.exponential(200, rows)).astype("timedelta64[s]")
    pages, seconds = 1 + rng.poisson(4, rows), rng.gamma(2, 60, rows).round(1)
    country = rng.choice(["de", "fr", "uk", "us"], rows)
    hours = (when - when.astype("datetime64[D]")).astype(float) / 3600
    interest = (pages > 4) ^ (seconds > 110) ^ (country == "uk")
    returns = rng.random(rows) < np.where(interest, 0.9, np.where((hours > 18) & (pages > 2), 0.2, 0.08))
    texts = np.where(rng.random(rows) < 0.03, "", seconds.astype(str))
    columns = zip(when, pages, texts, country, np.where(returns, "yes", "no"), strict=True)
    return [",".join(map(str, row)) for row in columns]


def walk(rows: int, seed: int) -> list[str]:
    """Lines of three numbers without meaning and a random walk."""
    rng = np.random.default_rng(seed)
    columns = np.column_stack([rng.normal(size=(rows, 3)), np.cumsum(rng.normal(size=rows))])
    return [",".join(f"{value:.4f}" for value in row) for row in columns]


def main() -> None:
    """Write all files."""
    header, lines = "when,pages,seconds,country,returns", visits(20_000, 0)
    for bad in (7_000, 12_000):  # two invalid rows
        lines[bad] = lines[bad].replace(lines[bad].split(",")[1] + ",", "many,", 1)
    Path("visits.csv").write_text("\n".join([header, *lines]) + "\n")
    Path("walk.csv").write_text("\n".join(["a,b,c,y", *walk(3_000, 0)]) + "\n")
    new = [line.rpartition(",")[0] for line in visits(3, 1)]
    Path("new.csv").write_text("\n".join([header.rpartition(",")[0], *new]) + "\n")

    rng = np.random.default_rng(2)
    x = rng.normal(size=(300_000, 4)).round(3)
    spam = (x[:, 0] * x[:, 1] + x[:, 2] > 0) ^ (rng.random(len(x)) < 0.005)
    mail = [f"{','.join(map(str, row))},{kind}" for row, kind in zip(x, np.where(spam, "spam", "ham"), strict=True)]
    Path("big.csv").write_text("\n".join(["a,b,c,d,kind", *mail]) + "\n")

    states = [{"load": 0.1, "state": "idle"}, {"load": 0.9, "state": "busy"}] * 50
    Path("log.jsonl").write_text("".join(json.dumps(state) + "\n" for state in states))


if __name__ == "__main__":
    main()
