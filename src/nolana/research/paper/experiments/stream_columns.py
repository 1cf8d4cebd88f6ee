"""The default learner in Table 1: cut to the bytes of the paper's budget, and with its default memory."""

from nolana.learner.memory import SMALLEST_MEMORY
from nolana.research import datasets
from nolana.research.paper.harness.experiment import Cell, Scale
from nolana.research.paper.harness.passes import limit_of, paper_settings, pass_key, passed

DEFAULT_MEMORY = 512 << 10
RANK = 0.8  # of m, in the paper's budget
AT_BUDGET, AT_DEFAULT = "stream, paper's bytes", "stream, 512 KB"
STREAMS = (AT_BUDGET, AT_DEFAULT)


def budget_bytes(data: str) -> int:
    """8 (m d + m r): the paper's budget in numbers of eight bytes."""
    m, features = paper_settings(data).n_landmarks, datasets.catalogue()[data].features
    return 8 * (m * features + m * int(RANK * m + 1e-9))


def memory_bytes(method: str, data: str) -> int:
    """The memory of the stream learner; never less than the least it can run with."""
    return max(SMALLEST_MEMORY, budget_bytes(data)) if method == AT_BUDGET else DEFAULT_MEMORY


def cells(data: str, method: str, scale: Scale) -> list[Cell]:
    """A pass for every shuffle; nothing is tuned."""
    limit = limit_of(data, scale)
    arguments = {"data": data, "method": "stream", "limit": limit, "rows": min(scale.tuning_rows, limit)}
    arguments |= {"beyond": {"memory": memory_bytes(method, data)}}
    return [
        Cell(pass_key(data, method, shuffle), passed, arguments | {"shuffle": shuffle}, cost=2e-5 * limit)
        for shuffle in range(scale.shuffles)
    ]
