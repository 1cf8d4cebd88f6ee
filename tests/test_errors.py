"""Errors as data: each surface writes them in its own words, and no library code knows the command line."""

import ast
import copy
import pickle
import re
from pathlib import Path

import pytest

import nolana
from nolana import errors
from nolana.cli.options import words
from nolana.errors import (
    ConflictError,
    NolanaError,
    OptionError,
    Place,
    Remedy,
    Setting,
    StreamError,
    joined_problems,
)
from nolana.serve.refusal import Refusal

PACKAGE = Path(nolana.__file__).parent
FLAG = re.compile(r"(?<![\w-])--[a-z]")
# Their strings are style sheets, options of Java, of pip and of the command that the module implements.
OTHERS = ("cli/", "research/", "serve/page.html")

FILL = Remedy("missing", "mean", "fills it in")
ERROR = StreamError("{value} is not {noun}", place=Place("s.csv", 3, 2, "b"), value="x", remedies=[FILL],
                    facts={"noun": "a number"})  # fmt: skip


def test_a_surface_writes_settings_in_its_own_words():
    place = "s.csv, line 3, column 2 (\"b\"): 'x' is not a number"
    assert str(ERROR) == f"{place}; missing='mean' fills it in"
    assert ERROR.message(words) == f"{place}; --missing mean fills it in"
    assert ERROR.message(lambda _: None) == place
    assert (ERROR.path, ERROR.line, ERROR.column, ERROR.value) == ("s.csv", 3, 2, "x")
    refusal = Refusal.of(ERROR)
    assert refusal.answer(words) == {
        "error": f"{place}; the option --missing mean of the service fills it in",
        "row": 3,
        "column": "b",
        "value": "x",
        "remedies": [{"option": "missing", "value": "mean"}],
    }


def test_alternatives_are_joined_and_braces_of_values_are_left_alone():
    remedies = [Remedy("a", 1), Remedy("b", "x", "does it"), Remedy("c", ..., "too")]
    error = NolanaError("{value} is not {expected}", value="{expected}", expected="{value}", remedies=remedies)
    assert str(error) == "'{expected}' is not {value}; a=1 or b='x' does it, or c=... too"
    assert str(NolanaError('no {fact}, {"a": 1}', hint="cry")) == 'no {fact}, {"a": 1}; cry'
    assert len(str(NolanaError("{value}", value="x" * 1000))) < 60


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
@pytest.mark.parametrize(
    "error",
    [
        ERROR,
        OptionError("rows", 0, "is not an integer of at least {expected}", expected=1),
        ConflictError.differs("missing", "mean", "error").changed(place="m", remedies=[FILL], note="It is saved"),
        Refusal(429, "the queue is full", retry_after=1),
    ],
)
def test_an_error_can_be_copied_and_pickled(error, copied):
    other = copied(error)
    assert (type(other), str(other), other.args) == (type(error), str(error), error.args)
    assert vars(other) == vars(error)


def test_an_error_of_another_class_says_the_same_at_a_place():
    inner = OptionError("memory", 5, "is too small", remedies=[Remedy("memory", "64KB", "is enough")])
    outer = StreamError.of(inner, Place("s.csv", 1, last_line=1000), before="the rows cannot be learned")
    assert str(outer).startswith("s.csv, lines 1 to 1,000: the rows cannot be learned: memory=5 is too small; memory=")
    assert (outer.line, outer.value, [s.option for s in outer.settings]) == (1, 5, ["memory", "memory"])
    assert str(NolanaError.of(ValueError("no"), "here")) == "here: no"


def test_words_of_the_command_line():
    for setting, text in (
        (Setting("n_features"), "--n-features ..."),
        (Setting("ignore", [0, "my column", -1]), "--ignore '1,my column,-1'"),
        (Setting("header", True), "--header"),
        (Setting("header", False), "--no-header"),
        (Setting("zero_based", True), "--zero-based"),
        (Setting("n_landmarks", 5), "--landmarks 5"),
        (Setting("keep_growing", True), "--set keep_growing=True"),
        (Setting("comment", "#"), "--comment '#'"),
        (Setting("token_file"), "--token-file ..."),
        (Setting("fresh", True), "--fresh"),
        (Setting("target", False), None),
    ):
        assert words(setting) == text


def strings(path):
    """The strings of a module but its docstrings, with their lines."""
    tree = ast.parse(path.read_text())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {id(node.body[0].value) for node in ast.walk(tree)
            if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)}  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def test_library_code_names_no_flag_of_the_command_line():
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {text[:60]!r}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not str(path.relative_to(PACKAGE)).startswith(OTHERS)
        for line, text in strings(path)
        if FLAG.search(text)
    ]
    assert found == []


def test_every_error_and_warning_is_documented_and_public():
    classes = [
        name for name, value in vars(errors).items() if isinstance(value, type) and value.__module__ == errors.__name__
    ]
    assert sorted(errors.__all__) == sorted(classes)
    kinds = [name for name in classes if issubclass(getattr(errors, name), BaseException)]
    assert all(name in errors.__doc__ for name in kinds)


def test_several_problems_are_one_error_with_a_line_each():
    """The source and a remedy are named once; ten problems are listed, the others counted, on all surfaces."""
    skip = Remedy("on_bad_row", "skip", "leaves it out")
    problems = [
        StreamError("{value} is not a number", place=Place("s.csv", line, line, "b"), value="x", remedies=[skip])
        for line in range(3, 17)
    ]
    rows = [first.with_others([second]) for first, second in zip(problems[::2], problems[1::2], strict=True)]
    error = joined_problems([*rows, *rows]).changed(note="Nothing was learned")
    first, *lines, counted, note = str(error).split("\n")
    assert first == "s.csv, line 3, column 3 (\"b\"): 'x' is not a number; on_bad_row='skip' leaves it out"
    assert lines == [f"- line {line}, column {line} (\"b\"): 'x' is not a number" for line in range(4, 13)]
    assert (counted, note) == ("- and 18 more", "Nothing was learned")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    answer = Refusal.of(error).answer(words)
    assert [problem["row"] for problem in answer["problems"]] == list(range(3, 13))
    assert all("problems" not in problem for problem in answer["problems"])
    assert {setting.option for setting in error.settings} == {"on_bad_row"}
