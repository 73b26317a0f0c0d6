"""
Types and attributes that levels 0 and 1 share: tensors with symbolic dimensions, and weights by content hash.

`tensor<?x4xf32, #graph.dims<["N", 4]>>` is a builtin tensor whose encoding names its dynamic dimensions, so
that equal symbols stay provably equal. A tensor without encoding has anonymous dynamic dimensions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    ArrayAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from stepwell.runtime.dims import UNKNOWN, Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import MAX_TENSOR_BYTES, dtype_from_name

Tensor: TypeAlias = TensorType[Attribute]
DimLike: TypeAlias = int | str | Dim


@irdl_attr_definition
class DimsAttr(ParametrizedAttribute):
    """
    The dimensions of a tensor by name, one a dimension: a number, a symbol, an expression over symbols, or
    `"?"`.

    ```mlir
    #graph.dims<["N", 4, "S + P"]>
    ```
    """

    name = "graph.dims"

    dims: ArrayAttr[Attribute] = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [
                ArrayAttr(
                    parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_dim(parser))
                )
            ]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets(), printer.in_square_brackets():
            printer.print_list(self.dims.data, lambda dim: _print_dim(dim, printer))

    def verify(self) -> None:
        for dim in self.dims:
            if isinstance(dim, StringAttr):
                try:
                    Dim.of(dim.data)
                except ValueError as error:
                    raise VerifyException(str(error)) from None
            elif not isinstance(dim, IntAttr):
                raise VerifyException(f"a dimension is a number or a string, found {dim}")

    @staticmethod
    def of(dims: Iterable[Dim]) -> DimsAttr:
        """The attribute of some dimensions."""
        return DimsAttr(ArrayAttr([_dim_attr(d) for d in dims]))

    def get(self) -> tuple[Dim, ...]:
        """The dimensions as expressions."""
        return _dims_of_attr(self)


@lru_cache(maxsize=65536)
def int_attr(value: int, width: int = 64) -> IntegerAttr[IntegerType]:
    """A signless integer attribute, cached: xDSL takes ten microseconds to make and verify one."""
    return IntegerAttr(value, IntegerType(width))


def bool_attr(value: bool) -> IntegerAttr[IntegerType]:
    """True or false as an attribute."""
    return int_attr(int(value), 1)


def _parse_dim(parser: AttrParser) -> Attribute:
    text = parser.parse_optional_str_literal()
    return StringAttr(text) if text is not None else IntAttr(parser.parse_integer(allow_boolean=False))


def _print_dim(dim: Attribute, printer: Printer) -> None:
    if isinstance(dim, StringAttr):
        printer.print_string_literal(dim.data)
    else:
        printer.print_int(cast(IntAttr, dim).data)


@lru_cache(maxsize=65536)
def _dims_of_attr(attr: DimsAttr) -> tuple[Dim, ...]:
    return tuple(Dim.of(d.data) for d in cast("Sequence[StringAttr | IntAttr]", attr.dims.data))


@irdl_attr_definition
class WeightAttr(ParametrizedAttribute):
    """
    A constant's name, the content hash of its bytes in the weight store, and its type.

    ```mlir
    #graph.weight<"conv1.weight", "9f86d081884c7d659a2feaa0c55ad015", tensor<64x3x7x7xf32>>
    ```
    """

    name = "graph.weight"

    weight_name: StringAttr = param_def()
    hash: StringAttr = param_def()
    type: TensorType[Attribute] = param_def()

    def __init__(self, weight_name: str, hash: str, type: Tensor):
        super().__init__(StringAttr(weight_name), StringAttr(hash), type)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            weight_name = parser.parse_str_literal()
            parser.parse_punctuation(",")
            hash = parser.parse_str_literal()
            parser.parse_punctuation(",")
            return [StringAttr(weight_name), StringAttr(hash), parser.parse_type()]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.weight_name.data)
            printer.print_string(", ")
            printer.print_string_literal(self.hash.data)
            printer.print_string(", ")
            printer.print_attribute(self.type)


@lru_cache(maxsize=65536)
def _tensor_type(element: Attribute, dims: tuple[Dim, ...]) -> Tensor:
    check_extents(element, dims)
    shape = [dim.value if dim.is_static else builtin.DYNAMIC_INDEX for dim in dims]
    named = any(not d.is_static and not d.is_unknown for d in dims)
    # Anonymous dimensions need no encoding; a mixture spells the anonymous ones "?".
    encoding = dims_attr(dims) if named else NoneAttr()
    return TensorType(element, shape, encoding)


def _dim_attr(dim: Dim) -> Attribute:
    if dim.is_static:
        return IntAttr(dim.value)
    return StringAttr(UNKNOWN if dim.is_unknown else str(dim))


def dims_attr(dims: Sequence[DimLike]) -> DimsAttr:
    """Dimension expressions as an attribute, the same one for equal ones: inferred types go by identity."""
    return _dims_attr(tuple(map(Dim.of, dims)))


@lru_cache(maxsize=65536)
def _dims_attr(dims: tuple[Dim, ...]) -> DimsAttr:
    return DimsAttr(ArrayAttr(map(_dim_attr, dims)))


def tensor_type(element: Attribute, shape: Sequence[DimLike]) -> Tensor:
    """
    A tensor type (interned) of an element type and dimensions: numbers, symbols, expressions, or `"?"`.

    Raises: as `check_extents`.
    """
    return _tensor_type(element, tuple(Dim.of(d) for d in shape))


def check_extents(element: Attribute, dims: Sequence[Dim]) -> None:
    """
    Refuse sizes that no memory can hold, before anything is computed from them.

    Raises: StepwellError `bad-shape` for a negative dimension, `too-large` past `MAX_TENSOR_BYTES`.
    """
    extents = [dim.value for dim in dims if dim.is_static]
    shape = ", ".join(map(str, dims))
    if min(extents, default=0) < 0:
        raise StepwellError("bad-shape", None, f"a tensor cannot have the shape [{shape}]")
    dtype = _dtype_of(element)
    size = prod(extents) * (dtype.itemsize if dtype is not None else 1)
    if size > MAX_TENSOR_BYTES:
        raise StepwellError(
            "too-large",
            None,
            f"a tensor of shape [{shape}] takes {size} bytes, at most {MAX_TENSOR_BYTES} are possible",
        )


@lru_cache(maxsize=4096)
def ranked_tensor(element: Attribute, shape: tuple[int, ...]) -> Tensor:
    """A tensor type (interned) of an element type and sizes, `DYNAMIC_INDEX` for those without a name."""
    return TensorType(element, shape)


_DIMS: dict[int, tuple[Attribute, tuple[Dim, ...]]] = {}
_MOST_DIMS = 65536


def dims_of(type: Attribute) -> tuple[Dim, ...]:
    """
    The dimensions of a ranked tensor type; a dynamic one without a name is unknown (`Dim.is_unknown`).

    Raises: TypeError for anything but a ranked tensor.
    """
    # By identity first: types are interned, and hashing one costs more than all the rest.
    key = id(type)
    if (known := _DIMS.get(key)) is not None:
        return known[1]
    if not isinstance(type, TensorType):
        raise TypeError(f"expected a ranked tensor, found {type}")
    if len(_DIMS) >= _MOST_DIMS:
        _DIMS.clear()
    dims = _dims_of(cast(Tensor, type))
    _DIMS[key] = type, dims  # the type is kept, so that its id stays its own
    return dims


@lru_cache(maxsize=65536)
def _dims_of(type: Tensor) -> tuple[Dim, ...]:
    if isinstance(type.encoding, DimsAttr):
        return type.encoding.get()
    return tuple(Dim.symbol(UNKNOWN) if n == builtin.DYNAMIC_INDEX else Dim.of(n) for n in type.get_shape())


def tensor_of(value: SSAValue) -> Tensor:
    """The tensor type of a value. Raises: TypeError when it has another type."""
    type = value.type
    if not isinstance(type, TensorType):
        raise TypeError(f"expected a tensor, found {type}")
    return cast(Tensor, type)


_SIGNLESS = builtin.Signedness.SIGNLESS
_UNSIGNED = builtin.Signedness.UNSIGNED

# IR element types by the names of numpy and ml_dtypes. Signed integers are signless (as MLIR's linalg wants
# them), unsigned ones `ui8`.
_ELEMENTS: Mapping[str, Attribute] = {
    "float16": builtin.f16,
    "bfloat16": builtin.bf16,
    "float32": builtin.f32,
    "float64": builtin.f64,
    "bool": builtin.i1,
    **{f"int{n}": builtin.IntegerType(n, _SIGNLESS) for n in (2, 4, 8, 16, 32, 64)},
    **{f"uint{n}": builtin.IntegerType(n, _UNSIGNED) for n in (2, 4, 8, 16, 32, 64)},
    "complex64": builtin.ComplexType(builtin.f32),
    "complex128": builtin.ComplexType(builtin.f64),
    "float8_e4m3fn": builtin.Float8E4M3FNType(),
    "float8_e4m3fnuz": builtin.Float8E4M3FNUZType(),
    "float8_e5m2": builtin.Float8E5M2Type(),
    "float8_e5m2fnuz": builtin.Float8E5M2FNUZType(),
    "float8_e8m0fnu": builtin.Float8E8M0FNUType(),
    "float6_e2m3fn": builtin.Float6E2M3FNType(),
    "float6_e3m2fn": builtin.Float6E3M2FNType(),
    "float4_e2m1fn": builtin.Float4E2M1FNType(),
}
_NAMES: Mapping[Attribute, str] = {element: name for name, element in _ELEMENTS.items()}


def dtype_of(element: Attribute) -> np.dtype[np.generic]:
    """The numpy dtype of an element type. Raises: TypeError for one that numpy and ml_dtypes lack."""
    if (dtype := _dtype_of(element)) is None:
        raise TypeError(f"element type {element} has no numpy dtype")
    return dtype


@lru_cache
def _dtype_of(element: Attribute) -> np.dtype[np.generic] | None:
    return None if (name := _NAMES.get(element)) is None else dtype_from_name(name)


def dtypes() -> Mapping[Attribute, np.dtype[np.generic]]:
    """The element types that numpy and ml_dtypes have, with their dtypes."""
    return {element: dtype_of(element) for element in _NAMES}


def signless(element: Attribute) -> Attribute:
    """The storage type of an element type at level 2: signless integers, and bytes for narrower types."""
    width = cast(IntegerType, element).width.data if isinstance(element, IntegerType) else 0
    if width > 1:
        return IntegerType(max(width, 8))
    is_small = isinstance(element, builtin.AnyFloat) and element.bitwidth <= 8
    return cast(Attribute, IntegerType(8) if is_small else element)


def element_bytes(element: Attribute) -> int:
    """
    The size of an element in memory, in whole bytes: i1 and i4 occupy a byte as in numpy; `index` has eight.

    Raises: StepwellError `unsupported` for what has no size.
    """
    if isinstance(element, IndexType):
        return 8
    if (dtype := _dtype_of(element)) is not None:
        return dtype.itemsize
    bits = getattr(element, "bitwidth", None)
    if not isinstance(bits, int):
        raise StepwellError("unsupported", None, f"{element} has no size in memory")
    return max(8, bits) // 8


def element_of(dtype: npt.DTypeLike) -> Attribute:
    """The element type of a numpy dtype. Raises: TypeError for one that the IR lacks."""
    dtype = np.dtype(dtype)
    if not dtype.isnative or (element := _ELEMENTS.get(dtype.name)) is None:
        raise TypeError(f"numpy dtype {dtype} has no element type")
    return element


DIMS = "graph.dims"
"""Key of an argument's or result's dimensions, where its type no longer names them."""
ELEMENT = "graph.element"
"""Key of the level-1 element type of an input or output of `@main`, where level 2 has another type."""


def type_before(type: Attribute, attributes: Mapping[str, Attribute]) -> Attribute:
    """The level-1 type of an input or output of `@main`, from its level-2 type and attributes."""
    return _named_tensor(cast(Tensor, type), attributes) if isinstance(type, TensorType) else type


def _named_tensor(type: Tensor, attributes: Mapping[str, Attribute]) -> Tensor:
    """A tensor type with the dimension names and element type that attributes record."""
    element = attributes.get(ELEMENT, type.element_type)
    return TensorType(element, type.get_shape(), attributes.get(DIMS, type.encoding))
