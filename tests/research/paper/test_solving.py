"""Table 2, SVD time, stage two and the claims, on small made-up rows."""

from functools import cache

import numpy as np
import pytest

from nolana.research.paper.experiments.claims import Claims
from nolana.research.paper.experiments.moves import (
    FITTED,
    SCALINGS,
    STARTS,
    TABLE2,
    VARIANTS,
    best_factor,
    expected,
    misfit,
)
from nolana.research.paper.experiments.refit import REFITS, Refit, verdict
from nolana.research.paper.experiments.svd_time import SvdTime, exponent, timed
from nolana.research.paper.experiments.table2 import Table2
from nolana.research.paper.harness import FULL, answer_of
from nolana.research.paper.harness.variants import NEVER, OFTEN, SOLVERS, Pass, Variant
from paper_source import TINY, Balanced, MadeUp, in_order

SOURCE = MadeUp()
KNOWN = {}  # experiments share cells
M = 100


@cache
def ran(kind):
    """An experiment and its results."""
    experiment = kind(SOURCE, TINY)
    results = in_order(experiment.plan(), SOURCE, KNOWN)
    KNOWN.update(results)
    return experiment, results


def answered(experiment, results):
    """The section begins with its answer, and the summary has lines of it."""
    html = experiment.section(results).html()
    lines = experiment.summary(results)
    answers = {line.answer for line in lines}
    return html.index('<p class="answer">') < html.index("<p>") and answers and answers <= {"yes", "partly", "no"}


def test_moves_follow_the_threshold_the_scaling_and_the_start():
    table, results = ran(Table2)
    lines = [line for line in table.lines(results) if line["what"] == "moves"]
    assert len(lines) == len(TABLE2) * (len(SCALINGS) * len(STARTS) + len(FITTED))
    counts = {(s, start): [] for s in (*SCALINGS, *FITTED) for start in STARTS}
    for line in lines:
        counts[line["scaling"], line["start"]].append(line["moves"])
    for (_, start), moves in counts.items():
        if moves:
            assert moves[0] == 150 - (M if start == "the first rows" else 0)
            assert moves == sorted(moves, reverse=True)
    # Half the size is a quarter of the squared distance: [0, 1] at 25 is [-1, 1] at 100.
    for start in ("the first rows", "rows drawn at random"):
        assert counts["[0, 1]", start][1] == counts["as distributed, [-1, 1]", start][3]


def test_the_closest_scaling_is_used():
    table, results = ran(Table2)
    counts = [results[key] for key in results if key.startswith("moves/")]
    best = min(counts, key=lambda one: one["misfit"])
    assert misfit(expected(150), 150) == 0
    for title in VARIANTS:
        for place, threshold in enumerate(TABLE2):
            assert table.values(results, title, threshold, "moves") == [best["moves"][place]]
            assert 0.3 < table.values(results, title, threshold, "accuracy")[0] <= 1
    section = table.section(results)
    words = " ".join(" ".join(Balanced(section.html()).words).split())
    assert answered(table, results)
    assert f"uses the closest setting ({best['scaling']}" in words
    assert "they fall with the threshold for every scaling" in words
    assert "so few rows cannot reach the published accuracy" in words
    assert {"what", "threshold", "moves", "scaling", "start"} <= set(table.lines(results)[0])


def test_scalings_do_what_they_say():
    X = np.random.default_rng(0).uniform(-1, 1, (50, 7)) * np.arange(1, 8)
    X[:, 3] = 2.0
    assert np.allclose(SCALINGS["every feature standardised"](X).std(axis=0), [1, 1, 1, 0, 1, 1, 1])
    assert np.allclose(SCALINGS["every image standardised"](X).std(axis=1), 1)
    assert SCALINGS["one deviation for all, 1"](X).std() == pytest.approx(1)
    apply, low, high = FITTED["centred, all rows of one length"]
    assert np.allclose(np.linalg.norm(apply(X), axis=1), 1)
    assert low < high
    rows = STARTS["rows drawn at random"](X, 10, np.random.default_rng(0))
    assert all((row == X).all(axis=1).any() for row in rows)
    assert STARTS["normal noise like the rows"](X, 10, np.random.default_rng(0)).shape == (10, 7)


@pytest.mark.parametrize("best", [0.7, 1.3, 3.9])
def test_the_best_factor_is_found(best):
    assert best_factor(lambda factor: abs(np.log(factor / best)), 0.5, 4.0) == pytest.approx(best, rel=0.1)


def test_every_solver_makes_the_same_moves_and_none_without():
    svd, results = ran(SvdTime)
    moves = {solver: results[timed(solver).key]["moves"] for solver in SOLVERS}
    assert len(set(moves.values())) == 1
    assert moves["exact"] > 20
    assert all(results[timed(solver, NEVER).key]["moves"] == 0 for solver in SOLVERS)
    assert results[timed("inverse").key]["accuracy"] == results[timed("inverse in NumPy").key]["accuracy"]
    for line in svd.lines(results):
        assert line["seconds"] > 0
    ends = [line for line in svd.lines(results) if line["rows"] == 150]
    assert len(ends) == 2 * len(SOLVERS)
    for solver in SOLVERS:
        seconds = [point[2] for point in results[timed(solver).key]["history"]]
        assert seconds == sorted(seconds)
        assert svd.costs(results, solver)["microseconds_per_row"] == pytest.approx(1e6 * seconds[-1] / 150)
    assert all(cell.alone for cell in svd.plan() if cell.key.startswith("time/"))
    Balanced(svd.section(results).html())
    assert answered(svd, results)


