"""Control flow of op tables: loops, and choices between regions, of any framework."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IndexType, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects._xdsl import set_type
from stepwell.dialects.foreign.control import ForeignChoiceOp, ForeignReturnOp, ForeignWhileOp
from stepwell.dialects.graph.control_flow import joined_type, yield_of
from stepwell.dialects.graph.loops import may_carry, widened
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.dialects.types import dims_of
from stepwell.lowering.to_graph.agreement import agreed
from stepwell.lowering.to_graph.expressions import Constants, Formula, Value
from stepwell.patterns.driver.conversion import convert
from stepwell.runtime.errors import StepwellError

if TYPE_CHECKING:
    from stepwell.patterns.driver.pattern_set import PatternSet


class ForeignReturnLowering(RewritePattern):
    """The end of a region → `graph.yield`."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Replace the op by a yield of the same values."""
        if isinstance(op, ForeignReturnOp):
            rewriter.replace(op, graph.YieldOp(op.values), [])


@dataclass
class ForeignWhileLowering(RewritePattern):
    """
    A loop → `graph.while` of the converted regions, with arguments that fit every iteration.

    Arguments have the types of the operands; a size that an iteration changes gets a name of its own.
    """

    patterns: PatternSet
    constants: Constants

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Convert both regions until the carried types fit, then move them."""
        if not isinstance(op, ForeignWhileOp):
            return
        types, names = [value.type for value in op.inputs], list[str]()
        while True:
            test, body = self._converted(op, types)
            given = [value.type for value in yield_of(body).operands]
            if len(given) != len(types):
                message = f"{op.name}: {len(types)} values are carried, and an iteration gives {len(given)}"
                raise StepwellError("invalid-model", op, message)
            if all(may_carry(*each) for each in zip(types, given, op.inputs.types, strict=True)):
                break
            types = [
                widened(op, f"{op.name}: carried value {index}", own, other, names)
                for index, (own, other) in enumerate(zip(types, given, strict=True))
            ]
        for region in (test, body):
            for _ in names:
                region.block.insert_arg(IndexType(), len(region.block.args))
        _scalar_condition(test)
        made = graph.WhileOp(op.inputs, test, body, names, lambda count: fresh_symbols(op, count))
        rewriter.insert(made)
        _replace(op, made.values, Formula(self.constants, rewriter))

    def _converted(self, op: ForeignWhileOp, types: Sequence[Attribute]) -> list[Region]:
        """The converted regions of a copy of a loop, whose arguments have some types."""
        trial = op.clone()
        Rewriter.insert_op(trial, InsertPoint.before(op))
        for region in trial.bodies:
            for argument, type in zip(region.block.args, types, strict=True):
                set_type(argument, type)
        return _regions(trial, self.patterns)


@dataclass
class ForeignChoiceLowering(RewritePattern):
    """A choice → a `graph.if` for each region but the last one."""

    patterns: PatternSet
    constants: Constants

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Convert the regions, then nest the choices."""
        if not isinstance(op, ForeignChoiceOp):
            return
        regions = _regions(op, self.patterns, is_copy=False)
        formula = Formula(self.constants, rewriter)
        index = formula.value(op.inputs[0])
        index = index if index.rank == 0 else index.reshape([])
        conditions = (
            [index.ssa]
            if index.element == i1
            else [index.equals(number).ssa for number in range(len(regions) - 1)]
        )
        rest = regions[-1]
        for condition, region in reversed(list(zip(conditions, regions, strict=False))[1:]):
            made = _choice(op, condition, region, rest)
            rest = Region(Block([made, graph.YieldOp(made.values)]))
        made = _choice(op, conditions[0], regions[0], rest)
        rewriter.insert(made)
        _replace(op, made.values, formula)


def _regions(
    op: ForeignChoiceOp | ForeignWhileOp, patterns: PatternSet, *, is_copy: bool = True
) -> list[Region]:
    """The regions of an op, converted and detached; a copy is erased."""
    convert(op, patterns, illegal=[op.name.partition(".")[0]])
    regions = [op.detach_region(region) for region in list(op.bodies)]
    if is_copy:
        op.detach()
        op.erase(safe_erase=False)
    return regions


def _scalar_condition(test: Region) -> None:
    """Let the condition that a region yields have rank 0."""
    end = yield_of(test)
    if dims_of(end.operands[0].type):
        end.operands[0] = PatternRewriter(end).insert(graph.ReshapeOp(end.operands[0], [])).result


def _choice(op: Operation, condition: SSAValue, first: Region, second: Region) -> graph.IfOp:
    """A choice between two regions. Raises: StepwellError `unsupported-dynamic-rank`."""
    for a, b in zip(*(yield_of(region).operand_types for region in (first, second)), strict=False):
        if joined_type(a, b) is None:
            message = f"{op.name}: the branches give {a} and {b}, which have no common type"
            help = "let both branches give one rank and element type"
            raise StepwellError("unsupported-dynamic-rank", op, message, help=help)
    return graph.IfOp(condition, first, second, fresh=lambda count: fresh_symbols(op, count))


def _replace(op: Operation, values: Sequence[SSAValue], formula: Formula) -> None:
    """Replace an op by values that agree with its recorded types."""
    if len(values) != len(op.results):
        message = f"{op.name} has {len(op.results)} results in the program, and {len(values)} here"
        raise StepwellError("type-mismatch", op, message)
    found: list[Value | None] = [Value(formula, value) for value in values]
    formula.rewriter.replace(op, [], agreed(op, op.name, found))
