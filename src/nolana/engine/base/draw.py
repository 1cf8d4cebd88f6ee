"""Random choices inside learning: a hash of (seed, rows learned), the same as core/base/draw.hpp.

Neither a saved state nor the way a block is cut can change what is drawn.
Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014 (splitmix64).
"""

import numpy as np
from numpy.typing import NDArray

GOLDEN = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio
WORD = (1 << 64) - 1


def mixed(z: int) -> int:
    """splitmix64's output function on 64 bits."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def draw(seed: int, row: int) -> int:
    """64 bits for step `row` of the stream `seed`; hashing the seed first keeps neighbouring seeds apart."""
    return mixed((mixed((seed + GOLDEN) & WORD) + row * GOLDEN) & WORD)


def draws(seed: int, rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`draw` of many rows."""
    z = rows * np.uint64(GOLDEN) + np.uint64(mixed((seed + GOLDEN) & WORD))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def below(word: int, n: int) -> int:
    """Uniform in [0, n), n < 2^32, from the upper half of 64 bits."""
    return ((word >> 32) * n) >> 32


def draw_below(seed: int, row: int, n: int) -> int:
    """Uniform in [0, n), n < 2^32."""
    return below(draw(seed, row), n)


def shuffle(order: NDArray[np.intp], words: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Fisher and Yates, as many steps as there are words: the first so many of the order, which are drawn uniformly."""
    for j, word in enumerate(words.tolist()):
        k = j + below(word, len(order) - j)
        order[j], order[k] = order[k], order[j]
    return order[: len(words)]
