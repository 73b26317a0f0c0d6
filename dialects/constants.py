"""Constants of levels 0 and 1 as attributes: a few elements in place, more as a weight in the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, IntegerType, TensorType
from xdsl.ir import Attribute

from stepwell.dialects.types import Tensor, WeightAttr, dtype_of, element_of, tensor_type
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.recipes import Recipe
from stepwell.runtime.files.weights import WeightStore

Array: TypeAlias = npt.NDArray[np.generic]
Constant: TypeAlias = WeightAttr | DenseIntOrFPElementsAttr

MAX_INLINE_ELEMS = 16
"""Constants of at most this many elements are printed in the text; larger ones are weights, named by hash."""
LATE_BYTES = 1 << 15
"""Derived constants from this size on are computed late; passes look into smaller ones, such as biases."""

_SUB_BYTE_INTS = ("int4", "int2")


def is_inline(array: Array) -> bool:
    """
    Whether an array is small enough to be printed in the text.

    Arrays with NaN are not, since its bits would not survive; nor are complex numbers, of which xDSL prints
    six digits, and zeros of different signs, which it prints alike.
    """
    if array.size > MAX_INLINE_ELEMS or array.dtype.kind == "c":
        return False
    if array.dtype.kind in "biu":
        return True
    values = array.astype(np.float64)
    signs = np.signbit(values)
    return not np.isnan(values).any() and not (signs.any() and not signs.all() and not values.any())


def constant_attr(array: Array, name: str, weights: WeightStore) -> Constant:
    """An array as an attribute; a large one goes to the weight store under `name`."""
    if is_inline(array):
        return inline_attr(array)
    return WeightAttr(name, weights.add(array), tensor_type(element_of(array.dtype), array.shape))


def derived_attr(
    text: str,
    function: Callable[..., Array],
    sources: Sequence[Constant | Array],
    type: Tensor,
    name: str,
    weights: WeightStore,
    *,
    largest: float | None = None,
) -> Constant:
    """
    The constant of a static type computed by a function from others: at once if small, else when the bytes
    are asked for.

    Args: `text` is the same for equal functions only; `largest` is an upper bound of the result's magnitudes.
    Raises: StepwellError `missing-weights` when the store lacks the bytes of a source.
    """
    shape, dtype = type.get_shape(), dtype_of(type.element_type)
    operands = [_operand(source, weights) for source in sources]
    recipe = Recipe(function, tuple(operands), shape, dtype, largest)
    if prod(shape) * dtype.itemsize < LATE_BYTES:
        return constant_attr(np.asarray(recipe.result(weights.get), order="C"), name, weights)
    return WeightAttr(name, weights.derive(text, recipe), type)


def _operand(source: Constant | Array, weights: WeightStore) -> str | Array:
    """The hash of a weight, which must be in the store, or the array of another constant."""
    if not isinstance(source, WeightAttr):
        return source if isinstance(source, np.ndarray) else array_of(source, weights)
    _expect_there(source, weights)
    return source.hash.data


def inline_attr(array: Array) -> DenseIntOrFPElementsAttr:
    """A small array as `dense<…>`, with the bytes that the parser makes of the same text."""
    type = tensor_type(element_of(array.dtype), array.shape)
    if array.dtype == np.bool_:
        stored = np.where(array, np.uint8(0xFF), np.uint8(0)).tobytes()
    elif array.dtype.name in _SUB_BYTE_INTS:
        stored = array.astype(np.int8).tobytes()
    else:
        stored = array.tobytes()
    return DenseIntOrFPElementsAttr(cast("TensorType[IntegerType]", type), BytesAttr(stored))


def array_of(value: Attribute, weights: WeightStore) -> Array:
    """
    The array of a constant attribute, read only.

    Raises: StepwellError `missing-weights` when the store lacks the bytes of a weight, TypeError for any
    other attribute.
    """
    if isinstance(value, WeightAttr):
        _expect_there(value, weights)
        return weights.get(value.hash.data)
    if not isinstance(value, DenseIntOrFPElementsAttr):
        raise TypeError(f"{value} is no constant tensor")
    dense = cast("DenseIntOrFPElementsAttr", value)
    dtype = dtype_of(cast(Attribute, dense.get_element_type()))
    stored, shape = dense.data.data, dense.get_shape()
    if dtype == np.bool_:
        return (np.frombuffer(stored, np.uint8) != 0).reshape(shape)
    if dtype.name in _SUB_BYTE_INTS:
        return np.frombuffer(stored, np.int8).astype(dtype).reshape(shape)
    return np.frombuffer(stored, dtype).reshape(shape)


def _expect_there(value: WeightAttr, weights: WeightStore) -> None:
    """Require the bytes of a weight. Raises: StepwellError `missing-weights`."""
    if value.hash.data in weights:
        return
    name = value.weight_name.data or value.hash.data
    raise StepwellError(
        "missing-weights",
        None,
        f"the bytes of the weight {name!r} are not there",
        note="text only names weights: F.weights beside F.mlir has the bytes",
        help="write the file with -o: `stepwell compile --emit` and `stepwell-opt` write both; "
        "where F.mlir was copied or renamed, do the same with F.weights",
    )
