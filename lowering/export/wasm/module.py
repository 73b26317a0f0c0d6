"""Writer of WebAssembly modules."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.lowering.export.parts import Chunk
from stepwell.lowering.export.wasm.encoding import (
    CODE,
    CUSTOM,
    DATA,
    ELEMENTS,
    EXPORTS,
    FUNCTION_REFERENCE,
    FUNCTIONS,
    GLOBALS,
    I32,
    IMPORTS,
    MAGIC,
    TABLES,
    TYPES,
    constant,
    section,
    text,
    unsigned,
    vector,
)
from stepwell.lowering.export.wasm.linker import LinkedModule
from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.files.exported import JSON_SECTION

PAGE_BYTES = 1 << 16
MAX_MEMORY_BYTES = 1 << 32
_AS_FUNCTION, _AS_MEMORY, _AS_GLOBAL = 0, 2, 3
_MUTABLE = 1
_MAXIMUM, _SHARED = 1, 2


def heap_base(module: LinkedModule, weights: Sequence[Chunk]) -> int:
    """The first address after weights in the module, a multiple of 64."""
    end = module.end + sum(map(len, weights))
    return end + -end % ARENA_ALIGNMENT


def module_file(
    module: LinkedModule,
    description: str,
    *,
    stack_bytes: int,
    weights: Sequence[Chunk] = (),
    is_shared: bool = False,
) -> list[Chunk]:
    """
    The bytes of a module.

    Args: `weights` are in memory after its constants; `is_shared`: for the memory of several threads.
    """
    heap = heap_base(module, weights)
    first = [
        section(TYPES, vector(module.types)),
        section(IMPORTS, vector([_memory(heap, is_shared)])),
        section(FUNCTIONS, vector(unsigned(type) for type, _ in module.functions)),
        section(TABLES, vector([_table(1 + len(module.elements))])),
        section(GLOBALS, vector([_global(stack_bytes, is_mutable=True), _global(heap)])),
        section(EXPORTS, vector(_exports(module))),
    ]
    if module.elements:
        elements = unsigned(0) + constant(1) + vector(map(unsigned, module.elements))
        first.append(section(ELEMENTS, vector([elements])))
    code = (unsigned(len(body)) + body for _, body in module.functions)
    chunks: list[Chunk] = [MAGIC, *first, section(CODE, vector(code))]
    return [*chunks, *_data(module, weights), section(CUSTOM, text(JSON_SECTION) + description.encode())]


def _memory(bytes: int, is_shared: bool) -> bytes:
    """The import of the memory; that of several threads says how far it grows."""
    pages = unsigned(-(-bytes // PAGE_BYTES))
    rest = unsigned(MAX_MEMORY_BYTES // PAGE_BYTES) if is_shared else b""
    flags = _MAXIMUM | _SHARED if is_shared else 0
    return text("env") + text("memory") + unsigned(_AS_MEMORY) + unsigned(flags) + pages + rest


def _table(size: int) -> bytes:
    return bytes([FUNCTION_REFERENCE]) + unsigned(_MAXIMUM) + unsigned(size) + unsigned(size)


def _global(value: int, is_mutable: bool = False) -> bytes:
    return bytes([I32]) + unsigned(_MUTABLE if is_mutable else 0) + constant(value)


def _exports(module: LinkedModule) -> list[bytes]:
    """The functions, the stack pointer, which each thread sets, and the begin of the caller's memory."""
    functions = [text(name) + unsigned(_AS_FUNCTION) + unsigned(n) for name, n in module.exports.items()]
    names = ("__stack_pointer", "__heap_base")
    return [*functions, *(text(name) + unsigned(_AS_GLOBAL) + unsigned(n) for n, name in enumerate(names))]


def _data(module: LinkedModule, weights: Sequence[Chunk]) -> list[Chunk]:
    """The section of constants and weights, which are not copied."""
    rows = [unsigned(0) + constant(at) + unsigned(len(data)) + data for at, data in module.segments]
    own: list[Chunk] = []
    if weight_bytes := sum(map(len, weights)):
        own = [unsigned(0) + constant(module.end) + unsigned(weight_bytes), *weights]
    head = unsigned(len(rows) + bool(own)) + b"".join(rows)
    size = len(head) + sum(map(len, own))
    return [unsigned(DATA) + unsigned(size) + head, *own] if rows or own else []
