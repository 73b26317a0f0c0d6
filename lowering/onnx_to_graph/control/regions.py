"""The base class for conversions of ONNX operators with graphs; the conversion of `If`."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.control_flow import joined_type, yield_of
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.lowering.onnx_to_graph.shape_values import assume_equal
from stepwell.lowering.onnx_to_graph.support import OnnxLowering
from stepwell.passes.analysis.symbolic_values import SymbolicValues
from stepwell.patterns.driver.conversion import convert
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore


class RegionLowering(OnnxLowering):
    """A pattern for an op with graphs: converts the graphs first, whose result types determine the op's."""

    def known_number(self, value: SSAValue | None) -> int | None:
        """
        A number that follows from constants and static shapes; None for other values, and for an absent one.
        """
        dims = None if value is None else self.known_dims(value)
        return dims[0].value if dims is not None and len(dims) == 1 and dims[0].is_static else None

    def known_dims(self, value: SSAValue) -> tuple[Dim, ...] | None:
        """The elements of a tensor as dimensions, if they follow from constants and shapes."""
        return SymbolicValues(self.weights).dims(value) if isinstance(value.type, TensorType) else None

    def convert_regions(self, op: Operation) -> bool:
        """Convert the ops inside an op's regions; returns whether no op of level 0 is left there."""
        convert(op, self.patterns, illegal=["onnx"], convert_new_ops=True, partial=True)
        return not any(inner.name.startswith("onnx.") for region in op.regions for inner in region.walk())


def fresh_names(op: Operation) -> Callable[[int], list[str]]:
    """A function that makes new symbols in the function of an op."""
    return lambda count: fresh_symbols(op, count)


def drop(op: Operation) -> None:
    """Erase an op regardless of uses: the ops around it are erased too."""
    op.detach()
    op.erase(safe_erase=False)


class YieldLowering(OnnxLowering):
    """The terminator of a converted graph → `graph.yield`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.YieldOp, rewriter: PatternRewriter) -> None:
        """Replace the terminator by a `graph.yield` of the same values."""
        rewriter.replace(op, graph.YieldOp(op.values), [])


class IfLowering(RegionLowering):
    """
    `If` → `graph.if`; for a known condition, the selected branch.

    Branches with results of different rank are supported if the condition compares sizes: the first branch is
    selected, and a run-time check refuses calls with other sizes.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.IfOp, rewriter: PatternRewriter) -> None:
        """
        Select a branch for a known condition, build a `graph.if`, or assume one side of a comparison of
        sizes.
        """
        given = [len(region.block.last_op.operands) for region in op.regions if region.block.last_op]
        if given != [len(op.results)] * 2:
            wanted = f"each branch must give {len(op.results)} result{'s' * (len(op.results) != 1)}"
            raise StepwellError("invalid-model", op, f"If: {wanted}, found {given[0]} and {given[1]}")
        # A known condition: one branch
        condition = self.as_scalar(op.cond, op, rewriter)
        assert condition is not None
        if (known := self.known_number(condition)) is not None:
            self._take(op, op.then_branch if known else op.else_branch, rewriter)
            return
        if not self.convert_regions(op):
            return
        # Branches of compatible types: a `graph.if`
        then, otherwise = (yield_of(region).operand_types for region in (op.then_branch, op.else_branch))
        unlike = next((p for p in zip(then, otherwise, strict=True) if joined_type(*p) is None), None)
        if unlike is None:
            regions = [op.detach_region(region) for region in (op.then_branch, op.else_branch)]
            new = graph.IfOp(condition, *regions, fresh=fresh_names(op))
            rewriter.replace(op, new, new.values)
            return
        # Other branches: the condition is assumed
        sizes = _compared_sizes(condition, self.weights)
        if sizes is None:
            raise StepwellError(
                "unsupported-dynamic-rank",
                op,
                f"If: the branches give {unlike[0]} and {unlike[1]}, which have no common type",
                help="let both branches give one rank, give the model's inputs fixed shapes that decide the "
                "condition, or export without the branch",
            )
        assume_equal(op, *sizes, "the other branch gives results of another rank", rewriter)
        self._take(op, op.then_branch, rewriter)

    def _take(self, op: onnx.IfOp, region: Region, rewriter: PatternRewriter) -> None:
        """Replace the op by the ops of one branch; the operators of the other one need no conversion."""
        other = op.else_branch if region is op.then_branch else op.then_branch
        for inner in reversed(list(other.block.ops)):
            drop(inner)
        if self.convert_regions(op):
            last = yield_of(region)
            values = list(last.operands)
            Rewriter.erase_op(last)
            Rewriter.inline_block(region.block, InsertPoint.before(op))
            rewriter.replace(op, [], values)


def _compared_sizes(condition: SSAValue, weights: WeightStore) -> tuple[Dim, Dim] | None:
    """The two sizes that a condition compares for equality; None for any other condition."""
    value = condition
    while isinstance(value.owner, graph.ReshapeOp | graph.SqueezeOp | graph.ExpandDimsOp | graph.CastOp):
        value = value.owner.operands[0]
    if not isinstance(value.owner, graph.EqualOp):
        return None
    known = SymbolicValues(weights)
    sides = [known.dims(side) for side in value.owner.operands]
    found = [side[0] for side in sides if side is not None and len(side) == 1 and not side[0].is_unknown]
    return (found[0], found[1]) if len(found) == 2 else None
