"""Fitted estimators of scikit-learn, and of libraries with its interface, whose predictions are compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar, Unpack, cast, overload

import numpy as np

from stepwell.frontend.estimators import converted_estimator, feature_count
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.runtime.model import CompiledModel
from stepwell.tools.driver.compile import compile as compile_model
from stepwell.tools.driver.options import CompileKeywords, options_with

ResultT = TypeVar("ResultT")


def wrap(estimator: Any, **options: Unpack[CompileKeywords]) -> CompiledEstimator:
    """
    A fitted estimator whose methods for predictions are compiled code, and which is a step of pipelines.

    Args: `options` are those of `stepwell.compile`.
    Raises: StepwellError `bad-model` for an estimator that is not fitted, or predicts and transforms nothing;
    `bad-option`; when a method is called first, `missing-package`, `unsupported`.
    """
    feature_count(estimator)
    if not any(hasattr(estimator, name) for name in ("predict", "transform")):
        message = f"{type(estimator).__name__} has neither `predict` nor `transform`"
        help = "stepwell.compile takes models such as xgboost.Booster"
        raise StepwellError("bad-model", None, message, help=help)
    options_with(None, options, ("estimator",))
    return CompiledEstimator(estimator, **options)


class _OfEstimators(Generic[ResultT]):
    """A method of the estimator's own name, absent where the estimator lacks it."""

    def __init__(self, method: Callable[..., ResultT]):
        self._method, self.__doc__ = method, method.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> _OfEstimators[ResultT]: ...
    @overload
    def __get__(self, instance: CompiledEstimator, owner: type) -> Callable[..., ResultT]: ...
    def __get__(
        self, instance: CompiledEstimator | None, owner: type
    ) -> Callable[..., ResultT] | _OfEstimators[ResultT]:
        if instance is None:
            return self
        name = self._method.__name__
        if not hasattr(instance.estimator, name):
            raise AttributeError(f"{type(instance.estimator).__name__} has no {name!r}")
        return cast("Callable[..., ResultT]", self._method.__get__(instance, owner))


class CompiledEstimator:
    """
    An estimator with compiled predictions; it has the methods and fitted attributes of the estimator.

    Features are f32 when they are compared and added, as the converters to ONNX have it.
    """

    def __init__(self, estimator: Any, **options: Any):
        """Args: `estimator` is fitted, or will be by `fit`; `options` are those of `stepwell.compile`."""
        self.estimator, self.options = estimator, options
        self._models: dict[bool, CompiledModel] = {}

    def model(self, *, raw_scores: bool = False) -> CompiledModel:
        """The compiled model, made on first use: of classifiers for probabilities or raw scores."""
        if (found := self._models.get(raw_scores)) is None:
            converted = converted_estimator(self.estimator, raw_scores=raw_scores)
            found = self._models[raw_scores] = compile_model(converted, None, **self.options)
        return found

    @_OfEstimators
    def predict(self, X: Any) -> Array:
        """The label or the value of each row."""
        first = self._outputs(X)[0]
        if hasattr(self.estimator, "classes_"):
            return first.astype(np.asarray(self.estimator.classes_).dtype).reshape(-1)
        return first.reshape(-1) if first.ndim == 2 and first.shape[1] == 1 else first

    @_OfEstimators
    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, by row."""
        return self._outputs(X)[1]

    @_OfEstimators
    def decision_function(self, X: Any) -> Array:
        """The score of each class by row; of two classes the score of the second."""
        classes = np.asarray(getattr(self.estimator, "classes_", ())).tolist()
        scores = _by_class(self._outputs(X, raw_scores=True)[-1], classes)
        is_binary = len(classes) == 2
        return scores[:, -1] if scores.ndim == 2 and (is_binary or scores.shape[1] == 1) else scores

    @_OfEstimators
    def transform(self, X: Any) -> Array:
        """The transformed rows."""
        return self._outputs(X)[-1]

    @_OfEstimators
    def score(self, X: Any, y: Any, **keywords: Any) -> float:
        """The estimator's own measure of predictions, of compiled ones."""
        return float(cast(Any, type(self.estimator)).score(self, X, y, **keywords))

    def fit(self, X: Any, y: Any = None, **keywords: Any) -> CompiledEstimator:
        """Fit the estimator anew; the next prediction compiles it."""
        self.estimator.fit(X, y, **keywords)
        self._models.clear()
        return self

    def get_params(self, deep: bool = True) -> Mapping[str, Any]:
        """The arguments of a copy, as scikit-learn asks for them."""
        return {"estimator": self.estimator, **self.options}

    def set_params(self, **params: Any) -> CompiledEstimator:
        """Change arguments by name."""
        self.estimator = params.pop("estimator", self.estimator)
        self.options |= params
        self._models.clear()
        return self

    def __sklearn_tags__(self) -> Any:
        return self.estimator.__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        """A fitted attribute of the estimator, such as `classes_` or `n_features_in_`."""
        if name.startswith("_") or name == "estimator":  # as while it is unpickled
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        if not name.endswith("_"):
            raise AttributeError(f"{type(self.estimator).__name__} has no {name!r}")
        return getattr(self.estimator, name)

    def _outputs(self, X: Any, *, raw_scores: bool = False) -> tuple[Array, ...]:
        """The outputs of the model for some rows. Raises: StepwellError as calling it."""
        rows = np.ascontiguousarray(np.asarray(X), np.float32)
        return self.model(raw_scores=raw_scores).invoke([rows])


def _by_class(scores: Array | Sequence[Mapping[Any, float]], classes: Sequence[Any]) -> Array:
    """Scores [rows, classes]; some converters, as that of SVC, give a dictionary for each row."""
    if isinstance(scores, np.ndarray):
        return scores
    return np.array([[row[each] for each in classes] for row in scores], np.float32)
