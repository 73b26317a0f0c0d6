"""Stepwell for scikit-learn: fitted estimators whose predictions are compiled code."""

from stepwell.tools.frameworks.estimator import CompiledEstimator, wrap

__all__ = ["CompiledEstimator", "wrap"]
