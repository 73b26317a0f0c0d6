"""Values without later reads, which a frame would keep during a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.ir import Block
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects.vm import VmFuncOp
from stepwell.dialects.vm.instructions import OPS, InstructionOp, number
from stepwell.passes.context import count
from stepwell.passes.vm.liveness import LiveRegisters, bits_of, registers_in

_CALLS = ("vm.invoke", "vm.invoke_closure")
_INTEGERS = ("vm.get_tag", "vm.load_consti")


def kill_before_calls(function: VmFuncOp) -> None:
    """
    Insert a `vm.kill` before a call for each register with a value that nothing reads, in the call or later.

    ```mlir
    vm.kill r1
    vm.invoke r0, @f(r0)
    ```
    """
    live = LiveRegisters.of(function)
    needed = {op: _needed(op, live) for block in function.body.blocks for op in _calls(block)}
    for op, held in _held_at_calls(function, needed):
        for register in registers_in(held & ~needed[op]):
            kill = OPS["kill"].of({"value": number(register)})
            kill.location = op.location
            Rewriter.insert_op(kill, InsertPoint.before(op))
            count("kills inserted")


def _calls(block: Block) -> Iterator[InstructionOp]:
    return (op for op in _instructions(block) if op.name in _CALLS)


def _needed(op: InstructionOp, live: LiveRegisters) -> int:
    """The registers that are read by a call or later."""
    return live.after[op] & ~bits_of(op.registers_written) | bits_of(op.registers_read)


def _held_at_calls(
    function: VmFuncOp, needed: Mapping[InstructionOp, int]
) -> Iterator[tuple[InstructionOp, int]]:
    """Each call, with the registers that have a value before it on every path, machine integers left out."""
    blocks = list(function.body.blocks)
    before: dict[Block, int] = {blocks[0]: (1 << function.counts[0]) - 1}
    waiting = {blocks[0]: None}
    while waiting:
        block, _ = waiting.popitem()
        held = before[block]
        for op in _instructions(block):
            held = _held_after(op, held & needed.get(op, held))
        for target in block.last_op.successors if block.last_op is not None else ():
            joined = held & before.get(target, held)
            if before.get(target) != joined:
                before[target] = joined
                waiting[target] = None
    for block, held in before.items():
        for op in _instructions(block):
            if op in needed:
                yield op, held
            held = _held_after(op, held & needed.get(op, held))


def _held_after(op: InstructionOp, held: int) -> int:
    """The registers that have a value after an instruction."""
    written = bits_of(op.registers_written)
    is_integer = op.name in _INTEGERS or (op.name == "vm.move" and not held >> op.registers_read[0] & 1)
    if op.name == "vm.kill":
        return held & ~bits_of(op.registers_read)
    return held & ~written if is_integer else held | written


def _instructions(block: Block) -> Iterator[InstructionOp]:
    return (op for op in list(block.ops) if isinstance(op, InstructionOp))
