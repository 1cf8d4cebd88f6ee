"""Learners of other libraries with nolana's verb: `learn(rows, y)` returns the scores of rows before they are learned.

`convert` brings rows to the form that the library reads. It runs outside the timed call, because a user of the library
has such rows already. Classes are numbered as in `Task.classes`.

CapyMOA (MOA's learners) needs Java. It is not in the extra `bench`, because it requires old versions of other packages:
`pip install --no-deps capymoa; pip install jpype1 deprecated tqdm seaborn pandas`.
"""

import importlib
import importlib.util
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Labels = NDArray[np.generic]

BLOCK = 1000  # rows


@dataclass(frozen=True)
class Task:
    """What some libraries must know before the first row."""

    n_features: int
    classes: Labels | None  # sorted; None: regression

    @classmethod
    def of(cls, X: Array, y: Labels, regression: bool) -> "Task":
        return cls(X.shape[1], None if regression else np.unique(y))

    def targets(self, y: Labels) -> NDArray[Any]:
        """Numbers of the classes, or the targets of a regression."""
        return y if self.classes is None else np.searchsorted(self.classes, y)

    def scores(self, predicted: Any) -> Array:
        """Scores (n, classes) whose largest one is at the predicted class, or (n,) for a regression; -1: no class."""
        if self.classes is None:
            return np.asarray(predicted, dtype=np.float64)
        numbers = np.asarray(predicted, dtype=np.int64)
        scores = (numbers[:, None] == np.arange(len(self.classes))).astype(np.float64)
        scores[numbers < 0] = np.nan
        return scores


class Learner(Protocol):
    """The protocol of `nolana.evaluate.progressive`, and the bytes of the model."""

    def convert(self, X: Array, y: Labels) -> Any: ...

    def learn(self, rows: Any, y: Labels) -> Array: ...

    @property
    def memory_bytes_(self) -> int: ...


Make = Callable[[Task, int], Learner]  # arguments: task, seed


def blocks_of(learner: Learner, X: Array, y: Labels) -> Iterator[tuple[Any, Labels]]:
    """Blocks in the form of the learner; only one block exists at a time."""
    size = getattr(learner, "block", BLOCK)
    for i in range(0, len(X), size):
        part, labels = X[i : i + size], y[i : i + size]
        yield learner.convert(part, labels), labels


