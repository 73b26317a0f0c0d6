"""Element types: dtypes of numpy, numbers of ONNX, and the names that `NodeArg.type` has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import dtype_from_name

_TYPES: Mapping[str, tuple[int, str]] = {
    "float32": (1, "float"),
    "uint8": (2, "uint8"),
    "int8": (3, "int8"),
    "uint16": (4, "uint16"),
    "int16": (5, "int16"),
    "int32": (6, "int32"),
    "int64": (7, "int64"),
    "object": (8, "string"),
    "bool": (9, "bool"),
    "float16": (10, "float16"),
    "float64": (11, "double"),
    "uint32": (12, "uint32"),
    "uint64": (13, "uint64"),
    "complex64": (14, "complex64"),
    "complex128": (15, "complex128"),
    "bfloat16": (16, "bfloat16"),
    "float8_e4m3fn": (17, "float8e4m3fn"),
    "float8_e4m3fnuz": (18, "float8e4m3fnuz"),
    "float8_e5m2": (19, "float8e5m2"),
    "float8_e5m2fnuz": (20, "float8e5m2fnuz"),
    "uint4": (21, "uint4"),
    "int4": (22, "int4"),
    "float4_e2m1fn": (23, "float4e2m1"),
    "float8_e8m0fnu": (24, "float8e8m0"),
    "uint2": (25, "uint2"),
    "int2": (26, "int2"),
}
"""For each dtype the number of `TensorProto.DataType`, and the name in `tensor(NAME)`."""
_BY_NUMBER = {number: dtype for dtype, (number, _) in _TYPES.items()}


def type_name(dtype: np.dtype[np.generic]) -> str:
    """The type of a tensor as ONNX Runtime writes it, such as `tensor(float)`."""
    return f"tensor({_TYPES['object' if dtype.kind in 'OUS' else dtype.name][1]})"


def element_number(dtype: np.dtype[np.generic]) -> int:
    """The number of an element type in ONNX."""
    return _TYPES["object" if dtype.kind in "OUS" else dtype.name][0]


def name_of_number(number: int) -> str:
    """The name in `tensor(NAME)` of an element type's number."""
    return _TYPES[_BY_NUMBER[number]][1]


def dtype_of(element_type: object) -> np.dtype[np.generic]:
    """
    The dtype that a program names, by a number of ONNX or as numpy takes it.

    Raises: StepwellError `bad-option` for a number that ONNX does not have, or no type.
    """
    if isinstance(element_type, int) and not isinstance(element_type, bool):
        if element_type in _BY_NUMBER:
            return dtype_from_name(_BY_NUMBER[element_type])
        raise StepwellError("bad-option", None, f"ONNX has no element type {element_type}")
    try:
        return np.dtype(cast("type[np.generic]", element_type))
    except TypeError as error:
        message = f"an element type is one of numpy or a number of ONNX, found {element_type!r}"
        raise StepwellError("bad-option", None, message) from error
