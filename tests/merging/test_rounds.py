"""Rounds, here and in worker processes."""

import copy
import random
import signal

import numpy as np
import pytest

import nolana
from commands import call, kill_after
from conftest import effort
from nolana import modelfile
from nolana.estimators.rounds import PARTS, ROWS_PER_ROUND, RoundLearner, leader_rows, learn_here, rows_of_parts
from nolana.runs import Recipe, Scoring, SourceOptions, Stop, start
from nolana.runs.workers import Workers, parts_for

ROWS = 2 * ROWS_PER_ROUND + 5_000


def data(n=12_000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.array(["no", "yes"])[(X[:, 0] * X[:, 1] > 0).astype(int)]


def test_each_row_is_learned_by_one_part():
    rows = rows_of_parts(100, 5000, PARTS)
    assert np.array_equal(np.sort(np.concatenate(rows)), np.arange(100, 5000))
    assert max(map(len, rows)) - min(map(len, rows)) <= 64


def test_the_leader_learns_until_its_maps_are_settled():
    model = nolana.StreamClassifier(random_state=0)
    assert leader_rows(model, 20_000) == 2048
    X, y = data()
    model.learn(X[:1000], y[:1000])
    assert leader_rows(model, 20_000) == 1048
    model.learn(X[1000:3000], y[1000:3000])
    assert leader_rows(model, 20_000) == 400
    assert leader_rows(nolana.NolanaClassifier(n_landmarks=1000), 20_000) == 4000
    assert leader_rows(nolana.StreamClassifier(), 30) == 30


def test_scores_are_those_of_the_parts_in_the_order_of_the_rows():
    X, y = data(6000)
    learner, leader = (
        RoundLearner(nolana.StreamClassifier(random_state=0), parts=3),
        nolana.StreamClassifier(random_state=0),
    )
    scores = learner.learn(X, y)
    assert np.array_equal(scores[:2048], leader.learn(X[:2048], y[:2048]), equal_nan=True)
    for part, rows in zip(leader.split(3), rows_of_parts(2048, 6000, 3), strict=True):
        assert np.array_equal(part.learn(X[rows], y[rows]), scores[rows])
    assert learner.n_rows_ == 6000
    predicted = learner.classes_[scores[3000:].argmax(axis=1)]
    assert (predicted == y[3000:]).mean() > 0.93


def test_probabilities_and_new_classes():
    X, y = data(7000)
    y = np.where(np.abs(X[:, 2]) > 2, "rare", y)
    y[:3000][y[:3000] == "rare"] = "no"
    learner = RoundLearner(nolana.NolanaClassifier(n_landmarks=30), parts=4)
    scores, probabilities = learner.learn_proba(X, y)
    assert scores.shape == probabilities.shape == (7000, 3)
    assert np.isneginf(scores[:2048, learner.classes_.tolist().index("rare")]).all()
    assert np.allclose(probabilities[1:].sum(axis=1), 1)


def test_a_round_that_fails_changes_nothing():
    X, y = data(6000)
    model = nolana.StreamClassifier(random_state=0)
    learner = RoundLearner(model)
    learner.learn(X, y)
    before = model._learner.state()
    X[4000, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        learner.learn(X, y)
    assert all(np.array_equal(value, model._learner.state()[name]) for name, value in before.items())
    with pytest.raises(ValueError, match="can be merged"):
        RoundLearner(nolana.NolanaClassifier(optimizer="sgd"))


def test_rounds_score_close_to_one_process():
    """8 parts on 24,000 rows in rounds of 8,000; `benchmarks/merging.py` measures covtype."""
    X, y = data(26_000)
    one, learner = nolana.StreamClassifier(random_state=0), RoundLearner(nolana.StreamClassifier(random_state=0))
    one.learn(X[:24_000], y[:24_000])
    for first in range(0, 24_000, 8000):
        learner.learn(X[first : first + 8000], y[first : first + 8000])
    assert learner.score(X[24_000:], y[24_000:]) > one.score(X[24_000:], y[24_000:]) - 0.01


def test_workers_learn_what_one_process_learns():
    X, y = data(5000)
    model = nolana.NolanaClassifier(n_landmarks=20)
    model.learn(X[:2000], y[:2000])
    tasks = [(part, "learn", (X[2000 + i :: 5], y[2000 + i :: 5])) for i, part in enumerate(model.split(5))]
    here = learn_here(copy.deepcopy(tasks))
    with Workers(2) as workers:
        there = workers.learn_all(tasks)
        with pytest.raises(ValueError, match="NaN"):
            workers.learn_all([(model.split(1)[0], "learn", (np.full((1, 3), np.nan), y[:1]))])
        for (_, scores), (_, expected) in zip(there, here, strict=True):
            assert np.array_equal(scores, expected)
        for process in workers._processes:
            process.kill()
            process.wait()
        with pytest.raises(ChildProcessError, match="worker process ended"):
            workers.learn_all(tasks)
    first, second = (nolana.merge([part for part, _ in done], base=model) for done in (here, there))
    assert np.array_equal(first.decision_function(X), second.decision_function(X))
    assert parts_for(1) == parts_for(8) == 8
    assert parts_for(9) == 16


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    X, y = data(ROWS)
    path = tmp_path_factory.mktemp("rounds") / "rows.csv"
    lines = (",".join(f"{value:.3f}" for value in row) + f",{label}" for row, label in zip(X.tolist(), y, strict=True))
    path.write_text("a,b,c,kind\n" + "\n".join(lines) + "\n")
    return path


METHOD = ("--method", "nolana", "--landmarks", "20", "--target", "kind", "--metrics", "accuracy,log_loss")


def words(source, model, workers):
    return ("learn", source, "--model", model, *METHOD, "--checkpoint-every", ROWS_PER_ROUND, "--workers", workers)


@pytest.fixture(scope="module")
def undisturbed(source):
    model = source.parent / "undisturbed"
    done = call(*words(source, model, 1), folder=source.parent)
    assert done.code == 0, done
    return model.read_bytes()


def test_any_number_of_workers_ends_in_the_same_bytes(source, undisturbed, tmp_path):
    done = call(*words(source, tmp_path / "model", 3), folder=tmp_path)
    assert done.code == 0, done
    assert (tmp_path / "model").read_bytes() == undisturbed
    saved = modelfile.read(tmp_path / "model")["run"]
    assert saved["finished"]
    assert saved["evaluation"]["rows"] == ROWS
    assert nolana.load(tmp_path / "model").n_rows_ == ROWS


def disturbed(source, folder, kills, seed):
    """The model after so many kills -9 between two checkpoints."""
    chance, model, inside = random.Random(seed), folder / "model", 0
    while inside < kills:
        workers = chance.randrange(1, 4)
        killed = kill_after(
            chance.randrange(2), chance.uniform(0, 0.5), model, *words(source, model, workers), folder=folder
        )
        assert killed.code in (0, -signal.SIGKILL), killed
        inside += killed.code != 0
        if inside < kills and model.exists() and modelfile.read(model)["run"]["finished"]:
            model.unlink()  # another run from the start
    assert call(*words(source, model, 2), folder=folder).code == 0
    return model.read_bytes()


def test_a_killed_run_ends_in_the_same_bytes(source, undisturbed, tmp_path):
    assert disturbed(source, tmp_path, 1, seed=0) == undisturbed


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2))
def test_run_killed_many_times_ends_in_the_same_bytes(source, undisturbed, tmp_path, seed):
    assert disturbed(source, tmp_path, effort(thorough=3, endurance=10), seed) == undisturbed


