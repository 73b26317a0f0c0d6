"""`convert-parallel-loops-to-gpu`: parallel loops that are mapped to blocks and threads → `gpu.launch`."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from stepwell.dialects import gpu
from stepwell.dialects.gpu.attributes import processors
from stepwell.dialects.ir_builder import INDEX, Constants, IRBuilder
from stepwell.dialects.tensor_ir.sizes import constant_index
from stepwell.runtime.errors import StepwellError

_IDS = ("block_x", "block_y", "block_z", "thread_x", "thread_y", "thread_z")
"""The processors in the order of the first arguments of a launch's body."""


@dataclass(frozen=True)
class ConvertParallelLoopsToGpuPass(ModulePass):
    """
    Make a `gpu.launch` of each outermost `scf.parallel` with `gpu.mapping`, and of those mapped inside it.

    ```mlir
    scf.parallel (%b) = (%c0) to (%blocks) step (%c1) {
      scf.parallel (%t) = (%c0) to (%c256) step (%c1) { … } {gpu.mapping = [… thread_x …]}
    } {gpu.mapping = [… block_x …]}
    // ->
    gpu.launch blocks(%b, %by, %bz) in (%gx = %blocks, %gy = %c1, %gz = %c1)
        threads(%t, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
      …
      gpu.terminator
    }
    ```
    Bounds are computed outside of the loops; each processor has one loop.
    """

    name = "convert-parallel-loops-to-gpu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert the mapped loops of functions of the host."""
        for function in [inner for inner in op.body.block.ops if isinstance(inner, FuncOp)]:
            loops = [each for each in function.walk() if _is_mapped(each) and not _is_inside_mapped(each)]
            constants = Constants(function) if loops else None
            for loop in loops:
                assert isinstance(loop, scf.ParallelOp)
                _Launch(loop, constants).build()


def _is_mapped(op: Operation) -> bool:
    return isinstance(op, scf.ParallelOp) and bool(processors(op.attributes))


def _is_inside_mapped(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None:
        if _is_mapped(parent):
            return True
        parent = parent.parent_op()
    return False


@dataclass
class _Launch:
    """A launch under construction."""

    outermost: scf.ParallelOp
    constants: Constants | None
    sizes: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    body: Block = field(default_factory=lambda: Block(arg_types=[INDEX] * 12))

    def build(self) -> None:
        """Replace the loops. Raises: StepwellError `unsupported`, `invalid-ir`."""
        before = IRBuilder.before(self.outermost, constants=self.constants)
        self._inline(self.outermost, IRBuilder.at_end(self.body, self.outermost.location))
        IRBuilder.at_end(self.body, self.outermost.location).insert(gpu.TerminatorOp())
        one = before.materialize(1)
        sizes = [self.sizes.get(name, one) for name in _IDS]
        before.insert(gpu.LaunchOp(sizes[:3], sizes[3:], Region(self.body)))
        Rewriter.erase_op(self.outermost)

    def _inline(self, loop: scf.ParallelOp, at: IRBuilder) -> None:
        """Move a loop's body to the launch, for the iteration of the thread's ids."""
        if loop.initVals:
            raise StepwellError("unsupported", loop, "a mapped parallel loop with reductions")
        names = processors(loop.attributes)
        if len(names) != len(loop.lowerBound):
            message = f"gpu.mapping has {len(names)} processors, and the loop {len(loop.lowerBound)} indices"
            raise StepwellError("invalid-ir", loop, message)
        before = IRBuilder.before(self.outermost)
        for position, name in enumerate(names):
            lower, upper, step = (each[position] for each in (loop.lowerBound, loop.upperBound, loop.step))
            self._expect_free(loop, name, (lower, upper, step))
            extent = (
                before.binary(arith.CeilDivSIOp, before.minus(upper, lower), step)
                if not _is_plain(lower, step)
                else upper
            )
            self.sizes[name] = extent
            index: SSAValue = self.body.args[_IDS.index(name)]
            if not _is_plain(lower, step):
                index = at.materialize(at.plus(at.times(index, step), lower))
            index.name_hint = index.name_hint or loop.body.block.args[position].name_hint
            loop.body.block.args[position].replace_all_uses_with(index)
        for op in list(loop.body.block.ops):
            if isinstance(op, scf.ReduceOp):
                continue
            if isinstance(op, scf.ParallelOp) and _is_mapped(op):
                self._inline(op, at)
                continue
            op.detach()
            at.insert(op)

    def _expect_free(self, loop: scf.ParallelOp, name: str, bounds: tuple[SSAValue, ...]) -> None:
        """Require an unused processor, and bounds from outside of the loops."""
        if name not in _IDS or name in self.sizes:
            message = f"{name} has two loops" if name in self.sizes else f"a loop is mapped to {name}"
            raise StepwellError("unsupported", loop, message, help=f"processors are {', '.join(_IDS)}")
        around: list[Block | None] = []
        op: Operation | None = self.outermost
        while op is not None:
            around.append(op.parent)
            op = op.parent_op()
        for value in bounds:
            owner = value.owner
            if (owner if isinstance(owner, Block) else owner.parent) not in around:
                message = f"the bounds of the loop of {name} are computed inside of the launch"
                raise StepwellError("unsupported", loop, message)


def _is_plain(lower: SSAValue, step: SSAValue) -> bool:
    """Whether a loop counts from 0 in steps of 1."""
    return constant_index(lower) == 0 and constant_index(step) == 1
