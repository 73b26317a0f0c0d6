"""`approximate-math` keeps the errors that it states."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from stepwell.runtime.meaning import evaluate

Doubles = npt.NDArray[np.float64]


def approximated(function: str, x: npt.NDArray[np.float32]) -> Doubles:
    """What the replaced function gives."""
    ctx = StepwellContext()
    type = f"tensor<{x.size}xf32>"
    module = parse_module(
        ctx,
        f"func.func @main(%x: {type}) -> {type} {{ %y = graph.{function} %x : {type} -> {type} "
        f"func.return %y : {type} }}",
    )
    run_pipeline(module, "approximate-math", ctx)
    return interpret(module, ctx, "main", [x])[0].astype(np.float64)


ERRORS: dict[str, tuple[float, Callable[[Doubles, Doubles], Doubles]]] = {
    "exp": (1e-5, lambda found, exact: np.abs(found - exact) / exact),
    "tanh": (1e-4, lambda found, exact: np.abs(found - exact)),
    "sigmoid": (5e-5, lambda found, exact: np.abs(found - exact)),
    "erf": (2e-4, lambda found, exact: np.abs(found - exact)),
}


@pytest.mark.parametrize("function", ERRORS)
def test_largest_error(function: str) -> None:
    x = np.linspace(-87, 87, 200_001).astype(np.float32)
    near_zero = np.linspace(-6, 6, 100_001).astype(np.float32)
    bound, error_of = ERRORS[function]
    for points in (x, near_zero):
        (exact,) = evaluate(f"graph.{function}", [points.astype(np.float64)], {})
        assert error_of(approximated(function, points), exact.astype(np.float64)).max() <= bound


@pytest.mark.parametrize("function", ERRORS)
def test_values_at_the_edges(function: str) -> None:
    found = approximated(function, np.array([np.nan, np.inf, -np.inf, 1e30, -1e30], np.float32))
    assert np.isnan(found[0])
    assert np.isfinite(found[1:]).all()
