"""The parts of an exported ELF file: `@main` and its kernels, linked again with entry, pool and memcpy."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.lowering.export.parts import ExportedSymbol, Parts
from stepwell.lowering.kernels.exported_pool import POOL_FUNCTIONS
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.image import Variant
from stepwell.runtime.interface import Array
from stepwell.runtime.link.code import LinkedCode
from stepwell.runtime.link.elf import ObjectFile, Symbol
from stepwell.runtime.link.linker import FlatCode, UndefinedSymbols, flat_link
from stepwell.runtime.link.relinked import as_object, read_paired
from stepwell.runtime.machine.demands import arch_of

_ENTRY = ("workspace_bytes", "run", "message", "json", "main", "check_weights")


def elf_parts(
    name: str,
    variant: Variant,
    objects: Sequence[bytes],
    weights: Sequence[Array],
    json: str,
    more: Sequence[ObjectFile] = (),
) -> Parts:
    """
    The code of a variant with the objects of its entry.

    Args: `weights` are those of the file itself; `more` are objects of a program around it.
    Raises: StepwellError `undefined-symbol` where nothing defines a function that the code calls.
    """
    arch = arch_of(variant.triple)
    if isinstance(variant.code, LinkedCode):
        files = [as_object(arch, variant.code)]
    else:
        files = [read_paired(data) for data in variant.code.objects]
    main = next((s for file in files for s in file.symbols if s.name == variant.symbol and s.section), None)
    if main is None:
        raise InternalError(None, f"the code to export defines no function {variant.symbol!r}")
    files = [_with_alias(file, variant.symbol, f"{name}_main") for file in files]
    code = _linked([*files, *map(read_paired, objects), *more], f"{name}_weights")
    functions = [f"{name}_{suffix}" for suffix in _ENTRY]
    symbols = [ExportedSymbol(function) for function in functions if function in code.symbols]
    symbols += [ExportedSymbol(function, is_weak=True) for function in POOL_FUNCTIONS]
    return Parts(name, code, tuple(symbols), tuple(weights), json)


def _with_alias(file: ObjectFile, symbol: str, alias: str) -> ObjectFile:
    """An object with a second name for one of its symbols."""
    found = [s for s in file.symbols if s.name == symbol and s.section]
    aliases = tuple(Symbol(alias, s.section, s.offset, s.size, False, False, True) for s in found)
    return ObjectFile(file.arch, file.sections, (*file.symbols, *aliases), file.debug)


def _linked(files: Sequence[ObjectFile], weights: str) -> FlatCode:
    try:
        return flat_link(files, [weights])
    except UndefinedSymbols as error:
        names = ", ".join(error.names)
        message = f"the code calls {names}, and an exported file defines all that it calls"
        help = "f64 mathematics, sines and tangents are the C library's: a .stepwell file runs the model"
        raise StepwellError("undefined-symbol", None, message, help=help) from None
    except ValueError as error:
        raise InternalError(None, f"exported code could not be linked: {error}") from None
