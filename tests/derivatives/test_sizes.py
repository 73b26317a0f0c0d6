"""Derivatives of graph ops against central differences, for more sizes than `make test` has."""

from __future__ import annotations

import pytest

from stepwell.runtime.errors import StepwellError
from tests.unit.passes.graph.gradients.derivative_cases import SIZES, Cases
from tests.unit.passes.graph.gradients.test_derivatives import check, wrt_of


@pytest.mark.slow
@pytest.mark.parametrize("sizes", SIZES[1:], ids=str)
def test_derivatives_of_other_sizes(sizes: tuple[int, int, int]):
    failures: dict[str, str] = {}
    for name, (build, arrays) in Cases(*sizes).all().items():
        try:
            check(build, *arrays, wrt=wrt_of(arrays, name))
        except (AssertionError, ValueError, StepwellError) as error:
            failures[name] = str(error)[:200]
    assert not failures
