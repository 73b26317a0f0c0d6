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


def fitted(path: str, **options: Any) -> Any:
    return made(path, **options).fit(FEATURES, LABELS)


@pytest.mark.parametrize(
    "path",
    ["ensemble.GradientBoostingClassifier", "linear_model.LogisticRegression", "svm.LinearSVC", "svm.SVC"],
)
def test_a_wrapped_classifier_has_the_methods_of_its_own(path: str) -> None:
    from stepwell.sklearn import wrap

    estimator = fitted(f"sklearn.{path}")
    fast, rows = wrap(estimator), FEATURES[:50].astype(np.float64)
    assert fast.predict(rows).dtype == estimator.predict(rows).dtype
    assert np.array_equal(fast.predict(rows), estimator.predict(rows))
    assert fast.score(rows, LABELS[:50]) == estimator.score(rows, LABELS[:50])
    assert hasattr(fast, "predict_proba") == hasattr(estimator, "predict_proba")
    if hasattr(estimator, "predict_proba"):
        assert np.allclose(fast.predict_proba(rows), estimator.predict_proba(rows), atol=1e-5)
    found = fast.decision_function(rows)
    assert found.shape == (50,) and np.allclose(
        found, estimator.decision_function(rows), rtol=1e-4, atol=1e-4
    )
    assert fast.n_features_in_ == 5 and np.array_equal(fast.classes_, [0, 1])
    assert not hasattr(fast, "transform") and not hasattr(fast, "nothing")


def test_labels_that_are_text_and_scores_of_three_classes() -> None:
    from stepwell.sklearn import wrap

    names = np.array(["one", "two", "three"])[LABELS + (FEATURES[:, 2] > 0)]
    estimator = made("sklearn.linear_model.LogisticRegression").fit(FEATURES, names)
    fast = wrap(estimator)
    assert np.array_equal(fast.predict(FEATURES[:20]), estimator.predict(FEATURES[:20]))
    scores = fast.decision_function(FEATURES[:20])
    assert np.allclose(scores, estimator.decision_function(FEATURES[:20]), rtol=1e-4, atol=1e-5)


def test_wrapped_regressors_and_transformers() -> None:
    from stepwell.sklearn import wrap

    one, two = FEATURES[:, 0] * 2, FEATURES[:, :2] * 3
    for targets in (one, two):
        estimator = made("sklearn.linear_model.LinearRegression").fit(FEATURES, targets)
        found, wanted = wrap(estimator).predict(FEATURES[:9]), estimator.predict(FEATURES[:9])
        assert found.shape == wanted.shape and np.allclose(found, wanted, atol=1e-4)
    scaler = fitted("sklearn.preprocessing.StandardScaler")
    assert np.allclose(wrap(scaler).transform(FEATURES), scaler.transform(FEATURES), atol=1e-5)
    assert not hasattr(wrap(scaler), "predict")
    clusters = fitted("sklearn.cluster.KMeans", n_clusters=3, n_init=1, random_state=0)
    assert np.array_equal(wrap(clusters).predict(FEATURES), clusters.predict(FEATURES))
    assert np.allclose(wrap(clusters).transform(FEATURES), clusters.transform(FEATURES), atol=1e-4)


def test_wrapped_estimators_are_steps_of_a_pipeline() -> None:
    from stepwell.sklearn import wrap

    pipelines: Any = import_module("sklearn.pipeline")
    scaler = fitted("sklearn.preprocessing.StandardScaler")
    scaled = scaler.transform(FEATURES)
    classifier = made("sklearn.linear_model.LogisticRegression").fit(scaled, LABELS)
    whole = pipelines.make_pipeline(wrap(scaler), wrap(classifier))
    plain = pipelines.make_pipeline(scaler, classifier)
    assert np.array_equal(whole.predict(FEATURES), plain.predict(FEATURES))
    assert np.allclose(whole.predict_proba(FEATURES), plain.predict_proba(FEATURES), atol=1e-5)
    assert whole.score(FEATURES, LABELS) == plain.score(FEATURES, LABELS)
    before = whole.predict_proba(FEATURES)
    whole.fit(FEATURES[:50], 1 - LABELS[:50])
    assert not np.allclose(whole.predict_proba(FEATURES), before)


def test_the_score_of_a_pipeline_and_of_a_search_is_that_of_compiled_predictions() -> None:
    from stepwell.sklearn import wrap

    search = import_module("sklearn.model_selection").GridSearchCV(
        made("sklearn.linear_model.LogisticRegression"), {"C": [0.1, 1.0]}, scoring="balanced_accuracy", cv=2
    )
    for estimator in (pipeline(), search):
        estimator.fit(FEATURES, LABELS)
        fast = wrap(estimator)
        assert fast.score(FEATURES, LABELS) == estimator.score(FEATURES, LABELS)
        fast.estimator.predict = None  # the estimator's own is not called
        assert fast.score(FEATURES, 1 - LABELS) < 0.3


