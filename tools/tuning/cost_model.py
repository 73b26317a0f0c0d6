"""Cost models: the predicted log ratio of a candidate, from those that were measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.packages import needed
from stepwell.tools.tuning.features import Vector

COST_MODELS = ("ridge", "xgboost", "none")
LEAST_CORRELATION = 0.3
"""The least rank correlation of a used model's predictions, on trials outside of the training set."""
LEAST_RECORDS = 8
_PENALTY = 1.0


class CostModel(Protocol):
    """A model that is trained on features and log ratios."""

    def fit(self, features: Sequence[Vector], log_ratios: Sequence[float]) -> None:
        """Train the model."""
        ...

    def predict(self, features: Sequence[Vector]) -> Vector:
        """The predicted log ratios."""
        ...


class Ridge:
    """Linear regression with a penalty, on features of mean 0 and deviation 1."""

    def __init__(self) -> None:
        self._mean: Vector = np.zeros(0)
        self._scale, self._weights = self._mean, self._mean
        self._offset = 0.0

    def fit(self, features: Sequence[Vector], log_ratios: Sequence[float]) -> None:
        """Train the model."""
        x, y = np.stack(features), np.asarray(log_ratios)
        self._mean, self._scale = x.mean(axis=0), x.std(axis=0) + 1e-9
        self._offset = float(y.mean())
        scaled = (x - self._mean) / self._scale
        gram = scaled.T @ scaled + _PENALTY * np.eye(x.shape[1])
        self._weights = cast(Vector, np.linalg.solve(gram, scaled.T @ (y - self._offset)))

    def predict(self, features: Sequence[Vector]) -> Vector:
        """The predicted log ratios."""
        scaled = (np.stack(features) - self._mean) / self._scale
        return scaled @ self._weights + self._offset


class Boosted:
    """Trees of `xgboost`, on one thread, always from the same seed."""

    def __init__(self) -> None:
        """Raises: StepwellError `missing-package`."""
        with needed("the cost model xgboost"):
            import xgboost  # pyright: ignore[reportMissingImports]
        self._trees = xgboost.XGBRegressor(n_estimators=100, max_depth=6, n_jobs=1, random_state=0)  # pyright: ignore

    def fit(self, features: Sequence[Vector], log_ratios: Sequence[float]) -> None:
        """Train the model."""
        self._trees.fit(np.stack(features), np.asarray(log_ratios))  # pyright: ignore

    def predict(self, features: Sequence[Vector]) -> Vector:
        """The predicted log ratios."""
        return np.asarray(self._trees.predict(np.stack(features)))  # pyright: ignore


def new_model(name: str) -> CostModel | None:
    """A cost model by name; None for `none`. Raises: StepwellError `bad-option`, `missing-package`."""
    if name == "none":
        return None
    if name not in COST_MODELS:
        message = f"a cost model is one of {', '.join(COST_MODELS)}, found {name!r}"
        raise StepwellError("bad-option", None, message)
    return Ridge() if name == "ridge" else Boosted()


def held_out_correlation(name: str, features: Sequence[Vector], log_ratios: Sequence[float]) -> float:
    """The rank correlation of predictions for every fourth record, by a model of the others; 0 for few."""
    if len(features) < LEAST_RECORDS or (model := new_model(name)) is None:
        return 0.0
    held = [n for n in range(len(features)) if n % 4 == 3]
    others = [n for n in range(len(features)) if n % 4 != 3]
    model.fit([features[n] for n in others], [log_ratios[n] for n in others])
    return rank_correlation(model.predict([features[n] for n in held]), [log_ratios[n] for n in held])


def rank_correlation(a: Sequence[float] | Vector, b: Sequence[float] | Vector) -> float:
    """Spearman's rank correlation; 0 where one of the sides is constant."""
    ranks = [np.argsort(np.argsort(np.asarray(each), kind="stable")).astype(float) for each in (a, b)]
    if len(ranks[0]) < 2 or min(np.ptp(np.asarray(a)), np.ptp(np.asarray(b))) == 0:
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])
