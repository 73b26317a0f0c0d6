"""`scf` and `cf` → blocks and branches of `llvm`."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import cast

from xdsl.dialects import cf, llvm, scf
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern
from xdsl.rewriter import BlockInsertPoint, InsertPoint

from stepwell.dialects.llvm.calls import segment_sizes
from stepwell.dialects.llvm.instructions import SwitchOp
from stepwell.lowering.loops_to_llvm.code import NO_SIGNED_WRAP, Code
from stepwell.lowering.loops_to_llvm.pattern import LoopsToLLVMPattern
from stepwell.lowering.loops_to_llvm.state import PTR, converted_type
from stepwell.runtime.errors import StepwellError


class ForLowering(LoopsToLLVMPattern):
    """
    An `scf.for` as a loop with the test at the end, and a guard before the loop unless it surely runs.

    A loop without a guard has one way out: its results are the values of the last iteration themselves, and
    no arguments of the block after it (half of the arguments of a kernel that sums in three nested loops).

    ```mlir
    scf.for %i = %lb to %ub step %s { … }
    // ->
    %runs = llvm.icmp "slt" %lb, %ub : i64
    llvm.cond_br %runs, ^body(%lb : i64), ^after
    ^body(%i: i64):
      …
      %next = llvm.add %i, %s overflow<nsw> : i64
      %more = llvm.icmp "slt" %next, %ub : i64
      llvm.cond_br %more, ^body(%next : i64), ^after
    ^after:
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ForOp, rewriter: PatternRewriter) -> None:
        """Split the block around the loop, inline the body in between, and branch back at its end."""
        body, lb, ub, step = op.body.block, op.lb, op.ub, op.step
        surely_runs = self._surely_runs(lb, ub)
        before, after = split_around(op, with_results=not surely_runs)
        inits = list(op.iter_args)
        latch = cast(scf.YieldOp, body.last_op)
        results = list(latch.operands)
        factor = gcd(self.state.multiple(lb), self.state.multiple(step))
        if factor != 1:
            self.state.multiples[body.args[0]] = factor
        guard = Code(self.state, before)
        if surely_runs:
            entry: Operation = llvm.BrOp.create(operands=[lb, *inits], successors=[body])
        else:
            entry = branch_if(guard.compare("slt", lb, ub), body, [lb, *inits], after, inits)
        rewriter.insert([*guard.ops, entry], InsertPoint.at_end(before))
        rewriter.inline_region(op.body, BlockInsertPoint.before(after))
        end = Code(self.state, None)  # the body is converted later, so there are no known values to reuse
        next_ = end.make(llvm.AddOp, [body.args[0], step], lb.type, {"overflowFlags": NO_SIGNED_WRAP})
        more = end.compare("slt", next_, ub)
        back = branch_if(more, body, [next_, *results], after, [] if surely_runs else results)
        rewriter.replace(latch, [*end.ops, back], [])
        finish(op, results if surely_runs else after.args, rewriter)

    def _surely_runs(self, lb: SSAValue, ub: SSAValue) -> bool:
        """Whether the upper bound is provably above the lower bound."""
        length = self.state.linear(ub) + self.state.linear(lb).scaled(-1)
        return not length.terms and length.constant > 0


class IfLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %r = scf.if %c -> (f32) { … scf.yield %a : f32 } else { … scf.yield %b : f32 }
    // ->
    llvm.cond_br %c, ^then, ^else
    ^then: … llvm.br ^after(%a : f32)
    ^else: … llvm.br ^after(%b : f32)
    ^after(%r: f32):
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.IfOp, rewriter: PatternRewriter) -> None:
        """Inline both regions as blocks; a missing else branches to the block after."""
        before, after = split_around(op)
        targets: list[Block] = []
        for region in (op.true_region, op.false_region):
            targets.append(branch_out(region.first_block, after, rewriter) or after)
            rewriter.inline_region(region, BlockInsertPoint.before(after))
        branch = llvm.CondBrOp(op.cond, targets[0], [], targets[1], [])
        rewriter.insert(branch, InsertPoint.at_end(before))
        finish(op, after.args, rewriter)


class WhileLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %r = scf.while (%x = %init) : (f32) -> f32 {
      … scf.condition(%c) %y : f32
    } do {
    ^bb0(%z: f32): … scf.yield %w : f32
    }
    // ->
    llvm.br ^test(%init : f32)
    ^test(%x: f32): … llvm.cond_br %c, ^body(%y : f32), ^after(%y : f32)
    ^body(%z: f32): … llvm.br ^test(%w : f32)
    ^after(%r: f32):
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.WhileOp, rewriter: PatternRewriter) -> None:
        """Inline the test and the body as blocks that branch to each other."""
        before, after = split_around(op)
        test, body = op.before_region.block, op.after_region.block
        condition = cast(scf.ConditionOp, test.last_op)
        values = list(condition.args)
        rewriter.insert(llvm.BrOp(test, *op.operands), InsertPoint.at_end(before))
        rewriter.replace(condition, llvm.CondBrOp(condition.condition, body, values, after, values), [])
        branch_out(body, test, rewriter)
        for region in (op.before_region, op.after_region):
            rewriter.inline_region(region, BlockInsertPoint.before(after))
        finish(op, after.args, rewriter)


class IndexSwitchLowering(LoopsToLLVMPattern):
    """
    ```mlir
    scf.index_switch %i case 2 { … } default { … }
    // ->
    llvm.switch %i, ^default [2: ^case]
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.IndexSwitchOp, rewriter: PatternRewriter) -> None:
        """Inline all cases as blocks and branch to them by `llvm.switch`."""
        before, after = split_around(op)
        targets: list[Block] = []
        for region in (op.default_region, *op.case_regions):
            targets.append(branch_out(region.first_block, after, rewriter) or after)
            rewriter.inline_region(region, BlockInsertPoint.before(after))
        numbers = [int(value) for value in op.cases.get_values()]
        empty: Sequence[SSAValue] = ()
        cases = [(number, block, empty) for number, block in zip(numbers, targets[1:], strict=True)]
        rewriter.insert(SwitchOp(op.arg, (targets[0], empty), cases), InsertPoint.at_end(before))
        finish(op, after.args, rewriter)


