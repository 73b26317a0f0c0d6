"""Export tests of single ops: the exported model, run by ONNX Runtime, is compared with the op's meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.types import DimLike, element_of, tensor_type
from stepwell.frontend import export_onnx
from stepwell.passes import run_pipeline
from stepwell.runtime.meaning import Array
from tests.graph_ops import run_module
from tests.support.onnx_runtime import reference_session

Build = Callable[..., GraphOp]


def exported(
    build: Build, arrays: Sequence[Array], dims: Sequence[Sequence[DimLike] | None] = ()
) -> tuple[onnx.ModelProto, list[Array]]:
    """The model of one op, and the results of the op's meaning. Args: `dims` names dimensions of inputs."""
    shapes = [*dims, *[None] * (len(arrays) - len(dims))]
    types = [
        tensor_type(element_of(array.dtype), array.shape if shape is None else shape)
        for array, shape in zip(arrays, shapes, strict=True)
    ]
    func = FuncOp("main", (types, []))
    op = build(*func.body.block.args)
    func.body.block.add_ops([op, ReturnOp(*op.results)])
    func.properties["function_type"] = FunctionType.from_lists(types, op.result_types)
    module, ctx = ModuleOp([func]), StepwellContext()
    module.verify()
    expected = run_module(module, arrays, ctx.weights)
    run_pipeline(module, "convert-graph-to-onnx", ctx)
    module.verify()
    model = export_onnx(module, ctx)
    onnx.checker.check_model(model, full_check=True)
    return model, expected


def run_model(model: onnx.ModelProto, arrays: Sequence[Array]) -> list[Array]:
    """The model's outputs by ONNX Runtime, without optimizations."""
    session = reference_session(model, optimized=False)
    names = [value.name for value in session.get_inputs()]
    results = session.run(None, dict(zip(names, arrays, strict=True)))
    return [np.asarray(result) for result in results]


def check(
    build: Build, *arrays: Array, dims: Sequence[Sequence[DimLike] | None] = (), tolerance: float = 2e-6
) -> None:
    """Compare the exported model of an op with its meaning."""
    model, expected = exported(build, arrays, dims)
    for result, wanted in zip(run_model(model, arrays), expected, strict=True):
        assert result.dtype == wanted.dtype
        assert result.shape == wanted.shape
        if wanted.dtype.kind == "f":
            actual, reference = result.astype(np.float64), wanted.astype(np.float64)
            np.testing.assert_allclose(actual, reference, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(result, wanted)


RNG = np.random.default_rng(7)


def normal(*shape: int, dtype: type[np.generic] = np.float32) -> Array:
    """Random floats of both signs."""
    return np.asarray(RNG.standard_normal(shape)).astype(dtype)


def positive(*shape: int) -> Array:
    """Random floats from 0.5 to 1.5."""
    return (np.asarray(RNG.random(shape)) + 0.5).astype(np.float32)


def small(*shape: int) -> Array:
    """Random floats inside (-1, 1)."""
    return (np.asarray(RNG.random(shape)) * 1.8 - 0.9).astype(np.float32)


def integers(low: int, high: int, *shape: int, dtype: type[np.generic] = np.int64) -> Array:
    """Random integers, both bounds possible."""
    return RNG.integers(low, high + 1, shape).astype(dtype)


def booleans(*shape: int) -> Array:
    """Random truth values."""
    return RNG.random(shape) < 0.5
