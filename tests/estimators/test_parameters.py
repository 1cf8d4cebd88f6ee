"""Parameters that make no sense, alone or together, and what the error says."""

import numpy as np
import pytest

from nolana import NolanaClassifier, NolanaRegressor, OnlineNystroem

X = np.random.default_rng(0).normal(size=(30, 2))
Y = (X[:, 0] > 0).astype(int)

ALONE = [
    {"n_landmarks": 0},
    {"n_landmarks": 2.5},
    {"n_landmarks": True},
    {"kernel": "gaussian"},
    {"gamma": "scale"},
    {"gamma": 0.0},
    {"gamma": -1.0},
    {"gamma": np.nan},
    {"degree": 0},
    {"coef0": -1.0},
    {"threshold": -1.0},
    {"threshold": "mean"},
    {"landmarks": "random"},
    {"initial_landmarks": np.zeros((3, 2))},
    {"novelty": 2.0},
    {"loss": "log"},
    {"optimizer": "adam"},
    {"solver": "svd"},
    {"refit": "keep"},
    {"regularization": -1.0},
    {"regularization": 0.0},
    {"move_noise": -1.0},
    {"ridge": -1.0},
    {"optimizer": "sgd", "schedule": "cosine"},
    {"optimizer": "sgd", "learning_rate": 0.0},
    {"optimizer": "sgd", "solver": "exact", "rank": 0},
    {"optimizer": "sgd", "solver": "exact", "rank": 1.5},
    {"power_iterations": 0},
]

TOGETHER = [
    ({"optimizer": "newton", "loss": "hinge"}, "loss", "optimizer"),
    ({"optimizer": "newton", "solver": "exact"}, "optimizer", "solver"),
    ({"optimizer": "newton", "solver": "rank2"}, "optimizer", "solver"),
    ({"optimizer": "newton", "learning_rate": 0.1}, "learning_rate", "optimizer"),
    ({"optimizer": "newton", "schedule": "sqrt"}, "schedule", "optimizer"),
    ({"optimizer": "newton", "refit": "paper"}, "refit", "optimizer"),
    ({"optimizer": "sgd", "solver": "inverse", "rank": 0.8}, "rank", "solver"),
    ({"optimizer": "sgd", "solver": "inverse", "refit": "none"}, "refit", "solver"),
    ({"optimizer": "sgd", "refit": "carry", "refit_penalty": 0.1}, "refit_penalty", "refit"),
    ({"ridge": 0.0}, "ridge", "solver"),
]


@pytest.mark.parametrize("parameters", ALONE, ids=str)
def test_alone(parameters):
    name = next(reversed(parameters))
    for verb in ("learn", "fit"):
        with pytest.raises(ValueError, match=name):
            getattr(NolanaClassifier(**parameters), verb)(X, Y)


@pytest.mark.parametrize(("parameters", "first", "second"), TOGETHER, ids=str)
def test_together_names_both_and_the_way_out(parameters, first, second):
    with pytest.raises(ValueError, match=f"{first}=.*{second}=.*use|{first}=.*{second}=.*leave"):
        NolanaClassifier(**parameters).learn(X, Y)


def test_a_fit_that_is_refused_keeps_the_model():
    model = NolanaClassifier(n_landmarks=5).fit(X, Y)
    before = model.decision_function(X)
    model.set_params(loss="hinge")
    with pytest.raises(ValueError, match="loss"):
        model.fit(X, Y)
    assert np.array_equal(model.decision_function(X), before)


def test_regressor_losses():
    with pytest.raises(
        ValueError, match="loss='hinge' is unknown; choose from 'epsilon_insensitive', 'huber', 'squared'"
    ):
        NolanaRegressor(loss="hinge").learn(X, X[:, 0])
    with pytest.raises(ValueError, match=r"epsilon_insensitive.*newton"):
        NolanaRegressor(loss="epsilon_insensitive").learn(X, X[:, 0])


def test_every_legal_combination_learns():
    tried = 0
    for solver in ("inverse", "exact", "rank2", "randomized"):
        for refit in ("carry", "paper", "none"):
            for loss in ("hinge", "squared_hinge", "logistic", "squared"):
                for optimizer in ("newton", "sgd"):
                    model = NolanaClassifier(
                        n_landmarks=6, solver=solver, refit=refit, loss=loss, optimizer=optimizer, threshold=0.0
                    )
                    newton_is_fine = solver == "inverse" and refit == "carry" and loss != "hinge"
                    legal = newton_is_fine if optimizer == "newton" else (solver, refit) != ("inverse", "none")
                    if legal:
                        assert np.isfinite(model.fit(X, Y).decision_function(X)).all()
                        tried += 1
                    else:
                        with pytest.raises(ValueError, match="cannot be combined with"):
                            model.fit(X, Y)
    assert tried == 3 + 4 * 11


def test_ranks():
    assert OnlineNystroem(n_landmarks=10, rank=0.8).fit(X).transform(X).shape[1] == 8
    assert OnlineNystroem(n_landmarks=10, rank=3, solver="randomized").fit(X).transform(X).shape[1] == 3
    assert OnlineNystroem(n_landmarks=10, rank=1.0).fit(X).transform(X).shape[1] == 10
