"""Estimators of scikit-learn and LightGBM against their own predictions."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import stepwell
from tests.support.components import needs

needs("sklearn")
needs("skl2onnx")
pytestmark = pytest.mark.slow

_RNG = np.random.default_rng(0)
FEATURES = _RNG.normal(size=(200, 5)).astype(np.float32)
LABELS = (FEATURES[:, 0] + FEATURES[:, 1] > 0).astype(np.int64)


def made(path: str, **options: Any) -> Any:
    """A new estimator of a class, by its module and name."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)(**options)


def pipeline() -> Any:
    steps = [made("sklearn.preprocessing.StandardScaler"), made("sklearn.linear_model.LogisticRegression")]
    return import_module("sklearn.pipeline").make_pipeline(*steps)


@pytest.mark.parametrize("name", ["trees", "pipeline", "lightgbm"])
def test_a_classifier_gives_its_labels_and_probabilities(name: str) -> None:
    if name == "lightgbm":
        needs("onnxmltools")
        needs("lightgbm")
        estimator = made("lightgbm.LGBMClassifier", n_estimators=5, verbose=-1)
    else:
        trees = "sklearn.ensemble.GradientBoostingClassifier"
        estimator = pipeline() if name == "pipeline" else made(trees, n_estimators=10)
    estimator.fit(FEATURES, LABELS)
    labels, probabilities = stepwell.compile(estimator)(FEATURES[:7])
    assert np.array_equal(np.asarray(labels), estimator.predict(FEATURES[:7]))
    assert np.allclose(np.asarray(probabilities), estimator.predict_proba(FEATURES[:7]), atol=1e-5)


def test_an_estimator_that_is_not_fitted() -> None:
    with pytest.raises(stepwell.StepwellError, match="LogisticRegression is not fitted") as caught:
        stepwell.compile(made("sklearn.linear_model.LogisticRegression"))
    assert caught.value.code == "bad-model"
