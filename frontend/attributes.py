"""Attributes of nodes as attributes of the IR, one kind each; and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    f32,
    i64,
)
from xdsl.ir import Attribute

from stepwell.dialects.onnx.types import SparseAttr, string_attr, string_bytes
from stepwell.frontend.messages import AttributeProto
from stepwell.frontend.source import Source
from stepwell.frontend.tensors import export_sparse, export_tensor, sparse_attr, tensor_attr
from stepwell.frontend.value_types import TypeImporter, export_type
from stepwell.runtime.files.weights import WeightStore

KINDS: Mapping[int, str] = {
    AttributeProto.INT: "int",
    AttributeProto.INTS: "ints",
    AttributeProto.FLOAT: "float",
    AttributeProto.FLOATS: "floats",
    AttributeProto.STRING: "string",
    AttributeProto.STRINGS: "strings",
    AttributeProto.TENSOR: "tensor",
    AttributeProto.TENSORS: "tensors",
    AttributeProto.GRAPH: "graph",
    AttributeProto.GRAPHS: "graphs",
    AttributeProto.SPARSE_TENSOR: "sparse_tensor",
    AttributeProto.SPARSE_TENSORS: "sparse_tensors",
    AttributeProto.TYPE_PROTO: "type",
    AttributeProto.TYPE_PROTOS: "types",
}
"""Maps ONNX's number for the kind of an attribute to the kind's name in the version table."""
KIND_NUMBERS = {kind: number for number, kind in KINDS.items()}


# Models repeat the same few attributes thousands of times, and building each costs some 10 us.
@lru_cache(maxsize=4096)
def int_attr(value: int) -> Attribute:
    """An attribute of kind `int`."""
    return IntegerAttr(value, i64)


@lru_cache(maxsize=4096)
def _float_attr(value: float, negative_zero: bool) -> Attribute:
    """An attribute of kind `float`; the second argument is a cache key that separates 0 from -0."""
    return FloatAttr(value, f32)


def float_attr(value: float) -> Attribute:
    """An attribute of kind `float`."""
    return _float_attr(value, value == 0 and math.copysign(1, value) < 0)


@lru_cache(maxsize=4096)
def ints_attr(values: tuple[int, ...]) -> Attribute:
    """An attribute of kind `ints`."""
    # From bytes: tree ensembles have lists of 100,000 numbers.
    return DenseArrayBase(i64, BytesAttr(np.array(values, "<i8").tobytes()))


def floats_attr(values: Sequence[float]) -> Attribute:
    """
    An attribute of kind `floats`: `array<f32: …>`, or an array of attributes if NaN or Inf are among the
    numbers, since xDSL prints those in `array<f32: …>` but does not parse them.
    """
    array = np.array(values, "<f4")
    if np.isfinite(array).all():
        return DenseArrayBase(f32, BytesAttr(array.tobytes()))
    return ArrayAttr([float_attr(value) for value in values])


def strings_attr(values: Sequence[bytes]) -> Attribute:
    """An attribute of kind `strings`; equal strings are one object."""
    distinct = {value: string_attr(value) for value in set(values)}
    return ArrayAttr([distinct[value] for value in values])


class AttributeImporter:
    """Imports the attributes of one model, except graphs."""

    def __init__(self, source: Source, types: TypeImporter, weights: WeightStore):
        self._source, self._types, self._weights = source, types, weights

    def attribute(self, proto: AttributeProto, where: str) -> Attribute:
        """The value of an attribute. Raises: StepwellError `invalid-model` or `unsupported`."""
        match proto.type:
            case AttributeProto.INT:
                return int_attr(proto.i)
            case AttributeProto.INTS:
                return ints_attr(tuple(proto.ints))
            case AttributeProto.FLOAT:
                return float_attr(proto.f)
            case AttributeProto.FLOATS:
                return floats_attr(proto.floats)
            case AttributeProto.STRING:
                return string_attr(proto.s)
            case AttributeProto.STRINGS:
                return strings_attr(proto.strings)
            case AttributeProto.TENSOR:
                return tensor_attr(proto.t, self._source, where, self._weights)
            case AttributeProto.TENSORS:
                return ArrayAttr([tensor_attr(t, self._source, where, self._weights) for t in proto.tensors])
            case AttributeProto.SPARSE_TENSOR:
                return sparse_attr(proto.sparse_tensor, self._source, where, self._weights)
            case AttributeProto.TYPE_PROTO:
                return self._types.type(proto.tp, where)
            case kind:
                found = KINDS.get(kind, f"number {kind}")
                raise self._source.invalid(f"attribute `{proto.name}` is of kind {found}", where)


def export_attribute(
    name: str, kind: str, value: Attribute, weights: WeightStore, renamed: Mapping[str, str]
) -> AttributeProto:
    """An attribute of the IR as ONNX's, except graphs."""
    proto = AttributeProto(name=name, type=cast(AttributeProto.AttributeType, KIND_NUMBERS[kind]))
    match kind:
        case "int":
            proto.i = cast("IntegerAttr[IntegerType]", value).value.data
        case "float":
            proto.f = cast("FloatAttr[AnyFloat]", value).value.data
        case "string":
            proto.s = string_bytes(value)
        case "ints":
            proto.ints.extend(cast("DenseArrayBase[IntegerType]", value).get_values())
        case "floats":
            proto.floats.extend(float_values(value))
        case "strings":
            proto.strings.extend(string_bytes(v) for v in cast("ArrayAttr[Attribute]", value))
        case "type":
            proto.tp.CopyFrom(export_type(value, renamed))
        case "tensor":
            proto.t.CopyFrom(export_tensor(value, "", weights))
        case "tensors":
            values = cast("ArrayAttr[Attribute]", value)
            proto.tensors.extend(export_tensor(v, "", weights) for v in values)
        case _:
            proto.sparse_tensor.CopyFrom(export_sparse(cast(SparseAttr, value), "", weights))
    return proto


def float_values(value: Attribute) -> tuple[float, ...]:
    """The numbers of an attribute from `floats_attr`."""
    if isinstance(value, DenseArrayBase):
        return tuple(cast("DenseArrayBase[AnyFloat]", value).get_values())
    return tuple(v.value.data for v in cast("ArrayAttr[FloatAttr[AnyFloat]]", value))
