"""Threads that read a model while another one learns."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

Read = Callable[[Any], bytes]


def models_between_blocks(model: Any, x: np.ndarray, y: np.ndarray, block: int, read: Read) -> set[bytes]:
    """Learn the rows, and read the model after each block."""
    found = set()
    for i in range(0, len(x), block):
        model.learn(x[i : i + block], y[i : i + block])
        found.add(read(model))
    return found


def read_while_learning(model: Any, x: np.ndarray, y: np.ndarray, block: int, read: Read) -> set[bytes]:
    """Learn the rows in blocks; three threads read the model from the end of the first block on."""
    model.learn(x[:block], y[:block])
    seen: set[bytes] = set()
    done, errors = threading.Event(), []

    def run() -> None:
        try:
            while not done.is_set():
                seen.add(read(model))
        except Exception as error:
            errors.append(error)

    readers = [threading.Thread(target=run, daemon=True) for _ in range(3)]
    for reader in readers:
        reader.start()
    for i in range(block, len(x), block):
        model.learn(x[i : i + block], y[i : i + block])
    done.set()
    for reader in readers:
        reader.join(60)
        assert not reader.is_alive()
    assert not errors, errors[0]
    return seen
