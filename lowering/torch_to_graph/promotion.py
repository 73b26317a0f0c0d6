"""Element types of operands as torch promotes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps

from xdsl.dialects.builtin import IntegerType, f32, f64, i1, i64
from xdsl.ir import Attribute

from stepwell.dialects.foreign.values import Value as Argument
from stepwell.dialects.graph.relations import is_bool, is_float, is_unsigned
from stepwell.dialects.types import dtype_of
from stepwell.lowering.to_graph import Value
from stepwell.lowering.torch_to_graph.support import Call


def operand(call: Call, name: str, element: Attribute) -> Value:
    """An operand, or a number that stands for one, in an element type."""
    if call.op.SIGNATURE.by_name[name].is_tensor:
        return call.tensor(name).cast(element)
    return number(call, name, element)


def computed(element: Attribute) -> Attribute:
    """The element type in which torch computes a formula: f32 for floats of 16 bits, rounded once."""
    return f32 if is_float(element) and dtype_of(element).itemsize == 2 else element


class _WideCall(Call):
    """A call whose floats of 16 bits are in f32, operands and result."""

    def tensor(self, name: str = "self") -> Value:
        """An operand."""
        value = super().tensor(name)
        return value.cast(computed(value.element))

    @property
    def element(self) -> Attribute:
        """The element type in which the first result is computed."""
        return computed(super().element)


def rounded_once(convert: Callable[[Call], Value]) -> Callable[[Call], Value]:
    """A conversion that computes floats of 16 bits in f32, and rounds the result, as torch does."""

    @wraps(convert)
    def rounded(call: Call) -> Value:
        return convert(_WideCall(call.op, call.at)).cast(call.element)

    return rounded


def number(call: Call, name: str, element: Attribute) -> Value:
    """An argument that is a number or an open size, as a constant of rank 0."""
    value = call.value(name)
    if isinstance(value, bool | int | float):
        return call.at.number(value, element)
    (size,) = call.sizes(name)
    return call.at.extent(size, element)


def promoted(call: Call, *names: str) -> Attribute:
    """
    The element type in which torch computes with some operands and numbers.

    Tensors of rank 0 and numbers change the kind of the others (truth values, integers, floats), and not the
    width inside a kind.
    """
    tensors = [call.tensor(name) for name in names if call.op.SIGNATURE.by_name[name].is_tensor]
    ranked = [each.element for each in tensors if each.rank]
    scalars = [each.element for each in tensors if not each.rank]
    numbers = [
        _element_of(call.value(name)) for name in names if not call.op.SIGNATURE.by_name[name].is_tensor
    ]
    result: Attribute | None = None
    for group in (ranked, scalars, numbers):
        if not group:
            continue
        joined = _joined(group)
        if result is None or _category(joined) > _category(result):
            result = joined if result is None or group is not numbers or not is_float(joined) else f32
    assert result is not None
    return result


def _category(element: Attribute) -> int:
    return 0 if is_bool(element) else 2 if is_float(element) else 1


def _element_of(value: Argument) -> Attribute:
    return i1 if isinstance(value, bool) else f64 if isinstance(value, float) else i64


def _joined(elements: Sequence[Attribute]) -> Attribute:
    """The element type that has the values of all; of two floats of 16 bits it is f32."""
    result = elements[0]
    for other in elements[1:]:
        if _category(other) != _category(result):
            result = max(result, other, key=_category)
        elif other != result:
            result = _wider(result, other)
    return result


def _wider(a: Attribute, b: Attribute) -> Attribute:
    sizes = dtype_of(a).itemsize, dtype_of(b).itemsize
    if is_float(a) and sizes[0] == sizes[1]:
        return f32
    if not is_float(a) and is_unsigned(a) != is_unsigned(b):
        signed, unsigned = (b, a) if is_unsigned(a) else (a, b)
        if dtype_of(signed).itemsize > dtype_of(unsigned).itemsize:
            return signed
        return IntegerType(min(16 * dtype_of(unsigned).itemsize, 64))
    return a if sizes[0] >= sizes[1] else b
