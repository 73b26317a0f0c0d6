"""Fitted estimators of scikit-learn, and of libraries with its interface, whose predictions are compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar, Unpack, cast, overload

import numpy as np

from stepwell.frontend.estimators import column_names, converted_estimator, feature_count
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
        """The labels or the values of each row."""
        found, classes = self._outputs(X)[0], getattr(self.estimator, "classes_", None)
        if isinstance(classes, list):  # a row for each of several outputs
            labels = cast("list[Array]", classes)
            return found.reshape(-1, len(labels)).astype(np.result_type(*(each.dtype for each in labels)))
        if classes is not None:
            return found.astype(np.asarray(classes).dtype).reshape(-1)
        is_column = found.ndim == 2 and found.shape[1] == 1
        keeps_columns = np.ndim(getattr(_last_step(self.estimator), "coef_", 0)) == 2  # fitted with [rows, 1]
        return found.reshape(-1) if is_column and not keeps_columns else found

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
        if (scorer := getattr(self.estimator, "scorer_", None)) is not None:  # of a search for parameters
            return float(scorer(self, X, y, **keywords))
        return float(cast(Any, type(_last_step(self.estimator))).score(self, X, y, **keywords))

    def fit(self, X: Any, y: Any = None, **keywords: Any) -> CompiledEstimator:
        """Fit the estimator anew; the next prediction compiles it."""
        self.estimator.fit(X, y, **keywords)
        self._models.clear()
        return self

    def get_params(self, deep: bool = True) -> Mapping[str, Any]:
        """The arguments of a copy, as scikit-learn asks for them."""
        inner: Mapping[str, Any] = _parameters(self.estimator) if deep else {}
        named = {f"estimator__{name}": value for name, value in inner.items()}
        return {"estimator": self.estimator, **self.options, **named}

    def set_params(self, **params: Any) -> CompiledEstimator:
        """
        Change arguments by name, such as `opt_level`, or `estimator__C` of the estimator.

        Raises: StepwellError `bad-option` for a name that neither has.
        """
        estimator, prefix = params.pop("estimator", self.estimator), "estimator__"
        own = {name: value for name, value in params.items() if not name.startswith(prefix)}
        options_with(None, cast(Any, own), ("estimator",))
        if inner := {name[len(prefix) :]: params[name] for name in params if name not in own}:
            if unknown := [name for name in inner if name.partition("__")[0] not in _parameters(estimator)]:
                message = f"{type(estimator).__name__} has no parameter {unknown[0]!r}"
                raise StepwellError("bad-option", None, message)
            estimator.set_params(**inner)
        self.estimator = estimator
        self.options |= own
        self._models.clear()
        return self

    def __sklearn_tags__(self) -> Any:
        return self.estimator.__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        try:
            return feature_count(self.estimator) >= 0
        except StepwellError:
            return False

    def __getattr__(self, name: str) -> Any:
        """A fitted attribute of the estimator, such as `classes_` or `n_features_in_`."""
        if name.startswith("_") or name == "estimator":  # as while it is unpickled
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        if not name.endswith("_"):
            raise AttributeError(f"{type(self.estimator).__name__} has no {name!r}")
        return getattr(self.estimator, name)

    def _outputs(self, X: Any, *, raw_scores: bool = False) -> tuple[Array, ...]:
        """The outputs of the model for some rows. Raises: StepwellError as calling it, `type-mismatch`."""
        model, rows = self.model(raw_scores=raw_scores), self._rows(X)
        if not (names := column_names(self.estimator)):
            return model.invoke([rows])
        columns = {name: rows[:, number : number + 1].copy() for number, name in enumerate(names)}
        return model.invoke([columns[spec.name] for spec in model.interface.inputs])

    def _rows(self, X: Any) -> Array:
        """Features as rows of f32, those of a frame by the names of its columns."""
        names, columns = (
            None if found is None else [str(each) for each in cast("Sequence[object]", found)]
            for found in (getattr(self.estimator, "feature_names_in_", None), getattr(X, "columns", None))
        )
        rows = X if names is None or columns is None else X[_known_columns(names, columns)]
        try:
            return np.ascontiguousarray(np.asarray(rows), np.float32)
        except (TypeError, ValueError) as error:
            message = f"features are numbers: {error}"
            raise StepwellError("type-mismatch", None, message) from None


def _last_step(estimator: Any) -> Any:
    """The estimator that predicts: the last one of a pipeline."""
    while steps := getattr(estimator, "steps", None):
        estimator = steps[-1][1]
    return estimator


def _parameters(estimator: Any) -> Mapping[str, Any]:
    """The parameters of an estimator by name, with those of nested estimators; empty without `get_params`."""
    get = getattr(estimator, "get_params", None)
    return {} if get is None else get()


def _known_columns(wanted: Sequence[str], found: Sequence[str]) -> Sequence[str]:
    """The columns that an estimator was fitted with. Raises: StepwellError `missing-input`, `extra-input`."""
    note = f"expected {', '.join(wanted)}", f"found {', '.join(map(str, found))}"
    if missing := [name for name in wanted if name not in found]:
        raise StepwellError("missing-input", None, f"the frame has no column {missing[0]!r}", note=note)
    if extra := [name for name in found if name not in wanted]:
        message = f"the estimator was fitted without a column {extra[0]!r}"
        raise StepwellError("extra-input", None, message, note=note)
    return wanted


def _by_class(scores: Array | Sequence[Mapping[Any, float]], classes: Sequence[Any]) -> Array:
    """Scores [rows, classes]; some converters, as that of SVC, give a dictionary for each row."""
    if isinstance(scores, np.ndarray):
        return scores
    return np.array([[row[each] for each in classes] for row in scores], np.float32)
