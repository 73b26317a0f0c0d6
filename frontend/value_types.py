"""ONNX types and the IR's: elements, dimensions with their names, sequences, optionals, maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects import builtin
from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.ir import Attribute

from stepwell.dialects.onnx.types import AnyType, MapType, OptionalType, SequenceType, SparseType, StringType
from stepwell.dialects.types import Tensor, dims_of, tensor_type
from stepwell.frontend.info import legible
from stepwell.frontend.messages import TensorProto, TensorShapeProto, TypeProto
from stepwell.frontend.source import Source
from stepwell.runtime.dims import UNKNOWN, Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.integers.expression_text import symbol_name

_UNSIGNED = builtin.Signedness.UNSIGNED

ELEMENTS: Mapping[int, Attribute] = {
    TensorProto.FLOAT: builtin.f32,
    TensorProto.UINT8: builtin.IntegerType(8, _UNSIGNED),
    TensorProto.INT8: builtin.i8,
    TensorProto.UINT16: builtin.IntegerType(16, _UNSIGNED),
    TensorProto.INT16: builtin.i16,
    TensorProto.INT32: builtin.i32,
    TensorProto.INT64: builtin.i64,
    TensorProto.STRING: StringType(),
    TensorProto.BOOL: builtin.i1,
    TensorProto.FLOAT16: builtin.f16,
    TensorProto.DOUBLE: builtin.f64,
    TensorProto.UINT32: builtin.IntegerType(32, _UNSIGNED),
    TensorProto.UINT64: builtin.IntegerType(64, _UNSIGNED),
    TensorProto.COMPLEX64: builtin.ComplexType(builtin.f32),
    TensorProto.COMPLEX128: builtin.ComplexType(builtin.f64),
    TensorProto.BFLOAT16: builtin.bf16,
    TensorProto.FLOAT8E4M3FN: builtin.Float8E4M3FNType(),
    TensorProto.FLOAT8E4M3FNUZ: builtin.Float8E4M3FNUZType(),
    TensorProto.FLOAT8E5M2: builtin.Float8E5M2Type(),
    TensorProto.FLOAT8E5M2FNUZ: builtin.Float8E5M2FNUZType(),
    TensorProto.UINT4: builtin.IntegerType(4, _UNSIGNED),
    TensorProto.INT4: builtin.IntegerType(4),
    TensorProto.FLOAT4E2M1: builtin.Float4E2M1FNType(),
    TensorProto.FLOAT8E8M0: builtin.Float8E8M0FNUType(),
    TensorProto.UINT2: builtin.IntegerType(2, _UNSIGNED),
    TensorProto.INT2: builtin.IntegerType(2),
    TensorProto.FLOAT6E2M3: builtin.Float6E2M3FNType(),
    TensorProto.FLOAT6E3M2: builtin.Float6E3M2FNType(),
}
"""Maps ONNX's element types to the IR's."""

DATA_TYPES: Mapping[Attribute, int] = {element: data_type for data_type, element in ELEMENTS.items()}
"""Maps the IR's element types to ONNX's."""

MAX_DIM = 2**63 - 1


class TypeImporter:
    """Imports the types of one model; each name of a dimension becomes a symbol of its own."""

    def __init__(self, source: Source):
        self._source = source
        self._types: dict[bytes, Attribute] = {}
        self._symbols: dict[str, str] = {}
        self._negative: dict[str, None] = {}

    def warn_of_negative(self) -> None:
        """Warn once, with the names of all values that have a dimension below 0, which counts as unknown."""
        if names := [where.removeprefix(f"{self._source.name}: ") for where in self._negative]:
            more = f" and {len(names) - 10} more" if len(names) > 10 else ""
            self._source.warn(f"negative dimensions are taken as unknown: {', '.join(names[:10])}{more}")

    @property
    def renamed(self) -> Mapping[str, str]:
        """Maps symbols to the model's names of dimensions that are not legal symbols."""
        return {symbol: name for name, symbol in self._symbols.items() if name != symbol}

    def type(self, proto: TypeProto, where: str) -> Attribute:
        """A declared type. Raises: StepwellError `invalid-model` for an impossible dimension."""
        key = proto.SerializeToString()
        if (known := self._types.get(key)) is None:
            known = self._type(proto, where)
            if where not in self._negative:  # else each value with this type is to be named
                self._types[key] = known
        return known

    def _type(self, proto: TypeProto, where: str) -> Attribute:
        """A type by its kind: tensor, sequence, optional, map, sparse tensor, or unknown."""
        match proto.WhichOneof("value"):
            case "tensor_type":
                return self._tensor(proto.tensor_type, where)
            case "sequence_type":
                return SequenceType(self.type(proto.sequence_type.elem_type, where))
            case "optional_type":
                return OptionalType(self.type(proto.optional_type.elem_type, where))
            case "map_type":
                key = self._element(proto.map_type.key_type, where)
                return MapType(key, self.type(proto.map_type.value_type, where))
            case "sparse_tensor_type":
                dense = self._tensor(proto.sparse_tensor_type, where)
                return dense if isinstance(dense, AnyType) else SparseType(dense)
            case None:
                return AnyType()
            case kind:
                raise self._source.invalid(f"values of {kind} are not supported", where)

    def _element(self, data_type: int, where: str) -> Attribute:
        """An element type by ONNX's number."""
        if (element := ELEMENTS.get(data_type)) is None:
            raise self._source.invalid(f"element type {data_type} does not exist", where)
        return element

    def _tensor(self, proto: TypeProto.Tensor | TypeProto.SparseTensor, where: str) -> Attribute:
        """A tensor type; unranked without a shape, unknown without an element type."""
        if proto.elem_type == TensorProto.UNDEFINED:
            return AnyType()
        element = self._element(proto.elem_type, where)
        if not proto.HasField("shape"):
            return UnrankedTensorType(element)
        try:
            return tensor_type(element, [self._dim(dim, where) for dim in proto.shape.dim])
        except StepwellError as error:
            raise error.at(where) from None

    def _dim(self, dim: TensorShapeProto.Dimension, where: str) -> int | str:
        """A dimension as a number, a symbol or `UNKNOWN`."""
        match dim.WhichOneof("value"):
            case "dim_value" if dim.dim_value < 0:
                self._negative[where] = None
                return UNKNOWN
            case "dim_value":
                return dim.dim_value
            case "dim_param" if dim.dim_param not in ("", UNKNOWN):
                return self.symbol(legible(dim.dim_param))
            case _:
                # Converters write "?" for every unknown dimension: two of them are not equal.
                return UNKNOWN

    def symbol(self, name: str) -> str:
        """The symbol for the name of a dimension; different names get different symbols."""
        if (symbol := self._symbols.get(name)) is None:
            taken = set(self._symbols.values())
            symbol = base = symbol_name(name)
            count = 1
            while symbol in taken:
                symbol, count = f"{base}_{count}", count + 1
            self._symbols[name] = symbol
        return symbol


