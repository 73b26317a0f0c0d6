"""The code of an exported model as WebAssembly modules."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from stepwell.dialects.sched_entry import weight_offsets
from stepwell.lowering.c_math import MATH_FUNCTIONS, math_code
from stepwell.lowering.export.c_library import library_code, library_functions
from stepwell.lowering.export.entry_object import entry_module, entry_object, pool_object
from stepwell.lowering.export.parts import Chunk, weight_chunks
from stepwell.lowering.export.wasm.allocation import ALLOCATOR, allocation_code
from stepwell.lowering.export.wasm.linker import LinkedModule, link_module
from stepwell.lowering.export.wasm.module import MAX_MEMORY_BYTES, heap_base, module_file
from stepwell.lowering.export.wasm.objects import WasmObject, read_object
from stepwell.lowering.export.weights_check import weights_check_code
from stepwell.lowering.kernels.exported_pool import POOL_FUNCTIONS
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.image import MAIN, Entry, Variant
from stepwell.runtime.interface import Array
from stepwell.runtime.link.code import ObjectFiles
from stepwell.runtime.link.linker import UndefinedSymbols
from stepwell.runtime.machine.target import TargetDescription, described

STACK_BYTES = 2 << 20
"""The memory for the stack of a thread, as large as that of Stepwell's own: padded feature maps are there."""
_FUNCTIONS, _CHECK = ("workspace_bytes", "run", "message"), "check_weights"


@dataclass(frozen=True)
class WasmCode:
    """The code of a model before it is in a module."""

    name: str
    weights: tuple[Chunk, ...]
    """The weights of the module itself; empty where they are elsewhere."""
    about: str
    """The description of the model, as JSON."""
    objects: tuple[WasmObject, ...]
    functions: tuple[str, ...]
    target: TargetDescription
    weight_names: tuple[str, ...]
    """The names of the first weight in the code of each function."""

    def module(self, *, threads: bool = False) -> Module:
        """
        The module, for the memory of one thread or of several.

        Raises: StepwellError `undefined-symbol`.
        """
        target = replace(self.target, features=(*self.target.features, *(["atomics"] if threads else [])))
        exports = [*self.functions, *(POOL_FUNCTIONS if threads else ())]
        objects = [*self.objects, *_support(target)]
        objects += _mathematics(self.objects, target)
        linked = _linked(objects, exports, self.weight_names)
        file = module_file(
            linked, self.about, stack_bytes=STACK_BYTES, weights=self.weights, is_shared=threads
        )
        code_bytes = sum(len(body) for _, body in linked.functions)
        return Module(file, tuple(linked.exports), code_bytes, heap_base(linked, self.weights))


@dataclass(frozen=True)
class Module:
    """A module, and what its users need to know."""

    file: list[Chunk]
    exports: tuple[str, ...]
    code_bytes: int
    heap: int
    """The first address that is the caller's."""


@dataclass(frozen=True)
class WasmFunction:
    """A function before it is in a module."""

    name: str
    """The name with which its functions in C begin."""
    entry: Entry
    variant: Variant
    numbers: Sequence[int]
    """The numbers of its weights among those of the module."""
    about: Mapping[str, object]
    """The description that its own function `json` returns."""

    @property
    def target(self) -> TargetDescription:
        """The target of its code."""
        return described(self.variant.triple, self.variant.features)

    def objects(self, offsets: Sequence[int], weights: str) -> list[WasmObject]:
        """The objects of its code and of its entry; `offsets` are those of the module's weights."""
        if not isinstance(self.variant.code, ObjectFiles):
            raise InternalError(None, f"the code for {self.variant.triple} is not in objects")
        places = [offsets[number] for number in self.numbers]
        module = entry_module(self.entry, self.name, places, weights=weights, host=False)
        code, main = map(read_object, self.variant.code.objects), f"{self.name}_{MAIN}"
        entry = read_object(entry_object(module, self.about, self.target))
        return [_renamed(each, self.variant.symbol, main) for each in code] + [_renamed(entry, MAIN, main)]


def _renamed(object: WasmObject, old: str, main: str) -> WasmObject:
    """An object with another name for `@main`; its other functions may be in the code of several models."""
    symbols = (
        s._replace(name=main) if s.name == old else s._replace(is_weak=s.is_weak or s.is_defined)
        for s in object.symbols
    )
    return object._replace(symbols=tuple(symbols))


def wasm_code(
    name: str,
    functions: Sequence[WasmFunction],
    arrays: Sequence[Array],
    weights: str,
    about: Mapping[str, object],
) -> WasmCode:
    """
    The code of functions.

    Args: `arrays` are the weights, `weights` their place; `about` is the description of the module.
    Raises: StepwellError `too-large`.
    """
    target, chunks = functions[0].target, weight_chunks(arrays)
    for each in functions:
        _expect_room(sum(map(len, chunks)), each.entry)
    offsets = weight_offsets([array.nbytes for array in arrays])
    objects = [each for function in functions for each in function.objects(offsets, weights)]
    if weights == "file":
        text = weights_check_code(name, chunks, target.pointer_bytes)
        objects.append(read_object(compile_to_object(text, target, optimize=False)))
    exports = [f"{each.name}_{suffix}" for each in functions for suffix in _FUNCTIONS]
    exports += [f"{name}_{_CHECK}"]
    exports += [ALLOCATOR] if any(each.entry.slots for each in functions) else []
    text = json.dumps(about, separators=(",", ":"), sort_keys=True)
    own, places = chunks if weights == "embed" else [], tuple(f"{each.name}_weights" for each in functions)
    return WasmCode(name, tuple(own), text, tuple(objects), tuple(exports), target, places)


@cache
def _support(target: TargetDescription) -> tuple[WasmObject, ...]:
    """The objects that are the same for all models."""
    machine = target.arch, target.pointer_bytes
    texts = library_code(library_functions(*machine), *machine), allocation_code()
    own = (compile_to_object(text, target, optimize=False) for text in texts)
    return tuple(map(read_object, (pool_object(target), *own)))


def _mathematics(objects: Sequence[WasmObject], target: TargetDescription) -> list[WasmObject]:
    """The object with the functions of `math.h` that kernels call."""
    used = {symbol.name for each in objects for symbol in each.symbols if not symbol.is_defined}
    if not (names := used & MATH_FUNCTIONS):
        return []
    return [read_object(compile_to_object(math_code(names), target, optimize=False))]


def _linked(objects: Sequence[WasmObject], functions: Sequence[str], weights: Sequence[str]) -> LinkedModule:
    try:
        return link_module(objects, functions, stack_bytes=STACK_BYTES, open=dict.fromkeys(weights, 0))
    except UndefinedSymbols as error:
        message = f"the code calls {', '.join(error.names)}, and a module imports its memory alone"
        help = "a .stepwell file runs the model"
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
    raise StepwellError(
        "too-large", None, message, note=note, help="use smaller inputs, or quantize the weights"
    )
