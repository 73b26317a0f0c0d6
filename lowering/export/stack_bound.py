"""The upper bound of the stack of a call, along the tree of calls: entry, `@main`, kernel, functions of C."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stepwell.lowering.export.frames import frame_bytes
from stepwell.runtime.abi import KERNEL_PREFIX
from stepwell.runtime.link.elf import ObjectFile, Section

_RED_ZONES = {"x86_64": 128}
"""Bytes below the stack pointer that a function without calls uses."""
_ROUNDED_BYTES = 64


def stack_bound(code: Sequence[ObjectFile], support: Sequence[ObjectFile]) -> int:
    """
    The most bytes that a call takes, rounded up; 0 where a frame depends on the machine.

    A kernel is a function with the bodies of its loops, and calls no other kernel: the largest one counts. Of
    all other functions each counts once, as none calls itself.

    Args: `code` has `@main` and the kernels; `support` are the objects around it.
    """
    total, kernels = 0, dict[str, int]()
    for file in (*code, *support):
        for name, contents in _functions(file):
            if (size := frame_bytes(file.arch, contents)) is None:
                return 0
            if name.startswith(KERNEL_PREFIX):
                kernel = name.partition(".")[0]
                kernels[kernel] = kernels.get(kernel, 0) + size
            else:
                total += size
    total += max(kernels.values(), default=0) + _RED_ZONES.get(code[0].arch, 0)
    return total + -total % _ROUNDED_BYTES


def _functions(file: ObjectFile) -> Iterator[tuple[str, bytes]]:
    """Name and instructions of each function, once."""
    sections = {section.number: _instructions(file, section) for section in file.sections if section.is_code}
    known = set[tuple[int, int]]()
    for symbol in file.symbols:
        place = symbol.section, symbol.offset
        if symbol.is_function and symbol.section in sections and place not in known:
            known.add(place)
            yield symbol.name, sections[symbol.section][symbol.offset : symbol.offset + symbol.size]


def _instructions(file: ObjectFile, section: Section) -> bytes:
    """
    The contents of a section of code, with zeros for constants between functions' instructions.

    Objects for 32-bit Arm have symbols where constants begin (`$d`) and end.
    """
    begins = {s.offset: s.name for s in file.symbols if s.section == section.number and s.name in _MAPPING}
    contents = bytearray(section.contents)
    ends = [*sorted(begins)[1:], len(contents)]
    for begin, end in zip(sorted(begins), ends, strict=False):
        if begins[begin] == "$d":
            contents[begin:end] = bytes(end - begin)
    return bytes(contents)


_MAPPING = ("$a", "$d", "$t")