def test_the_exponent_is_that_of_the_curve():
    for b in (1.0, 2.0):
        history = [[rows, 0.5, 3.0 + (rows - 100) ** b, 0] for rows in range(50, 1000, 50) if rows >= 100]
        assert exponent([[50, 0.5, 1.0, 0], *history], 100) == pytest.approx(b)
    assert np.isnan(exponent([[50, 0.5, 1.0, 0]], 100))


def test_stage_two_is_run_with_and_without():
    refit, results = ran(Refit)
    lines = refit.lines(results)
    assert len(lines) == 2 * 2 * len(REFITS)
    often = {line["moves"] for line in lines if line["threshold_share"] == OFTEN}
    seldom = {line["moves"] for line in lines if line["threshold_share"] != OFTEN}
    assert max(seldom) < min(often)
    assert all(0.2 < line["accuracy"] <= 1 for line in lines)
    found = Balanced(refit.section(results).html())
    assert found.ids == ["refit"]
    assert answered(refit, results)
    words = " ".join(" ".join(found.words).split())
    for share in ("moves often", "moves seldom"):
        assert f"Where the landmark set {share}, the paper's stage two" in words


def test_verdicts_follow_the_gains():
    assert verdict([0.4, 1.0]) == "helps"
    assert verdict([-0.4, -1.0]) == "harms"
    assert verdict([0.1, -0.2]) == "makes no clear difference"
    assert verdict([1.0, -1.0]) == "helps with one solver and harms with another"


def test_claims_are_answered_from_their_measures():
    claims, results = ran(Claims)
    findings = {claim.name: claim.finding(results) for claim in claims.claims}
    assert len(findings) == 6
    assert {one.answer for one in findings.values()} <= {"yes", "partly", "no"}
    budget = findings["budget"].measures
    m, d, r = M, 256, 80
    assert budget["numbers the paper's solver"] >= m * d + m * r + 2 * r + m
    assert budget["numbers the paper's solver"] < 1.05 * (m * d + m * r)
    assert budget["numbers Newton"] >= m * d + m * (m + 1)
    iterations = findings["iterations"].measures
    errors = [iterations[f"error randomized x{count}"] for count in (1, 2, 3, 4, 5)]
    assert 0 < min(errors) <= max(errors) < 0.5
    assert np.ptp(errors[2:]) < 0.1 * errors[-1]  # more iterations end where the subspace no longer turns
    # The exact solver has the best map of rank r for the landmarks that there are.
    assert iterations["landmark error exact x2"] <= min(
        iterations[f"landmark error randomized x{count}"] for count in (1, 2, 3, 4, 5)
    )
    agree = findings["solvers agree"]
    assert agree.answer == (
        "yes" if agree.measures["spread"] <= 0.5 else "partly" if agree.measures["spread"] <= 1.5 else "no"
    )
    assert {line["claim"] for line in claims.lines(results)} == set(findings)
    assert [line.answer for line in claims.summary(results)] == [one.answer for one in findings.values()]
    assert Balanced(claims.section(results).html()).ids == ["claims"]
    assert answered(claims, results)


def test_answers():
    assert [answer_of(yes=y, partly=p) for y, p in ((True, True), (False, True), (False, False))] == [
        "yes",
        "partly",
        "no",
    ]


@pytest.mark.parametrize("kind", [Table2, SvdTime, Refit, Claims])
def test_without_usps_nothing_is_run_and_the_section_says_why(kind):
    source = MadeUp(150, ("usps", "usps_halves", "webspam"))
    experiment = kind.on(source, FULL)
    assert experiment.plan() == []
    assert experiment.lines({}) == []
    assert "usps" in " ".join(Balanced(experiment.section({}).html()).words)


def test_a_variant_takes_only_the_parameters_it_has():
    everything = {"gamma": 0.5, "learning_rate": 0.1, "refit_penalty": 1e-3}
    for solver in SOLVERS:
        for refit in ("carry", "paper", "none") if solver in ("exact", "rank2", "randomized") else ("carry",):
            model = Variant(solver, refit, 20, "hinge", 1.0, iterations=3).build(everything, 0)
            model.partial_fit(np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2)
            assert model.gamma_ == 0.5
            assert model.refit_penalty == (1e-3 if refit == "paper" else None)
            assert model.power_iterations == 3


def test_passes_of_other_settings_have_other_names():
    one = Pass("usps", "randomized")
    others = [
        Pass("usps", "exact"),
        Pass("usps", "randomized", "paper"),
        Pass("usps", "randomized", share=NEVER),
        Pass("usps", "randomized", shuffle=1),
        Pass("usps", "randomized", iterations=3),
        Pass("usps", "randomized", timed=True),
        Pass("usps", "randomized", most_rows=50),
    ]
    assert len({each.key for each in (one, *others)}) == len(others) + 1
