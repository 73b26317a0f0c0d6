"""The tables that native functions and the runtime agree on, made by both from the program alone."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple, cast

from stepwell.runtime.interface import dtype_from_name
from stepwell.runtime.vm.instructions import Outputs, registers_read, registers_written
from stepwell.runtime.vm.native_abi import MAX_FIELDS, TAG_BITS, size_class, tensor_offset
from stepwell.runtime.vm.program import CELL, FUNCTION, TENSOR, Function, Packed, Program, Type

CONDITION = Type(TENSOR, "bool")
"""The type of conditions, the first one of the table."""
MAX_THUNKS = 1 << 16
_INTEGERS = ("get_tag", "load_consti")
_ON_INTEGERS = ("move", "switch", "kill")
_UNSUPPORTED = frozenset(
    ("alloc_storage", "alloc_tensor", "alloc_tensor_reg", "shape_of", "reshape_tensor", "device_copy")
)


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


def integer_registers(function: Function) -> set[int]:
    """The registers of machine integers: tags and sizes."""
    found = {cast(int, code.operands[0]) for code in function.code if code.name in _INTEGERS}
    moves = [cast("tuple[int, int]", code.operands) for code in function.code if code.name == "move"]
    while added := {to for to, value in moves if value in found} - found:
        found |= added
    return found


def entry_symbol(program: Program, number: int) -> str:
    """The name of a native function: its number, and its own name as far as names in object files go."""
    name = program.functions[number].name
    return f"f{number}." + "".join(c if c.isascii() and c.isalnum() or c in "_." else "_" for c in name)


def thunk_symbol(program: Program, function: int, captures: int) -> str:
    """The name of the entry of closures of a function with so many captures."""
    return f"{entry_symbol(program, function)}.with{captures}"


def native_problem(program: Program) -> str:
    """Why a program has no native functions, in words; empty when it can have them."""
    for function in program.functions:
        if problem := next(_problems(function), ""):
            return f"@{function.name}: {problem}"
    fields = [len(each.fields) for data in program.data for each in data.constructors]
    if max(fields, default=0) > MAX_FIELDS:
        return f"a constructor has {max(fields)} fields, more than {MAX_FIELDS}"
    if len(program.data) >= 1 << TAG_BITS - 1 or any(
        len(d.constructors) > 1 << TAG_BITS for d in program.data
    ):
        return "there are too many data types or constructors"
    if len(thunks_of(program)) > MAX_THUNKS:
        return f"there are {len(thunks_of(program)):,} kinds of function values"
    has_cells = any(code.name == "new_ref" for function in program.functions for code in function.code)
    if has_cells and any(_has_function(type, program) for type in _outputs(program)):
        return "a function value that outlives the call may have cells"
    return ""


def _problems(function: Function) -> Iterator[str]:
    integers = integer_registers(function)
    for name, operands in function.code:
        if name in _UNSUPPORTED:
            yield f"vm.{name} has no native code"
        if any(register in integers for register in registers_read(name, operands)):
            if name not in _ON_INTEGERS:
                yield f"vm.{name} of a machine integer has no native code"
        elif name not in _INTEGERS and integers.intersection(registers_written(name, operands)):
            yield "a register has both machine integers and other values"
        if isinstance(operands[-1], Outputs) and operands[-1].are_given:
            yield f"vm.{name} into given tensors has no native code"
        if len(registers_read(name, operands)) > MAX_FIELDS and name != "invoke_packed":
            yield f"vm.{name} of more than {MAX_FIELDS} values has no native code"


def _outputs(program: Program) -> Iterator[Type]:
    for function in program.public():
        assert function.signature is not None
        yield from function.signature.outputs


def _has_function(type: Type, program: Program) -> bool:
    """Whether a value of a type may have function values inside; data types count as a whole."""
    seen: set[Type] = set()
    waiting = [type]
    names = {data.name: data for data in program.data}
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        if each.kind in (FUNCTION, CELL):
            return True
        waiting += each.parts
        if (data := names.get(each.name)) is not None:
            waiting += [field for constructor in data.constructors for field in constructor.fields]
    return False
