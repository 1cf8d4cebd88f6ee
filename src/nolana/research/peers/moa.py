"""Learners of MOA by name, through CapyMOA, which needs Java; both are for comparisons only (extra ``bench``)."""

import importlib
import importlib.util
import inspect
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nolana.metrics.label_index import Labels
from nolana.research.peers import Task

if TYPE_CHECKING:
    from capymoa.base import MOAClassifier, MOARegressor
    from capymoa.stream import Schema
    from com.yahoo.labs.samoa.instances import Instances

Array = NDArray[np.float64]

MODELS = 10  # of an ensemble
COUNTED_PACKAGES = (
    *("java.io", "java.lang", "java.lang.invoke", "java.lang.ref", "java.lang.reflect", "java.math", "java.security"),
    *("java.text", "java.util", "java.util.concurrent", "java.util.concurrent.atomic", "java.util.concurrent.locks"),
)
# Short names: the classes of CapyMOA for classification and regression.
SHORT: dict[str, tuple[str | None, str | None]] = {
    "arf": ("AdaptiveRandomForestClassifier", "AdaptiveRandomForestRegressor"),
    "srp": ("StreamingRandomPatches", None),
    "samknn": ("SAMkNN", None),
    "lb": ("LeveragingBagging", None),
    "sgbt": ("StreamingGradientBoostedTrees", "StreamingGradientBoostedRegression"),
    "plastic": ("PLASTIC", None),
    "dems": ("DynamicEnsembleMemberSelection", None),
    "soknl": (None, "SOKNL"),
}


class Moa:
    """A learner of MOA; the rows of a block are predicted and learned one by one inside Java.

    `create` gets a schema and returns a learner of CapyMOA.
    """

    def __init__(self, task: Task, create: "Callable[[Schema], MOAClassifier | MOARegressor]") -> None:
        from capymoa.stream import Schema

        names = [f"x{j}" for j in range(task.n_features)]
        categories = {names[j]: [str(i) for i in range(values)] for j, values in task.nominal.items()}
        if task.classes is not None:
            categories["y"] = [str(i) for i in range(len(task.classes))]
        schema = Schema.from_custom([*names, "y"], target="y", categories=categories)
        self._task, self._header = task, schema.get_moa_header()
        self._learner = create(schema).moa_learner
        if task.classes is not None:
            self.classes_ = task.classes

    def convert(self, X: Array, y: Labels) -> "Instances":
        """Rows as MOA's instances."""
        from com.yahoo.labs.samoa.instances import DenseInstance, Instances
        from jpype import JArray, JDouble

        rows = Instances(self._header, len(X))
        vector = JArray(JDouble)
        for row in np.column_stack([X, self._task.targets(y)]):
            instance = DenseInstance(1.0, vector(row))
            instance.setDataset(self._header)
            rows.add(instance)
        return rows

    def learn(self, rows: "Instances", y: Labels) -> Array:
        """The predictions of rows of `convert` before they are learned, as scores."""
        if self._task.classes is None:
            return self._task.scores(self._regress(rows))
        from moa.evaluation import EfficientEvaluationLoops
        from moa.streams import CachedInstancesStream

        stream = CachedInstancesStream(rows)
        done = EfficientEvaluationLoops.PrequentialEvaluation(stream, self._learner, None, None, -1, 1, False, True)
        return self._task.scores([int(label) for label in done.predictions])

    def _regress(self, rows: "Instances") -> list[float]:
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
        """MOA's own count of its objects."""
        return int(self._learner.measureByteSize())


def start_java() -> None:
    """Import CapyMOA, which starts Java: one thread collects garbage, as one thread learns, and MOA can count bytes.

    MOA counts with the agent sizeofag. Its classes are in MOA's jar, whose manifest does not name them.
    """
    if "capymoa" in sys.modules:
        return
    spec = importlib.util.find_spec("capymoa")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    [package] = spec.submodule_search_locations
    with tempfile.TemporaryDirectory() as directory:
        agent = Path(directory) / "sizeofag.jar"
        with zipfile.ZipFile(Path(package) / "jar" / "moa.jar") as moa, zipfile.ZipFile(agent, "w") as jar:
            jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nPremain-Class: sizeof.agent.SizeOfAgent\n\n")
            for name in moa.namelist():
                if name.startswith("sizeof/agent/") and name.endswith(".class"):
                    jar.writestr(name, moa.read(name))
        opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in COUNTED_PACKAGES]
        options = ["-Xmx6g", "-Xss10M", "-XX:+UseSerialGC", f"-javaagent:{agent}", *opened]
        os.environ["CAPYMOA_JVM_ARGS"] = " ".join(options)
        importlib.import_module("capymoa")  # Java reads the agent as it starts, and keeps it open


def make(method: str, task: Task, seed: int) -> Moa:
    """The learner of a short name, or of a class of CapyMOA as ``HoeffdingTree``, at its defaults."""
    start_java()
    regression = task.classes is None
    name = SHORT.get(method.lower(), (method, method))[regression]
    module = importlib.import_module("capymoa.regressor" if regression else "capymoa.classifier")
    if name is None or not hasattr(module, name):
        choices = ", ".join(f"moa:{each}" for each, names in SHORT.items() if names[regression])
        raise ValueError(f"{module.__name__} has no {method}; choose from {choices}, or name a class of this module")
    kind = getattr(module, name)
    options = {"ensemble_size": MODELS, "random_seed": seed}
    own = {option: value for option, value in options.items() if option in inspect.signature(kind).parameters}
    return Moa(task, lambda schema: kind(schema=schema, **own))
