"""Programs that run an exported library under an emulator: a driver, and the library's file as it is."""

from __future__ import annotations

from pathlib import Path

from stepwell.lowering.export.elf_object import header, program_bytes
from stepwell.lowering.export.elf_shared import EXECUTABLE, LOAD, READ, RUN, program_row
from stepwell.lowering.export.emulator.program import START, driver_code, system_object
from stepwell.lowering.export.parts import Chunk
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.exported import LibraryMemory, library_memory
from stepwell.runtime.image import MAIN, Variant
from stepwell.runtime.link.elf import elf_class
from stepwell.runtime.link.linker import flat_link
from stepwell.runtime.link.relinked import read_paired
from stepwell.runtime.machine.target import described

_DRIVER_ADDRESS, _LIBRARY_ADDRESS = 0x10000, 0x1000000
_MOST_BYTES = 0xF000000
"""Of a library: the memory of a call begins after it."""
_PAGE_BYTES = 1 << 16


def library_program(path: Path, variant: Variant, arguments: int) -> list[Chunk]:
    """
    The executable that calls the library of a file, whose segments are mapped at a fixed address.

    Args: `arguments` is the number of arguments of the function `NAME_run`.
    Raises: StepwellError `bad-artifact` for a damaged library, `bad-option`, `too-large`.
    """
    memory, machine = library_memory(path), described(variant.triple, variant.features)
    name = variant.symbol.removesuffix(f"_{MAIN}")
    run = _run_address(memory, path, f"{name}_run")
    text = driver_code(name, machine.arch, arguments, None, _LIBRARY_ADDRESS + run)
    driver = read_paired(compile_to_object(text, machine, optimize=False))
    code = flat_link([driver, system_object(machine.arch, None)])
    elf, rows = elf_class(machine.arch), 1 + len(memory.segments)
    begin = elf.header.size + rows * program_bytes(elf)
    begin += -begin % code.alignment
    end = begin + len(code.contents)
    place = end + -end % _PAGE_BYTES
    table = [program_row(elf, LOAD, READ | RUN, 0, _DRIVER_ADDRESS, end, _PAGE_BYTES)]
    table += (
        program_row(elf, LOAD, flags, place + offset, _LIBRARY_ADDRESS + address, size, _PAGE_BYTES)
        for offset, size, address, flags in memory.segments
    )
    entry = _DRIVER_ADDRESS + begin + code.symbols[START][0]
    first = header(machine.arch, EXECUTABLE, sections=0, section_table=0, programs=rows, entry=entry)
    head = (first + b"".join(table)).ljust(begin, b"\0")
    return [head, code.contents, bytes(place - end), memory.contents]


def _run_address(memory: LibraryMemory, path: Path, function: str) -> int:
    """The address of a library's function. Raises: StepwellError where the program could not call it."""
    if not memory.has_weights:
        message = "the library's weights are in another file, which a program of its own binds"
        raise StepwellError("bad-option", str(path), message, help="export it with --weights embed")
    if max((each.address + each.size for each in memory.segments), default=0) > _MOST_BYTES:
        message = f"a library of more than {_MOST_BYTES >> 20} MB has no room before the memory of a call"
        raise StepwellError("too-large", str(path), message, help="emulate the model or the artifact")
    if function not in memory.functions:
        message = f"this is no whole library of Stepwell's: it has no function {function}"
        raise StepwellError("bad-artifact", str(path), message, help="export the model again")
    return memory.functions[function]
