"""Servers for tests: a Redis of the system on a free port, and a cluster of Kafka that librdkafka simulates."""

import contextlib
import functools
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

DEADLINE = 30.0


@contextlib.contextmanager
def redis_server(directory: Path, *arguments: str) -> Iterator[str]:
    """The address of a server; a test without one is skipped, or fails with NOLANA_REQUIRE=redis, as in .ci/run."""
    if shutil.which("redis-server") is None:
        if "redis" in os.environ.get("NOLANA_REQUIRE", "").split(","):
            pytest.fail("redis-server is missing, and NOLANA_REQUIRE=redis does not accept that")
        pytest.skip("redis-server is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(directory), *arguments]
    process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + DEADLINE
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert time.monotonic() < end, "redis-server does not answer"
            time.sleep(0.02)
        yield f"redis://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


class Cluster:
    """A simulated cluster in this process, which other processes reach too; topics have four partitions."""

    def __init__(self) -> None:
        from confluent_kafka import Producer

        self._producer = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none", "log_level": 0})
        brokers = self._producer.list_topics(timeout=DEADLINE).brokers.values()
        self.url = "kafka://" + ",".join(f"{broker.host}:{broker.port}" for broker in brokers)

    def send(self, topic: str, values: list[bytes | None], partitions: int = 1, start: int = 0) -> None:
        """Messages, one after the other to each partition, a second apart."""
        self.produce(topic, [(value, i % partitions, start + i) for i, value in enumerate(values)])

    def produce(self, topic: str, messages: list[tuple[bytes | None, int, int]]) -> None:
        """Messages: value, partition, and seconds."""
        for value, partition, seconds in messages:
            stamp = 1_700_000_000_000 + 1000 * seconds
            self._producer.produce(topic, value=value, partition=partition, timestamp=stamp)
            self._producer.poll(0)
        assert self._producer.flush(DEADLINE) == 0

    def values(self, topic: str) -> list[bytes]:
        """All messages of a topic, partition by partition."""
        from confluent_kafka import Consumer, TopicPartition

        servers = self.url.removeprefix("kafka://")
        consumer = Consumer({"bootstrap.servers": servers, "group.id": "test", "enable.partition.eof": True})
        partitions = sorted(consumer.list_topics(topic, timeout=DEADLINE).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
        found: dict[int, list[bytes]] = {p: [] for p in partitions}
        ended: set[int] = set()
        end = time.monotonic() + DEADLINE
        while len(ended) < len(partitions):
            assert time.monotonic() < end
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                found[message.partition()].append(message.value())
            elif message is not None:
                ended.add(message.partition())
        consumer.close()
        return [value for p in partitions for value in found[p]]


class Servers(contextlib.ExitStack):
    """A cluster of Kafka and a server of Redis, which is started when it is first used."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = directory
        self.cluster = Cluster()

    @functools.cached_property
    def redis(self) -> str:
        """The address of the server."""
        return self.enter_context(redis_server(self._directory))

    def send(self, kind: str, name: str, rows: list[bytes | None], partitions: int = 1) -> str:
        """Messages of a topic, or entries of a stream; the address."""
        if kind == "kafka":
            self.cluster.send(name, rows, partitions)
            return f"{self.cluster.url}/{name}"
        from redis import Redis

        pipeline = Redis.from_url(self.redis).pipeline()
        for row in rows:
            pipeline.xadd(name, {"value": b"" if row is None else row})
        pipeline.execute()
        return f"{self.redis}/{name}"

    def values(self, kind: str, name: str) -> list[bytes]:
        """What was sent."""
        if kind == "kafka":
            return self.cluster.values(name)
        from redis import Redis

        return [fields[b"value"] for _, fields in Redis.from_url(self.redis).xrange(name)]


def json_rows(n: int, seed: int = 0) -> list[bytes]:
    """Rows of two numbers, a category and a label that depends on all of them."""
    import numpy as np

    rng = np.random.default_rng(seed)
    rows: list[Mapping[str, Any]] = []
    for a, b, c in zip(rng.normal(size=n), rng.normal(size=n), rng.integers(0, 3, n), strict=True):
        label = "yes" if (a * b > 0) ^ (c == 1) else "no"
        rows.append({"a": round(float(a), 4), "b": round(float(b), 4), "c": "xyz"[c], "label": label})
    return [json.dumps(row).encode() for row in rows]