class Native:
    """An estimator of nolana: arrays are its own form."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def convert(self, X: Array, y: Labels) -> Array:
        return X

    def learn(self, rows: Array, y: Labels) -> Array:
        return self.estimator.learn(rows, y)

    @property
    def classes_(self) -> Labels:
        return self.estimator.classes_  # a regressor has none, and AttributeError says so

    @property
    def memory_bytes_(self) -> int:
        return self.estimator.memory_bytes_


# River


class River:
    """A model of River, one Python call for each row; rows are dicts."""

    def __init__(self, task: Task, model: Any) -> None:
        self._task, self._model = task, model
        if task.classes is not None:
            self.classes_ = task.classes

    def convert(self, X: Array, y: Labels) -> list[tuple[dict[int, float], Any]]:
        targets = self._task.targets(y).tolist()
        return [(dict(enumerate(x)), target) for x, target in zip(X.tolist(), targets, strict=True)]

    def learn(self, rows: list[tuple[dict[int, float], Any]], y: Labels) -> Array:
        predicted = []
        for x, target in rows:
            label = self._model.predict_one(x)
            predicted.append(-1 if label is None else label)
            self._model.learn_one(x, target)
        return self._task.scores(predicted)

    @property
    def memory_bytes_(self) -> int:
        return int(self._model._raw_memory_usage)  # what River's own show_memory prints


def river_linear(task: Task, seed: int) -> River:  # noqa: ARG001
    """StandardScaler | LogisticRegression, one against the rest for more than two classes, or LinearRegression."""
    from river import linear_model, multiclass, preprocessing

    if task.classes is None:
        model: Any = linear_model.LinearRegression()
    else:
        model = linear_model.LogisticRegression()
        if len(task.classes) > 2:
            model = multiclass.OneVsRestClassifier(model)
    return River(task, preprocessing.StandardScaler() | model)


def river_arf(task: Task, seed: int) -> River:
    from river import forest

    kind = forest.ARFRegressor if task.classes is None else forest.ARFClassifier
    return River(task, kind(n_models=10, seed=seed))


def river_amf(task: Task, seed: int) -> River:
    from river import forest

    kind = forest.AMFRegressor if task.classes is None else forest.AMFClassifier
    return River(task, kind(n_estimators=10, seed=seed))


# Vowpal Wabbit


class VowpalWabbit:
    """One pass of Vowpal Wabbit over a file; its predictions are those made before learning.

    The whole stream is one block, so that the time is that of its own loop, parsing included.
    """

    block = 1_000_000_000

    def __init__(self, task: Task, options: list[str]) -> None:
        self._task, self._options = task, options
        self._directory = tempfile.TemporaryDirectory()
        self.memory_bytes_ = 0
        if task.classes is not None:
            self.classes_ = task.classes

    def convert(self, X: Array, y: Labels) -> Path:
        path = Path(self._directory.name) / "rows.vw"
        # From 1: VW hashes the product of feature 0 with another to the slot of the other.
        names = [f"{j + 1}:" for j in range(self._task.n_features)]
        with path.open("w") as file:
            for x, target in zip(X, self._labels(y), strict=True):
                used = np.flatnonzero(x)
                features = " ".join(f"{names[j]}{value:.9g}" for j, value in zip(used, x[used].tolist(), strict=True))
                file.write(f"{target:.9g} | {features}\n")
        return path

    def learn(self, rows: Path, y: Labels) -> Array:
        from vowpalwabbit import Workspace

        output = rows.with_suffix(".predictions")
        task = [] if self.classes is None else ["--binary"] if self.classes == 2 else ["--oaa", str(self.classes)]
        workspace = Workspace(arg_list=["--quiet", "-d", str(rows), "-p", str(output), *task, *self._options])
        self.memory_bytes_ = 16 * workspace.num_weights()  # a slot: weight, two statistics and padding, float32
        workspace.finish()
        predicted = np.loadtxt(output, ndmin=1)
        if len(predicted) != len(y):
            raise ValueError(f"Vowpal Wabbit predicted {len(predicted)} of {len(y)} rows of {rows}")
        if self.classes == 2:
            predicted = predicted > 0
        elif self.classes is not None:
            predicted = predicted - 1
        return self._task.scores(predicted)

    @property
    def classes(self) -> int | None:
        return None if self._task.classes is None else len(self._task.classes)

    def _labels(self, y: Labels) -> NDArray[Any]:
        """-1 and 1, or 1 to the number of classes, or the target."""
        targets = self._task.targets(y)
        return targets if self.classes is None else 2 * targets - 1 if self.classes == 2 else targets + 1


def vw_linear(task: Task, seed: int) -> VowpalWabbit:  # noqa: ARG001
    return VowpalWabbit(task, [])


def vw_products(task: Task, seed: int) -> VowpalWabbit:  # noqa: ARG001
    return VowpalWabbit(task, ["--interactions", "::"])


# MOA, through CapyMOA

AGENT_DIRECTORY = tempfile.TemporaryDirectory()  # until Python ends
COUNTED_PACKAGES = (
    *("java.io", "java.lang", "java.lang.invoke", "java.lang.ref", "java.lang.reflect", "java.math", "java.security"),
    *("java.text", "java.util", "java.util.concurrent", "java.util.concurrent.atomic", "java.util.concurrent.locks"),
)


class Moa:
    """A learner of MOA; the rows of a block are predicted and learned one by one inside Java.

    `create` gets a schema and returns a learner of CapyMOA.
    """

    def __init__(self, task: Task, create: Callable[[Any], Any]) -> None:
        from capymoa.stream import Schema

        names = [f"x{j}" for j in range(task.n_features)]
        labels = None if task.classes is None else {"y": [str(i) for i in range(len(task.classes))]}
        schema = Schema.from_custom([*names, "y"], target="y", categories=labels)
        self._task, self._header = task, schema.get_moa_header()
        self._learner = create(schema).moa_learner
        if task.classes is not None:
            self.classes_ = task.classes

    def convert(self, X: Array, y: Labels) -> Any:
        from com.yahoo.labs.samoa.instances import DenseInstance, Instances
        from jpype import JArray, JDouble

        rows = Instances(self._header, len(X))
        vector = JArray(JDouble)
        for row in np.column_stack([X, self._task.targets(y)]):
            instance = DenseInstance(1.0, vector(row))
            instance.setDataset(self._header)
            rows.add(instance)
        return rows

    def learn(self, rows: Any, y: Labels) -> Array:
        if self._task.classes is None:
            return self._task.scores(self._regress(rows))
        from moa.evaluation import EfficientEvaluationLoops
        from moa.streams import CachedInstancesStream

        stream = CachedInstancesStream(rows)
        done = EfficientEvaluationLoops.PrequentialEvaluation(stream, self._learner, None, None, -1, 1, False, True)
        return self._task.scores([int(label) for label in done.predictions])

    def _regress(self, rows: Any) -> list[float]:
        """Row by row from Python: the loop in Java returns classes only."""
        from moa.core import InstanceExample

        predicted = []
        for i in range(rows.numInstances()):
            example = InstanceExample(rows.instance(i))
            votes = self._learner.getVotesForInstance(example)
            predicted.append(float(votes[0]) if len(votes) else 0.0)
            self._learner.trainOnInstance(example)
        return predicted

    @property
    def memory_bytes_(self) -> int:
        return int(self._learner.measureByteSize())  # MOA's own count of its objects


def start_java() -> None:
    """Import CapyMOA, which starts Java: one thread collects garbage, as one thread learns, and MOA can count bytes.

    MOA counts with the agent sizeofag. Its classes are in MOA's jar, whose manifest does not name them.
    """
    if "capymoa" in sys.modules:
        return
    [package] = importlib.util.find_spec("capymoa").submodule_search_locations
    agent = Path(AGENT_DIRECTORY.name) / "sizeofag.jar"
    with zipfile.ZipFile(Path(package) / "jar" / "moa.jar") as moa, zipfile.ZipFile(agent, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nPremain-Class: sizeof.agent.SizeOfAgent\n\n")
        for name in moa.namelist():
            if name.startswith("sizeof/agent/") and name.endswith(".class"):
                jar.writestr(name, moa.read(name))
    opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in COUNTED_PACKAGES]
    options = ["-Xmx6g", "-Xss10M", "-XX:+UseSerialGC", f"-javaagent:{agent}", *opened]
    os.environ["CAPYMOA_JVM_ARGS"] = " ".join(options)
    importlib.import_module("capymoa")


def moa_arf(task: Task, seed: int) -> Moa:
    start_java()
    from capymoa.classifier import AdaptiveRandomForestClassifier
    from capymoa.regressor import AdaptiveRandomForestRegressor

    kind = AdaptiveRandomForestRegressor if task.classes is None else AdaptiveRandomForestClassifier
    return Moa(task, lambda schema: kind(schema=schema, ensemble_size=10, random_seed=seed))


def moa_srp(task: Task, seed: int) -> Moa:
    start_java()
    from capymoa.classifier import StreamingRandomPatches

    return Moa(task, lambda schema: StreamingRandomPatches(schema=schema, ensemble_size=10, random_seed=seed))


def moa_samknn(task: Task, seed: int) -> Moa:
    start_java()
    from capymoa.classifier import SAMkNN

    return Moa(task, lambda schema: SAMkNN(schema=schema, random_seed=seed))


@dataclass(frozen=True)
class Peer:
    """A method of another library, at its default parameters."""

    package: str
    make: Make
    regression: bool = True

    @property
    def missing(self) -> str | None:
        """What must be installed first, or None."""
        if importlib.util.find_spec(self.package) is None:
            return f"the package {self.package} is not installed"
        if self.package == "capymoa" and shutil.which("java") is None and "JAVA_HOME" not in os.environ:
            return "Java is not installed"
        return None


PEERS = {
    "River ARF(10)": Peer("river", river_arf),
    "River AMF(10)": Peer("river", river_amf),
    "River scaler | linear": Peer("river", river_linear),
    "VW linear": Peer("vowpalwabbit", vw_linear),
    "VW all products": Peer("vowpalwabbit", vw_products),
    "MOA ARF(10)": Peer("capymoa", moa_arf),
    "MOA SRP(10)": Peer("capymoa", moa_srp, regression=False),
    "MOA SAMkNN": Peer("capymoa", moa_samknn, regression=False),
}
