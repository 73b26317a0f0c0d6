"""Types of the IR as those of a program (`stepwell.runtime.vm.program.Type`), and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import FunctionType, TensorType, TupleType
from xdsl.ir import Attribute, TypeAttribute

from stepwell.dialects.adt.data import DataType
from stepwell.dialects.ref.cells import CellType
from stepwell.dialects.type_variables import VarType
from stepwell.dialects.types import dims_of, dtype_of, element_of, tensor_type
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import dtype_from_name
from stepwell.runtime.vm.program import CELL, ELEMENT, TENSOR, VARIABLE, Type, data_of, function_of, tuple_of


def program_type(type: Attribute) -> Type:
    """
    The type as a program states it.

    Raises: StepwellError `unsupported` for a type whose values no register can contain.
    """
    match type:
        case TensorType():
            element = type.element_type
            return Type(TENSOR, _element_name(element), tuple(map(str, dims_of(type))))
        case TupleType():
            return tuple_of(*map(program_type, type.types))
        case DataType():
            return data_of(type.symbol, *map(program_type, type.arguments))
        case FunctionType():
            inputs, outputs = (tuple(map(program_type, side)) for side in (type.inputs, type.outputs))
            return function_of(inputs, outputs)
        case CellType():
            return Type(CELL, parts=(program_type(type.content),))
        case VarType():
            return Type(VARIABLE, type.label.data)
        case _:
            return Type(ELEMENT, _element_name(type))


def _element_name(element: Attribute) -> str:
    if isinstance(element, VarType):
        return f"!{element.label.data}"
    try:
        return dtype_of(element).name
    except TypeError:
        message = f"the machine has no values of type {element}"
        raise StepwellError("unsupported", None, message) from None


def ir_type(type: Type) -> TypeAttribute:
    """
    The type as the IR states it: the inverse of `program_type`.

    Raises: ValueError, TypeError for an element type or size that the IR lacks.
    """
    return cast(TypeAttribute, _ir_type(type))


def _ir_type(type: Type) -> Attribute:
    match type.kind:
        case "tensor":
            return tensor_type(ir_element(type.name), [int(d) if d.isdecimal() else d for d in type.dims])
        case "tuple":
            return TupleType(tuple(ir_types(type.parts)))
        case "data":
            return DataType.of(type.name, *ir_types(type.parts))
        case "function":
            inputs, outputs = (ir_types(part.parts) for part in type.parts)
            return FunctionType.from_lists(list(inputs), list(outputs))
        case "cell":
            return CellType(ir_type(type.parts[0]))
        case "variable":
            return VarType(type.name)
        case _:
            return ir_element(type.name)


def ir_types(types: Sequence[Type]) -> Sequence[TypeAttribute]:
    """The types as the IR states them. Raises: as `ir_type`."""
    return [ir_type(type) for type in types]


def ir_element(name: str) -> Attribute:
    """An element type by its numpy name, or a variable by `!` and its name. Raises: TypeError."""
    return VarType(name[1:]) if name.startswith("!") else element_of(dtype_from_name(name))
