"""Derivatives of graph ops against torch's, for all sizes: 1e-6 relative in f64, 1e-4 in f32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from stepwell.dialects._xdsl import StepwellContext
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from tests.derivatives.torch_ops import MEANINGS, OTHERS, torch
from tests.unit.passes.graph.gradients.derivative_cases import SIZES, Array, Build, Cases
from tests.unit.passes.graph.gradients.test_derivatives import function_of, with_vjp, wrt_of

BOUNDS = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 1e-4}


def of_torch(op: Any, arrays: Sequence[Array], wrt: Sequence[int], weights: Array) -> list[Array]:
    """The gradients of the sum of an op's result times weights."""
    tensors = [torch.from_numpy(np.array(array)) for array in arrays]
    for i in wrt:
        tensors[i].requires_grad_()
    result = MEANINGS[op.name](op, *tensors)
    (result * torch.from_numpy(weights)).sum().backward()
    return [np.zeros(arrays[i].shape) if tensors[i].grad is None else tensors[i].grad.numpy() for i in wrt]


def of_ours(build: Build, arrays: Sequence[Array], wrt: Sequence[int], rng: np.random.Generator) -> Any:
    """The op, the weights of its first result, and our gradients."""
    function = function_of(build, arrays)
    op = next(op for op in reversed(list(function.body.block.ops)) if op.name in MEANINGS)
    module, ctx = with_vjp(function, wrt), StepwellContext()
    results = interpret(module, ctx, "f", list(arrays))
    element = arrays[wrt[0]].dtype
    floats = [r for r in results if r.dtype == element]
    weights = [
        rng.standard_normal(r.shape).astype(element) if i == 0 else np.zeros_like(r)
        for i, r in enumerate(floats)
    ]
    run_pipeline(module, "gradient", ctx)
    found = interpret(module, ctx, "main", [*arrays, *weights])
    return op.clone(), weights[0], found[len(results) :]


@pytest.mark.slow
@pytest.mark.parametrize("element", [np.float64, np.float32], ids=["f64", "f32"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_derivatives_are_those_of_torch(sizes: tuple[int, int, int], element: type[np.floating[Any]]):
    failures: dict[str, str] = {}
    judged = 0
    for name, (build, arrays) in Cases(*sizes).all().items():
        if name.partition(" ")[0] not in MEANINGS or name.startswith(OTHERS):
            continue
        wrt = wrt_of(arrays, name)
        cast = [a.astype(element) if a.dtype == np.float64 else a for a in arrays]
        op, weights, ours = of_ours(build, cast, wrt, np.random.default_rng(1))
        wide = [np.asarray(a, np.float64) if a.dtype == element else a for a in cast]
        theirs = of_torch(op, wide, wrt, weights.astype(np.float64))
        judged += 1
        for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            scale = max(float(np.abs(b).max(initial=0.0)), 1e-3)
            error = float(np.abs(np.asarray(a, np.float64) - b).max(initial=0.0)) / scale
            if not error <= BOUNDS[np.dtype(element)]:
                failures[f"{name}, operand {wrt[number]}"] = f"{error:.1e}"
    assert not failures
    assert judged > 80
