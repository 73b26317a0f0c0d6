"""Shape parameters of ONNX nodes as dimension expressions, and the checks that they rest on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph, onnx
from stepwell.lowering.onnx_to_graph.support import OnnxLowering
from stepwell.passes.graph.symbolic_values import symbolic_dims
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError, describe_location


class ShapeLowering(OnnxLowering):
    """A pattern whose op takes shapes, axes or sizes: attributes in old opsets, inputs in new ones."""

    def dims(self, op: onnx.OnnxOp, name: str, value: SSAValue | None) -> tuple[Dim, ...] | None:
        """
        A parameter from the attribute `name` or from an input; None when neither is given.

        Raises: StepwellError `unsupported` when it depends on data.
        """
        if value is None:
            return tuple(Dim.of(n) for n in op.integers(name)) if op.has(name) else None
        dims = symbolic_dims(value, self.weights)
        if dims is None or any(dim.is_unknown for dim in dims):
            raise StepwellError(
                "unsupported",
                op,
                f"{op.op_type}: `{name}` depends on data, not on the shapes of the inputs alone",
                help="simplify the model's shape arithmetic, or give its inputs fixed shapes",
            )
        return dims

    def numbers(self, op: onnx.OnnxOp, name: str, value: SSAValue | None) -> tuple[int, ...] | None:
        """A parameter that must be constant, such as axes; None when it is not given."""
        dims = self.dims(op, name, value)
        if dims is not None and not all(dim.is_static for dim in dims):
            raise StepwellError(
                "unsupported",
                op,
                f"{op.op_type}: `{name}` must be constant, found {', '.join(map(str, dims))}",
            )
        return None if dims is None else tuple(dim.value for dim in dims)


def assume_equal(op: onnx.OnnxOp, lhs: Dim, rhs: Dim, what: str, rewriter: PatternRewriter) -> None:
    """Let the model's call check what the conversion assumes of two dimensions, unless it is proved."""
    if lhs.proves_equal(rhs) or lhs.is_unknown or rhs.is_unknown:
        return
    rewriter.insert(graph.AssertOp(lhs, rhs, f"{op.op_type} at {describe_location(op)}: {what}"))


def extents(dims: Sequence[Dim], lowering: OnnxLowering, rewriter: PatternRewriter) -> SSAValue:
    """Known dimensions as an i64 tensor: a constant where all are numbers."""
    if all(dim.is_static for dim in dims):
        return lowering.constant(np.array([dim.value for dim in dims], np.int64), rewriter)
    return rewriter.insert(graph.ExtentsOp(dims)).result
