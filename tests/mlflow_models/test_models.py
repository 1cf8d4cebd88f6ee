"""Models as directories of MLflow: contents, signature, example, pyfunc; each prediction is that of the estimator."""

import json
import pickle
import sys

import numpy as np
import pytest
import scipy.sparse

import nolana
from nolana.errors import ColumnsError, ModelFileError, OptionError

pytestmark = pytest.mark.soak
mlflow = pytest.importorskip("mlflow")
pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
N = 600
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, N),
        "pay": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(size=N)),
        "job": RNG.choice(["cook", "nurse", "pilot"], N),
        "member": RNG.random(N) < 0.5,
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 10**7, N), "s"),
    }
)
LABELS = np.where((FRAME.age > 50) ^ (FRAME.job == "cook"), "yes", "no")


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """MLflow makes a store in the working directory."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def classifier():
    return nolana.StreamClassifier(memory="128KB", random_state=0).partial_fit(FRAME, LABELS)


@pytest.fixture
def saved(classifier, tmp_path):
    nolana.mlflow.save_model(classifier, tmp_path / "saved")
    return tmp_path / "saved"


def test_save_model_writes_the_model_file_and_no_pickle(classifier, saved, tmp_path):
    classifier.save(tmp_path / "own.nolana")
    assert (saved / "data" / "model.nolana").read_bytes() == (tmp_path / "own.nolana").read_bytes()
    names = {path.name for path in saved.rglob("*") if path.is_file()}
    texts = {"MLmodel", "conda.yaml", "python_env.yaml", "requirements.txt", "input_example.json"}
    assert names == texts | {"model.nolana", "serving_input_example.json"}
    assert f"nolana=={nolana.__version__}" in (saved / "requirements.txt").read_text().splitlines()


def test_load_unpickles_nothing(saved):
    unpickled = []

    def audit(event, arguments):
        if event == "pickle.find_class" and active:
            unpickled.append(arguments)

    active = True
    sys.addaudithook(audit)
    mlflow.pyfunc.load_model(str(saved)).predict(FRAME)
    nolana.mlflow.load_model(saved)
    assert unpickled == []
    pickle.loads(pickle.dumps(N * np.float64(1)))  # the hook works
    active = False
    assert unpickled != []


def test_loaded_model_continues_bit_for_bit(classifier, saved):
    loaded, own = nolana.mlflow.load_model(saved), nolana.mlflow.load_model(str(saved))
    assert np.array_equal(loaded.predict_proba(FRAME), classifier.predict_proba(FRAME))
    assert np.array_equal(loaded.learn(FRAME, LABELS), own.learn(FRAME, LABELS))


def test_signature_has_the_columns_of_the_model(saved):
    signature = mlflow.pyfunc.load_model(str(saved)).metadata.signature
    assert signature.inputs.input_names() == list(FRAME.columns)
    assert [param.name for param in signature.params.params] == ["predict_method"]
    flavor = mlflow.models.Model.load(str(saved)).flavors["nolana"]
    assert flavor["columns"][:3] == ["age: number", "pay: number", "job: category"]


def test_example_is_predicted_by_the_model(classifier, saved):
    model = mlflow.pyfunc.load_model(str(saved))
    assert list(model.input_example.columns) == list(FRAME.columns)
    assert model.predict(model.input_example).tolist() == classifier.predict(model.input_example).tolist()
    assert json.loads((saved / "serving_input_example.json").read_text())["dataframe_split"]["data"]


def variants():
    """Frames that the estimator takes, although some of their types are not those of the first one."""
    yield "same", FRAME
    yield "categories", FRAME.astype({"job": "category"})
    yield "missing", FRAME.assign(age=FRAME.age.where(FRAME.age > 40), job=FRAME.job.where(FRAME.age > 40))
    yield "missing booleans", FRAME.assign(member=[None, True] * (N // 2))
    yield "integers", FRAME.assign(pay=7)
    yield "dates as strings", FRAME.assign(day=FRAME.day.astype(str))
    yield "other order, one more", FRAME[FRAME.columns[::-1]].assign(more=1)


@pytest.mark.parametrize(("name", "frame"), [*variants()], ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_pyfunc_predicts_as_the_estimator(classifier, saved, name, frame, method):
    model = mlflow.pyfunc.load_model(str(saved))
    expected = getattr(classifier, method)(frame[FRAME.columns])
    assert np.array_equal(model.predict(frame, params={"predict_method": method}), expected), name


def test_pyfunc_refuses_what_the_estimator_refuses(saved):
    model = mlflow.pyfunc.load_model(str(saved))
    with pytest.raises(mlflow.MlflowException, match=r"missing inputs \['age'\]"):
        model.predict(FRAME.drop(columns="age"))
    with pytest.raises(ColumnsError, match="column 'age', row 0: 'old'"):
        model.predict(FRAME.assign(age="old"))
    with pytest.raises(OptionError, match="predict_method='fit' is not one of predict, predict_proba"):
        model.predict(FRAME, params={"predict_method": "fit"})


def test_regressor_has_no_probabilities(tmp_path):
    X = RNG.normal(size=(200, 3))
    model = nolana.StreamRegressor(memory="128KB").partial_fit(X, X[:, 0])
    nolana.mlflow.save_model(model, tmp_path / "saved")
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert np.array_equal(loaded.predict(pd.DataFrame(X)), model.predict(X))
    with pytest.raises(OptionError, match=r"'predict_proba' is not one of predict$"):
        loaded.predict(X, params={"predict_method": "predict_proba"})


@pytest.mark.parametrize("rows", ["named numbers", "objects", "sparse", "text", "landmark learner"])
def test_every_kind_of_rows_survives(tmp_path, rows):
    x = RNG.normal(size=(200, 3))
    y = (x[:, 0] > 0).astype(int)
    model = nolana.NolanaClassifier(n_landmarks=20) if rows == "landmark learner" else nolana.StreamClassifier()
    X = {
        "named numbers": lambda: pd.DataFrame(x, columns=list("abc")),
        "objects": lambda: np.column_stack([x.astype(object), np.where(x[:, 1] > 0, "a", "b").astype(object)]),
        "sparse": lambda: scipy.sparse.random(200, 5000, 0.01, format="csr", random_state=0),
        "text": lambda: pd.DataFrame({"words": np.where(x[:, 0] > 0, "good news", "bad luck"), "size": x[:, 1]}),
        "landmark learner": lambda: pd.DataFrame(x, columns=list("abc")),
    }[rows]()
    model.set_params(**({"text_features": ["words"]} if rows == "text" else {})).partial_fit(X, y)
    nolana.mlflow.save_model(model, tmp_path / "saved")
    assert np.array_equal(mlflow.pyfunc.load_model(str(tmp_path / "saved")).predict(X), model.predict(X))


def test_model_file_is_copied_with_its_run(classifier, tmp_path):
    from nolana.estimators.loading import load_with_extra

    classifier.save(tmp_path / "run.nolana", extra={"note": {"position": 7}})
    nolana.mlflow.save_model(tmp_path / "run.nolana", tmp_path / "saved")
    _, extra = load_with_extra(tmp_path / "saved" / "data" / "model.nolana")
    assert extra == {"note": {"position": 7}}


def test_what_is_no_model_is_refused(tmp_path):
    (tmp_path / "broken.nolana").write_bytes(b"no model")
    with pytest.raises(ModelFileError, match=r"broken\.nolana"):
        nolana.mlflow.save_model(tmp_path / "broken.nolana", tmp_path / "saved")
    with pytest.raises(TypeError, match="OnlineNystroem has no predict"):
        nolana.mlflow.save_model(nolana.OnlineNystroem().partial_fit(np.eye(3)), tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def test_load_model_refuses_another_flavour(tmp_path):
    class Constant(mlflow.pyfunc.PythonModel):
        def predict(self, context, model_input, params=None):
            return [1] * len(model_input)

    mlflow.pyfunc.save_model(str(tmp_path / "other"), python_model=Constant(), pip_requirements=[])
    with pytest.raises(ValueError, match="is no model of nolana: its flavours are python_function"):
        nolana.mlflow.load_model(tmp_path / "other")
