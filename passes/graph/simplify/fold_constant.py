"""`fold-constant`: ops on constants are evaluated at compile time, by their numpy meanings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from stepwell.dialects import adt, graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.constants import Constant, derived_attr
from stepwell.dialects.graph.base import GraphOp, Kind, operand_slots, plain_properties
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import dims_of, dtype_of, tensor_of
from stepwell.passes.analysis.symbolic_values import SymbolicValues
from stepwell.passes.base import FunctionPass
from stepwell.passes.graph.matched_values import fold_match
from stepwell.passes.graph.simplify.fold_control_flow import fold_control_flow
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.meaning import Array, evaluate, has_meaning

# Elementwise ops and rearrangements, whose evaluation cannot fail where their types are right.
_NEVER_FAILING = (
    graph.AddOp,
    graph.CastOp,
    graph.ConcatOp,
    graph.DequantizeOp,
    graph.ExpandDimsOp,
    graph.LayoutTransformOp,
    graph.MultiplyOp,
    graph.ReshapeOp,
    graph.SqueezeOp,
    graph.SubtractOp,
    graph.TransposeOp,
)


@dataclass(frozen=True)
class FoldConstantPass(FunctionPass):
    """
    Replace ops without effects on constants, and shape arithmetic with a known result, by constants.

    ```mlir
    %a = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %b = graph.neg %a : tensor<2xf32> -> tensor<2xf32>
    // ->
    %b = graph.constant dense<[-1.0, -2.0]> : tensor<2xf32>
    ```
    Results may be at most `max-bytes` larger than the operands, so that a small `broadcast_to` does not
    become a large weight, those of a gather `gathered-bytes`, as each call would gather again;
    results without elements are always constants. An op whose evaluation fails stays,
    to fail when the model runs. A `graph.if` whose condition is known is replaced by its branch, a
    `graph.for` that never runs by its initial values, an `adt.match` on a value whose making is in sight by
    the case that fits.

    Class: exact, up to how numpy rounds transcendental functions.
    """

    name = "fold-constant"

    max_bytes: int = 65536
    """The most bytes by which results may be larger than all operands together."""

    gathered_bytes: int = 1 << 20
    """The same for gathers, such as those of a table of relative positions."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        folder = _Folder(weights_of(ctx), self.max_bytes, self.gathered_bytes)
        gone: set[Operation] = set()
        for op in list(func.body.walk()):
            if op in gone:
                continue
            if isinstance(op, graph.IfOp | graph.ForOp):
                gone.update(fold_control_flow(op, folder.symbolic))
            elif isinstance(op, adt.MatchOp):
                gone.update(fold_match(op))
            elif isinstance(op, GraphOp) and op.parent is not None:
                folder.fold(op)


