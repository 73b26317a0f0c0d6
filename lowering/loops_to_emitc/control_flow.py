"""`scf` → loops and branches of C; values that they carry or return are variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.emitc import EmitC_LValueType, EmitC_PointerType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import emitc
from stepwell.dialects.ir_builder import number_attr
from stepwell.lowering.loops_to_emitc.pattern import I1, INDEX, Code, LoopsToEmitCPattern
from stepwell.runtime.errors import StepwellError


def _variables(op: Operation, code: Code, values: Sequence[SSAValue], name: str) -> list[SSAValue]:
    """Variables for values of the types of some others."""
    found: list[SSAValue] = []
    for value in values:
        if isinstance(value.type, MemRefType | EmitC_PointerType):
            note = "memrefs may be arguments, views and allocas, so that their layout is known when compiling"
            raise StepwellError("unsupported", op, f"{op.name} passes on a memref", note=note)
        variable = emitc.VariableOp(EmitC_LValueType(value.type), value.name_hint or name)
        found.append(code.value(variable))
    return found


def _assign(code: Code, values: Sequence[SSAValue], variables: Sequence[SSAValue]) -> None:
    for value, variable in zip(values, variables, strict=True):
        code.insert(emitc.AssignOp(value, variable))


def _loads(code: Code, variables: Sequence[SSAValue]) -> list[SSAValue]:
    return [code.value(emitc.LoadOp(variable)) for variable in variables]


def _read_at_start(block: Block, values: Sequence[SSAValue], variables: Sequence[SSAValue]) -> None:
    """Replace block arguments by what variables contain when the block begins."""
    loads = [emitc.LoadOp(variable) for variable in variables]
    for value, load in zip(values, loads, strict=True):
        value.replace_all_uses_with(load.result)
    first = block.first_op
    if first is None:
        block.add_ops(loads)
    else:
        block.insert_ops_before(loads, first)


def _end(block: Block, values: Sequence[SSAValue], variables: Sequence[SSAValue]) -> None:
    """End a block by storing values in variables; each value is computed before any is stored."""
    last = cast(Operation, block.last_op)
    location = last.location
    last.detach()
    last.erase()
    ops: list[Operation] = [emitc.AssignOp(a, b) for a, b in zip(values, variables, strict=True)]
    ops.append(emitc.YieldOp())
    for op in ops:
        op.location = location
    block.add_ops(ops)


class ForLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %r = scf.for %i = %a to %b step %s iter_args(%x = %init) -> (f32) { … scf.yield %y : f32 }
    // ->
    %v = emitc.variable : !emitc.lvalue<f32>
    emitc.assign %init : f32 to %v : !emitc.lvalue<f32>
    emitc.for(%a, %b, %s) {
    ^bb0(%i: index):
      %x = emitc.load %v : !emitc.lvalue<f32> to f32
      …
      emitc.assign %y : f32 to %v : !emitc.lvalue<f32>
      emitc.yield
    }
    %r = emitc.load %v : !emitc.lvalue<f32> to f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ForOp, rewriter: PatternRewriter) -> None:
        """Keep carried values in variables, which the body reads first and writes last."""
        if op.lb.type != INDEX:
            raise StepwellError("unsupported", op, f"a loop over {op.lb.type}")
        code, block = Code.before(op), op.body.block
        variables = _variables(op, code, op.iter_args, "sum")
        _assign(code, op.iter_args, variables)
        block.args[0].name_hint = block.args[0].name_hint or "i"
        yielded = list(cast(Operation, block.last_op).operands)
        carried = block.args[1:]
        _end(block, yielded, variables)
        _read_at_start(block, carried, variables)
        for arg in carried:
            block.erase_arg(arg)
        code.insert(emitc.ForOp(op.lb, op.ub, op.step, op.detach_region(0)))
        rewriter.replace(op, code.ops, _loads(code, variables))


class ParallelLowering(LoopsToEmitCPattern):
    """
    ```mlir
    scf.parallel (%i) = (%a) to (%b) step (%s) { … scf.reduce }
    // ->
    emitc.for(%a, %b, %s) {
    ^bb0(%i: index):
      … emitc.yield
    }
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ParallelOp, rewriter: PatternRewriter) -> None:
        """Write a plain loop for each dimension, inside one another."""
        if op.initVals:
            raise StepwellError("unsupported", op, "scf.parallel with a reduction")
        block = op.body.block
        _end(block, [], [])
        for arg in block.args:
            arg.name_hint = arg.name_hint or "i"
        bounds = list(zip(op.lowerBound, op.upperBound, op.step, strict=True))
        outer = [Block(arg_types=[INDEX]) for _ in bounds[:-1]]
        for arg, around in zip(block.args[:-1], outer, strict=True):
            around.args[0].name_hint = arg.name_hint
            arg.replace_all_uses_with(around.args[0])
        for arg in block.args[:-1]:
            block.erase_arg(arg)
        loop = emitc.ForOp(*bounds[-1], op.detach_region(0))
        for bound, around in zip(reversed(bounds[:-1]), reversed(outer), strict=True):
            around.add_ops([loop, emitc.YieldOp()])
            loop = emitc.ForOp(*bound, Region(around))
        rewriter.replace(op, loop, [])


class IfLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %r = scf.if %c -> (f32) { … scf.yield %a : f32 } else { … scf.yield %b : f32 }
    // ->
    %v = emitc.variable : !emitc.lvalue<f32>
    emitc.if %c {
      … emitc.assign %a : f32 to %v : !emitc.lvalue<f32>
    } {
      … emitc.assign %b : f32 to %v : !emitc.lvalue<f32>
    }
    %r = emitc.load %v : !emitc.lvalue<f32> to f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.IfOp, rewriter: PatternRewriter) -> None:
        """Let both branches store their values in variables."""
        code = Code.before(op)
        variables = _variables(op, code, op.results, "value")
        for region in op.regions:
            if (block := region.first_block) is not None and block.last_op is not None:
                _end(block, list(block.last_op.operands), variables)
        code.insert(emitc.IfOp(op.cond, op.detach_region(0), op.detach_region(len(op.regions) - 1)))
        rewriter.replace(op, code.ops, _loads(code, variables))


class WhileLowering(LoopsToEmitCPattern):
    """
    A loop that tests first: its body runs inside a branch, and a flag repeats it.

    ```mlir
    %r = scf.while (%x = %init) : (f32) -> f32 { … scf.condition(%c) %y : f32 } do {
    ^bb0(%z: f32): … scf.yield %w : f32
    }
    // ->
    emitc.do {
      %x = emitc.load %v : !emitc.lvalue<f32> to f32
      … emitc.assign %y : f32 to %u : !emitc.lvalue<f32>
      emitc.assign %c : i1 to %more : !emitc.lvalue<i1>
      emitc.if %c { … emitc.assign %w : f32 to %v : !emitc.lvalue<f32> … } { }
    } while { … emitc.yield %again : i1 }
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.WhileOp, rewriter: PatternRewriter) -> None:
        """Keep what the test and the body pass on in variables."""
        code = Code.before(op)
        test, body = op.before_region.block, op.after_region.block
        condition = cast(scf.ConditionOp, test.last_op)
        before = _variables(op, code, op.operands, "state")
        after = _variables(op, code, op.results, "found")
        more = code.value(emitc.VariableOp(EmitC_LValueType(I1), "more"))
        _assign(code, op.operands, before)
        # The body, in which the values of the test are read, becomes a branch of the test.
        _end(body, list(cast(Operation, body.last_op).operands), before)
        _read_at_start(body, body.args, after)
        for arg in list(body.args):
            body.erase_arg(arg)
        holds = condition.condition
        branch = emitc.IfOp(holds, op.detach_region(1), Region())
        passed = list(condition.args)
        _end(test, [*passed, holds], [*after, more])
        test.insert_ops_before([branch], cast(Operation, test.last_op))
        _read_at_start(test, test.args, before)
        for arg in list(test.args):
            test.erase_arg(arg)
        code.insert(emitc.DoOp(op.detach_region(0), _reads(more)))
        rewriter.replace(op, code.ops, _loads(code, after))


