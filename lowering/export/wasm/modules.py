"""The code of an exported model as a WebAssembly module."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache

from stepwell.lowering.export.entry_object import entry_module, entry_object, support_objects
from stepwell.lowering.export.parts import Chunk, weight_chunks
from stepwell.lowering.export.wasm.allocation import ALLOCATOR, allocation_code
from stepwell.lowering.export.wasm.linker import LinkedModule, link_module
from stepwell.lowering.export.wasm.module import MAX_MEMORY_BYTES, module_file
from stepwell.lowering.export.wasm.objects import WasmObject, read_object
from stepwell.lowering.export.weights_check import weights_check_code
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.image import Entry, Variant
from stepwell.runtime.interface import Array
from stepwell.runtime.link.code import ObjectFiles
from stepwell.runtime.link.linker import UndefinedSymbols
from stepwell.runtime.machine.target import TargetDescription, described

STACK_BYTES = 1 << 20
"""The memory for the stack: feature maps with padding are there."""
_FUNCTIONS = ("workspace_bytes", "run", "message", "check_weights")


def wasm_module(
    name: str, entry: Entry, variant: Variant, arrays: Sequence[Array], weights: str, about: Mapping[str, object]
) -> tuple[list[Chunk], LinkedModule]:
    """
    The module of a variant, and its contents.

    Args: `arrays` are the weights, `weights` their place; `about` is the description of the model.
    Raises: StepwellError `undefined-symbol`, `too-large`.
    """
    target = described(variant.triple, variant.features)
    if not isinstance(variant.code, ObjectFiles):
        raise InternalError(None, f"the code for {variant.triple} is not in objects")
    own = weight_chunks(arrays) if weights == "embed" else []
    _expect_room(sum(map(len, weight_chunks(arrays))), entry)
    objects = [*variant.code.objects, *_entry_objects(name, entry, arrays, weights, about, target)]
    functions = [f"{name}_{suffix}" for suffix in _FUNCTIONS]
    if entry.slots:
        functions.append(ALLOCATOR)
    module = _linked([*map(read_object, objects), *_support(target)], functions, f"{name}_weights")
    text = json.dumps(about, separators=(",", ":"), sort_keys=True)
    return module_file(module, text, stack_bytes=STACK_BYTES, weights=own), module


def _entry_objects(
    name: str,
    entry: Entry,
    arrays: Sequence[Array],
    weights: str,
    about: Mapping[str, object],
    target: TargetDescription,
) -> list[bytes]:
    """The objects of the model's functions."""
    sizes = [array.nbytes for array in arrays]
    module = entry_module(entry, name, sizes, weights=weights, host=False)
    objects = [entry_object(module, about, target)]
    if weights == "file":
        text = weights_check_code(name, weight_chunks(arrays), target.pointer_bytes)
        objects.append(compile_to_object(text, target, optimize=False))
    return objects


@cache
def _support(target: TargetDescription) -> tuple[WasmObject, ...]:
    """The objects that are the same for all models."""
    allocation = compile_to_object(allocation_code(), target, optimize=False)
    return tuple(map(read_object, (*support_objects(target), allocation)))


def _linked(objects: Sequence[WasmObject], functions: Sequence[str], weights: str) -> LinkedModule:
    try:
        return link_module(objects, functions, stack_bytes=STACK_BYTES, open={weights: 0})
    except UndefinedSymbols as error:
        message = f"the code calls {', '.join(error.names)}, and a module imports its memory alone"
        help = "f64 mathematics, sines and tangents are the C library's: a .stepwell file runs the model"
        raise StepwellError("undefined-symbol", None, message, help=help) from None
    except ValueError as error:
        raise InternalError(None, f"exported code could not be linked: {error}") from None


def _expect_room(weight_bytes: int, entry: Entry) -> None:
    """Refuse what no memory of 32-bit addresses has room for. Raises: StepwellError `too-large`."""
    arena = entry.interface.arena_bytes
    needed = weight_bytes + STACK_BYTES + (arena.value if arena.is_static else 0)
    if needed <= MAX_MEMORY_BYTES:
        return
    message = f"the model needs {needed} bytes, and the memory of a WebAssembly module has {MAX_MEMORY_BYTES}"
    note = f"weights are {weight_bytes} bytes, the workspace is {arena}"
    raise StepwellError("too-large", None, message, note=note, help="use smaller inputs, or quantize the weights")
