"""
Tests of single ONNX nodes: lowered level by level, and compared at each with ONNX's reference evaluator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend import import_onnx
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from stepwell.runtime.meaning import Array
from tests.graph_ops import run_module

FUSED = "fold-constant,dynamic-to-static,simplify-expr,dead-code-elimination,fuse-ops"
LOWERED = "convert-graph-to-linalg"


def node_model(
    op_type: str,
    inputs: Sequence[Array | None],
    outputs: int,
    opset: int,
    names: Mapping[int, Sequence[str | int]],
    **attributes: Any,
) -> onnx.ModelProto:
    """A model of one node. The first input, and those in `names` with their dimensions, are arguments."""
    given = [(f"x{i}", i, array) for i, array in enumerate(inputs) if array is not None]
    node = helper.make_node(
        op_type,
        [f"x{i}" if array is not None else "" for i, array in enumerate(inputs)],
        [f"y{i}" for i in range(outputs)],
        **attributes,
    )
    constants = [numpy_helper.from_array(array, name) for name, i, array in given if i > 0 and i not in names]
    arguments = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), names.get(i, array.shape)
        )
        for name, i, array in given
        if i == 0 or i in names
    ]
    results = [onnx.ValueInfoProto(name=f"y{i}") for i in range(outputs)]
    graph = helper.make_graph([node], "g", arguments, results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def check_node(
    op_type: str,
    inputs: Sequence[Array | None],
    *,
    outputs: int = 1,
    opset: int = 21,
    names: Mapping[int, Sequence[str | int]] | None = None,
    expected: Sequence[Array] | None = None,
    tolerance: float = 0.0,
    **attributes: Any,
) -> None:
    """
    Convert a node and compare with the reference evaluator, or with `expected`, at levels 1 and 2.

    Args: `tolerance` is relative and absolute; without it, results are compared bit by bit.
    """
    model = node_model(op_type, inputs, outputs, opset, names or {}, **attributes)
    arguments = [
        array for i, array in enumerate(inputs) if array is not None and (i == 0 or i in (names or {}))
    ]
    if expected is None:
        feeds = dict(zip([value.name for value in model.graph.input], arguments, strict=True))
        reference: Any = ReferenceEvaluator(model)
        expected = reference.run(None, feeds)
    assert expected is not None
    ctx = StepwellContext()
    module = import_onnx(model, ctx)
    run_pipeline(module, "convert-onnx-to-graph", ctx)
    module.verify()
    expect_same(run_module(module, arguments, ctx.weights), expected, tolerance)
    run_pipeline(module, FUSED, ctx)
    module.verify()
    expect_same(interpret(module, ctx, "main", arguments), expected, tolerance)
    run_pipeline(module, LOWERED, ctx)
    module.verify()
    lowered = interpret(module, ctx, "main", [signless(array) for array in arguments])
    expect_same(lowered, [signless(np.asarray(array)) for array in expected], tolerance)


def signless(array: Array) -> Array:
    """An array with the types of level 2: signless integers."""
    return array.view(f"int{8 * array.itemsize}") if array.dtype.kind == "u" else array


def expect_same(results: Sequence[Array], expected: Sequence[Any], tolerance: float) -> None:
    """Compare results with what is expected: types and numbers."""
    for result, wanted in zip(results, expected, strict=True):
        assert result.dtype == np.asarray(wanted).dtype
        if tolerance:
            actual: Any = result
            np.testing.assert_allclose(actual, wanted, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(result, wanted)
