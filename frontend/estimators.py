"""Fitted estimators of scikit-learn, XGBoost and LightGBM, by their own converters to ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.importer import import_onnx
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.packages import needed

OPSET = 18
"""The opset of the models that converters write."""
_EXTRA = "'stepwell[sklearn]'"
_CONVERTERS: Mapping[str, str] = {"xgboost": "convert_xgboost", "lightgbm": "convert_lightgbm"}
"""The functions of onnxmltools, by the package of the estimator's class."""


def read_estimator(estimator: Any, ctx: StepwellContext) -> ModuleOp:
    """
    A fitted estimator, or a pipeline, as a module of level 0: features as rows of floats, any number of them.

    Classifiers give labels and probabilities, as arrays.
    Raises: StepwellError as `converted_estimator`.
    """
    return import_onnx(converted_estimator(estimator), ctx)


def converted_estimator(estimator: Any, *, raw_scores: bool = False) -> Any:
    """
    The ONNX model of a fitted estimator, or of a pipeline.

    Args: with `raw_scores`, a classifier returns the scores of its `decision_function` instead of
    probabilities.
    Raises: StepwellError `missing-package`; `bad-model` for an estimator that is not fitted; `unsupported`
    for a class that its converter does not know.
    """
    package, features = type(estimator).__module__.partition(".")[0], feature_count(estimator)
    try:
        if package in _CONVERTERS:
            return _boosted(estimator, features)
        return _sklearn(estimator, features, raw_scores)
    except StepwellError:
        raise
    except Exception as error:  # converters raise whatever they meet
        lines = str(error).strip().splitlines()[:3]
        message = f"{type(estimator).__name__} cannot be converted to ONNX: {type(error).__name__}"
        raise StepwellError("unsupported", None, message, note=lines) from error


def feature_count(estimator: Any) -> int:
    """The number of features. Raises: StepwellError `bad-model` for an estimator that is not fitted."""
    for name in ("n_features_in_", "num_features", "num_feature"):
        found = getattr(estimator, name, None)
        if found is not None:
            return int(cast(Any, found)() if callable(found) else found)
    message = f"{type(estimator).__name__} is not fitted: it does not know the number of its features"
    raise StepwellError("bad-model", None, message, help="call estimator.fit(features, targets) first")


def column_names(estimator: Any) -> Sequence[str]:
    """The names of all columns, an input each, if an estimator selects some by name; none for other ones."""
    first = estimator
    while steps := getattr(first, "steps", None):
        first = steps[0][1]
    parts = (part[2] for part in getattr(first, "transformers_", ()))
    columns = (column for part in parts for column in ([part] if isinstance(part, str) else part))
    by_name = any(isinstance(column, str) for column in columns)
    return list(map(str, estimator.feature_names_in_)) if by_name else []


def _sklearn(estimator: Any, features: int, raw_scores: bool) -> Any:
    """The ONNX model of an estimator of scikit-learn."""
    with needed("an estimator of scikit-learn", install=_EXTRA):
        skl2onnx: Any = import_module("skl2onnx")
        types: Any = import_module("skl2onnx.common.data_types")
    initial = [(name, types.FloatTensorType([None, 1])) for name in column_names(estimator)]
    initial = initial or [("X", types.FloatTensorType([None, features]))]
    options: dict[int, dict[str, bool]] = {}
    if hasattr(estimator, "predict_proba"):
        options[id(estimator)] = {"zipmap": False}  # probabilities as a tensor, not as dictionaries
    if raw_scores:
        steps = getattr(estimator, "steps", None)
        options.setdefault(id(steps[-1][1] if steps else estimator), {})["raw_scores"] = True
    return skl2onnx.convert_sklearn(
        estimator, initial_types=initial, options=options or None, target_opset=OPSET
    )


def _boosted(estimator: Any, features: int) -> Any:
    """The ONNX model of trees of XGBoost or LightGBM."""
    package = type(estimator).__module__.partition(".")[0]
    with needed(f"a model of {package}", install=_EXTRA):
        tools: Any = import_module("onnxmltools")
        types: Any = import_module("onnxmltools.convert.common.data_types")
    initial = [("X", types.FloatTensorType([None, features]))]
    convert = getattr(tools, _CONVERTERS[package])
    more = {"zipmap": False} if package == "lightgbm" else {}
    return convert(estimator, initial_types=initial, target_opset=15, **more)
