"""Types and attributes that only level 0 has: strings, sequences, optionals, maps, values of unknown type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.types import Tensor


@irdl_attr_definition
class StringType(ParametrizedAttribute, TypeAttribute):
    """The element type of a tensor of strings: `tensor<2x!onnx.string>`."""

    name = "onnx.string"


@irdl_attr_definition
class AnyType(ParametrizedAttribute, TypeAttribute):
    """A value whose type the model does not declare: `!onnx.any`."""

    name = "onnx.any"


@irdl_attr_definition
class SequenceType(ParametrizedAttribute, TypeAttribute):
    """A list of values of one type: `!onnx.seq<tensor<*xf32>>`."""

    name = "onnx.seq"

    element: Attribute = param_def()


@irdl_attr_definition
class OptionalType(ParametrizedAttribute, TypeAttribute):
    """A value or none: `!onnx.optional<tensor<2xf32>>`."""

    name = "onnx.optional"

    element: Attribute = param_def()


@irdl_attr_definition
class MapType(ParametrizedAttribute, TypeAttribute):
    """A dictionary: `!onnx.map<i64, tensor<*xf32>>`."""

    name = "onnx.map"

    key: Attribute = param_def()
    element: Attribute = param_def()


@irdl_attr_definition
class SparseType(ParametrizedAttribute, TypeAttribute):
    """A sparse tensor: `!onnx.sparse<tensor<100x100xf32>>`."""

    name = "onnx.sparse"

    dense: Attribute = param_def()


@irdl_attr_definition
class StringsAttr(ParametrizedAttribute):
    """
    A constant tensor of strings; one that is not UTF-8 is kept as its bytes.

    ```mlir
    #onnx.strings<["cat", "dog"], tensor<2x!onnx.string>>
    ```
    """

    name = "onnx.strings"

    elements: ArrayAttr[Attribute] = param_def()
    type: TensorType[Attribute] = param_def()

    def __init__(self, elements: Sequence[bytes], type: Tensor):
        super().__init__(ArrayAttr([string_attr(e) for e in elements]), type)

    def verify(self) -> None:
        if (elems := _elems(self.type)) != len(self.elements):
            raise VerifyException(f"{self.type} has {elems} elements, found {len(self.elements)}")

    def values(self) -> tuple[bytes, ...]:
        """The strings in row-major order, as UTF-8 (or whatever the model holds)."""
        return tuple(string_bytes(e) for e in self.elements)


@irdl_attr_definition
class SparseAttr(ParametrizedAttribute):
    """
    A constant sparse tensor: non-zero values, positions (flat, or a row of indices each), and the dense
    type.

    ```mlir
    #onnx.sparse_value<dense<[3.0]> : tensor<1xf32>, dense<[7]> : tensor<1xi64>, tensor<10xf32>>
    ```
    """

    name = "onnx.sparse_value"

    values: Attribute = param_def()
    indices: Attribute = param_def()
    type: TensorType[Attribute] = param_def()


def _elems(type: Tensor) -> int:
    elems = 1
    for extent in type.get_shape():
        elems *= extent
    return elems


def string_attr(value: bytes) -> Attribute:
    """A string of a model as an attribute: text when it is UTF-8, else bytes."""
    try:
        return StringAttr(value.decode())
    except UnicodeDecodeError:
        return BytesAttr(value)


def string_bytes(attribute: Attribute) -> bytes:
    """The bytes of a string that `string_attr` made."""
    if isinstance(attribute, StringAttr):
        return attribute.data.encode()
    return cast(BytesAttr, attribute).data


def kind_of(value: Attribute) -> str:
    """The kind of an attribute of an unknown operator, by its class."""
    match value:
        case IntegerAttr():
            return "int"
        case FloatAttr():
            return "float"
        case StringAttr() | BytesAttr():
            return "string"
        case DenseArrayBase():
            return "ints" if value.elt_type == i64 else "floats"
        case ArrayAttr():
            first = next(iter(value), None)
            return "floats" if isinstance(first, FloatAttr) else "strings" if _is_string(first) else "tensors"
        case SparseAttr():
            return "sparse_tensor"
        case TypeAttribute():
            return "type"
        case _:
            return "tensor"


def _is_string(value: Attribute | None) -> bool:
    return value is None or isinstance(value, StringAttr | BytesAttr)


ATTRIBUTES: tuple[type[Attribute], ...] = (
    StringType,
    AnyType,
    SequenceType,
    OptionalType,
    MapType,
    SparseType,
    StringsAttr,
    SparseAttr,
)
