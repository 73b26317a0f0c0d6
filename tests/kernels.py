"""Kernels of a few graph ops for tests: built around arrays, and run before and after their lowering."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region

from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.types import DimLike, element_of, tensor_type
from stepwell.dialects.verify import verify_module
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from stepwell.runtime.meaning import Array
from stepwell.runtime.meaning.floats import is_float

Build = Callable[..., "Operation | Sequence[Operation]"]
"""Makes the ops of a kernel from its arguments; the last one's results are the kernel's."""

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float16), BFLOAT16, np.dtype(np.float32), np.dtype(np.float64)]
SIGNED = [np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)]
UNSIGNED = [np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)]
INTEGERS = [*SIGNED, *UNSIGNED]
BOOL = np.dtype(np.bool_)
ALL = [*FLOATS, *INTEGERS, BOOL]
SMALL_FLOATS = [
    np.dtype(getattr(ml_dtypes, name))
    for name in (
        "float4_e2m1fn",
        "float6_e2m3fn",
        "float6_e3m2fn",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
    )
]
SMALL_INTEGERS = [np.dtype(getattr(ml_dtypes, name)) for name in ("int2", "int4", "uint2", "uint4")]
SMALL = [*SMALL_FLOATS, *SMALL_INTEGERS]
"""Types that level 2 stores as bytes."""

# Relative to each element: a few roundings of the type, or of f32 and one of the type.
TOLERANCES = {np.dtype(np.float16): 2**-10, BFLOAT16: 2**-7, np.dtype(np.float32): 2e-6}


def numbers(dtype: npt.DTypeLike, *shape: int, special: bool = True, seed: int = 0) -> npt.NDArray[Any]:
    """Numbers of a type that reveal errors: of both signs, and with `special` the extremes, Inf and NaN."""
    dtype, random = np.dtype(dtype), np.random.default_rng(seed)
    if dtype == np.bool_:
        return random.integers(0, 2, shape).astype(np.bool_)
    if is_float(dtype):
        values = random.standard_normal(shape) * 3
        extremes = [0.0, -0.0, np.nan, np.inf, -np.inf, 0.5, 1.5, -2.5]
    else:
        limits: Any = np.iinfo(dtype)  # pyright: ignore[reportArgumentType]
        values = random.integers(max(limits.min, -20), 21, shape)
        extremes = [limits.min, limits.max, 0, 1, limits.max - 1]
    flat = values.astype(dtype).reshape(-1)
    if special and flat.size >= len(extremes):
        with np.errstate(invalid="ignore"):
            flat[: len(extremes)] = np.array(extremes).astype(dtype)
    return random.permutation(flat).reshape(shape)


def kernel(
    build: Build, arrays: Sequence[Array], dims: Sequence[Sequence[DimLike] | None] | None = None
) -> ModuleOp:
    """
    A module whose `@main` has one kernel on inputs like the arrays; `dims` names dimensions of inputs.
    """
    names = dims or [None] * len(arrays)
    shapes = [array.shape if own is None else own for array, own in zip(arrays, names, strict=True)]
    types = [tensor_type(element_of(a.dtype), shape) for a, shape in zip(arrays, shapes, strict=True)]
    inner, outer = Block(arg_types=types), Block(arg_types=types)
    built = build(*inner.args)
    ops = [built] if isinstance(built, Operation) else list(built)
    inner.add_ops(ops)
    inner.add_op(graph.YieldOp(ops[-1].results))
    fused = graph.FusedOp(list(outer.args), [r.type for r in ops[-1].results], Region(inner))
    outer.add_ops([fused, ReturnOp(*fused.results)])
    return ModuleOp([FuncOp("main", (types, fused.result_types), Region(outer))])


def lowered(module: ModuleOp) -> ModuleOp:
    """A module at level 2, verified."""
    verify_module(module)
    run_pipeline(module, "convert-graph-to-linalg", StepwellContext())
    verify_module(module)
    return module


def expect_lowering(
    build: Build,
    arrays: Sequence[Array],
    dims: Sequence[Sequence[DimLike] | None] | None = None,
    *,
    tolerance: float | None = None,
) -> None:
    """Run a kernel by the meaning of its ops, then lowered to `linalg`, and compare all results."""
    module, ctx = kernel(build, arrays, dims), StepwellContext()
    expected = interpret(module, ctx, "main", arrays)
    lowered(module)
    actual = interpret(module, ctx, "main", [_signless(array) for array in arrays])
    for want, got in zip(expected, actual, strict=True):
        assert got.shape == want.shape
        found = np.asarray(got)
        found = found.view(want.dtype) if want.dtype in (*UNSIGNED, *SMALL) else found
        assert found.dtype == want.dtype
        if not is_float(want.dtype):
            np.testing.assert_array_equal(found, want)
            continue
        relative = tolerance or TOLERANCES.get(want.dtype, 0 if want.dtype in SMALL else 1e-12)
        np.testing.assert_allclose(
            found.astype(np.float64), want.astype(np.float64), rtol=relative, atol=relative / 10
        )


def _signless(array: Array) -> Array:
    """An array with the types of level 2: signless integers, smaller types as bytes."""
    if array.dtype in SMALL:
        return array.view(np.int8)
    return array.view(array.dtype.str.replace("u", "i")) if array.dtype in UNSIGNED else array
