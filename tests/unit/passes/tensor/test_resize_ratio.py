"""Resizes for devices without f64: coordinates are quotients of whole numbers, or stay in f64."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import f64

from stepwell import Target
from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.sched import TARGET
from stepwell.dialects.target import SpecAttr
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from tests.kernels import kernel
from tests.support.samples import examples

EXPAND = "convert-graph-to-linalg,choose-forms,expand-forms"
ROUNDINGS = ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")


def resized(target: str, size: int, out: int, scale: float | None, is_open: bool, **options: Any) -> bool:
    """Compare a resize of rows for a target with its meaning; returns whether it computes in f64."""
    x = np.random.default_rng(size * 64 + out).standard_normal((size, 3), np.float32)
    like = np.zeros((out, 1), np.float32)
    dim = "M" if is_open else out

    def build(x: Any, like: Any) -> Any:
        return graph.ResizeOp(x, [dim, 3], None if scale is None else [scale, 1.0], **options)

    module = kernel(build, [x, like], [["N", 3], ["M", 1]] if is_open else None)
    ctx = StepwellContext()
    expected: Any = interpret(module, ctx, "main", [x, like])[0]
    module.attributes[TARGET] = SpecAttr.of(Target(target))
    run_pipeline(module, EXPAND, ctx)
    module.verify()
    found: Any = interpret(module, ctx, "main", [x, like])[0]
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)
    return any(result.type == f64 for op in module.walk() for result in op.results)


@examples(100)
@given(
    size=st.integers(1, 12),
    out=st.integers(1, 40),
    is_open=st.booleans(),
    coordinate=st.sampled_from(["asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel"]),
)
def test_linear_resizes_by_sizes(size: int, out: int, is_open: bool, coordinate: str) -> None:
    assert not resized("webgpu", size, out, None, is_open, mode="linear", coordinate=coordinate)


@examples(100)
@given(
    size=st.integers(1, 12),
    scale=st.sampled_from([0.25, 0.5, 0.75, 1.5, 2.0, 2.5, 3.0, 5.0, 7.0]),
    is_open=st.booleans(),
    coordinate=st.sampled_from(["asymmetric", "half_pixel"]),
    mode=st.sampled_from(["linear", *ROUNDINGS]),
)
def test_resizes_by_exact_scales(size: int, scale: float, is_open: bool, coordinate: str, mode: str) -> None:
    out, is_linear = max(1, int(size * scale)), mode == "linear"
    options = {"mode": "linear"} if is_linear else {"mode": "nearest", "nearest": mode}
    assert not resized("opencl", size, out, scale, is_open, coordinate=coordinate, **options)


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("webgpu", {"mode": "cubic"}),
        ("webgpu", {"mode": "linear", "exclude_outside": True}),
        ("webgpu", {"mode": "linear", "coordinate": "half_pixel_symmetric"}),
        ("webgpu", {"mode": "nearest"}),  # of 7 by 10: f64 rounds the scale
        ("cuda", {"mode": "linear"}),
        ("opencl{features=f64}", {"mode": "linear"}),
    ],
)
def test_others_are_in_f64(target: str, options: dict[str, Any]) -> None:
    assert resized(target, 7, 10, None, True, **options)


def test_scales_that_f64_rounds_pick_other_neighbours() -> None:
    options = {"mode": "nearest", "coordinate": "asymmetric", "nearest": "floor"}
    assert resized("webgpu", 3, 10, 10 / 3, False, **options)
    assert not resized("webgpu", 3, 6, None, False, **options)
