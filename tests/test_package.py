"""The package itself: names, layers of imports, the choice of the engine, documentation that runs."""

import doctest
import importlib
import inspect
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import nolana
from conftest import core_builds

PACKAGE = Path(nolana.__file__).parent


def run(code, **environment):
    given = {k: v for k, v in os.environ.items() if k != "NOLANA_BACKEND"} | environment
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=given, check=False, timeout=60
    )


def test_public_names_are_sorted_and_there():
    assert nolana.__all__ == sorted(nolana.__all__)
    assert all(getattr(nolana, name) is not None for name in nolana.__all__)
    assert set(nolana.__all__) <= set(dir(nolana))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        nolana.nonsense  # noqa: B018


def test_import_loads_numpy_and_nothing_heavier():
    code = "import json, sys, nolana; print(json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"
    loaded = set(json.loads(run(code).stdout))
    assert "numpy" in loaded
    assert not loaded & {"sklearn", "scipy", "matplotlib", "typer", "rich", "pandas"}


def test_the_compiled_core_is_in_use():
    assert run("import nolana; print(nolana.backend_name())").stdout == "core\n"
    assert nolana.build_name() in {"baseline", "avx2", "avx512"}


def test_the_backend_can_be_chosen():
    code = "import nolana; print(nolana.backend_name(), nolana.build_name())"
    assert run(code, NOLANA_BACKEND="reference").stdout == "reference numpy\n"
    assert run(code, NOLANA_BACKEND="core").stdout.startswith("core ")
    wrong = run(code, NOLANA_BACKEND="gpu")
    assert wrong.returncode != 0
    assert "NOLANA_BACKEND='gpu' is not a backend; choose one of: core, reference" in wrong.stderr


BLOCK_CORE = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("nolana._core", "nolana._cpu")):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocker())
"""


def test_without_the_core_numpy_serves_and_says_so_once():
    code = BLOCK_CORE + (
        "import numpy as np, nolana\n"
        "x = np.random.default_rng(0).normal(size=(50, 2)); y = (x[:, 0] > 0).astype(int)\n"
        "for _ in range(2): nolana.NolanaClassifier(n_landmarks=5).fit(x, y)\n"
        "print(nolana.backend_name())"
    )
    done = run(code)
    assert done.stdout == "reference\n"
    assert done.stderr.count("ReferenceBackendWarning") == 1
    assert "without its compiled core" in done.stderr
    quiet = run(code, NOLANA_BACKEND="reference")
    assert quiet.stderr == ""
    insisting = run(code, NOLANA_BACKEND="core")
    assert "NOLANA_BACKEND=core, but nolana was installed without its compiled core" in insisting.stderr
    assert insisting.returncode != 0


NEEDS_CORE = "reading text needs the compiled core, but nolana was installed without its compiled core; reinstall"


def test_without_the_core_reading_text_is_one_clear_error(tmp_path):
    (tmp_path / "s.csv").write_text("a,y\n1,0\n2,1\n")
    place = str(tmp_path / "s.csv")
    for text in (repr(place), 'io.BytesIO(b\'{"a": 1, "y": 0}\')', 'io.BytesIO(b"1 1:2")'):
        code = f"import io, nolana\nnolana.sources.open({text})"
        done = run(BLOCK_CORE + code, NOLANA_BACKEND="reference")
        assert done.stderr.splitlines()[-1].startswith(f"nolana.errors.MissingCoreError: {NEEDS_CORE}")
    command = "import sys; from nolana.cli.app import run; sys.exit(run())"
    for words in (["learn", place, "--model", "m"], ["serve", "m", "--log", str(tmp_path / "log"), "--port", "0"]):
        done = run(f"{BLOCK_CORE}sys.argv = {['nolana', *words]!r}\n{command}", NOLANA_BACKEND="reference")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert done.stderr.startswith(f"nolana: {NEEDS_CORE}")


def test_the_core_reads_text_for_the_reference_too():
    code = "import io, nolana\nprint(nolana.sources.read(io.BytesIO(b'a,y\\n1,0\\n'))[0], nolana.backend_name())"
    assert run(code, NOLANA_BACKEND="reference").stdout == "[[1.]] reference\n"


OLD_MACHINE = """
import sys, types
sys.modules["nolana._cpu"] = types.SimpleNamespace(best_build=lambda: "baseline")
import importlib.util
if importlib.util.find_spec("nolana._core_baseline"):
    find_spec = importlib.util.find_spec
    importlib.util.find_spec = lambda name: None if name.endswith("_baseline") else find_spec(name)