class BranchLowering(LoopsToLLVMPattern):
    """
    ```mlir
    cf.cond_br %c, ^a(…), ^b(…)
    // ->
    llvm.cond_br %c, ^a(…), ^b(…)
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: cf.BranchOp | cf.ConditionalBranchOp, rewriter: PatternRewriter) -> None:
        """Replace a branch between blocks by llvm's."""
        if isinstance(op, cf.BranchOp):
            rewriter.replace(op, llvm.BrOp(op.successor, *op.arguments), [])
            return
        new = llvm.CondBrOp(op.cond, op.then_block, op.then_arguments, op.else_block, op.else_arguments)
        rewriter.replace(op, new, [])


def branch_if(
    condition: SSAValue,
    then: Block,
    then_values: Sequence[SSAValue],
    other: Block,
    other_values: Sequence[SSAValue],
) -> llvm.CondBrOp:
    """A conditional branch; the op's constructor takes three times as long."""
    sizes = segment_sizes(1, len(then_values), len(other_values))
    return llvm.CondBrOp.create(
        operands=[condition, *then_values, *other_values],
        properties={"operandSegmentSizes": sizes},
        successors=[then, other],
    )


def split_around(op: Operation, *, with_results: bool = True) -> tuple[Block, Block]:
    """
    Split the block of an op with regions into the ops before the op and those from it on.

    The second block gets the op's results as its arguments, if `with_results`; `finish` erases the op itself.
    """
    before = cast(Block, op.parent)
    types = [register_type(op, result.type) for result in op.results]
    return before, before.split_before(op, arg_types=types if with_results else ())


def finish(op: Operation, values: Sequence[SSAValue], rewriter: PatternRewriter) -> None:
    """Erase an op whose regions have become blocks; `values` take the places of its results."""
    for result, value in zip(op.results, values, strict=True):
        rewriter.replace_all_uses_with(result, value)
    rewriter.erase(op)


def branch_out(block: Block | None, target: Block, rewriter: PatternRewriter) -> Block | None:
    """Replace the `scf.yield` at the end of a block by a branch with the yielded values to `target`."""
    if block is not None and (last := block.last_op) is not None:
        rewriter.replace(last, llvm.BrOp(target, *last.operands), [])
    return block


def register_type(op: Operation, type: Attribute) -> Attribute:
    """
    The type of a value as an argument of blocks.

    Raises: StepwellError `unsupported` for a memref, whose layout would be lost.
    """
    converted = converted_type(type)
    if type.name == "memref" or converted == PTR:
        raise StepwellError(
            "unsupported",
            op,
            f"{op.name} passes on a memref",
            note="memrefs may be arguments, views and allocas, so that their layout is known when compiling",
        )
    return converted


def block_argument_type(type: Attribute) -> Attribute:
    """The conversion's type converter for arguments of blocks."""
    return type if type.name == "memref" else converted_type(type)
