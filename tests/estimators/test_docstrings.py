"""Docstrings of the public estimators against their constructors and attributes."""

import ast
import inspect
import re

import numpy as np
import pytest

from nolana import estimators

PUBLIC = [getattr(estimators, name) for name in estimators.__all__]
ONLY_WITH_NAMES = {"feature_names_in_"}
ONLY_AFTER_FIT = {"n_iter_"}


def section(kind, title):
    """The lines `name : type` of a section."""
    text = inspect.getdoc(kind)
    body = text.split(f"\n{title}\n{'-' * len(title)}\n")[1]
    body = re.split(r"\n\n\w+\n-+\n", body)[0]
    return dict(line.split(" : ", 1) for line in body.splitlines() if not line.startswith(" "))


@pytest.mark.parametrize("kind", PUBLIC)
def test_docstring_has_every_parameter_with_its_default(kind):
    documented = section(kind, "Parameters")
    parameters = inspect.signature(kind).parameters
    assert sorted(documented) == sorted(parameters)
    for name, text in documented.items():
        assert ast.literal_eval(text.split(", default=")[1]) == parameters[name].default, name


@pytest.mark.parametrize("kind", PUBLIC)
def test_docstring_names_attributes_that_a_fitted_model_has(kind):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = kind().partial_fit(X, X[:, 0] > 0) if hasattr(kind, "predict") else kind().partial_fit(X)
    documented = section(kind, "Attributes")
    missing = [name for name in documented if not hasattr(model, name)]
    assert set(missing) <= ONLY_WITH_NAMES | ONLY_AFTER_FIT
    readable = {
        name for name in dir(kind) if name[0] != "_" and name[-1] == "_" and isinstance(getattr(kind, name), property)
    }
    assert readable <= set(documented)


@pytest.mark.parametrize("kind", PUBLIC)
def test_docstring_has_an_example_and_a_reference(kind):
    text = inspect.getdoc(kind)
    assert ">>> " in text
    assert "\nReferences\n----------\n" in text
