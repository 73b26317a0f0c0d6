"""
The parts of a file of machine code: `@main` and its kernels, linked with their entry, thread pool and memcpy.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from stepwell.lowering.c_math import MATH_FUNCTIONS, math_code
from stepwell.lowering.export.c_library import library_code, library_functions
from stepwell.lowering.export.ffi import IMPORTS_SYMBOL, ffi_functions
from stepwell.lowering.export.parts import ExportedSymbol, Parts
from stepwell.lowering.export.stack_bound import stack_bound
from stepwell.lowering.kernels.exported_pool import POOL_FUNCTIONS, POOL_PREFIX
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.image import MAIN, Variant
from stepwell.runtime.interface import Array
from stepwell.runtime.link.code import LinkedCode
from stepwell.runtime.link.elf import ObjectFile
from stepwell.runtime.link.linker import FlatCode, UndefinedSymbols, flat_link
from stepwell.runtime.link.relinked import as_object, read_paired
from stepwell.runtime.machine.target import TargetDescription, described
from stepwell.runtime.targets.triples import arch_of, has_threads, system_of

_ENTRY = ("workspace_bytes", "run", "message", "json", "main")
_FILE = ("json", "check_weights")


class EntryCode(NamedTuple):
    """A function of a model with its code and entry, to be linked into a file."""

    name: str
    """The name with which its functions in C begin."""
    variant: Variant
    entry: bytes
    """The object of its entry."""

    @property
    def target(self) -> TargetDescription:
        """The target of its code."""
        return described(self.variant.triple, self.variant.features)

    @property
    def alias(self) -> str:
        """The name of its `@main` in the file."""
        return f"{self.name}_{MAIN}"


def elf_parts(
    name: str,
    functions: Sequence[EntryCode],
    support: Sequence[bytes],
    weights: Sequence[Array],
    json: str,
    more: Sequence[ObjectFile] = (),
    *,
    ffi: bytes = b"",
) -> Parts:
    """
    The code of functions with the objects of their entries.

    Args: `support` are the objects that all functions call; `weights` are the weights in the file itself;
    `more` are objects of a program around the functions; `ffi` is the object with functions for other
    languages.
    Raises: StepwellError `undefined-symbol` if the code calls a function without a definition.
    """
    shared = [*map(read_paired, support)]
    shared += [*more, *_mathematics(functions, [*shared, *more])]
    outside = [read_paired(ffi)] if ffi else []
    shared += _c_library(functions, [*shared, *outside])
    files, stacks = list[ObjectFile](), dict[str, int]()
    for each in functions:
        code, entry = _with_alias(each), _calling(read_paired(each.entry), each.alias)
        stacks[each.name] = stack_bound(code, [entry, *shared])
        # Kernels of several functions that have the same name have the same code.
        kernels = code if len(functions) == 1 else [_as_weak(file, each.alias) for file in code]
        files += [*(file for file in kernels if file not in files), entry]
    open_names = [IMPORTS_SYMBOL, *(f"{each.name}_weights" for each in functions)]
    code = _linked([*files, *outside, *shared], open_names)
    weights_of_file = f"{name}_weights"
    open = [
        (place, kind, symbol if symbol == IMPORTS_SYMBOL else weights_of_file, addend)
        for place, kind, symbol, addend in code.relocations
    ]
    code = code._replace(relocations=tuple(open))
    names = [f"{each.name}_{suffix}" for each in functions for suffix in _ENTRY]
    names += [ffi_name for each in functions for ffi_name in ffi_functions(each.name)]
    names = list(dict.fromkeys([*names, *(f"{name}_{suffix}" for suffix in _FILE)]))
    symbols = [ExportedSymbol(function) for function in names if function in code.symbols]
    links, is_weak = pool_links(name, functions[0].variant.triple)
    places = {link: code.symbols[own] for link, own in zip(links, POOL_FUNCTIONS, strict=False)}
    code = code._replace(symbols={**code.symbols, **places})
    symbols += [ExportedSymbol(link, is_weak) for link in links]
    imports = IMPORTS_SYMBOL if ffi else ""
    return Parts(name, code, tuple(symbols), tuple(weights), json, imports, stacks)


def _mathematics(functions: Sequence[EntryCode], support: Sequence[ObjectFile]) -> list[ObjectFile]:
    """The object with the functions of `math.h` that kernels call."""
    files = [file for each in functions for file in _with_alias(each)]
    if not (names := _undefined([*files, *support]) & MATH_FUNCTIONS):
        return []
    return [read_paired(compile_to_object(math_code(names), functions[0].target, optimize=False))]


def _c_library(functions: Sequence[EntryCode], support: Sequence[ObjectFile]) -> list[ObjectFile]:
    """The object with the functions of the C library to which LLVM adds calls."""
    files = [file for each in functions for file in (*_with_alias(each), read_paired(each.entry))]
    target, own = functions[0].target, list[ObjectFile]()
    known, names = library_functions(target.arch, target.pointer_bytes), set[str]()
    while new := _undefined([*files, *support, *own]) & known.keys():
        names |= new  # code of the library can call further ones
        text = library_code(names, target.arch, target.pointer_bytes)
        own = [read_paired(compile_to_object(text, target, optimize=False))]
    return own


def _undefined(files: Sequence[ObjectFile]) -> set[str]:
    """The names that files use but do not define."""
    defined = {s.name for file in files for s in file.symbols if s.section}
    return {s.name for file in files for s in file.symbols if not s.section} - defined


def pool_links(name: str, triple: str) -> tuple[Sequence[str], bool]:
    """
    The link names of the functions of a pool, and whether they are weak.

    In ELF, the functions are weak, so several files of a program can have them. In other formats a weak
    function needs a section of its own, but the code is in one piece: there the names begin with the model's,
    and macros of its header hide this. On machines without threads there are no such functions.
    """
    if not has_threads(arch_of(triple)):
        return (), False
    if system_of(triple) == "linux":
        return POOL_FUNCTIONS, True
    return [f"{name}_{function.removeprefix(POOL_PREFIX)}" for function in POOL_FUNCTIONS], False


def _with_alias(function: EntryCode) -> list[ObjectFile]:
    """The objects of a function's code, in which `@main` has the function's alias as a second name."""
    variant = function.variant
    if isinstance(variant.code, LinkedCode):
        files = [as_object(arch_of(variant.triple), variant.code)]
    else:
        files = [read_paired(data) for data in variant.code.objects]
    for number, file in enumerate(files):
        for symbol in file.symbols:
            if symbol.name == variant.symbol and symbol.section:
                if symbol.name != function.alias:  # it has this name already in a loaded library
                    named = replace(symbol, name=function.alias, is_local=False, is_weak=False)
                    files[number] = replace(file, symbols=(*file.symbols, named))
                return files
    raise InternalError(None, f"the code to export defines no function {variant.symbol!r}")


def _calling(entry: ObjectFile, main: str) -> ObjectFile:
    """The object of an entry that calls `@main` by its name in the file."""
    symbols = (replace(s, name=main) if not s.section and s.name == MAIN else s for s in entry.symbols)
    return replace(entry, symbols=tuple(symbols))


def _as_weak(file: ObjectFile, strong: str) -> ObjectFile:
    """The object with weak functions, which other objects may define again; the function `strong` stays."""
    symbols = (replace(s, is_weak=s.name != strong) if s.section else s for s in file.symbols)
    return replace(file, symbols=tuple(symbols))


def _linked(files: Sequence[ObjectFile], open: Collection[str]) -> FlatCode:
    try:
        return flat_link(files, open)
    except UndefinedSymbols as error:
        names = ", ".join(error.names)
        message = f"the code calls {names}, which an exported file cannot define"
        help = "a .stepwell file runs the model"
        raise StepwellError("undefined-symbol", None, message, help=help) from None
    except ValueError as error:
        raise InternalError(None, f"exported code could not be linked: {error}") from None
