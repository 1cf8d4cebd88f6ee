"""Landmark policies on streams that change, and the summary on top of the report."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

from nolana import NolanaClassifier, datasets
from nolana.cli.paper import _summary
from nolana.research.paper.experiments.change import (
    DATA,
    LANDMARKS,
    LEARNERS,
    MOST_ROWS,
    POLICIES,
    Change,
    LearnerKind,
    followed,
)
from nolana.research.paper.harness import FULL, SummaryLine
from paper_source import TINY, Balanced, MadeUp, in_order


@dataclass(frozen=True)
class InOrder:
    """Two data sets, one that changes and one that does not."""

    names: tuple[str, ...] = ("usps", "elec2")

    def has(self, name):
        return name in self.names

    def missing(self, name):
        return "" if self.has(name) else f"no {name} in this test"

    def load(self, name):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(150, datasets.catalogue()[name].features))
        return X, (X[:, 0] > 0).astype(int)


@pytest.fixture(scope="module")
def ran():
    change = Change(InOrder(), TINY)
    return change, in_order(change.plan(), InOrder())


def test_streams_with_drift_keep_their_order_and_others_are_shuffled(monkeypatch):
    learned = []

    class Recording(NolanaClassifier):
        def learn(self, X, y, **options):
            learned.append(X)
            return super().learn(X, y, **options)

    monkeypatch.setitem(LEARNERS, "Newton", LearnerKind(Recording, True, 1.0))
    for data in ("elec2", "usps"):
        learned.clear()
        followed(InOrder(), {}, data=data, policy="fixed", learner="Newton", rows=100, landmarks=10)
        rows = np.concatenate(learned)
        assert rows.shape[0] == 100
        X = InOrder().load(data)[0]
        where = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in rows]
        assert len(set(where)) == 100
        assert (where == sorted(where)) == (data == "elec2")


def test_policies_move_as_their_names_say(ran):
    change, results = ran
    for learner in LEARNERS:
        for data in change.data:
            moves = {policy: results[change.key(data, policy, learner)]["moves"] for policy in POLICIES}
            assert moves["fixed"] == 0
            assert moves["kmeans, ε = 0"] == 150 - LANDMARKS
            assert moves["kmeans"] <= moves["kmeans, ε = 0"]
    assert json.loads(json.dumps(results)) == results


def test_a_pass_is_the_same_again(ran):
    """All but the seconds."""
    change, results = ran
    (cell,) = (cell for cell in change.plan() if cell.key == change.key("elec2", "expiring", "the paper's"))
    again = followed(InOrder(), {}, **cell.arguments)
    assert {k: v for k, v in again.items() if k != "seconds"} == {
        k: v for k, v in results[cell.key].items() if k != "seconds"
    }


def test_rows_of_a_full_run():
    """The paper's learner and Newton beside it get the same rows, the last columns all of them."""
    change = Change(MadeUp(), FULL)
    for data in DATA:
        everything = datasets.catalogue()[data].rows
        assert change.rows(data, "the paper's") == change.rows(data, "Newton") == min(everything, MOST_ROWS)
        assert change.rows(data, "Newton, all rows") == everything


def test_section_and_lines(ran):
    change, results = ran
    found = Balanced(change.section(results).html())
    words = " ".join(" ".join(found.words).split())
    assert found.ids == ["change"]
    assert "covtype: the data was not available. no covtype in this test" in words
    for policy in POLICIES:
        assert policy in words
    assert len(change.lines(results)) == 2 * len(POLICIES) * len(LEARNERS)


def test_the_answer_follows_the_numbers(ran):
    change, results = ran
    bent = {
        key: one | {"accuracy": 0.9 if "/expiring/" in key else 0.5 if "/fixed/" in key else 0.6}
        for key, one in results.items()
    }
    assert "expiring for the paper's learner (+40.0)" in " ".join(change.answer(bent).split())
    answers = {line.claim.split()[3]: line.answer for line in change.summary(bent)}
    assert answers == {"weighted": "no", "expiring": "yes"}
    mixed = {key: one | {"accuracy": 0.9 if "/weighted/Newton" in key else 0.6} for key, one in results.items()}
    assert [line.answer for line in change.summary(mixed)] == ["partly", "no"]


def test_without_streams_that_change_there_is_no_verdict():
    assert Change(InOrder(("usps",)), TINY).summary({}) == []
    assert Change(InOrder(()), TINY).plan() == []


def test_summary_shows_every_line_and_counts_the_answers():
    class Told:
        title = "Table 9: something"

        def __init__(self, *answers):
            self.answers = answers

        def summary(self, results):
            return [SummaryLine(f"claim {i}", answer, f"{i} points") for i, answer in enumerate(self.answers)]

    found = Balanced(_summary([Told("yes", "no"), Told("partly", "yes"), Told()], {}).html())
    assert "Of 4 claims and questions: 2 yes, 1 partly, 1 no." in found.words
    assert found.words.count("Table 9") == 4
    assert found.ids == ["summary"]
