"""The commands of the guide for Kafka, and its programs with Quix Streams and Bytewax, on a simulated cluster."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nolana
from brokers import Cluster, json_rows
from commands import call

pytest.importorskip("confluent_kafka")

REPO = Path(__file__).resolve().parents[2]
GUIDE = (REPO / "docs" / "guides" / "kafka.md").read_text()
SERVERS = "localhost:9092"
# The simulated cluster has no controller, which Quix asks for the configuration of topics.
WITHOUT_CONTROLLER = """
import runpy, sys
from quixstreams.models.topics import TopicConfig
from quixstreams.models.topics.admin import TopicAdmin

def inspect_topics(self, topic_names, timeout=30):
    found = self.list_topics(timeout=timeout)
    return {name: TopicConfig(len(found[name].partitions), 1, {}) for name in topic_names}

TopicAdmin.inspect_topics = inspect_topics
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def cluster():
    return Cluster()


def test_the_commands_of_the_guide_run_in_their_order(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here = cluster.url.removeprefix("kafka://")
    for kind, text in re.findall(r"^```(py|sh)\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL):
        text = text.replace(SERVERS, here).replace("\\\n", " ")
        if kind == "py":
            exec(compile(text, "kafka.md", "exec"), {})
            continue
        for line in re.findall(r"^nolana (.*)$", text, re.MULTILINE):
            if "--follow" not in line:
                done = call(*line.split(), folder=tmp_path)
                assert done.code == 0, (line, done)
    assert nolana.load("shop.nolana").n_rows_ == 5000
    sent = [json.loads(value) for value in cluster.values("predictions")]
    assert {"partition", "offset", "prediction", "proba"} == set(sent[0])
    assert len(sent) == 5000


@pytest.mark.soak
@pytest.mark.parametrize("name", ["quix", "bytewax_flow"])
def test_a_program_of_the_guide_learns_a_topic(cluster, tmp_path, name):
    pytest.importorskip({"quix": "quixstreams", "bytewax_flow": "bytewax"}[name])
    rows = json_rows(300)
    cluster.send(name, rows, partitions=1)
    cluster.send(f"{name}-out", [b"{}"])
    program, here = REPO / "examples" / "kafka" / f"{name}.py", cluster.url.removeprefix("kafka://")
    start = ["-c", WITHOUT_CONTROLLER, program, here, name, f"{name}-out", "300"] if name == "quix" else [
        program, here, name, f"{name}-out"]  # fmt: skip
    done = subprocess.run([sys.executable, *map(str, start)], cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert "300 rows learned" in done.stdout, done.stderr
    answers = [json.loads(value) for value in cluster.values(f"{name}-out")][1:]
    assert len(answers) == 300
    expected = nolana.StreamClassifier(random_state=0)
    X = [[json.loads(row)[key] for key in "ab"] for row in rows]
    y = [json.loads(row)["label"] for row in rows]
    expected.learn(X, y)
    model = nolana.load(next(tmp_path.glob("*.nolana")))
    assert (model.predict_proba(X) == expected.predict_proba(X)).all()
    assert sorted(answer["label"] for answer in answers) == sorted(y)
