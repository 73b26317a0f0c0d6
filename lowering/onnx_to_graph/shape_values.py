"""
Shape parameters of ONNX nodes as dimension expressions, and the run-time checks of assumptions about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph, onnx
from stepwell.dialects.advice import on_open_size
from stepwell.dialects.graph.relations import is_float
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.lowering.onnx_to_graph.support import OnnxLowering
from stepwell.lowering.to_graph import Constants
from stepwell.passes.analysis.symbolic_values import partly_symbolic_dims, symbolic_dims
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError, describe_location


class ShapeLowering(OnnxLowering):
    """
    A pattern whose op has shapes, axes or sizes as parameters: attributes in old opsets, inputs in new ones.
    """

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
                help=f"simplify the model's shape arithmetic, or {on_open_size(op)}",
            )
        return dims

    def sizes(
        self,
        op: onnx.OnnxOp,
        name: str,
        value: SSAValue | None,
        rewriter: PatternRewriter,
        *,
        signed: bool = False,
    ) -> tuple[Dim, ...] | None:
        """
        As `dims`; elements that depend on data become symbols, which a `graph.bind_sizes` inserted here
        binds.

        A symbol is not negative; with `signed`, an element is one symbol minus another one.
        Raises: StepwellError `unsupported-dynamic-rank` for a tensor of unknown length.
        """
        if value is None:
            return tuple(Dim.of(n) for n in op.integers(name)) if op.has(name) else None
        if is_float(tensor_of(value).element_type):  # models have counts of any numeric type
            value = rewriter.insert(graph.CastOp(value, i64)).result
        dims = partly_symbolic_dims(value, self.weights)
        if dims is None:
            raise StepwellError(
                "unsupported-dynamic-rank",
                op,
                f"{op.op_type}: the number of elements of `{name}` is unknown, so the result's rank is too",
                help=f"simplify the model's shape arithmetic, or {on_open_size(op)}",
            )
        if not any(dim.is_unknown for dim in dims):
            return dims
        bound = bound_elements(value, rewriter, signed=signed)
        return tuple(at if dim.is_unknown else dim for dim, at in zip(dims, bound, strict=True))

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


def bound_elements(value: SSAValue, rewriter: PatternRewriter, *, signed: bool = False) -> tuple[Dim, ...]:
    """The elements of an integer tensor as symbols; an existing `graph.bind_sizes` in the block is reused."""
    block = rewriter.insertion_point.block
    binds = [use.operation for use in value.uses if isinstance(use.operation, graph.BindSizesOp)]
    for bind in binds:
        if bind.parent is block and (bind.signed is not None) == signed:
            return bind.elements
    is_plain = tensor_of(value).element_type == i64
    plain = value if is_plain else rewriter.insert(graph.CastOp(value, i64)).result
    elems = prod(dim.value for dim in dims_of(value.type))
    names = fresh_symbols(block_owner(rewriter), 2 * elems if signed else elems)
    return rewriter.insert(graph.BindSizesOp(plain, names, signed=signed)).elements


def defined_sizes(dims: Sequence[Dim], rewriter: PatternRewriter) -> list[Dim]:
    """
    Expressions over symbols as new symbols, checked at run time not to be negative.

    Numbers and single symbols are left as they are.
    """
    open_dims = list(dict.fromkeys(d for d in dims if not (is_symbol(d) or (d.is_static and d.value >= 0))))
    if not open_dims:
        return list(dims)
    names = fresh_symbols(block_owner(rewriter), len(open_dims))
    rewriter.insert(graph.DefineSizesOp(open_dims, names))
    named = dict(zip(open_dims, map(Dim.symbol, names), strict=True))
    return [named.get(dim, dim) for dim in dims]


def is_symbol(dim: Dim) -> bool:
    """Whether a dimension is one symbol, not an expression."""
    return str(dim) in dim.symbols()


def block_owner(rewriter: PatternRewriter) -> Operation:
    """The op whose region is being rewritten."""
    parent = rewriter.insertion_point.block.parent_op()
    assert parent is not None
    return parent


def assume_equal(op: onnx.OnnxOp, lhs: Dim, rhs: Dim, what: str, rewriter: PatternRewriter) -> None:
    """
    Insert a run-time check of two dimensions that the conversion assumes to be equal, unless it is proved.
    """
    if lhs.proves_equal(rhs) or lhs.is_unknown or rhs.is_unknown:
        return
    rewriter.insert(graph.AssertOp(lhs, rhs, f"{op.op_type} at {describe_location(op)}: {what}"))


def renamed(
    op: onnx.OnnxOp, value: SSAValue, dims: Sequence[Dim], what: str, rewriter: PatternRewriter
) -> SSAValue:
    """
    A tensor whose open dimensions are replaced by other names or numbers, with run-time checks of equality.
    """
    own = dims_of(value.type)
    names = [dim if dim.is_static else name for dim, name in zip(own, dims, strict=True)]
    if list(own) == names:
        return value
    for dim, name in zip(own, names, strict=True):
        assume_equal(op, dim, name, f"{what}: {dim} and {name} must be equal", rewriter)
    return rewriter.insert(graph.ReshapeOp(value, names)).result


def extents(dims: Sequence[Dim], lowering: Constants, rewriter: PatternRewriter) -> SSAValue:
    """Known dimensions as an i64 tensor: a constant if all are numbers."""
    if all(dim.is_static for dim in dims):
        return lowering.constant(np.array([dim.value for dim in dims], np.int64), rewriter)
    return rewriter.insert(graph.ExtentsOp(dims)).result
