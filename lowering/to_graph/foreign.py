"""The conversion of a dialect made from an op table: patterns, the check of types, unknown operators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ComplexType, FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects import graph
from stepwell.dialects.constants import Constant
from stepwell.dialects.foreign import ForeignOp
from stepwell.dialects.foreign.structure import ForeignOperatorOp, ForeignWeightOp
from stepwell.dialects.graph.relations import differ
from stepwell.dialects.types import dims_of, dtype_of, tensor_of
from stepwell.lowering.to_graph.calls import Conversions, Converted
from stepwell.lowering.to_graph.expressions import Formula, Value
from stepwell.patterns.driver.pattern_set import PatternSet
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore


class ForeignPatterns(PatternSet):
    """The patterns of a conversion: one for all operators of a table, one for weights."""

    def __init__(self, calls: ForeignLowering, weights: RewritePattern):
        super().__init__(())
        self._table = calls.CONVERSIONS
        self._calls, self._weights = (calls,), (weights,)

    def of(self, op_type: type[Operation]) -> tuple[RewritePattern, ...]:
        """The patterns for a class."""
        if issubclass(op_type, ForeignOp):
            return self._calls if op_type.SIGNATURE.name in self._table else ()
        return self._weights if issubclass(op_type, ForeignWeightOp) else ()


class ForeignWeightLowering(RewritePattern):
    """A weight of a model → `graph.constant` of the same bytes."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Replace the op by a constant."""
        if isinstance(op, ForeignWeightOp):
            rewriter.replace(op, graph.ConstantOp(cast(Constant, op.value)))


@dataclass
class ForeignLowering(RewritePattern, ABC):
    """An operator of a table → the ops of its function, with the recorded types."""

    CONVERSIONS: ClassVar[Conversions]

    weights: WeightStore

    @abstractmethod
    def converted(self, op: ForeignOp, at: Formula) -> Converted:
        """The values of a call's results."""

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
        title = op.SIGNATURE.name
        if any(isinstance(_element(value), ComplexType) for value in (*op.operands, *op.results)):
            raise StepwellError("unsupported", op, f"{title}: complex numbers are not supported")
        try:
            converted = self.converted(op, Formula(self, rewriter))
        except VerifyException as error:
            raise StepwellError("invalid-model", op, f"{title}: {error}") from None
        values = [converted] if isinstance(converted, Value) else list(converted)
        if len(values) != len(op.results):
            message = f"{title} has {len(op.results)} results in the program, and {len(values)} here"
            raise StepwellError("type-mismatch", op, message)
        rewriter.replace(op, [], _agreed(op, values))


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

    A size that it leaves open, or a rank, is that of the value.
    Raises: StepwellError `type-mismatch` where they are provably different.
    """
    is_other = value.element != _recorded_element(result)
    is_ranked = isinstance(result.type, TensorType)
    recorded = dims_of(result.type) if is_ranked else value.dims
    if is_other or value.rank != len(recorded) or any(map(differ, value.dims, recorded)):
        raise StepwellError(
            "type-mismatch",
            op,
            f"{op.SIGNATURE.name} makes {value.ssa.type}, and the program records {result.type}",
            help="the conversion or the program is wrong: please report it",
        )
    wanted = tuple(own if dim.is_unknown else dim for own, dim in zip(value.dims, recorded, strict=True))
    if value.dims == wanted:
        return value.ssa
    return value.formula.op(graph.ReshapeOp(value.ssa, wanted)).ssa


def _recorded_element(result: OpResult) -> Attribute:
    """The element type of a result, whose rank may not be known."""
    return cast("TensorType[Attribute]", result.type).element_type


def refuse_unknown(
    module: ModuleOp, conversions: Conversions, place: Callable[[Operation], str], help: str
) -> None:
    """
    Require a conversion for each operator of a module.

    Args: `place` describes the location of a call; `help` says what a user can do about one.
    Raises: StepwellError `unsupported-op` that lists all operators without a conversion.
    """
    unknown = list(_unknown(module, conversions))
    if not unknown:
        return
    counts = Counter(title for title, _ in unknown)
    first = {title: op for title, op in reversed(unknown)}
    lines = [
        f"{title} ({count} use{'s' * (count > 1)}): {place(first[title])}" for title, count in counts.items()
    ]
    message = f"no conversion for {', '.join(sorted(counts))}"
    raise StepwellError("unsupported-op", unknown[0][1], message, note=lines, help=help)


def _unknown(module: ModuleOp, conversions: Conversions) -> Iterator[tuple[str, Operation]]:
    for op in module.walk():
        if isinstance(op, ForeignOperatorOp):
            yield op.target.data, op
        elif isinstance(op, ForeignOp) and op.SIGNATURE.name not in conversions:
            yield op.SIGNATURE.name, op


def set_result_types(module: ModuleOp) -> None:
    """Set the result types of the functions of a module to the types of the returned values."""
    for function in module.ops:
        if isinstance(function, FuncOp) and not function.is_declaration:
            last = function.body.block.last_op
            assert last is not None
            function.properties["function_type"] = FunctionType.from_lists(
                list(function.body.block.arg_types), list(last.operand_types)
            )
