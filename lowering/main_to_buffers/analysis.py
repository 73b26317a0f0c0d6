"""The buffers of all values of `@main`, including those inside branches and loops."""

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
from stepwell.lowering.main_to_buffers.facts import signature_of
from stepwell.lowering.main_to_buffers.kernel_signature import KernelSignature
from stepwell.lowering.main_to_buffers.live_buffers import VIEWS, BlockAnalysis, LiveBuffer, LiveBuffers
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import describe_location


def analyse_main(main: func.FuncOp, kernels: dict[str, KernelSignature], *, keep: bool) -> LiveBuffers:
    """
    Find the buffer of every tensor value of `@main`.

    Args: `keep` gives the results of all calls memory of their own.
    Raises: StepwellError `unsupported-op` for an op that is neither a kernel call, a constant nor a view.
    """
    analysis = _RegionAnalysis(main, kernels, keep)
    analysis.visit_block(main.body.block)
    return analysis.found


class _RegionAnalysis(BlockAnalysis):
    """Finds the buffers of the values in nested regions too."""

    def __init__(self, main: func.FuncOp, kernels: dict[str, KernelSignature], keep: bool):
        super().__init__(main, kernels, keep)
        self._next = 0
        self._position: dict[Operation, int] = {}

    def visit_block(self, block: Block) -> None:
        """Visit the ops of a block, each at the next position."""
        for op in block.ops:
            self._position[op] = self._tick()
            self.visit(op, self._position[op])

    def _tick(self) -> int:
        """The next position."""
        self._next += 1
        return self._next

    def visit(self, op: Operation, position: int) -> None:
        """Visit an op at a position; branches and loops recurse into their regions."""
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
        """Extend the lifetimes of the buffers of some values to a position."""
        for value in values:
            if value in self.found.of:
                self.found.of[value].last = position

    # Branches

    def _visit_if(self, op: graph.IfOp, start: int) -> None:
        """Give each result a buffer in which both branches leave their value."""
        for region in op.regions:
            self.visit_block(region.block)
        end = self._tick()
        self.found.symbols |= {value: name for name, value in defined_symbols(op)}
        for index, (result, type) in enumerate(zip(op.values, signature_of(op).outputs, strict=False)):
            if is_opaque(result.type):
                self._share_object(result, [yield_of(region).operands[index] for region in op.regions])
                continue
            target = self._new(op, result, dims_of(type), start, end)
            for region in op.regions:
                self._give(yield_of(region), index, target)

    def _share_object(self, result: SSAValue, others: Sequence[SSAValue]) -> None:
        """Let host values, each passed on by a call of its own, be the same object of the table."""
        for other in others:
            self.found.objects[other] = self.found.objects[result]

    def _new(self, op: Operation, value: SSAValue, dims: tuple[Dim, ...], start: int, end: int) -> LiveBuffer:
        """A new buffer for a value that an op with regions defines, alive from `start` to `end`."""
        buffer = self.own(value, dims, "arena", start)
        buffer.name = describe_location(op) or op.name
        buffer.last = end
        self.allocate(buffer)
        return buffer

    def _give(self, last: graph.YieldOp, index: int, target: LiveBuffer) -> None:
        """
        Have a branch compute a result in the buffer `target`, or else copy it there.
        """
        value = last.operands[index]
        if self._is_fresh(value, last):
            self.release(self.found.of[value])
            self.found.of[value] = target
        else:
            self._move(last, self.found.of[value], target, value)

    def _is_fresh(
        self, value: SSAValue, reader: Operation, makers: tuple[type[Operation], ...] = (func.CallOp,)
    ) -> bool:
        """
        Whether a kernel call, or another of `makers`, in the reader's block defines a value that has no other
        use, so that it may be in the reader's memory; never where values are kept.
        """
        owner = value.owner
        return (
            not self.keep
            and isinstance(owner, makers)
            and owner.parent is reader.parent
            and value.has_one_use()
            and self.found.of[value].kind in ("arena", "slot")
        )

    def _move(self, at: Operation, source: LiveBuffer, target: LiveBuffer, value: SSAValue) -> None:
        """Record a copy between two buffers at an op."""
        self.found.moves.setdefault(at, []).append((source, target, value))

    # Loops

    def _visit_loop(self, op: graph.ForOp | graph.WhileOp, start: int) -> None:
        """Find the buffers of a loop: carried values, the body, captured values kept alive, results."""
        signature = signature_of(op)
        targets = [
            None if is_opaque(op.inits[index].type) else self._carried(op, index, dims_of(type), start)
            for index, type in enumerate(signature.inputs)
        ]
        # Regions: each argument is in the buffer of its carried value
        regions = [op.test, op.body] if isinstance(op, graph.WhileOp) else [op.body]
        for region in regions:
            arguments = region.block.args
            if isinstance(op, graph.ForOp):
                self._new(op, arguments[0], (), start, start)
                arguments = arguments[1:]
            for index, (target, type) in enumerate(zip(targets, signature.inputs, strict=True)):
                arg = arguments[index]
                if target is None:
                    self._share_object(op.values[index], [op.inits[index], arg])
                else:
                    self.found.of[arg], self.found.dims[arg] = target, dims_of(type)
            self.found.symbols |= zip(arguments[len(targets) :], op.carried_names, strict=True)
            self.visit_block(region.block)
        # Lifetimes: captured values and the iteration number live until the last iteration ends
        end = self._tick()
        kept = [value for region in regions for value in captured_values(region)]
        if isinstance(op, graph.ForOp):
            kept.append(op.body.block.args[0])
        buffers = [self.found.of[value] for value in kept if value in self.found.of]
        for buffer in [*(target for target in targets if target is not None), *buffers]:
            buffer.last = end
        # Results: the buffers after the last iteration
        self._hand_on(op, targets, end)
        self.found.symbols |= {value: name for name, value in defined_symbols(op)}
        for result, target, type in zip(op.values, targets, signature.outputs, strict=False):
            if target is not None:
                self.found.of[result], self.found.dims[result] = target, dims_of(type)

    def _carried(
        self, op: graph.ForOp | graph.WhileOp, index: int, dims: tuple[Dim, ...], start: int
    ) -> LiveBuffer:
        """The buffer of a carried value: the initial value's if nothing else uses it, else a new one."""
        initial = op.inits[index]
        source = self.found.of[initial]
        fresh = self._is_fresh(initial, op, (func.CallOp, graph.ControlFlowOp))
        if fresh and dims == self.found.dims[initial] and source.kind == "arena":
            return source
        buffer = self._new(op, op.carried[index], dims, start, start)
        self._move(op, source, buffer, initial)
        return buffer

    def _hand_on(
        self, op: graph.ForOp | graph.WhileOp, targets: Sequence[LiveBuffer | None], end: int
    ) -> None:
        """
        Let an iteration leave the next values of the carried tensors in their buffers.

        A next value that is another carried tensor's current value is copied aside before any is overwritten.
        """
        last = yield_of(op.body)
        later: list[tuple[LiveBuffer, LiveBuffer, SSAValue]] = []
        for index, (value, target) in enumerate(zip(last.operands, targets, strict=True)):
            if target is None:
                self._share_object(op.values[index], [value])
                continue
            source = self.found.of[value]
            if source is target:
                continue
            if source.kind == target.kind == "arena" and self._may_overwrite(op, index):
                self.release(source)
                self.found.of[value] = target
                continue
            if source in targets:
                aside = self._aside(op, value, end)
                self._move(last, source, aside, value)
                source = aside
            source.last = max(source.last, end)
            later.append((source, target, value))
        self.found.moves.setdefault(last, []).extend(later)

    def _may_overwrite(self, op: graph.ForOp | graph.WhileOp, index: int) -> bool:
        """
        Whether a kernel may write a carried tensor's next value over the current one: all its reads are
        before.
        """
        last = yield_of(op.body)
        value = last.operands[index]
        if not self._is_fresh(value, last):
            return False
        limit = self._position[cast(Operation, value.owner)]
        waiting = [op.carried[index]]
        while waiting:
            for use in waiting.pop().uses:
                if self._position[use.operation] >= limit:
                    return False
                if isinstance(use.operation, VIEWS):
                    waiting += use.operation.results
        return True

    def _aside(self, op: Operation, value: SSAValue, end: int) -> LiveBuffer:
        """A temporary buffer for a value that would be overwritten too early."""
        size = prod(self.found.dims[value], start=Dim.of(element_bytes(tensor_of(value).element_type)))
        buffer = LiveBuffer("arena", 0, size, self._position[op], end, describe_location(op) or op.name)
        self.allocate(buffer)
        return buffer
