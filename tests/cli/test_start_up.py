"""What commands load: scikit-learn takes 2 s of CPU time, and the rows of a file do not need it."""

import subprocess
import sys

import numpy as np
import pytest

HEAVY = ("matplotlib", "pandas", "pydantic", "scipy.stats", "sklearn")
LEARNERS = (
    "nolana.estimators.stream",
    "nolana.engine",
    "nolana.research.rivals",
    "nolana.runs.run",
)  # 0.15 s of CPU time
LOADED = (
    "import sys; sys.argv[0] = 'nolana'\n"
    "from nolana.cli import main\n"
    "try:\n    main()\n"
    f"finally:\n    print('loaded', *[name for name in {HEAVY + LEARNERS} if name in sys.modules], file=sys.stderr)"
)


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 3)).round(3)
    rows = "".join(f"{a},{b},{c},{'in' if a * b > 0 else 'out'},{a + b:.3f}\n" for a, b, c in x)
    path = tmp_path / "t.csv"
    path.write_text("a,b,c,kind,sum\n" + rows)
    return path


def run(folder, *words):
    """Exit code, output and the heavy modules that were loaded."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout, done.stderr.rpartition("loaded")[2].split()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--help",), 0),
        (("learn", "--help"), 0),
        (("learn", "absent.csv", "--target", "x", "--model", "m"), 2),
        (("learn", "t.csv", "--target", "absent", "--model", "m"), 1),
        (("learn", "t.csv", "--target", "sum", "--categories", "error", "--model", "m"), 1),
        (("learn", "t.csv", "--set", "a=1", "--model", "m"), 2),
        (("learn", "t.csv", "--bogus"), 2),
        (("learn", "t.csv", "--memory", "1KB", "--model", "m"), 2),
        (("evaluate", "absent.csv"), 2),
        (("evaluate", "."), 2),
        (("compare", "absent.csv"), 2),
        (("predict", "t.csv", "--model", "absent"), 2),
        (("inspect", "absent"), 2),
    ],
)
def test_help_and_failing_commands_load_nothing_heavy(table, words, code):
    found, _, loaded = run(table.parent, *words)
    assert (found, [name for name in loaded if name in HEAVY]) == (code, [])


@pytest.mark.parametrize("command", [("learn", "--model", "m"), ("evaluate",)], ids=lambda words: words[0])
@pytest.mark.parametrize("source", ["absent.csv", "t.csv", "header.csv"])
def test_source_that_cannot_be_learned_is_reported_before_learners_are_loaded(table, command, source):
    (table.parent / "header.csv").write_text("absent,b\n")  # there are no rows
    code, _, loaded = run(table.parent, command[0], source, "--target", "absent", *command[1:])
    assert (code, loaded) == (2 if source == "absent.csv" else 1, [])


@pytest.mark.parametrize("more", [(), ("--method", "nolana", "--workers", "2"), ("--method", "BOGD")])
@pytest.mark.parametrize("target", ["kind", "sum"])
def test_learn_without_sklearn_writes_the_same_model_file(table, target, more):
    other = "sum" if target == "kind" else "kind"
    words = ("learn", table.name, "--target", target, "--ignore", other, *more)
    code, _, loaded = run(table.parent, *words, "--model", "light")
    assert code == 0
    assert "sklearn" not in loaded
    script = LOADED.replace("from nolana.cli", "import sklearn.base\nfrom nolana.cli")
    subprocess.run(
        [sys.executable, "-c", script, *words, "--model", "heavy"], cwd=table.parent, check=True, timeout=120
    )
    assert (table.parent / "light").read_bytes() == (table.parent / "heavy").read_bytes()
    code, out, loaded = run(table.parent, "inspect", "light")
    assert code == 0
    assert [name for name in loaded if name in HEAVY] in ([], ["matplotlib"])
    assert "1,500 learned" in out


def test_seed_that_is_no_number_is_reported_without_a_traceback(table):
    words = ("learn", table.name, "--target", "kind", "--ignore", "sum", "--set", "random_state=x", "--model", "m")
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words], cwd=table.parent, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert "'x' cannot be used to seed" in done.stderr
    assert "Traceback" not in done.stderr