def export_type(type: Attribute, renamed: Mapping[str, str]) -> TypeProto:
    """A type of the IR as ONNX's. Raises: TypeError for a type without counterpart in ONNX."""
    proto = TypeProto()
    match type:
        case TensorType() | UnrankedTensorType():
            _export_tensor(type, renamed, proto.tensor_type)
        case SparseType():
            _export_tensor(cast(Tensor, type.dense), renamed, proto.sparse_tensor_type)
        case SequenceType():
            proto.sequence_type.elem_type.CopyFrom(export_type(type.element, renamed))
        case OptionalType():
            proto.optional_type.elem_type.CopyFrom(export_type(type.element, renamed))
        case MapType():
            proto.map_type.key_type = DATA_TYPES[type.key]
            proto.map_type.value_type.CopyFrom(export_type(type.element, renamed))
        case AnyType():
            pass
        case _:
            raise TypeError(f"ONNX has no type for {type}")
    return proto


def _export_tensor(
    type: Tensor | UnrankedTensorType[Attribute],
    renamed: Mapping[str, str],
    proto: TypeProto.Tensor | TypeProto.SparseTensor,
) -> None:
    """Write element type and shape of a tensor type."""
    proto.elem_type = DATA_TYPES[type.element_type]
    if isinstance(type, UnrankedTensorType):
        return
    proto.shape.SetInParent()
    for dim in dims_of(type):
        _export_dim(dim, renamed, proto.shape.dim.add())


def _export_dim(dim: Dim, renamed: Mapping[str, str], proto: TensorShapeProto.Dimension) -> None:
    """Write a dimension: a number, a name, or nothing if it is unknown."""
    if dim.is_static:
        proto.dim_value = dim.value
    elif not dim.is_unknown:
        text = str(dim)
        proto.dim_param = renamed.get(text, text)
