"""A release: its version is the same everywhere, and the recipe for conda has the dependencies of pyproject.toml."""

import re
import tomllib
from pathlib import Path

import pytest

import nolana

REPO = Path(__file__).resolve().parents[1]
RECIPE = REPO / "packaging" / "conda" / "recipe.yaml"
CONDA = {"matplotlib": "matplotlib-base"}  # packages that have another name there


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("CHANGELOG.md", r"^## (\d\S*)"),
        ("CITATION.cff", r"^version: (\S+)$"),
        ("packaging/conda/recipe.yaml", r'^  version: "(\S+)"$'),
    ],
)
def test_version_is_that_of_the_package(file, pattern):
    assert re.findall(pattern, (REPO / file).read_text(), re.MULTILINE)[0] == nolana.__version__


def requirements(texts):
    """The names with their lowest versions."""
    return {
        re.sub(r"\s", "", CONDA.get(name := re.split(r"[\s>=]", text)[0], name) + text[len(name) :]) for text in texts
    }


@pytest.mark.soak
def test_conda_recipe_has_the_dependencies_of_the_package_and_the_command():
    rattler_build = pytest.importorskip("rattler_build")
    project = tomllib.loads((REPO / "pyproject.toml").read_text())
    variants = {"python": ["3.12"], "cxx_compiler": ["gxx"], "c_stdlib": ["sysroot"], "c_stdlib_version": ["2.17"]}
    parsed = rattler_build.Stage0Recipe.from_yaml(RECIPE.read_text())
    (rendered,) = parsed.render(rattler_build.VariantConfig(variants))
    recipe = rendered.recipe
    assert recipe.about.license == project["project"]["license"]
    found = recipe.requirements.to_dict()
    command = project["project"]["optional-dependencies"]["cli"]
    assert requirements(found["run"]) == requirements(["python", *project["project"]["dependencies"], *command])
    assert requirements(found["host"]) == requirements(["python", "pip", *project["build-system"]["requires"]])
    assert any(text.startswith("cmake ") for text in found["build"])
    lowest = project["project"]["requires-python"].removeprefix(">=")
    assert f'match(python, "<{lowest}")' in RECIPE.read_text()
