"""`gpu-kernel-outlining`: the bodies of launches → kernels with a name."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from stepwell.dialects import gpu
from stepwell.dialects.gpu.attributes import CONTAINER, KNOWN_BLOCK_SIZE, SPACES, DimensionEnum, space_of
from stepwell.dialects.gpu.kernel import known_block_size
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.sched import TARGET
from stepwell.dialects.tensor_ir.sizes import constant_index
from stepwell.runtime.errors import StepwellError

_CLONED = (
    arith.ConstantOp,
    memref.CastOp,
    memref.CollapseShapeOp,
    memref.DimOp,
    memref.ExpandShapeOp,
    memref.SubviewOp,
)
"""Ops outside of a launch that its kernel repeats: constants, and views of arguments."""
_DIMENSIONS = (DimensionEnum.X, DimensionEnum.Y, DimensionEnum.Z)


@dataclass(frozen=True)
class GpuKernelOutliningPass(ModulePass):
    """
    Move the body of each `gpu.launch` into a `gpu.func` of a `gpu.module`, and launch it by name.

    Values from outside are arguments; constants, views and what is loaded are made again inside. Constant
    block sizes become `gpu.known_block_size`, and `memref.alloc` of memory of the block an argument of the
    body. The `gpu.module` gets the target of the module (`sched.target`), for which `verify-gpu` checks it.

    ```mlir
    gpu.launch blocks(%b, …) in (…) threads(%t, …) in (%sx = %c256, …) { … }
    // ->
    gpu.launch_func @f_kernel::@f_kernel blocks in (…) threads in (%c256, …) args(%x : memref<4xf32>)
    ```
    """

    name = "gpu-kernel-outlining"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Outline the launches of each function of the host."""
        names = {
            str(each.sym_name.data)
            for each in op.body.block.ops
            if isinstance(each, FuncOp | gpu.GPUModuleOp)
        }
        target = {TARGET: op.attributes[TARGET]} if TARGET in op.attributes else {}
        for function in [each for each in op.body.block.ops if isinstance(each, FuncOp)]:
            for launch in [each for each in function.walk() if isinstance(each, gpu.LaunchOp)]:
                name = _fresh(f"{function.sym_name.data}_kernel", names)
                module = gpu.GPUModuleOp(name, Region(Block([_outlined(launch, name)])), target)
                module.location = launch.location
                IRBuilder(InsertPoint.before(function), launch.location).insert(module)
                op.attributes[CONTAINER] = UnitAttr()


def _fresh(name: str, names: set[str]) -> str:
    """A name that no symbol of the module has yet."""
    found, number = name, 0
    while found in names:
        number += 1
        found = f"{name}_{number}"
    names.add(found)
    return found


def _outlined(launch: gpu.LaunchOp, name: str) -> gpu.GPUFuncOp:
    """The kernel of a launch, which is replaced by one by name."""
    captured = _captured(launch)
    block = Block(arg_types=[value.type for value in captured if not _is_cloned(value)])
    build = IRBuilder.at_end(block, launch.location)
    passed = [value for value in captured if not _is_cloned(value)]
    inside: dict[SSAValue, SSAValue] = {}
    for value, argument in zip(passed, block.args, strict=True):
        argument.name_hint = value.name_hint
        inside[value] = argument
    for value in captured:
        _expect_unchanged(value, launch)
        if _is_cloned(value):
            assert isinstance(value.owner, Operation)
            build.insert(copy := value.owner.clone(inside))
            copy.results[0].name_hint = value.name_hint
            inside[value] = copy.results[0]
    _replace_ids(launch, build)
    for op in list(launch.body.block.ops):
        if isinstance(op, gpu.TerminatorOp):
            build.insert(gpu.ReturnOp())
            continue
        op.detach()
        build.insert(op)
    for op in block.walk():
        op.operands = [inside.get(value, value) for value in op.operands]
    return _kernel(launch, name, block, passed, _pass_shared_memory(block))


