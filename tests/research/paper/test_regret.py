"""The best model in hindsight by other means, the terms of the regret by their identity, and the experiment."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from nolana import NolanaClassifier, OnlineNystroem
from nolana.research.paper.experiments import EXPERIMENTS
from nolana.research.paper.experiments.regret import Regret
from nolana.research.paper.experiments.regret.cells import ARMS, DECAY, MAIN, RATE, key_of, threshold_for
from nolana.research.paper.experiments.regret.descent import RIDGE, Image, Setting, descend, images, spectral_error
from nolana.research.paper.experiments.regret.findings import growth, growth_text
from nolana.research.paper.experiments.regret.hindsight import best_model
from nolana.research.paper.harness import Scale
from nolana.research.paper.maps import rbf

GAMMA, DECAYED, ETA = 0.3, 0.01, 0.4


@pytest.fixture(scope="module")
def stream():
    """Two classes that no line parts, some labels wrong, and places to start from."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0) * np.where(rng.random(160) < 0.1, -1, 1)
    return X[:150], y[:150], X[150:]


@pytest.fixture(scope="module")
def best(stream):
    X, y, _ = stream
    return best_model(rbf(X, X, GAMMA), y, DECAYED * len(y))


def setting(start, threshold, refit="carry"):
    return Setting(start, GAMMA, threshold, ETA, DECAYED, refit)


def test_best_model_meets_the_conditions_of_a_minimum(stream, best):
    """penalty a_t = y_t sigma(-y_t f_t) at every row, and no room between the model and its dual."""
    X, y, _ = stream
    f = rbf(X, X, GAMMA) @ best.coefficients
    assert np.allclose(DECAYED * len(y) * best.coefficients, y * expit(-y * f), atol=1e-7)
    assert abs(best.gap) < 1e-9 * best.objective


def test_best_model_is_what_another_solver_finds(stream, best):
    X, y, _ = stream
    half = np.linalg.cholesky(rbf(X, X, GAMMA) + 1e-10 * np.eye(len(y)))
    penalty = DECAYED * len(y)

    def cost(v):
        f = half @ v
        return np.logaddexp(0, -y * f).sum() + penalty / 2 * v @ v, half.T @ (-y * expit(-y * f)) + penalty * v

    other = minimize(cost, np.zeros(len(y)), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "gtol": 1e-9})
    assert best.objective == pytest.approx(other.fun, rel=1e-7)


def test_best_model_of_separable_rows_with_hardly_a_penalty():
    """Full Newton steps overshoot here; halved ones arrive."""
    X = np.array([[-3.0], [-1.0], [1.0], [3.0]])
    found = best_model(rbf(X, X, GAMMA), np.array([-1.0, -1.0, 1.0, 1.0]), 1e-5)
    assert abs(found.gap) < 1e-8 * found.objective


@pytest.mark.parametrize("refit", ["carry", "paper"])
@pytest.mark.parametrize("threshold", [math.inf, 1.0, 0.0])
def test_terms_add_up_to_the_regret(stream, best, threshold, refit):
    """start - end + steps + jumps - slack, with start and end measured and not summed up."""
    X, y, start = stream
    terms = descend(X, y, best, setting(start, threshold, refit))
    slack = terms.inner - (terms.cost - terms.image_cost)
    total = (terms.start - terms.end + terms.jumps) / (2 * ETA) + ETA / 2 * terms.squared_steps - slack
    assert terms.cost - terms.image_cost == pytest.approx(total, abs=1e-5)
    assert slack > 0
    assert terms.moves == {math.inf: 0, 0.0: len(X)}.get(threshold, terms.moves)
    assert (terms.jumps == 0) == (threshold == math.inf)
    assert 0 <= terms.loss < terms.cost


@pytest.mark.parametrize("threshold", [math.inf, 1.0])
def test_cost_is_that_of_the_classifier(stream, best, threshold):
    """The learner that is measured is the one that NolanaClassifier holds."""
    X, y, start = stream
    model = NolanaClassifier(
        scale=False,
        n_landmarks=len(start),
        gamma=GAMMA,
        threshold=threshold,
        initial_landmarks=start,
        optimizer="sgd",
        loss="logistic",
        learning_rate=ETA,
        regularization=DECAYED,
    )
    scores = model.learn(X, y)[:, 1]
    learner = setting(start, threshold).learner(1)
    f = learner.learn(X, y[:, None])[:, 0]
    known = np.isfinite(scores)  # both classes have been seen
    assert known[5:].all()
    assert np.array_equal(scores[known], f[known])
    found = descend(X, y, best, setting(start, threshold))
    assert found.loss == pytest.approx(np.logaddexp(0, -y * f).sum(), rel=1e-12)
    assert found.moves == model.n_moves_


def test_image_with_every_row_as_landmark_is_the_model(stream, best):
    """But for the ridge: K (K + delta)^-1 f."""
    X, _, _ = stream
    gram = rbf(X, X, GAMMA)
    image = Image(X, best.coefficients, {"landmarks": X, "gamma": GAMMA, "ridge": RIDGE})
    wanted = gram @ np.linalg.solve(gram + RIDGE * np.eye(len(X)), gram @ best.coefficients)
    assert np.allclose(image.kernel @ image.alpha, wanted, atol=1e-9)
    assert image.squared_norm == pytest.approx(best.squared_norm, rel=0.05)
    assert image.squared_distance(image.alpha) == 0


