"""The tables that native functions and the runtime agree on, made by both from the program alone."""

from __future__ import annotations

from math import prod
from typing import NamedTuple, cast

from stepwell.runtime.interface import dtype_from_name
from stepwell.runtime.vm.native_abi import size_class, tensor_offset
from stepwell.runtime.vm.program import TENSOR, Packed, Program, Type

CONDITION = Type(TENSOR, "bool")
"""The type of conditions, the first one of the table."""


class Block(NamedTuple):
    """The memory of an object: size class, bytes, and where a tensor's elements begin."""

    size_class: int
    size_bytes: int
    offset: int


def is_fixed(packed: Packed) -> bool:
    """Whether native functions call a segment themselves: all sizes are numbers."""
    types = (*packed.inputs, *packed.outputs)
    return not packed.is_host and all(
        type.kind == TENSOR and all(dim.isdecimal() for dim in type.dims) for type in types
    )


def types_of(program: Program) -> dict[Type, int]:
    """The types of tensors that native functions know, by number; the first one is that of conditions."""
    fixed = [packed for packed in program.packed if is_fixed(packed)]
    types = (type for packed in fixed for type in (*packed.inputs, *packed.outputs))
    return {type: number for number, type in enumerate(dict.fromkeys([CONDITION, *types]))}


def data_bytes(type: Type) -> int:
    """The size of the elements of a tensor of known sizes."""
    return prod(map(int, type.dims)) * dtype_from_name(type.name).itemsize


def tensor_block(size_bytes: int) -> Block:
    """The memory of a tensor with so many bytes of elements."""
    offset = tensor_offset(size_bytes)
    return Block(*size_class(offset + size_bytes), offset)


def thunks_of(program: Program) -> dict[tuple[int, int], int]:
    """The functions with the numbers of captures of which closures are made, by number."""
    made = (
        (cast(int, code.operands[1]), len(cast("tuple[int, ...]", code.operands[2])))
        for function in program.functions
        for code in function.code
        if code.name == "alloc_closure"
    )
    return {pair: number for number, pair in enumerate(dict.fromkeys(made))}


def entry_symbol(program: Program, number: int) -> str:
    """The name of a native function: its number, and its own name as far as names in object files go."""
    name = program.functions[number].name
    return f"f{number}." + "".join(c if c.isascii() and c.isalnum() or c in "_." else "_" for c in name)


def thunk_symbol(program: Program, function: int, captures: int) -> str:
    """The name of the entry of closures of a function with so many captures."""
    return f"{entry_symbol(program, function)}.with{captures}"
