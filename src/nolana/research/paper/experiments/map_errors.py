"""The cells of the approximation section: error and time of each map at each budget."""

import time
from collections.abc import Mapping

import numpy as np

from nolana.research.paper.harness import Array, Result, Results, Source
from nolana.research.paper.harness.data import rows_of, shuffled, width_of
from nolana.research.paper.maps import Maker, relative_error
from nolana.research.paper.maps.active_set import ActiveSet
from nolana.research.paper.maps.fastnys import FastNys
from nolana.research.paper.maps.fourier import Fastfood, Fourier
from nolana.research.paper.maps.meka import Meka
from nolana.research.paper.maps.nystroem import (
    EXPERTS,
    Centroids,
    Default,
    Ensemble,
    FirstRows,
    Leverage,
    Median,
    Moving,
    Uniform,
)

RANK = 0.8  # of m
JUDGED = 4_000  # rows of G, for the example of the authors
ENSEMBLE = f"ensemble of {EXPERTS}"

ONLINE: Mapping[str, type[Maker]] = {
    "OANA": Moving,
    "OANA, median ε": Median,
    "OANA, defaults": Default,
    "NOGD": FirstRows,
    "FOGD": Fourier,
}
OFFLINE: Mapping[str, type[Maker]] = {
    "uniform": Uniform,
    "k-means": Centroids,
    "leverage": Leverage,
    ENSEMBLE: Ensemble,
    "Fastfood": Fastfood,
    "MEKA": Meka,
    "FastNys": FastNys,
    "active set": ActiveSet,
}
METHODS = (*ONLINE, *OFFLINE)


class Published:
    """The example of the authors' program for MEKA: the training rows of ijcnn1, and the error that it prints."""

    data, rows, rank, clusters, gamma = "ijcnn1", 49_990, 500, 10, 1.0
    error = 0.0401


def errors(
    source: Source, _: Results, *, data: str, method: str, limit: int, sample: int, budgets: list[int], draws: int
) -> Result:
    """The error of one kind of map at all budgets, some draws each."""
    gamma = width_of(source, data, limit)
    X, y = rows_of(source, data, limit)
    if method in ONLINE:  # a draw is a shuffle of the stream
        makers = [ONLINE[method](shuffled(source, data, limit, draw)[0], gamma) for draw in range(draws)]
    else:
        makers = [OFFLINE[method](X, gamma, y)] * draws
    judged = X[np.random.default_rng(draws).permutation(len(X))[:sample]]
    found = {
        str(m): [_measured(makers[draw], m, draw, judged, gamma) for draw in range(draws)]
        for m in sorted(budgets, reverse=True)
    }
    names = ("errors", "seconds", "microseconds")
    by_name = {name: {m: [one[i] for one in found[m]] for m in found} for i, name in enumerate(names)}
    return {"gamma": gamma, "rows": len(X), "judged": len(judged)} | by_name


def _measured(maker: Maker, m: int, draw: int, judged: Array, gamma: float) -> tuple[float, float, float]:
    """The error of a map, seconds of processor time to make it, and microseconds to map a row."""
    begin = time.process_time()
    phi = maker.map(m, rank_of(m), draw)
    made = time.process_time()
    for _ in phi.parts(judged):
        pass
    mapped = time.process_time()
    return relative_error(phi, judged, gamma), made - begin, 1e6 * (mapped - made) / len(judged)


def rank_of(m: int) -> int:
    """The rank r for m landmarks."""
    return int(RANK * m + 1e-9)


def as_published(source: Source, _: Results, *, rank: int) -> Result:
    """The error of MEKA in the example of its authors, by the rank of a cluster, on a sample of its rows."""
    X, clusters, gamma = source.load(Published.data)[0][: Published.rows], Published.clusters, Published.gamma
    landmarks = min(int(rank / RANK), len(X) // clusters)
    phi = Meka(X, gamma).sized(landmarks, min(rank, landmarks), clusters, 0)
    judged = X[np.random.default_rng(0).permutation(len(X))[:JUDGED]]
    return {"error": relative_error(phi, judged, gamma), "rows": len(X), "judged": len(judged)}
