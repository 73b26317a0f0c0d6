"""The pattern that converts a call by the table, and compares the types with the program's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ComplexType, TensorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects import graph, torch
from stepwell.dialects.constants import Constant
from stepwell.dialects.foreign import ForeignOp
from stepwell.dialects.graph.relations import differ
from stepwell.dialects.types import dims_of, dtype_of, tensor_of
from stepwell.lowering.to_graph import Formula, Value
from stepwell.lowering.torch_to_graph.by_torch import host_call, runs_in_torch
from stepwell.lowering.torch_to_graph.support import CONVERSIONS, Call, Converted
from stepwell.passes.context import remark
from stepwell.patterns.driver.pattern_set import PatternSet
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore


class TorchPatterns(PatternSet):
    """The patterns of the conversion: one for all overloads of the table, one for weights."""

    def __init__(self, weights: WeightStore):
        super().__init__(())
        self._calls = (TorchLowering(weights),)
        self._operators = (OperatorLowering(weights),)
        self._weights = (WeightLowering(),)

    def of(self, op_type: type[Operation]) -> tuple[RewritePattern, ...]:
        """The patterns for a class."""
        if issubclass(op_type, ForeignOp):
            return self._calls
        if op_type is torch.OperatorOp:
            return self._operators
        return self._weights if op_type is torch.WeightOp else ()


class WeightLowering(RewritePattern):
    """
    A weight → `graph.constant` of the same bytes.

    ```mlir
    %w = "torch.weight"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
    // ->
    %w = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: torch.WeightOp, rewriter: PatternRewriter) -> None:
        """Replace the op by a constant."""
        rewriter.replace(op, graph.ConstantOp(cast(Constant, op.value)))


@dataclass
class TorchLowering(RewritePattern):
    """
    Any overload of the table → what its function makes.

    ```mlir
    %y = "torch.aten.relu.default"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    // ->
    %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
    ```
    """

    weights: WeightStore

    def constant(self, array: npt.NDArray[np.generic], rewriter: PatternRewriter) -> SSAValue:
        """An array as a constant of the graph."""
        return rewriter.insert(
            graph.ConstantOp.of(np.ascontiguousarray(array).reshape(array.shape), self.weights)
        ).result

    def scalar(self, number: float, element: Attribute, rewriter: PatternRewriter) -> SSAValue:
        """A number as a constant of rank 0."""
        return self.constant(np.array(number).astype(dtype_of(element)), rewriter)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Convert the call, and compare the types of the results."""
        if not isinstance(op, ForeignOp):
            return
        call = Call(op, Formula(self, rewriter))
        try:
            converted = self._converted(op, call)
        except VerifyException as error:
            raise StepwellError("invalid-model", op, f"{op.SIGNATURE.name}: {error}") from None
        except StepwellError as error:
            if error.code != "unsupported" or not runs_in_torch(op):
                raise
            _run_in_torch(op, call.at)
            return
        values = [converted] if isinstance(converted, Value) else list(converted)
        if len(values) != len(op.results):
            message = (
                f"{op.SIGNATURE.name} has {len(op.results)} results in the program, and {len(values)} here"
            )
            raise StepwellError("type-mismatch", op, message)
        rewriter.replace(op, [], _agreed(op, values))

    def _converted(self, op: ForeignOp, call: Call) -> Converted:
        """The values that a call makes. Raises: StepwellError `unsupported`."""
        if any(isinstance(_element(value), ComplexType) for value in (*op.operands, *op.results)):
            raise call.unsupported("complex numbers are not supported")
        if op.SIGNATURE.name not in CONVERSIONS:
            raise call.unsupported("it has no conversion")
        return CONVERSIONS[op.SIGNATURE.name](call)


@dataclass
class OperatorLowering(TorchLowering):
    """
    An operator that the table does not have → a call of torch.

    ```mlir
    %y = "torch.operator"(%x) <{target = "mylib.foo.default", call = "{}"}> : (tensor<4xf32>) -> tensor<4xf32>
    // ->
    %y = graph.host_call "torch" "mylib.foo.default" payload "{}" (%x) : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Replace the op by a host call, if the module allows it."""
        if isinstance(op, torch.OperatorOp) and runs_in_torch(op):
            _run_in_torch(op, Formula(self, rewriter))


def _run_in_torch(op: Operation, at: Formula) -> None:
    """Replace a call by one that torch runs."""
    call = host_call(op, at)
    remark(op, f"is run by torch: {call.callee.data}")
    at.rewriter.replace(op, call, list(call.values))


def _element(value: SSAValue) -> Attribute | None:
    return tensor_of(value).element_type if isinstance(value.type, TensorType) else None


def _agreed(op: ForeignOp, values: Sequence[Value | None]) -> list[SSAValue | None]:
    """The values that replace the results of a call, which have the program's types."""
    agreed: list[SSAValue | None] = []
    for result, value in zip(op.results, values, strict=True):
        if value is None:
            if any(True for _ in result.uses):
                message = f"{op.SIGNATURE.name}: result {result.index} is not computed"
                raise StepwellError("unsupported", op, message)
            agreed.append(None)
        else:
            agreed.append(_with_type(op, result, value))
    return agreed


def _with_type(op: ForeignOp, result: OpResult, value: Value) -> SSAValue:
    """
    A value under the sizes that the program records, which may be other expressions for the same numbers.

    Raises: StepwellError `type-mismatch` where they are provably different.
    """
    wanted = dims_of(result.type)
    is_other = value.element != tensor_of(result).element_type or value.rank != len(wanted)
    if is_other or any(map(differ, value.dims, wanted)):
        raise StepwellError(
            "type-mismatch",
            op,
            f"{op.SIGNATURE.name} makes {value.ssa.type}, and the program records {result.type}",
            help="the conversion or the program is wrong: please report it",
        )
    if value.dims == wanted:
        return value.ssa
    return value.formula.op(graph.ReshapeOp(value.ssa, wanted)).ssa