"""


@pytest.mark.skipif(nolana.build_name() == "baseline", reason="this machine has nothing beyond the baseline")
def test_core_built_for_a_newer_machine_is_not_loaded_and_named():
    code = OLD_MACHINE + "import nolana; print(nolana.backend_name())"
    done = run(code)
    assert done.stdout == "reference\n"
    assert nolana.build_name() in done.stderr
    assert "this machine can run the build baseline, so NumPy does the work" in done.stderr
    insisting = run(code, NOLANA_BACKEND="core")
    assert insisting.returncode != 0
    assert "NOLANA_BACKEND=core, but the compiled core of nolana was built for" in insisting.stderr


def test_reference_backend_learns_the_same(stream):
    import numpy as np

    code = (
        "import sys, numpy as np, nolana\n"
        "rng = np.random.default_rng(1); x = rng.normal(size=(300, 4)); y = (x[:, 0] * x[:, 1] > 0).astype(int)\n"
        "print(repr(nolana.NolanaClassifier(n_landmarks=20).learn(x, y)[10:].sum(axis=0)[1]))"
    )
    a, b = (run(code, NOLANA_BACKEND=name).stdout for name in ("core", "reference"))
    model = nolana.NolanaClassifier(n_landmarks=20).learn(*stream)
    assert model.shape == (600, 3)
    values = [float(out.strip().removeprefix("np.float64(").removesuffix(")")) for out in (a, b)]
    assert np.isclose(*values, atol=1e-4)


MODULES = sorted(
    "nolana." + ".".join(p.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
    for p in PACKAGE.rglob("*.py")
    if p.name != "__init__.py" or p.parent != PACKAGE
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_the_documentation_run(name):
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0


def argument_names(compiled):
    """Of a nanobind function, from its own signature."""
    ((signature, *_),) = compiled.__nb_signature__
    inside, depth, names = signature[signature.index("(") + 1 : signature.rindex(") ->")], 0, [""]
    for letter in inside:
        depth += (letter in "([") - (letter in ")]")
        names = [*names, ""] if letter == "," and depth == 0 else [*names[:-1], names[-1] + letter]
    return [name.split(":")[0].strip() for name in names if name.strip() not in ("", "*")]


def reference_names():
    """Everything that is defined in nolana.engine, by name."""
    from nolana import engine as reference

    found = {name: getattr(reference, name) for name in reference.__all__}
    for info in pkgutil.walk_packages(reference.__path__, "nolana.engine."):
        module = importlib.import_module(info.name)
        found |= {n: v for n, v in vars(module).items() if inspect.isclass(v) and v.__module__ == module.__name__}
    return found


@pytest.mark.parametrize("core", core_builds(), ids=lambda build: build.__name__)
def test_the_core_and_the_reference_have_the_same_names_and_arguments(core):
    """Every class and function of the core but the parsers has a NumPy twin with the same members and arguments."""
    parsers = {
        "csv_cells",
        "csv_fields",
        "hash_fields",
        "hash_strings",
        "integer_fields",
        "json_cells",
        "libsvm_extent",
        "libsvm_rows",
        "number_fields",
    }
    names, own = reference_names(), {"sincos"} | parsers
    for name in {n for n in dir(core) if not n.startswith("_")} - own:
        compiled, twin = getattr(core, name), names[name]
        if not inspect.isclass(compiled):
            assert argument_names(compiled) == list(inspect.signature(twin).parameters), name
            continue
        assert {m for m in vars(compiled) if not m.startswith("_")} <= set(dir(twin)) | INSTANCE_ATTRIBUTES, name
        if hasattr(vars(compiled).get("__init__"), "__nb_signature__") and twin.__init__ is not object.__init__:
            assert argument_names(compiled.__init__)[1:] == list(inspect.signature(twin).parameters), name
        for member, function in vars(compiled).items():
            if not member.startswith("_") and hasattr(function, "__nb_signature__"):
                expected = [a for a in inspect.signature(getattr(twin, member)).parameters if a != "self"]
                assert argument_names(function)[1:] == expected, (name, member)


INSTANCE_ATTRIBUTES = {"gamma", "maps", "moves", "outputs", "ridge", "rows", "threshold"}