@pytest.mark.parametrize(
    "path",
    ["tree.DecisionTreeClassifier", "neighbors.KNeighborsClassifier", "ensemble.RandomForestClassifier"],
)
def test_labels_of_several_outputs(path: str) -> None:
    from stepwell.sklearn import wrap

    both = np.stack([LABELS, (FEATURES[:, 2] > 0).astype(np.int64)], 1)
    estimator = made(f"sklearn.{path}").fit(FEATURES, both)
    rows = FEATURES[:9]
    found, wanted = wrap(estimator).predict(rows), estimator.predict(rows)
    assert found.shape == wanted.shape == (9, 2) and np.array_equal(found, wanted)


def test_targets_of_one_column() -> None:
    from stepwell.sklearn import wrap

    estimator = made("sklearn.linear_model.LinearRegression").fit(FEATURES, FEATURES[:, :1] * 2)
    assert wrap(estimator).predict(FEATURES[:4]).shape == estimator.predict(FEATURES[:4]).shape == (4, 1)


def test_columns_of_a_frame_are_found_by_name() -> None:
    from stepwell.sklearn import wrap

    needs("pandas")
    pandas: Any = import_module("pandas")
    frame = pandas.DataFrame(FEATURES, columns=list("abcde"))
    for estimator in (made("sklearn.linear_model.LogisticRegression"), by_column_names()):
        estimator.fit(frame, LABELS)
        fast = wrap(estimator)
        assert np.array_equal(fast.predict(frame[list("ecabd")]), estimator.predict(frame))
        with pytest.raises(stepwell.StepwellError, match="the frame has no column 'c'") as caught:
            fast.predict(frame.drop(columns=["c"]))
        assert caught.value.code == "missing-input"
        with pytest.raises(stepwell.StepwellError, match="without a column 'f'") as caught:
            fast.predict(frame.assign(f=1))
        assert caught.value.code == "extra-input"
        with pytest.raises(stepwell.StepwellError, match="features are numbers") as caught:
            fast.predict(frame.assign(a="text"))
        assert caught.value.code == "type-mismatch"


def by_column_names() -> Any:
    """A pipeline that scales two columns of five and drops one."""
    scaler = made("sklearn.preprocessing.StandardScaler")
    parts = [("scaled", scaler, ["a", "d"]), ("kept", "passthrough", ["b", "e"])]
    columns = made("sklearn.compose.ColumnTransformer", transformers=parts)
    return import_module("sklearn.pipeline").make_pipeline(
        columns, made("sklearn.linear_model.LogisticRegression")
    )


def test_wrapped_estimators_are_copied_and_changed_by_parameters() -> None:
    from stepwell.sklearn import wrap

    base: Any = import_module("sklearn.base")
    is_fitted: Any = import_module("sklearn.utils.validation").check_is_fitted
    fast = wrap(fitted("sklearn.linear_model.LogisticRegression"), opt_level=1)
    is_fitted(fast)
    copied = base.clone(fast)
    assert copied.options == {"opt_level": 1}
    with pytest.raises(Exception, match="not fitted"):
        is_fitted(copied)
    assert np.array_equal(copied.fit(FEATURES, LABELS).predict(FEATURES), fast.predict(FEATURES))
    assert fast.set_params(estimator__C=0.5, opt_level=2).get_params()["estimator__C"] == 0.5
    for wrong in ({"nothing": 1}, {"estimator__nothing": 1}):
        with pytest.raises(stepwell.StepwellError) as caught:
            fast.set_params(**wrong)
        assert caught.value.code == "bad-option" and fast.options == {"opt_level": 2}


def test_what_cannot_be_wrapped() -> None:
    from stepwell.sklearn import wrap

    with pytest.raises(stepwell.StepwellError, match="LogisticRegression is not fitted") as caught:
        wrap(made("sklearn.linear_model.LogisticRegression"))
    assert caught.value.code == "bad-model"
    with pytest.raises(stepwell.StepwellError, match="DBSCAN has neither `predict` nor `transform`"):
        wrap(fitted("sklearn.cluster.DBSCAN"))
    with pytest.raises(stepwell.StepwellError) as caught:
        wrap(fitted("sklearn.linear_model.LogisticRegression"), **{"nothing": 1})  # pyright: ignore
    assert caught.value.code == "bad-option"


def test_the_page_of_docs_runs(tmp_path: Any) -> None:
    from tests.frontends.functions.pages import run_page

    run_page("jax.md", tmp_path, least=2, what="scikit-learn")