class _Folder:
    def __init__(self, weights: WeightStore, max_bytes: int, gathered_bytes: int):
        self._weights, self._max_bytes, self._gathered_bytes = weights, max_bytes, gathered_bytes
        self.symbolic = SymbolicValues(weights)

    def fold(self, op: GraphOp) -> None:
        """Replace an op by constants: empty results, known shape arithmetic, or meanings of constants."""
        if isinstance(op, graph.GetOp):
            self._fold_projection(op)
            return
        if op.KIND is Kind.STRUCTURE or not op.results or not is_side_effect_free(op):
            return
        arrays = _empty_results(op) or self._shape_results(op)
        if arrays is None:
            constants = self._constant_results(op)
        else:
            constants = self._stored(op, arrays)
        if constants is None:
            return
        for constant in constants:
            adopt_location(constant, op.location)
        Rewriter.replace_op(op, constants, [constant.result for constant in constants])

    def _stored(self, op: GraphOp, arrays: Sequence[Array]) -> list[graph.ConstantOp]:
        return [
            graph.ConstantOp.of(array, self._weights, _name_of(result))
            for array, result in zip(arrays, op.results, strict=True)
        ]

    def _fold_projection(self, op: graph.GetOp) -> None:
        """Replace a projection from a `graph.tuple` by the field, if that is a constant."""
        if isinstance(source := op.input.owner, graph.TupleOp):
            field = source.fields[op.index.value.data]
            if isinstance(field.owner, graph.ConstantOp):
                Rewriter.replace_op(op, [], [field])

    def _shape_results(self, op: GraphOp) -> list[Array] | None:
        """The integer results of shape arithmetic, if symbolic evaluation gives a number for each element."""
        if any(not _is_integer_tensor(result) for result in op.results):
            return None
        known = [self.symbolic.of(result) for result in op.results]
        arrays = [array for array in known if array is not None and array.dtype != np.object_]
        if len(arrays) != len(known):
            return None
        return [
            array.astype(dtype_of(tensor_of(result).element_type))
            for array, result in zip(arrays, op.results, strict=True)
        ]

    def _constant_results(self, op: GraphOp) -> list[graph.ConstantOp] | None:
        """The results of an op whose operands are all constants, by its numpy meaning, if not too large."""
        if any(not isinstance(operand.owner, graph.ConstantOp) for operand in op.operands):
            return None
        if not has_meaning(op.name) or not self._is_worthwhile(op):
            return None
        if isinstance(op, _NEVER_FAILING):
            return [self._derived(op)]
        slots = operand_slots(op)
        arrays = [None if slot is None else constant_of(slot, self._weights) for slot in slots]
        try:
            with np.errstate(all="ignore"):
                return self._stored(op, evaluate(op.name, arrays, plain_properties(op)))
        except (IndexError, ValueError, KeyError, ZeroDivisionError):
            return None

    def _derived(self, op: GraphOp) -> graph.ConstantOp:
        """The result of an op on constants, computed late if it is large."""
        is_absent = [slot is None for slot in operand_slots(op)]
        properties = plain_properties(op)

        def result(*operands: Array) -> Array:
            given = iter(operands)
            return evaluate(op.name, [None if absent else next(given) for absent in is_absent], properties)[0]

        sources = [cast(Constant, cast(graph.ConstantOp, operand.owner).value) for operand in op.operands]
        (only,) = op.results
        text = f"{op.name} {is_absent} {sorted((name, str(value)) for name, value in op.properties.items())}"
        return graph.ConstantOp(
            derived_attr(text, result, sources, tensor_of(only), _name_of(only), self._weights)
        )

    def _is_worthwhile(self, op: GraphOp) -> bool:
        result_bytes = [_size_bytes(result) for result in op.results]
        if any(size is None for size in result_bytes):
            return False
        operand_bytes = sum(_size_bytes(operand) or 0 for operand in op.operands)
        growth = self._gathered_bytes if isinstance(op, graph.GatherOp) else self._max_bytes
        return sum(size or 0 for size in result_bytes) <= operand_bytes + growth


def _name_of(result: OpResult) -> str:
    return result.name_hint or result.op.name


def _empty_results(op: GraphOp) -> list[Array] | None:
    """Arrays for the results of an op if none has an element, whatever the operands; else None."""
    types = [tensor_of(result) for result in op.results if isinstance(result.type, TensorType)]
    if len(types) != len(op.results) or not all(0 in type.get_shape() for type in types):
        return None
    if not all(dim.is_static for type in types for dim in dims_of(type)):
        return None
    return [np.empty([d.value for d in dims_of(type)], dtype_of(type.element_type)) for type in types]


def _is_integer_tensor(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and dtype_of(tensor_of(value).element_type).kind in "iu"


def _size_bytes(value: SSAValue) -> int | None:
    """The size in bytes of a tensor of static shape; None for other values."""
    if not isinstance(value.type, TensorType):
        return None
    dims = dims_of(tensor_of(value))
    if not all(dim.is_static for dim in dims):
        return None
    return prod(dim.value for dim in dims) * dtype_of(tensor_of(value).element_type).itemsize
