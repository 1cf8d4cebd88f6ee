"""The package itself: names, layers of imports, the choice of the engine, documentation that runs."""

import doctest
import importlib
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import nolana

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
        if name.startswith("nolana._core"):
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
    assert "the compiled core is not installed" in insisting.stderr
    assert insisting.returncode != 0


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


def stub_arguments(node):
    return [a.arg for a in (*node.args.args, *node.args.kwonlyargs)]


@pytest.mark.parametrize("build", ["nolana._core", f"nolana._core_{nolana.build_name()}"])
@pytest.mark.parametrize(("stub", "part"), [("_core.pyi", None), ("_core_rivals.pyi", "rivals")])
def test_stubs_of_the_core_are_true(build, stub, part):
    """Every name of the core, every member of its classes and every argument stands in the stub, and nothing more."""
    import ast

    real = importlib.import_module(build if "baseline" not in build else "nolana._core")
    real = real if part is None else getattr(real, part)
    tree = ast.parse((PACKAGE / stub).read_text())
    stubs = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef)}
    names = {n for n in dir(real) if not n.startswith("_") and not inspect.ismodule(getattr(real, n))}
    assert names == set(stubs)
    for name, node in stubs.items():
        compiled = getattr(real, name)
        if isinstance(node, ast.FunctionDef):
            assert stub_arguments(node) == argument_names(compiled), name
            continue
        assert [base.id for base in node.bases] == [b.__name__ for b in compiled.__bases__ if b is not object], name
        members = {
            (m.name if isinstance(m, ast.FunctionDef) else m.target.id): m
            for m in node.body
            if isinstance(m, ast.FunctionDef | ast.AnnAssign)
        }
        assert set(members) - {"__init__"} == {m for m in vars(compiled) if not m.startswith("_")}, name
        for member, definition in members.items():
            if hasattr(getattr(compiled, member), "__nb_signature__"):
                assert stub_arguments(definition) == argument_names(getattr(compiled, member)), (name, member)


def test_submodules_of_the_core_have_stubs():
    import nolana._core as core

    submodules = {n for n in dir(core) if inspect.ismodule(getattr(core, n))}
    assert submodules == {"rivals"}
    assert "\nrivals = _core_rivals " in (PACKAGE / "_core.pyi").read_text()


def test_reference_has_every_name_of_the_core():
    import nolana._core as core
    from nolana import reference

    concepts = {"Optimizer", "Policy", "best_build", "rivals"}
    assert {n for n in dir(core) if not n.startswith("_")} - concepts <= set(reference.__all__)
    members = {m for m in vars(core.Learner) if not m.startswith("_")}
    assert members <= set(dir(reference.Learner)) | {"gamma", "threshold", "ridge", "rows", "moves"}
