"""The text of a kernel: parameters from its arguments, then its body, op by op."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, ModuleOp, NoneAttr
from xdsl.ir import SSAValue

from stepwell.dialects import gpu
from stepwell.dialects.gpu.kernel import may_ask_for_size
from stepwell.dialects.gpu.limits import expect_within_limits
from stepwell.dialects.gpu.nodes import node_lines
from stepwell.lowering.bufferize import memref_of
from stepwell.lowering.emit_source.iterations import most_iterations
from stepwell.lowering.emit_source.language import BufferParameter, Language, Parts, ScalarParameter
from stepwell.lowering.emit_source.msl import Msl
from stepwell.lowering.emit_source.opencl import OpenCl
from stepwell.lowering.emit_source.short_integers import with_short_integers
from stepwell.lowering.emit_source.vectors import common_lanes
from stepwell.lowering.emit_source.views import View, dense, root_of
from stepwell.lowering.emit_source.walk import Walk
from stepwell.lowering.emit_source.wgsl import Wgsl
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.named_target import Target

LANGUAGES: Mapping[str, type[Language]] = {language.kind: language for language in (Wgsl, OpenCl, Msl)}
"""The language of each kind of target that takes source text."""
_INDEX = IndexType()


@dataclass(frozen=True)
class SourceKernel:
    """A kernel as text, and what a launch passes to it."""

    name: str
    text: str
    block: tuple[int, ...]
    buffers: tuple[int, ...]
    """The kernel's arguments that are buffers, in the order of their bindings."""
    written: tuple[int, ...]
    """The buffers that the kernel writes."""
    scalars: tuple[ScalarParameter, ...]
    """The numbers that are bound after the buffers."""
    needs_infinity: bool
    """Whether the bits of infinity are passed after the numbers."""
    iterations: Dim
    """The iterations of loops of a thread, at most; `n0` is the first of `scalars`."""


def emit_kernels(
    module: ModuleOp,
    target: Target,
    *,
    in_arena: bool = False,
    refuse: Callable[[StepwellError], None] | None = None,
) -> list[SourceKernel]:
    """
    The kernels of a module in the language of a target.

    Args: `in_arena` is for buffers that are pieces of larger memory. WebGPU refuses a launch that binds some
    pieces of one to be read and others to be written, so each is declared as written; OpenCL C takes an
    offset beside each pointer. `refuse` gets the errors of kernels that the target lacks something for,
    which are left out.
    Raises: StepwellError `unsupported-target` for a target without one; `exceeds-target`; `unsupported` for
    an op or a type that the language lacks.
    """
    language_class = LANGUAGES.get(target.kind)
    if language_class is None:
        message = f"there is no source text for {target.kind}"
        help = f"source text is for {', '.join(LANGUAGES)}: --target {next(iter(LANGUAGES))}"
        raise StepwellError("unsupported-target", None, message, help=help)
    language = language_class(target)
    kernels = [op for op in module.walk() if isinstance(op, gpu.GPUFuncOp) and op.kernel is not None]
    emitted: list[SourceKernel] = []
    for kernel in kernels:
        try:
            expect_within_limits(kernel, target)
            emitted.append(_emit(kernel, language, in_arena))
        except StepwellError as error:
            if refuse is None:
                raise
            refuse(error.at(kernel))
    return emitted


def _emit(kernel: gpu.GPUFuncOp, language: Language, in_arena: bool) -> SourceKernel:
    """The text of a kernel. Raises: StepwellError `unsupported`."""
    if not language.has_long_integers:
        kernel = with_short_integers(kernel)
    block = kernel.block_size
    if block is None:
        message = f"@{kernel.sym_name.data} has blocks of unknown size"
        raise StepwellError("unsupported", kernel, message, help="add gpu.known_block_size")
    parts = Parts(kernel.sym_name.data, block, node_lines(kernel), in_arena=in_arena)
    walk = Walk(language, parts, kernel)
    walk.names.reserve(parts.name)
    stored = {
        root_of(op.operands[1]) for op in kernel.walk() if isinstance(op, memref.StoreOp | vector.StoreOp)
    }
    buffers: list[int] = []
    for number, argument in enumerate(kernel.arguments):
        if isinstance(argument.type, MemRefType):
            buffers.append(number)
            _add_buffer(walk, argument, number, in_arena, argument in stored)
        else:
            name = walk.names.of(argument)
            type, walk.values[argument] = language.passed(name, argument.type, kernel)
            parts.scalars.append(ScalarParameter(name, type, number))
    for argument in kernel.workgroup:
        _add_memory(walk, argument)
    for argument in kernel.private:
        walk.declare_array(argument, kernel)
    walk.block(kernel.body.block)
    text = language.text(parts)
    return SourceKernel(
        parts.name,
        text,
        tuple(block),
        tuple(buffers),
        tuple(number for number in buffers if kernel.arguments[number] in stored),
        tuple(parts.scalars),
        parts.needs_infinity,
        most_iterations(kernel, tuple(parts.scalars)),
    )


def _add_buffer(walk: Walk, argument: SSAValue, number: int, in_arena: bool, is_stored: bool) -> None:
    """Make a parameter of a buffer, and of its sizes that are not known."""
    name, type = walk.names.of(argument), memref_of(argument)
    element = walk.element(type.element_type)
    language = walk.language
    packed = language.packed(type.element_type, is_stored)
    lanes = language.buffer_lanes(common_lanes(argument), element)
    held = language.buffer_element(element, lanes) if packed is None else packed.word
    walk.parts.buffers.append(BufferParameter(name, held, in_arena or is_stored))
    if type.layout != NoneAttr():
        help = "pass the whole buffer, and take the view inside of the kernel"
        raise StepwellError("unsupported", walk.at, f"argument {name} is a view: {type}", help=help)
    sizes: list[int | str] = []
    for dim, size in enumerate(type.get_shape()):
        if size != DYNAMIC_INDEX:
            sizes.append(size)
            continue
        of_size = walk.names.fresh(f"{name}_{dim}")
        if dim or may_ask_for_size(argument):
            index = walk.language.type(_INDEX, walk.at)
            walk.parts.scalars.append(ScalarParameter(of_size, index, number, dim))
        sizes.append(of_size)
    walk.views[argument] = replace(dense(name, sizes), packed=packed, lanes=lanes)


def _add_memory(walk: Walk, argument: SSAValue) -> None:
    """Declare memory of a block."""
    type = memref_of(argument)
    name, shape = walk.names.of(argument), type.get_shape()
    view: View = dense(name, shape)
    walk.views[argument] = view
    walk.parts.shared.append(walk.language.shared(name, walk.element(type.element_type), _product(shape)))


def _product(shape: Sequence[int]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total
