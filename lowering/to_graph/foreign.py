"""The conversion of a dialect made from an op table: patterns, the check of types, unknown operators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ComplexType, FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects import graph
from stepwell.dialects.constants import Constant
from stepwell.dialects.foreign import ForeignOp
from stepwell.dialects.foreign.control import ForeignChoiceOp, ForeignReturnOp, ForeignWhileOp
from stepwell.dialects.foreign.structure import ForeignOperatorOp, ForeignWeightOp
from stepwell.dialects.types import dtype_of, tensor_of
from stepwell.lowering.to_graph.agreement import agreed
from stepwell.lowering.to_graph.calls import Conversions, Converted
from stepwell.lowering.to_graph.control import (
    ForeignChoiceLowering,
    ForeignReturnLowering,
    ForeignWhileLowering,
)
from stepwell.lowering.to_graph.expressions import Formula, Value
from stepwell.patterns.driver.pattern_set import PatternSet
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore


class ForeignPatterns(PatternSet):
    """The patterns of a conversion: one for all operators of a table, those of weights and control flow."""

    def __init__(self, calls: ForeignLowering, weights: RewritePattern):
        super().__init__(())
        self._table, self._calls = calls.CONVERSIONS, (calls,)
        self._structure: Mapping[type[Operation], tuple[RewritePattern, ...]] = {
            ForeignWeightOp: (weights,),
            ForeignReturnOp: (ForeignReturnLowering(),),
            ForeignWhileOp: (ForeignWhileLowering(self, calls),),
            ForeignChoiceOp: (ForeignChoiceLowering(self, calls),),
        }

    def of(self, op_type: type[Operation]) -> tuple[RewritePattern, ...]:
        """The patterns for a class."""
        if issubclass(op_type, ForeignOp):
            return self._calls if op_type.SIGNATURE.name in self._table else ()
        kinds = (kind for base in op_type.__mro__ if (kind := self._structure.get(base)) is not None)
        return next(kinds, ())


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
        rewriter.replace(op, [], agreed(op, title, values))


def _element(value: SSAValue) -> Attribute | None:
    return tensor_of(value).element_type if isinstance(value.type, TensorType) else None


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