def test_workers_with_unsupported_method_or_source_is_an_error(source, tmp_path):
    sgd = call(
        "learn",
        source,
        "--model",
        tmp_path / "m",
        "--target",
        "kind",
        "--method",
        "FOGD",
        "--workers",
        2,
        folder=tmp_path,
    )
    assert sgd.code == 2
    assert "--workers" in sgd.err
    assert "can be merged" in sgd.err
    assert not (tmp_path / "m").exists()


def test_a_stop_within_a_round_leaves_the_round_for_the_next_run(source, tmp_path):
    recipe = Recipe(method="nolana", parameters={"n_landmarks": 20})
    for rows, complete in ((0, 3), (ROWS_PER_ROUND, 25)):  # blocks until the stop; a round has 20
        run = start(str(source), SourceOptions(target="kind"), recipe, Scoring())
        with Workers(1) as workers, Stop() as stop:
            run.learn_in_rounds(workers)
            _stop_after(run, stop, complete)
            run.process(stop=stop)
        assert run.rows == rows
        assert not run.finished
        assert run.can_be_saved == (rows > 0)
        if rows:
            run.save(tmp_path / "model")
            assert modelfile.read(tmp_path / "model")["run"]["stream"]["position"]["rows"] == rows


def _stop_after(run, stop, blocks):
    read, count = run._next_block, iter(range(blocks))

    def next_block(*arguments):
        if next(count, None) is None:
            stop.request()
        return read(*arguments)

    run._next_block = next_block
