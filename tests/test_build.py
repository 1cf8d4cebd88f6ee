"""Installs as users do them: with a compiler, without one, with a core that does not compile, and editable."""

import os
import platform
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

import nolana
from conftest import EFFORT, effort

REPO = Path(__file__).resolve().parents[1]
PACKAGE = REPO / "src" / "nolana"
pytestmark = pytest.mark.soak

TRY_IT = """
import warnings
import numpy as np
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import nolana
    x = np.random.default_rng(0).normal(size=(200, 3))
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    nolana.NolanaClassifier(n_landmarks=20).fit(x, y)
    nolana.NolanaClassifier(n_landmarks=20).fit(x, y)
said = [w for w in caught if "compiled core" in str(w.message)]
print(nolana.__file__, nolana.backend_name(), len(said))
"""


def copied(target):
    """The files under version control that an install needs, copied."""
    wanted = ["core", "build_backend", "src", "pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE"]
    target.mkdir()
    for name in wanted:
        if (REPO / name).is_dir():
            shutil.copytree(REPO / name, target / name, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        else:
            shutil.copy(REPO / name, target / name)
    return target


@pytest.fixture
def source(tmp_path):
    return copied(tmp_path / "source")


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """What `make dist` builds: a source distribution, and a wheel that is compiled from it."""
    folder = tmp_path_factory.mktemp("packages")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist"), str(REPO)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    (sdist,), (wheel,) = ((folder / "dist").glob(pattern) for pattern in ("*.tar.gz", "*.whl"))
    return {"sdist": sdist, "wheel": wheel}


def wheel(source, tmp_path, **environment):
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", str(tmp_path / "out")]
    return subprocess.run(
        [*command, str(source)], capture_output=True, text=True, env=os.environ | environment, check=False, timeout=600
    )


def unpacked(path, tmp_path):
    place = tmp_path / "unpacked"
    with zipfile.ZipFile(path) as archive:
        archive.extractall(place)
    return place


def tried(place):
    environment = {k: v for k, v in os.environ.items() if k != "NOLANA_BACKEND"} | {"PYTHONPATH": str(place)}
    run = subprocess.run(
        [sys.executable, "-c", TRY_IT], capture_output=True, text=True, env=environment, check=False, timeout=60
    )
    assert run.returncode == 0, run.stderr
    path, backend, warnings = run.stdout.split()
    assert Path(path).is_relative_to(place)
    return [backend, warnings]


def test_wheel_has_the_package_alone(packages):
    """Neither tests, data sets, C++ nor anything else beside the package."""
    with zipfile.ZipFile(packages["wheel"]) as archive:
        names = [PurePosixPath(name) for name in archive.namelist() if not name.endswith("/")]
    metadata = f"nolana-{nolana.__version__}.dist-info"
    assert {name.parts[0] for name in names} == {"nolana", metadata}
    others = {str(name) for name in names if name.parts[0] == "nolana" and name.suffix not in (".py", ".so")}
    assert others == {"nolana/_core.pyi", "nolana/py.typed", "nolana/serve/page.html"}
    own = {str(PurePosixPath("nolana", *path.relative_to(PACKAGE).parts)) for path in PACKAGE.rglob("*.py")}
    assert own == {str(name) for name in names if name.suffix == ".py"}
    assert not [name for name in names if {"tests", "benchmarks", "docs"} & set(name.parts)]


def test_source_distribution_has_what_a_build_needs_and_no_data(packages):
    with tarfile.open(packages["sdist"]) as archive:
        names = [PurePosixPath(*PurePosixPath(name).parts[1:]) for name in archive.getnames()]
    folders = {name.parts[0] for name in names if len(name.parts) > 1}
    assert folders == {"build_backend", "core", "src", "tests"}
    for folder in ("build_backend", "core", "src"):
        files = {path.relative_to(REPO) for path in (REPO / folder).rglob("*") if path.is_file()}
        wanted = {str(path) for path in files if path.suffix != ".so" and "__pycache__" not in path.parts}
        assert wanted == {str(name) for name in names if name.parts[0] == folder}, folder
    assert packages["sdist"].stat().st_size < 4 << 20
    assert {"CMakeLists.txt", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"} <= set(map(str, names))


def test_twine_accepts_both_packages(packages):
    paths = [str(path) for path in packages.values()]
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *paths],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == 2


def test_without_a_compiler_the_wheel_is_pure_and_numpy_serves(source, tmp_path):
    built = wheel(source, tmp_path, CXX="/nonexistent/c++")
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = (tmp_path / "out").glob("nolana-*.whl")
    assert path.name.endswith("-py3-none-any.whl")
    assert not [n for n in zipfile.ZipFile(path).namelist() if n.endswith(".so")]
    assert tried(unpacked(path, tmp_path)) == ["reference", "1"]


def test_with_a_compiler_the_core_of_this_machine_is_there(packages, tmp_path):
    place = unpacked(packages["wheel"], tmp_path)
    assert "none-any" not in packages["wheel"].name
    assert tried(place) == ["core", "0"]
    cores = {path.name.partition(".")[0] for path in (place / "nolana").glob("_c*.so")}
    assert cores == {"_cpu", f"_core_{nolana.build_name()}"}


@pytest.mark.skipif(EFFORT != "endurance", reason="three builds; make endurance has them")
def test_all_builds_are_compiled_on_request(source, tmp_path):
    built = wheel(source, tmp_path, NOLANA_BUILDS="all")
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = (tmp_path / "out").glob("nolana-*.whl")
    place = unpacked(path, tmp_path)
    assert tried(place) == ["core", "0"]
    assert len(list((place / "nolana").glob("_core_*.so"))) == (3 if platform.machine() == "x86_64" else 1)


def test_a_build_that_is_unknown_fails_the_install(source, tmp_path):
    built = wheel(source, tmp_path, NOLANA_BUILDS="sse9")
    assert built.returncode != 0
    assert "NOLANA_BUILDS: 'sse9' is no build" in " ".join((built.stdout + built.stderr).split())


def test_an_error_in_the_core_fails_the_install(source, tmp_path):
    with (source / "core" / "learner" / "learner.cpp").open("a") as file:
        file.write("\nthis is not C++\n")
    built = wheel(source, tmp_path)
    assert built.returncode != 0
    assert "learner.cpp" in built.stdout + built.stderr
    assert not list((tmp_path / "out").glob("*.whl"))


def test_a_core_that_is_required_and_cannot_be_built_fails_the_install(source, tmp_path):
    built = wheel(source, tmp_path, CXX="/nonexistent/c++", NOLANA_REQUIRE_CORE="1")
    assert built.returncode != 0
    assert "NOLANA_REQUIRE_CORE" in built.stdout + built.stderr


def editable(source, out, **environment):
    """What pip does for `pip install -e`: the wheel, which only says where the package is, and the core in place."""
    code = f"import nolana_build; print(nolana_build.build_editable({str(out)!r}))"
    paths = {"PYTHONPATH": str(source / "build_backend")}
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | paths | environment,
        check=False,
        cwd=source,
        timeout=600,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return out / run.stdout.split()[-1]


def test_an_editable_install_uses_the_source_and_compiles_what_changed(source, tmp_path):
    path = editable(source, tmp_path)
    with zipfile.ZipFile(path) as archive:
        assert Path(archive.read("nolana.pth").decode().strip()) == source / "src"
        assert not [name for name in archive.namelist() if name.endswith((".so", ".py"))]
    package = source / "src" / "nolana"
    assert tried(source / "src") == ["core", "0"]
    built = {core: core.stat().st_mtime_ns for core in package.glob("_core*.so")}
    (package / "errors.py").touch()
    editable(source, tmp_path)
    assert {core: core.stat().st_mtime_ns for core in package.glob("_core*.so")} == built
    editable(source, tmp_path, CXX="/nonexistent/c++", NOLANA_PURE="1")
    assert tried(source / "src") == ["reference", "1"]


@pytest.mark.parametrize("kind", ["wheel", "sdist"][: effort(thorough=1, endurance=2)])
def test_a_clean_environment_runs_the_demo(packages, tmp_path, kind):
    """What `make dist` builds, installed where nothing else is."""
    package = packages[kind]
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True, timeout=120)
    binaries = tmp_path / "env" / "bin"
    subprocess.run([binaries / "python", "-m", "pip", "install", "-q", f"{package}[cli]"], check=True, timeout=900)
    picture = tmp_path / "demo.png"
    shown = subprocess.run(
        [binaries / "nolana", "demo", "--out", str(picture)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=120,
    )
    assert shown.returncode == 0, shown.stderr
    assert "StreamClassifier()" in shown.stdout
    assert picture.stat().st_size > 10_000


def test_the_public_api_is_typed_for_pyright():
    """mypy checks the same file in `make lint`."""
    checked = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, str(REPO / "tests/typing/public_api.py")],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_sanitizers_find_nothing():
    run = subprocess.run(
        ["sh", str(REPO / "tests" / "support" / "sanitize.sh"), EFFORT],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHON": sys.executable},
        check=False,
        timeout=1700,
    )
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-5000:]
    assert "found nothing" in run.stdout
