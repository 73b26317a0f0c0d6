"""The arguments of a kernel on a device: pointers, numbers, and sizes that are known at run time only."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerType, MemRefType, ModuleOp, NoneAttr
from xdsl.ir import Attribute

from stepwell.dialects import gpu
from stepwell.dialects.gpu.kernel import may_ask_for_size
from stepwell.dialects.types import DimsAttr, element_bytes
from stepwell.lowering.bufferize import memref_of
from stepwell.runtime.devices.signatures import POINTER, Parameter
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


def parameters_of(kernel: gpu.GPUFuncOp) -> list[Parameter]:
    """
    The parameters of a kernel: its arguments, then sizes of buffers.

    Raises: StepwellError `unsupported` for a view among the arguments.
    """
    return [
        *(Parameter(number, _type(kernel, each.type)) for number, each in enumerate(kernel.arguments)),
        *(Parameter(number, "i64", dim) for number, dim in _sizes(kernel)),
    ]


def kernel_names(module: ModuleOp) -> dict[gpu.GPUFuncOp, str]:
    """The kernels of a module with their names, unique ones: the second of a name gets its module's too."""
    found: dict[gpu.GPUFuncOp, str] = {}
    for kernel in module.walk():
        if not isinstance(kernel, gpu.GPUFuncOp) or kernel.kernel is None:
            continue
        name, parent = kernel.sym_name.data, kernel.parent_op()
        if name in found.values() and isinstance(parent, gpu.GPUModuleOp):
            name = f"{parent.sym_name.data}_{name}"
        found[kernel] = name
    return found


def dims_of(type: MemRefType[Attribute], number: int) -> DimsAttr:
    """The sizes of a buffer, an argument by number; those that are parameters are names of `size_name`."""
    shape: Sequence[int] = type.get_shape()
    return DimsAttr.of(
        tuple(
            Dim.symbol(size_name(number, dim)) if size == DYNAMIC_INDEX else Dim.of(size)
            for dim, size in enumerate(shape)
        )
    )


def size_name(argument: int, dim: int) -> str:
    """The symbol of a size that is a parameter."""
    return f"n{argument}d{dim}"


def _sizes(kernel: gpu.GPUFuncOp) -> list[tuple[int, int]]:
    """The (argument, dimension) pairs that are parameters: strides need them, or the kernel asks for them."""
    found: list[tuple[int, int]] = []
    for number, argument in enumerate(kernel.arguments):
        if isinstance(argument.type, MemRefType):
            for dim, size in enumerate(memref_of(argument).get_shape()):
                if size == DYNAMIC_INDEX and (dim or may_ask_for_size(argument)):
                    found.append((number, dim))
    return found


def _type(kernel: gpu.GPUFuncOp, type: Attribute) -> str:
    """The type of a parameter. Raises: StepwellError `unsupported`."""
    if isinstance(type, IndexType):
        return "i64"
    if not isinstance(type, MemRefType):
        bits = 8 * element_bytes(type)
        return f"i{bits}" if isinstance(type, IntegerType) else f"f{bits}"
    if type.layout != NoneAttr():
        help = "pass the whole buffer, and take the view inside of the kernel"
        raise StepwellError("unsupported", kernel, f"an argument is a view: {type}", help=help)
    return POINTER
