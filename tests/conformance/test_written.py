"""ONNX's cases of single operators, written by way of level 1: the file computes the same, or is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend import import_onnx
from stepwell.lowering.interpret import interpret
from stepwell.runtime.errors import StepwellError
from stepwell.tools.api.module import Module
from stepwell.tools.api.onnx_model import written_model
from stepwell.tools.driver.program import Program
from tests.conformance.cases import Case, case_named, case_names, set_of

pytestmark = pytest.mark.slow
MOST_REFUSED = 150
"""Of the cases with tensors of numbers; they have operators that opset 21 lacks, or host functions."""


def _values(module: Module, inputs: Sequence[object]) -> list[object]:
    module.to("graph")
    return list(interpret(module.op, module.context, "main", [np.asarray(each) for each in inputs]))


def _outcome(case: Case) -> str:
    """Whether the written model of a case computes the same."""
    inputs = case.data[0][0]
    if not all(isinstance(each, np.ndarray) and each.dtype.kind in "biuf" for each in inputs):
        return "no numbers"
    contexts = StepwellContext(), StepwellContext()
    try:
        module = Module(import_onnx(case.model, contexts[0]), context=contexts[0])
        copy = Program(module.op, module.context).copy()
        expected = _values(module, inputs)
    except StepwellError:
        return "not run"
    try:
        written = written_model(copy, operators=True)
    except StepwellError as error:
        assert error.code in ("unsupported-op", "unsupported", "unknown-opset"), error.render()
        return "refused"
    back = Module(import_onnx(written, contexts[1]), context=contexts[1])
    found = _values(back, inputs)
    for ours, wanted in zip(found, expected, strict=True):
        a, b = np.asarray(ours), np.asarray(wanted)
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=1e-4, atol=1e-5)
    return "same"


def test_written_cases_compute_the_same() -> None:
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    for name in (name for name in case_names() if set_of(name) == "node" and "@" not in name):
        try:
            outcomes[_outcome(case_named(name))] += 1
        except AssertionError as error:
            wrong.append(f"{name}: {str(error).strip().splitlines()[0]}")
    assert not wrong, "\n".join(wrong)
    assert outcomes["refused"] <= MOST_REFUSED, outcomes
    assert outcomes["same"] > 1000, outcomes
