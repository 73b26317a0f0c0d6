"""Types and constants of the `llvm` dialect as LLVM IR text."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    ComplexType,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    VectorType,
)
from xdsl.dialects.llvm import LLVMArrayType, LLVMFunctionType, LLVMPointerType, LLVMStructType, LLVMVoidType
from xdsl.ir import Attribute

from stepwell.runtime.errors import StepwellError

_FLOATS: dict[type[Attribute], tuple[str, str]] = {
    Float16Type: ("half", "f16"),
    BFloat16Type: ("bfloat", "bf16"),
    Float32Type: ("float", "f32"),
    Float64Type: ("double", "f64"),
}


class TypeTexts:
    """Texts of types and their names in intrinsics, cached by identity."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Attribute, str]] = {}
        self._mangled: dict[int, tuple[Attribute, str]] = {}

    def __call__(self, type: Attribute) -> str:
        """
        A type as LLVM IR spells it: `<16 x float>`.

        Raises: StepwellError `unsupported` for a type that LLVM does not have.
        """
        if (known := self._known.get(id(type))) is not None:
            return known[1]
        text = self._spell(type)
        self._known[id(type)] = (type, text)  # the reference keeps the id from being reused
        return text

    def _spell(self, type: Attribute) -> str:
        """The text of a type that is not cached yet."""
        if (spelled := _FLOATS.get(type.__class__)) is not None:
            return spelled[0]
        match type:
            case IntegerType():
                return f"i{type.width.data}"
            case VectorType() if type.get_num_dims() == 1 and type.get_num_scalable_dims() == 0:
                return f"<{type.get_shape()[0]} x {self(type.element_type)}>"
            case LLVMPointerType():
                space = type.addr_space
                return "ptr" if isinstance(space, NoneAttr) else f"ptr addrspace({space.data})"
            case LLVMVoidType():
                return "void"
            case ComplexType():  # only memory of host calls has such elements
                return f"{{ {self(type.element_type)}, {self(type.element_type)} }}"
            case LLVMArrayType():
                return f"[{type.size.data} x {self(type.type)}]"
            case LLVMStructType():
                return "{ " + ", ".join(map(self, type.types)) + " }"
            case LLVMFunctionType():
                inputs = [*map(self, type.inputs), *(["..."] if type.is_variadic else [])]
                return f"{self(type.output)} ({', '.join(inputs)})"
            case _:
                hint = "run unroll-vectors before it" if isinstance(type, VectorType) else None
                raise StepwellError("unsupported", None, f"type {type} has no LLVM IR", help=hint)

    def mangle(self, type: Attribute) -> str:
        """A type as the names of overloaded intrinsics spell it: `v16f32`."""
        if (known := self._mangled.get(id(type))) is None:
            known = self._mangled[id(type)] = type, self._mangle(type)
        return known[1]

    def _mangle(self, type: Attribute) -> str:
        if (spelled := _FLOATS.get(type.__class__)) is not None:
            return spelled[1]
        match type:
            case IntegerType():
                return f"i{type.width.data}"
            case VectorType():
                return f"v{type.get_shape()[0]}{self.mangle(type.element_type)}"
            case LLVMPointerType():
                space = type.addr_space
                return f"p{0 if isinstance(space, NoneAttr) else space.data}"
            case _:
                raise StepwellError("unsupported", None, f"no intrinsic takes a {type}")

    def constant(self, value: Attribute, type: Attribute) -> str:
        """A constant without its type: `3`, `0x3FF0000000000000`, `splat (float …)`, `<i32 0, i32 1>`."""
        match value:
            case IntegerAttr() if type.__class__ is IntegerType:
                return self._scalar(value.value.data, type)
            case FloatAttr() if type.__class__ in _FLOATS:
                return self._scalar(value.value.data, type)
            case DenseIntOrFPElementsAttr() if type.__class__ is VectorType:
                element = cast("VectorType[Attribute]", type).element_type
                return self._dense(value.get_values(), element, "<", ">")
            case DenseIntOrFPElementsAttr() if isinstance(type, LLVMArrayType):
                return self._dense(value.get_values(), type.type, "[", "]")
            case _:
                raise StepwellError("unsupported", None, f"constant {value} has no LLVM IR as {type}")

    def _dense(self, values: Sequence[object], element: Attribute, opening: str, closing: str) -> str:
        """The text of a vector or array constant, shortened where all elements are equal."""
        numbers = [value for value in values if isinstance(value, (int, float))]
        first = numbers[0]
        if all(repr(number) == repr(first) for number in numbers):  # -0.0 is not 0.0
            if repr(first) in ("0", "0.0"):
                return "zeroinitializer"
            if opening == "<":
                return f"splat ({self(element)} {self._scalar(first, element)})"
        name = self(element)
        return opening + ", ".join(f"{name} {self._scalar(number, element)}" for number in numbers) + closing

    def _scalar(self, value: float, type: Attribute) -> str:
        """The text of a scalar constant."""
        if type.__class__ is not IntegerType:
            return float_text(value, type)
        return str(int(value)) if self(type) != "i1" else "true" if value else "false"


def float_text(value: float, type: Attribute) -> str:
    """
    A float constant with exactly the same bits.

    f32 is spelled as the bits of the double of the same value; f16 and bf16 have prefixes of their own.
    """
    match type:
        case Float64Type():
            return f"0x{struct.pack('>d', value).hex().upper()}"
        case Float32Type():
            with np.errstate(over="ignore"):
                return f"0x{struct.pack('>d', float(np.float32(value))).hex().upper()}"
        case Float16Type():
            with np.errstate(over="ignore"):
                return f"0xH{np.float16(value).view(np.uint16):04X}"
        case BFloat16Type():
            import ml_dtypes  # few kernels have such a constant

            return f"0xR{np.array(value, ml_dtypes.bfloat16).view(np.uint16).item():04X}"
        case _:
            raise StepwellError("unsupported", None, f"a {type} constant has no LLVM IR")
