"""
Reader of code objects of AMD: the architecture, and each kernel's registers, memory and arguments.

Source: User Guide for AMDGPU Backend (LLVM), "Code Object V5 Metadata".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from stepwell.runtime.devices.rocm.message_pack import unpacked
from stepwell.runtime.devices.signatures import Parameter, parameters_from
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.json_values import as_list, as_mapping, as_size, as_text
from stepwell.runtime.link.elf import AMDGCN, section_contents

PARAMETERS = ".stepwell.parameters"
"""The section with a line for each kernel: its name, and what our launches pass to it."""
_NOTES, _OWNER, _METADATA = ".note", b"AMDGPU\0", 32
_HEADER = struct.Struct("<III")
_HIDDEN = "hidden_"


class KernelArgument(NamedTuple):
    """An argument as the driver knows it."""

    name: str
    offset: int
    nbytes: int
    kind: str
    """`global_buffer`, `by_value`; `hidden_…` for one that the driver adds."""


class KernelFacts(NamedTuple):
    """A kernel as the driver knows it."""

    name: str
    symbol: str
    """The name of its descriptor."""
    arguments: tuple[KernelArgument, ...]
    argument_bytes: int
    shared_bytes: int
    private_bytes: int
    """The memory of a thread for arrays and spilled registers."""
    warp: int
    vector_registers: int
    scalar_registers: int
    spills: int

    def visible(self) -> Sequence[KernelArgument]:
        """The arguments that a launch passes."""
        return [each for each in self.arguments if not each.kind.startswith(_HIDDEN)]


class CodeObject(NamedTuple):
    """The description of a file of kernels."""

    arch: str
    """`gfx942`"""
    kernels: Mapping[str, KernelFacts]
    parameters: Mapping[str, tuple[Parameter, ...]]


def read_code_object(data: bytes) -> CodeObject:
    """The description of the kernels in a code object. Raises: StepwellError `bad-artifact`."""
    try:
        sections = section_contents(data, AMDGCN)
        found = as_mapping(unpacked(_metadata(sections.get(_NOTES, b""))))
        kernels = [_facts(as_mapping(each)) for each in as_list(found.get("amdhsa.kernels"))]
        arch = as_text(found.get("amdhsa.target")).partition("--")[2].partition(":")[0]
    except (ValueError, TypeError) as error:
        raise StepwellError("bad-artifact", None, f"a code object cannot be read: {error}") from None
    parameters = dict(_parameters(sections.get(PARAMETERS, b"").decode("utf-8", "replace")))
    for each in kernels:
        if len(each.visible()) != len(parameters.get(each.name, ())):
            message = f"a code object does not say what a launch passes to @{each.name}"
            raise StepwellError("bad-artifact", None, message)
    return CodeObject(arch, {each.name: each for each in kernels}, parameters)


def _metadata(notes: bytes) -> bytes:
    """The text about kernels among notes. Raises: ValueError."""
    at = 0
    while at + _HEADER.size <= len(notes):
        name_bytes, size, type = _HEADER.unpack_from(notes, at)
        begin = at + _HEADER.size + -(-name_bytes // 4) * 4
        owner = notes[at + _HEADER.size : at + _HEADER.size + name_bytes]
        if begin + size > len(notes):
            break
        if (owner, type) == (_OWNER, _METADATA):
            return notes[begin : begin + size]
        at = begin + -(-size // 4) * 4
    raise ValueError("it has no note about its kernels")


def _facts(found: Mapping[str, object]) -> KernelFacts:
    """A kernel of the note. Raises: TypeError, ValueError."""

    def number(key: str) -> int:
        return as_size(found.get(key))

    arguments = [as_mapping(each) for each in as_list(found.get(".args", []))]
    return KernelFacts(
        as_text(found.get(".name")),
        as_text(found.get(".symbol")),
        tuple(_argument(each) for each in arguments),
        number(".kernarg_segment_size"),
        number(".group_segment_fixed_size"),
        number(".private_segment_fixed_size"),
        number(".wavefront_size"),
        number(".vgpr_count"),
        number(".sgpr_count"),
        number(".vgpr_spill_count") + number(".sgpr_spill_count"),
    )


def _argument(found: Mapping[str, object]) -> KernelArgument:
    sizes = as_size(found.get(".offset")), as_size(found.get(".size"))
    return KernelArgument(as_text(found.get(".name", "")), *sizes, as_text(found.get(".value_kind")))


def _parameters(text: str) -> Iterator[tuple[str, tuple[Parameter, ...]]]:
    """The parameters of each kernel, by its name. Raises: StepwellError `bad-artifact`."""
    for line in text.splitlines():
        name, _, signature = line.partition(" ")
        yield name, parameters_from(signature)