def test_segments_and_their_spectral_errors(stream):
    X, _, start = stream
    gram, guess, served = rbf(X, X, GAMMA), None, []
    for rows, image in images(X, setting(start, 2.0)):
        off = gram - image.kernel @ np.linalg.solve(image.matrix, image.kernel.T)
        found, guess = spectral_error(gram, image, guess)
        assert np.allclose(image.kernel, rbf(X, image.landmarks, GAMMA), atol=1e-12)  # kept current move by move
        assert found == pytest.approx(np.linalg.norm(off, 2), rel=1e-3)
        served.append(rows)
    moves = OnlineNystroem(n_landmarks=len(start), gamma=GAMMA, threshold=2.0, initial_landmarks=start, scale=False)
    moves = moves.partial_fit(X).n_moves_
    assert sum(served) == len(X)
    assert 1 < moves <= len(served) <= moves + 1


def test_threshold_for_a_number_of_moves(stream):
    X, _, start = stream
    for wanted in (0, 12, len(X)):
        found = threshold_for(X, start, GAMMA, wanted)
        map = OnlineNystroem(n_landmarks=len(start), gamma=GAMMA, threshold=found, initial_landmarks=start, scale=False)
        assert abs(map.partial_fit(X).n_moves_ - wanted) <= 1


def test_growth():
    sizes = [10, 20, 40]
    assert growth(sizes, [3 * math.sqrt(t) for t in sizes]) == pytest.approx(0.5)
    assert math.isnan(growth(sizes, [1.0, -1.0, 2.0]))


# The experiment.


@dataclass(frozen=True)
class Rings:
    """A ring around a heap."""

    def has(self, name):
        return name == "ijcnn1"

    def missing(self, name):
        return "" if self.has(name) else f"no {name} in this test"

    def load(self, name):
        rng = np.random.default_rng(7)
        X = rng.normal(size=(150, 22)) / math.sqrt(22)
        y = rng.choice([-1, 1], size=150)
        return X * np.where(y > 0, 3.0, 1.0)[:, None], y


@pytest.fixture(scope="module")
def run():
    experiment = Regret(Rings(), Scale("tiny", 150, 1, 60, 2))
    return experiment, {c.key: c.work(Rings(), {}, **c.arguments) for c in experiment.plan()}


def test_plan_leaves_rows_to_start_from(run):
    experiment, results = run
    assert EXPERIMENTS["regret"] is Regret
    assert experiment.sizes("ijcnn1") == [33, 67, 135]
    for rows in experiment.sizes("ijcnn1"):
        cell = results[key_of("ijcnn1", rows, 0)]
        assert cell["m"] == round(math.sqrt(rows))
        assert cell["eta"] == pytest.approx(RATE / math.sqrt(rows))
        assert abs(cell["arms"][MAIN]["moves"] - math.sqrt(rows)) < 2
        assert cell["arms"]["every row moves"]["moves"] == rows
        assert cell["arms"]["no moves"]["moves"] == 0


def test_terms_of_the_table_add_up(run):
    experiment, results = run
    for rows in experiment.sizes("ijcnn1"):
        terms = experiment.numbers(results).terms("ijcnn1", rows)
        parts = ("|w*|²/2η", "ηΣ|g|²/2", "J/2η", "cost of the map", "-|w-w*|²/2η", "-slack")
        assert terms["regret"] == pytest.approx(sum(terms[name] for name in parts), abs=1e-4)
        assert terms["ηΣ|g|²/2"] <= terms["ηL²T/2"]
        assert terms["J"] <= 2 * terms["τ(R+C)"]
        assert terms["cost of the map"] <= terms["Σ√(T_s/T)|K-K_s|₂/λ"]
        assert terms["|K-K_s|₂, mean"] <= DECAY * terms["Σ√(T_s/T)|K-K_s|₂/λ"]


def test_section_reads_the_numbers(run):
    experiment, results = run
    html = experiment.section(results).html()
    assert html.count("<table>") == html.count("</table>") == 2
    assert html.count("<svg") == 2
    assert "usps_halves: the data was not available. no usps_halves in this test" in html
    for arm in ARMS:
        assert arm.replace("'", "&#x27;") in html


def test_findings_for_regret_that_is_no_power(run):
    experiment, results = run
    key = key_of("ijcnn1", 67, 0)
    cell = results[key]
    arms = {arm: terms | {"cost": cell["objective"] - 1.0} for arm, terms in cell["arms"].items()}
    assert "no power of T" in growth_text(experiment.numbers(results | {key: cell | {"arms": arms}}))


@pytest.mark.parametrize(
    ("power", "words"), [(0.5, "no faster than √T"), (0.8, "but faster than √T"), (1.2, "does not hold")]
)
def test_findings_follow_the_growth(run, power, words):
    experiment, results = run
    bent = {}
    for rows in experiment.sizes("ijcnn1"):
        key = key_of("ijcnn1", rows, 0)
        cell = results[key]
        arms = {arm: terms | {"cost": cell["objective"] + rows**power} for arm, terms in cell["arms"].items()}
        bent[key] = cell | {"arms": arms}
    assert experiment.numbers(bent).exponent("ijcnn1", MAIN) == pytest.approx(power)
    assert words in growth_text(experiment.numbers(bent))


def test_lines(run):
    experiment, results = run
    lines = experiment.lines(results)
    assert len(lines) == 3 * len(ARMS)
    assert len({tuple(line) for line in lines}) == 1
    assert {"data", "rows", "draw", "arm", "m", "eta", "gap", "regret", "jumps", "moves", "spectral"} <= set(lines[0])
