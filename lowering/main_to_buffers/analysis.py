"""The buffers of all values of `@main`, those of branches and loops too."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.control_flow import yield_of
from stepwell.dialects.graph.functions import captured_values
from stepwell.dialects.graph.host import is_opaque
from stepwell.dialects.graph.symbols import defined_symbols
from stepwell.dialects.types import dims_of, element_bytes, tensor_of
from stepwell.lowering.main_to_buffers.main import (
    VIEWS,
    BlockAnalysis,
    Buffer,
    KernelSignature,
    MainBuffers,
    Move,
    signature_of,
)
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import describe_location


def analyse_main(main: func.FuncOp, kernels: dict[str, KernelSignature]) -> MainBuffers:
    """
    Find the buffer of every tensor value of `@main`.

    Raises: StepwellError `unsupported-op` for an op that is neither a call of a kernel, a constant nor a
    view.
    """
    analysis = _RegionAnalysis(main, kernels)
    analysis.visit_block(main.body.block)
    return analysis.found


class _RegionAnalysis(BlockAnalysis):
    """
    Positions number all ops, those in regions too, in the order of the text: values of two branches may
    share memory, since neither lives at a position of the other.
    """

    def __init__(self, main: func.FuncOp, kernels: dict[str, KernelSignature]):
        super().__init__(main, kernels)
        self._next = 0
        self._position: dict[Operation, int] = {}

    def visit_block(self, block: Block) -> None:
        """Visit the ops of a block, one position each."""
        for op in block.ops:
            self._position[op] = self._tick()
            self.visit(op, self._position[op])

    def _tick(self) -> int:
        self._next += 1
        return self._next

    def visit(self, op: Operation, position: int) -> None:
        match op:
            case graph.IfOp():
                self._touch(op.operands, position)
                self._visit_if(op, position)
            case graph.ForOp() | graph.WhileOp():
                self._touch(op.operands, position)
                self._visit_loop(op, position)
            case graph.YieldOp():
                self._touch(op.operands, position)
            case _:
                super().visit(op, position)

    def _touch(self, values: Sequence[SSAValue], position: int) -> None:
        for value in values:
            if value in self.found.of:
                self.found.of[value].last = position

    # Branches

    def _visit_if(self, op: graph.IfOp, start: int) -> None:
        for region in op.regions:
            self.visit_block(region.block)
        end = self._tick()
        self.found.symbols |= {value: name for name, value in defined_symbols(op)}
        for place, (result, type) in enumerate(zip(op.values, signature_of(op).outputs, strict=False)):
            if is_opaque(result.type):
                self._same_place(result, [yield_of(region).operands[place] for region in op.regions])
                continue
            target = self._new(op, result, dims_of(type), start, end)
            for region in op.regions:
                self._give(yield_of(region), place, target)

    def _same_place(self, result: SSAValue, others: Sequence[SSAValue]) -> None:
        """Let values of the host, each handed over by a call of its own, be the same object of the table."""
        for other in others:
            self.found.objects[other] = self.found.objects[result]

    def _new(self, op: Operation, value: SSAValue, dims: tuple[Dim, ...], start: int, end: int) -> Buffer:
        """A buffer for a value that an op with regions makes."""
        buffer = self.own(value, dims, "arena", start)
        buffer.name = describe_location(op) or op.name
        buffer.last = end
        self.place(buffer)
        return buffer

    def _give(self, last: graph.YieldOp, place: int, target: Buffer) -> None:
        """Let a branch leave a value in the buffer of the result: write it there, or copy it."""
        value = last.operands[place]
        if self._is_fresh(value, last):
            self.unplace(self.found.of[value])
            self.found.of[value] = target
        else:
            self._move(last, self.found.of[value], target, value)

    def _is_fresh(
        self, value: SSAValue, reader: Operation, makers: tuple[type[Operation], ...] = (func.CallOp,)
    ) -> bool:
        """Whether a kernel, or another maker, of the reader's block makes a value that nothing else reads."""
        owner = value.owner
        return (
            isinstance(owner, makers)
            and owner.parent is reader.parent
            and value.has_one_use()
            and self.found.of[value].kind in ("arena", "region")
        )

    def _move(self, at: Operation, source: Buffer, target: Buffer, value: SSAValue) -> None:
        move = Move(source, target, tensor_of(value), self.found.dims[value])
        self.found.moves.setdefault(at, []).append(move)

    # Loops

    def _visit_loop(self, op: graph.ForOp | graph.WhileOp, start: int) -> None:
        signature = signature_of(op)
        targets = [
            None if is_opaque(op.inits[place].type) else self._carried(op, place, dims_of(type), start)
            for place, type in enumerate(signature.inputs)
        ]
        regions = [op.test, op.body] if isinstance(op, graph.WhileOp) else [op.body]
        for region in regions:
            arguments = region.block.args
            if isinstance(op, graph.ForOp):
                self._new(op, arguments[0], (), start, start)
                arguments = arguments[1:]
            for place, (target, type) in enumerate(zip(targets, signature.inputs, strict=True)):
                arg = arguments[place]
                if target is None:
                    self._same_place(op.values[place], [op.inits[place], arg])
                else:
                    self.found.of[arg], self.found.dims[arg] = target, dims_of(type)
            self.found.symbols |= zip(arguments[len(targets) :], op.carried_names, strict=True)
            self.visit_block(region.block)
        end = self._tick()
        kept = [value for region in regions for value in captured_values(region)]
        if isinstance(op, graph.ForOp):
            kept.append(op.body.block.args[0])
        buffers = [self.found.of[value] for value in kept if value in self.found.of]
        for buffer in [*(target for target in targets if target is not None), *buffers]:
            buffer.last = end
        self._hand_on(op, targets, end)
        self.found.symbols |= {value: name for name, value in defined_symbols(op)}
        for result, target, type in zip(op.values, targets, signature.outputs, strict=False):
            if target is not None:
                self.found.of[result], self.found.dims[result] = target, dims_of(type)

    def _carried(
        self, op: graph.ForOp | graph.WhileOp, place: int, dims: tuple[Dim, ...], start: int
    ) -> Buffer:
        """The buffer of a carried value: that of what it starts as if nothing else reads it, or its own."""
        initial = op.inits[place]
        source = self.found.of[initial]
        fresh = self._is_fresh(initial, op, (func.CallOp, graph.ControlFlowOp))
        if fresh and dims == self.found.dims[initial] and source.kind == "arena":
            return source
        buffer = self._new(op, op.carried[place], dims, start, start)
        self._move(op, source, buffer, initial)
        return buffer

    def _hand_on(self, op: graph.ForOp | graph.WhileOp, targets: Sequence[Buffer | None], end: int) -> None:
        """
        Let an iteration leave its values where the next one finds them.

        A value that is another carried one of this iteration is set aside before any is overwritten.
        """
        last = yield_of(op.body)
        later: list[Move] = []
        for place, (value, target) in enumerate(zip(last.operands, targets, strict=True)):
            if target is None:
                self._same_place(op.values[place], [value])
                continue
            source = self.found.of[value]
            if source is target:
                continue
            if source.kind == target.kind == "arena" and self._may_overwrite(op, place):
                self.unplace(source)
                self.found.of[value] = target
                continue
            if source in targets:
                aside = self._aside(op, value, end)
                self._move(last, source, aside, value)
                source = aside
            source.last = max(source.last, end)
            later.append(Move(source, target, tensor_of(value), self.found.dims[value]))
        self.found.moves.setdefault(last, []).extend(later)

    def _may_overwrite(self, op: graph.ForOp | graph.WhileOp, place: int) -> bool:
        """Whether a kernel may write the next value of a carried one where this iteration's is."""
        last = yield_of(op.body)
        value = last.operands[place]
        if not self._is_fresh(value, last):
            return False
        limit = self._position[cast(Operation, value.owner)]
        waiting = [op.carried[place]]
        while waiting:
            for use in waiting.pop().uses:
                if self._position[use.operation] >= limit:
                    return False
                if isinstance(use.operation, VIEWS):
                    waiting += use.operation.results
        return True

    def _aside(self, op: Operation, value: SSAValue, end: int) -> Buffer:
        size = prod(self.found.dims[value], start=Dim.of(element_bytes(tensor_of(value).element_type)))
        buffer = Buffer("arena", 0, size, self._position[op], end, describe_location(op) or op.name)
        self.place(buffer)
        return buffer