def _reads(flag: SSAValue) -> Region:
    """The condition of a loop: a flag."""
    load = emitc.LoadOp(flag)
    return Region(Block([load, emitc.YieldOp(load.result)]))


class IndexSwitchLowering(LoopsToEmitCPattern):
    """
    ```mlir
    scf.index_switch %i case 2 { … } default { … }
    // ->
    %c = emitc.cmp 0 : i64, %i, %two : (index, index) -> i1
    emitc.if %c { … } { … }
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.IndexSwitchOp, rewriter: PatternRewriter) -> None:
        """Nest a branch for each case in the else of the one before."""
        code = Code.before(op)
        variables = _variables(op, code, op.results, "value")
        for region in op.regions:
            _end(region.block, list(cast(Operation, region.block.last_op).operands), variables)
        cases = [int(number) for number in op.cases.get_values()]
        regions = [op.detach_region(1) for _ in cases]
        rest = op.detach_region(0)
        for number, region in reversed(list(zip(cases[1:], regions[1:], strict=True))):
            block = Block()
            inner = Code.at_end(block, op.location)
            holds = _equals(inner, op.arg, number)
            inner.insert(emitc.IfOp(holds, region, rest))
            inner.insert(emitc.YieldOp())
            rest = Region(block)
        if not cases:
            raise StepwellError("unsupported", op, "scf.index_switch without a case")
        code.insert(emitc.IfOp(_equals(code, op.arg, cases[0]), regions[0], rest))
        rewriter.replace(op, code.ops, _loads(code, variables))


def _equals(code: Code, value: SSAValue, number: int) -> SSAValue:
    other = code.value(emitc.ConstantOp(number_attr(number, INDEX)))
    return code.value(emitc.CmpOp("eq", value, other))