def _pass_shared_memory(block: Block) -> int:
    """Make arguments of what a body allocates in memory of the block; returns their number."""
    found = [
        op for op in block.ops if isinstance(op, memref.AllocOp) and space_of(op.memref.type) == SPACES[1]
    ]
    for op in found:
        argument = block.insert_arg(op.memref.type, len(block.args))
        argument.name_hint = op.memref.name_hint
        op.memref.replace_all_uses_with(argument)
        Rewriter.erase_op(op)
    return len(found)


def _kernel(
    launch: gpu.LaunchOp, name: str, block: Block, passed: list[SSAValue], shared: int
) -> gpu.GPUFuncOp:
    """The kernel with a body, launched by its name."""
    size = [constant_index(value) for value in launch.block]
    attributes: dict[str, Attribute] = {}
    if all(number is not None for number in size):
        attributes[KNOWN_BLOCK_SIZE] = known_block_size([number or 0 for number in size])
    types = [value.type for value in passed]
    kernel = gpu.GPUFuncOp(name, types, Region(block), workgroup=shared, attributes=attributes)
    kernel.location = launch.location
    symbol = SymbolRefAttr(name, [name])
    IRBuilder.before(launch).insert(gpu.LaunchFuncOp(symbol, list(launch.grid), list(launch.block), passed))
    Rewriter.erase_op(launch)
    return kernel


def _captured(launch: gpu.LaunchOp) -> list[SSAValue]:
    """The values from outside that the body needs, operands before results."""
    found: dict[SSAValue, None] = {}

    def need(value: SSAValue) -> None:
        if value in found:
            return
        if _is_cloned(value):
            assert isinstance(value.owner, Operation)
            for operand in value.owner.operands:
                need(operand)
        found[value] = None

    for op in launch.body.block.walk():
        for value in op.operands:
            if not _is_inside(value, launch):
                need(value)
    return list(found)


def _is_cloned(value: SSAValue) -> bool:
    return isinstance(value.owner, _CLONED) or _reads_memory(value)


def _reads_memory(value: SSAValue) -> bool:
    """Whether a value depends on memory of the device, which kernels read themselves."""
    op = value.owner
    if not isinstance(op, Operation) or isinstance(op, memref.LoadOp):
        return isinstance(op, memref.LoadOp)
    return not op.regions and is_side_effect_free(op) and any(map(_reads_memory, op.operands))


def _expect_unchanged(value: SSAValue, launch: gpu.LaunchOp) -> None:
    """Require that no op before a launch stores to what a load reads. Raises: StepwellError `unsupported`."""
    load = value.owner
    if not isinstance(load, memref.LoadOp):
        return
    op = load.next_op
    while op is not None and op is not launch:
        if any(isinstance(each, memref.StoreOp) and each.memref is load.memref for each in op.walk()):
            raise StepwellError(
                "unsupported",
                load,
                "a value that the kernel needs is loaded from memory that is written before the launch",
            )
        op = op.next_op


def _is_inside(value: SSAValue, launch: gpu.LaunchOp) -> bool:
    owner = value.owner
    op = owner.parent_op() if isinstance(owner, Block) else owner.parent_op()
    while op is not None:
        if op is launch:
            return True
        op = op.parent_op()
    return False


def _replace_ids(launch: gpu.LaunchOp, build: IRBuilder) -> None:
    """Read the arguments of the body from ops, those that are used."""
    kinds = (gpu.BlockIdOp, gpu.ThreadIdOp, gpu.GridDimOp, gpu.BlockDimOp)
    for position, argument in enumerate(launch.body.block.args):
        if argument.uses:
            kind, dimension = kinds[position // 3], _DIMENSIONS[position % 3]
            value = build.value(kind(dimension))
            value.name_hint = argument.name_hint
            argument.replace_all_uses_with(value)
