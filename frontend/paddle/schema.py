"""The messages of a program of version 2 that the reader has a use for, and its operators as records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Attribute

from stepwell.dialects.types import element_of, tensor_type
from stepwell.frontend.protobuf import Message, parse_schema
from stepwell.runtime.dims import UNKNOWN, Dim
from stepwell.runtime.interface import dtype_from_name

SCHEMA = parse_schema("""
ProgramDesc: 1 blocks [BlockDesc]
BlockDesc: 1 idx int, 2 parent_idx int, 3 vars [VarDesc], 4 ops [OpDesc]
OpDesc: 3 type string, 1 inputs [Var], 2 outputs [Var], 4 attrs [Attr]
Var: 1 parameter string, 2 arguments [string]
Attr: 1 name string, 2 type int, 3 i int, 4 f float, 5 s string, 6 ints [int], 7 floats [float],
    8 strings [string], 10 b bool, 11 bools [bool], 12 block_idx int, 13 l int, 15 longs [int],
    16 float64s [double], 19 float64 double
VarDesc: 1 name string, 2 type VarType, 3 persistable bool
VarType: 1 type int, 3 lod_tensor LoDTensorDesc
LoDTensorDesc: 1 tensor TensorDesc
TensorDesc: 1 data_type int, 2 dims [int]
""")
"""Field numbers are those of Paddle's `framework.proto`."""
ELEMENTS = {
    0: "bool",
    1: "int16",
    2: "int32",
    3: "int64",
    4: "float16",
    5: "float32",
    6: "float64",
    20: "uint8",
    21: "int8",
    22: "bfloat16",
}
"""The element types by their numbers in a description of a tensor."""
TENSOR = 7
"""The number of tensors among the types of variables."""
_SINGLE = {0: "i", 1: "f", 2: "s", 6: "b", 8: "block_idx", 9: "l", 15: "float64"}
_LISTS = {3: "ints", 4: "floats", 7: "bools", 11: "longs", 12: "float64s"}
_ELEMENT_ATTRIBUTES = ("dtype", "in_dtype", "out_dtype")


@dataclass(frozen=True)
class Operator:
    """An operator: names of variables by the names of inputs and results, and attributes."""

    type: str
    inputs: Mapping[str, Sequence[str]]
    outputs: Mapping[str, Sequence[str]]
    attributes: Mapping[str, object]

    def input(self, name: str) -> str:
        """The only variable of an input. Raises: ValueError, LookupError."""
        (found,) = self.inputs[name]
        return found

    def with_attributes(self, **attributes: object) -> Operator:
        """The operator with other values of some attributes."""
        return replace(self, attributes={**self.attributes, **attributes})


@dataclass(frozen=True)
class Block:
    """The variables and operators of a block."""

    parent: int
    variables: Mapping[str, Message]
    operators: Sequence[Operator]


def blocks_of(program: Message) -> list[Block]:
    """The blocks of a program by number."""
    return [
        Block(
            block.integer("parent_idx"),
            {each.text("name"): each for each in block.messages("vars")},
            [_operator(each) for each in block.messages("ops")],
        )
        for block in program.messages("blocks")
    ]


def _operator(op: Message) -> Operator:
    inputs, outputs = (
        {each.text("parameter"): each.texts("arguments") for each in op.messages(name)}
        for name in ("inputs", "outputs")
    )
    attributes = {each.text("name"): _value(each) for each in op.messages("attrs")}
    return Operator(op.text("type"), inputs, outputs, {k: v for k, v in attributes.items() if v is not None})


def _value(attribute: Message) -> object:
    """The Python value of an attribute; None for kinds that say nothing about results."""
    kind = attribute.integer("type")
    if kind in _LISTS:
        return tuple(attribute.numbers(_LISTS[kind]))
    if kind == 2:
        return attribute.text("s")
    if kind not in _SINGLE:
        return None
    value = attribute.values.get(_SINGLE[kind], 0)
    if attribute.text("name") in _ELEMENT_ATTRIBUTES:
        return ELEMENTS.get(attribute.integer(_SINGLE[kind]), "Undefined(ALL_DTYPE)")
    return bool(value) if kind == 6 else value


def parts_of(variable: Message) -> tuple[Attribute, list[int | None]]:
    """The element type and the sizes of a variable. Raises: ValueError for one that is no tensor."""
    kind, tensor = variable.message("type"), variable.message("type").message("lod_tensor").message("tensor")
    element, sizes = ELEMENTS.get(tensor.integer("data_type")), tensor.numbers("dims")
    if kind.integer("type") != TENSOR or element is None or any(size < -1 for size in sizes):
        raise ValueError(f"{variable.text('name')!r} is no tensor of numbers")
    return element_of(dtype_from_name(element)), [None if size == -1 else size for size in sizes]


def type_of(variable: Message) -> Attribute:
    """The type of a variable. Raises: ValueError for one that is no tensor."""
    element, sizes = parts_of(variable)
    return tensor_type(element, [UNKNOWN if size is None else Dim.of(size) for size in sizes])
