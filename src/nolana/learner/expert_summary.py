"""What a stream learner says about its experts and about the use of its memory."""

import math
from typing import Any

import numpy as np

from nolana.engine.experts.bins.heads import BinHead, ConstantBins, DiagonalBins
from nolana.engine.experts.landmarks.lms import LMS
from nolana.engine.experts.landmarks.newton import Newton
from nolana.engine.experts.linear.full_linear import FullLinear
from nolana.engine.experts.neighbours.vote import Vote
from nolana.engine.experts.sparse_linear.diagonal_linear import DiagonalLinear
from nolana.engine.experts.sparse_linear.linear_map import LinearMap
from nolana.learner.driver import State, part_of
from nolana.learner.layout import experts_on
from nolana.modelfile.specs import Spec

NAMES = {
    Newton: "landmarks",
    LMS: "landmarks, fast",
    DiagonalBins: "bins",
    ConstantBins: "bins, fast",
    DiagonalLinear: "linear",
    FullLinear: "linear",
}
CELL_NUMBERS = ("cells", "variances")
SIZES = {"capacity": "landmarks", "table": "slots", "grids": "grids"}  # arguments of maps


def expert_name(map: Spec, head: Spec) -> str:
    """What an expert is called in summaries."""
    if head.kind is Vote:
        return f"neighbours, last {int(map.arguments['windows'][head.arguments['window']]):,} rows"
    return NAMES.get(head.kind, str(head.kind.__name__))


def expert_records(spec: Spec, state: State, target_factor: float | None) -> list[dict[str, Any]]:
    """For each expert its name, its weight in the stack, its recent score and its bytes.

    target_factor: targets are numbers, multiplied by this in the engine; None: targets are classes.
    """
    records = []
    for e, expert in enumerate(spec.arguments["experts"]):
        i = expert.arguments["map"]
        error = float(state["errors"][e])
        shared = len(experts_on(spec, i))
        own = part_of(state, f"expert{e}/")
        nbytes = sum(np.asarray(v).nbytes for v in own.values())
        if issubclass(expert.arguments["head"].kind, BinHead):  # exported in single precision, stored in 16 bits
            nbytes -= sum(own[name].nbytes // 2 for name in CELL_NUMBERS if name in own)
        nbytes += sum(np.asarray(v).nbytes for v in part_of(state, f"map{i}/").values()) // shared
        records.append(
            {
                "name": expert_name(spec.arguments["maps"][i], expert.arguments["head"]),
                "weight": float(state["stack_weights"][e]),
                "score": 1 - error if target_factor is None else math.sqrt(error) / (target_factor or 1.0),
                "bytes": nbytes,
            }
        )
    return records


def sizes_of(spec: Spec) -> dict[str, int]:
    """What the memory bought."""
    bought: dict[str, int] = {}
    for map in spec.arguments["maps"]:
        if map.kind is LinearMap:
            bought["features with a slot"] = int(map.arguments["table"])
            continue
        for argument, name in SIZES.items():
            if argument in map.arguments:
                bought[name] = bought.get(name, 0) + int(map.arguments[argument])
        if "windows" in map.arguments:
            bought["recent rows"] = int(map.arguments["windows"][-1])
    return bought
