"""Wrapped estimators whose converter is replaced: the outputs that methods return, and in which form."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.sklearn import wrap
from tests.onnx_models import onnx_model

CLASSIFIER = """
g (float[N, 2] X) => (int64[N] label, float[N, 2] probabilities) {
  label = ArgMax<axis = 1, keepdims = 0>(X)
  probabilities = Softmax(X)
}
"""
SCORES = CLASSIFIER.replace("Softmax", "Neg")
SCALER = "g (float[N, 2] X) => (float[N, 2] variable) { variable = Tanh(X) }"
REGRESSOR = "g (float[N, 2] X) => (float[N, 1] variable) { variable = ReduceMax<axes = [1]>(X) }"
LABELS = "g (float[N, 2] X) => (int64[N, 2] label) { label = Cast<to = 7>(X) }"
ROWS = np.array([[1, 2], [4, 3], [0, 5]], np.float64)


class Classifier:
    """What scikit-learn's classifiers have, as far as it is asked for."""

    n_features_in_ = 2
    classes_ = np.array([0, 1], np.int32)

    def predict(self, X: Any) -> Any:
        raise AssertionError

    predict_proba = decision_function = predict

    def score(self, X: Any, y: Any) -> float:
        return float(np.mean(self.predict(X) == y))

    def fit(self, X: Any, y: Any, weight: float = 1.0) -> None:
        self.coef_ = weight


class Several(Classifier):
    """Labels of two outputs for each row."""

    classes_ = [np.array([0, 1], np.int32), np.array([0, 1, 2], np.int16)]  # type: ignore[assignment]


class Steps(Classifier):
    """A pipeline, whose score is that of its last step."""

    steps = (("scaled", object()), ("last", Classifier()))

    def score(self, X: Any, y: Any) -> float:
        raise AssertionError


class Named(Classifier):
    feature_names_in_ = np.array(["a", "b"])


class Frame:
    """Columns under names."""

    def __init__(self, **columns: Any):
        self.columns, self._values = list(columns), columns

    def __getitem__(self, names: list[str]) -> Any:
        return np.stack([self._values[name] for name in names], 1)


class Scaler:
    n_features_in_ = 2

    def transform(self, X: Any) -> Any:
        raise AssertionError


class Regressor:
    n_features_in_ = 2

    def predict(self, X: Any) -> Any:
        raise AssertionError


@pytest.fixture
def conversions(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each conversion, whether raw scores were asked for."""
    asked: list[bool] = []
    texts: dict[type[object], str] = {Scaler: SCALER, Regressor: REGRESSOR, Several: LABELS}

    def convert(estimator: object, *, raw_scores: bool = False) -> object:
        asked.append(raw_scores)
        return onnx_model(texts.get(type(estimator), SCORES if raw_scores else CLASSIFIER), opset=13)

    monkeypatch.setattr("stepwell.tools.frameworks.estimator.converted_estimator", convert)
    return asked


def test_a_classifier_is_compiled_at_the_first_call(conversions: list[bool]) -> None:
    fast = wrap(Classifier(), opt_level=0)
    assert not conversions
    assert fast.predict(ROWS).tolist() == [1, 0, 1] and fast.predict(ROWS).dtype == np.int32
    weights = np.exp(ROWS)
    wanted = weights / weights.sum(1, keepdims=True)
    np.testing.assert_allclose(np.asarray(fast.predict_proba(ROWS), np.float32), wanted, rtol=1e-5)
    assert fast.decision_function(ROWS).tolist() == [-2, -3, -5]
    assert fast.score(ROWS, [1, 1, 1]) == pytest.approx(2 / 3)
    assert conversions == [False, True]
    fast.fit(ROWS, [0, 1, 1], weight=3.0)
    assert (
        fast.coef_ == 3.0 and fast.predict(ROWS[:1]).tolist() == [1] and conversions == [False, True, False]
    )


def test_other_estimators_have_their_own_methods(conversions: list[bool]) -> None:
    scaler, regressor = wrap(Scaler()), wrap(Regressor())
    np.testing.assert_allclose(np.asarray(scaler.transform(ROWS), np.float32), np.tanh(ROWS), rtol=1e-5)
    assert regressor.predict(ROWS).tolist() == [2, 4, 5]
    for estimator, lacking in ((scaler, "predict"), (regressor, "transform"), (regressor, "predict_proba")):
        with pytest.raises(AttributeError, match=f"has no '{lacking}'"):
            getattr(estimator, lacking)
    for name in ("coefficients", "_private_", "coef_"):
        assert not hasattr(regressor, name)


def test_a_copy_is_made_of_parameters(conversions: list[bool]) -> None:
    fast = wrap(Regressor(), opt_level=0)
    assert fast.get_params() == {"estimator": fast.estimator, "opt_level": 0}
    assert type(fast)(**fast.get_params()).predict(ROWS).tolist() == [2, 4, 5]
    fast.set_params(opt_level=1)
    assert fast.options == {"opt_level": 1}
    assert pickle.loads(pickle.dumps(fast)).predict(ROWS).tolist() == [2, 4, 5]


def test_labels_and_scores_are_those_of_the_estimators_kind(conversions: list[bool]) -> None:
    assert wrap(Steps()).score(ROWS, [1, 1, 1]) == pytest.approx(2 / 3)
    found = wrap(Several()).predict(ROWS)
    assert found.dtype == np.int32 and found.tolist() == [[1, 2], [4, 3], [0, 5]]


def test_columns_of_a_frame_are_found_by_name(conversions: list[bool]) -> None:
    fast = wrap(Named())
    a, b = ROWS.T
    assert fast.predict(Frame(b=b, a=a)).tolist() == fast.predict(ROWS).tolist() == [1, 0, 1]
    for frame, code in (
        (Frame(a=a), "missing-input"),
        (Frame(a=a, b=b, c=a), "extra-input"),
        (Frame(a=a, b=["x", "y", "z"]), "type-mismatch"),
    ):
        with pytest.raises(stepwell.StepwellError) as caught:
            fast.predict(frame)
        assert caught.value.code == code


def test_parameters_without_a_meaning_are_refused(conversions: list[bool]) -> None:
    fast = wrap(Regressor(), opt_level=0)
    for wrong in ({"nothing": 1}, {"estimator__depth": 1}):
        with pytest.raises(stepwell.StepwellError) as caught:
            fast.set_params(**wrong)
        assert caught.value.code == "bad-option" and fast.options == {"opt_level": 0}
    assert fast.__sklearn_is_fitted__() and not type(fast)(object()).__sklearn_is_fitted__()


def test_what_cannot_be_wrapped() -> None:
    for estimator, message in ((object(), "object is not fitted"), (Unfit(), "Unfit has neither `predict`")):
        with pytest.raises(stepwell.StepwellError, match=message) as caught:
            wrap(estimator)
        assert caught.value.code == "bad-model"
    with pytest.raises(stepwell.StepwellError) as caught:
        wrap(Regressor(), nothing=1)  # pyright: ignore[reportCallIssue]
    assert caught.value.code == "bad-option"


class Unfit:
    n_features_in_ = 2
