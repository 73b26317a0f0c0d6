"""`fold-scale-axis`: multiplications per channel by constants move into the weights of contractions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import dims_of
from stepwell.passes.base import FunctionPass
from stepwell.passes.graph.constant_rules import along_axis
from stepwell.passes.graph.rules import apply_rules
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.layout import parse_layout
from stepwell.runtime.meaning import Array
from stepwell.runtime.weights import WeightStore

Numbers: TypeAlias = npt.NDArray[np.floating]
Folded: TypeAlias = "tuple[Operation, int, Array]"
"""An op, which of its operands is a constant that takes the scale in, and the constant's new value."""


@dataclass(frozen=True)
class FoldScaleAxisPass(FunctionPass):
    """
    Move a constant multiplication on the output of a convolution or product into its weights and biases.

    It goes through `bias_add` and an added constant, which it multiplies, and through `relu` when it is
    positive; never past a value that something else reads too.

    Class: rounding.
    Source: TVM's BackwardFoldScaleAxis.
    """

    name = "fold-scale-axis"
    opt_level = 1

    direction: str = "backward"
    """`backward` is what there is."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if self.direction != "backward":
            raise StepwellError(
                "bad-option",
                None,
                f"fold-scale-axis has no direction {self.direction!r}",
                help="the only one is backward",
            )
        apply_rules(func.body, [FoldOutputScale(weights_of(ctx))])


@dataclass
class FoldOutputScale(RewritePattern):
    """
    Multiply weights and biases instead of the output.

    ```mlir
    %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    %s = graph.constant dense<[2.0, 3.0]> : tensor<2xf32>
    %0 = graph.matmul %x, %w : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
    %y = graph.multiply %0, %s : (tensor<5x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
    // ->
    %v = graph.constant dense<[[2.0, 6.0], [6.0, 12.0]]> : tensor<2x2xf32>
    %y = graph.matmul %x, %v : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MultiplyOp, rewriter: PatternRewriter) -> None:
        for value, factor in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            scale = constant_of(factor, self.weights)
            if scale is None or value.type != op.result.type or scale.dtype.kind in "iub":
                continue
            folded = self._folded_constants(value, cast(Numbers, scale))
            if folded is None:
                continue
            for user, operand, array in folded:
                constant = graph.ConstantOp.of(array, self.weights, _name_of(user.operands[operand]))
                adopt_location(constant, user.location)
                rewriter.insert(constant, InsertPoint.before(user))
                user.operands[operand] = constant.result
                rewriter.notify_op_modified(user)
            rewriter.replace(op, [], [value])
            return

    def _folded_constants(self, value: SSAValue, scale: Numbers) -> list[Folded] | None:
        """The constants that take a scale of `value` in; None when it does not reach a contraction."""
        found: list[Folded] = []
        while value.has_one_use():
            op = value.owner
            if isinstance(op, graph.ReluOp) and bool((scale > 0).all()):
                value = op.input
                continue
            if not isinstance(op, graph.BiasAddOp | graph.AddOp | graph.ConvOp | graph.MatmulOp):
                return None
            added_first = isinstance(op, graph.AddOp) and isinstance(op.lhs.owner, graph.ConstantOp)
            operand = 0 if added_first else 1
            constant = constant_of(op.operands[operand], self.weights)
            factor = _factor_for(op, scale)
            broadcasts = isinstance(op, graph.AddOp) and op.operands[1 - operand].type != value.type
            if constant is None or factor is None or broadcasts:
                return None
            scaled = np.asarray(cast(Numbers, constant) * cast(Numbers, factor)).astype(constant.dtype)
            if not np.isfinite(scaled.astype(np.float64)).all():
                return None
            found.append((op, operand, scaled))
            if isinstance(op, graph.ConvOp | graph.MatmulOp):
                return found
            value = op.operands[1 - operand]
        return None


def _name_of(value: SSAValue) -> str:
    """The name that a constant had."""
    return value.name_hint or "scaled"


def _factor_for(
    op: graph.BiasAddOp | graph.AddOp | graph.ConvOp | graph.MatmulOp, scale: Numbers
) -> Array | None:
    """The scale in the form that multiplies the constant operand of an op; None when it does not fit."""
    rank = len(dims_of(op.results[0].type))
    match op:
        case graph.AddOp():
            return scale
        case graph.BiasAddOp():
            return along_axis(scale, op.axis.value.data, rank)
        case graph.MatmulOp():
            if op.packing.value.data or len(dims_of(op.b.type)) != 2:
                return None
            vector = along_axis(scale, rank - 1, rank)
            by_rows = bool(op.transpose_b.value.data)
            return vector.reshape(-1, 1) if vector is not None and by_rows else vector
        case graph.ConvOp():
            layout = parse_layout(op.kernel_layout.data)
            if op.out_layout is not None or layout.rank != len(layout.letters):
                return None
            data = parse_layout(op.data_layout.data)
            vector = along_axis(scale, data.axis("C"), rank)
            shape = [-1 if letter == "O" else 1 for letter in layout.letters]
            return None if vector is None else vector.reshape(shape)
