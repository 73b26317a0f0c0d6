"""Types and attributes in the JSON of a program, as types of the IR and Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.ir import Attribute

from stepwell.dialects.types import element_of, tensor_type
from stepwell.runtime.dims import UNKNOWN, Dim
from stepwell.runtime.interface import dtype_from_name

_ELEMENTS = {
    "t_bool": "bool",
    "t_f16": "float16",
    "t_bf16": "bfloat16",
    "t_f32": "float32",
    "t_f64": "float64",
    "t_i8": "int8",
    "t_ui8": "uint8",
    "t_i16": "int16",
    "t_i32": "int32",
    "t_i64": "int64",
}
Json = Mapping[str, Any]
TENSOR, VECTOR = "t_dtensor", "t_vec"
_NUMBERS = {"a_i32": int, "a_i64": int, "a_f32": float, "a_f64": float, "a_bool": bool}
MAX_DEPTH = 16


def kind_of(entry: Json) -> str:
    """The kind of an entry without the number of its dialect: `t_f32`, `conv2d`."""
    return cast(str, entry["#"]).rpartition(".")[2]


def type_of(entry: Json) -> Attribute:
    """The type of a tensor. Raises: ValueError, LookupError or TypeError for another form."""
    if kind_of(entry) != TENSOR:
        raise ValueError(f"a value of type {entry['#']}")
    element, sizes = entry["D"][:2]
    dims = [UNKNOWN if size == -1 else Dim.of(int(size)) for size in sizes]
    if any(type(size) is not int or size < -1 for size in sizes):
        raise ValueError(f"a tensor of the shape {sizes}")
    return tensor_type(element_of(dtype_from_name(_ELEMENTS[kind_of(element)])), dims)


def attributes_of(entries: Sequence[Json]) -> dict[str, object]:
    """The attributes of an operator by name, of those kinds that are numbers, text or lists of them."""
    found: dict[str, object] = {}
    for entry in entries:
        kind = kind_of(entry["AT"])
        if kind in _NUMBERS or kind in ("a_str", "a_array", "a_intarray", "a_dtype"):
            found[str(entry["N"])] = _value(entry["AT"], 0)
    return found


def _value(entry: Json, depth: int) -> object:
    """The Python value of an attribute."""
    kind, data = kind_of(entry), entry["D"]
    if depth > MAX_DEPTH:
        raise ValueError(f"lists are nested more than {MAX_DEPTH} deep")
    if kind in _NUMBERS:
        if type(data) not in (int, float, bool, str):
            raise TypeError(f"{data!r} is no number")
        return _NUMBERS[kind](data)
    if kind == "a_array":
        return tuple(_value(each, depth + 1) for each in data)
    if kind == "a_intarray":
        return tuple(int(each) for each in data)
    if not isinstance(data, str):
        raise TypeError(f"{data!r} is no text")
    return data
