"""Functions of LLVM IR written as expressions: `f.half * x + y`. No branches: choices are selects."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Value:
    """A value of a function under construction."""

    function: Function
    text: str
    type: str

    def __add__(self, other: Operand) -> Value:
        return self.function.op("add", self, other)

    def __radd__(self, other: Operand) -> Value:
        return self.function.op("add", other, self)

    def __sub__(self, other: Operand) -> Value:
        return self.function.op("sub", self, other)

    def __rsub__(self, other: Operand) -> Value:
        return self.function.op("sub", other, self)

    def __mul__(self, other: Operand) -> Value:
        return self.function.op("mul", self, other)

    def __rmul__(self, other: Operand) -> Value:
        return self.function.op("mul", other, self)

    def __truediv__(self, other: Operand) -> Value:
        return self.function.op("div", self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self.function.op("div", other, self)

    def __neg__(self) -> Value:
        return self.function.negated(self)

    def __lt__(self, other: Operand) -> Value:
        return self.function.compare("olt", self, other)

    def __gt__(self, other: Operand) -> Value:
        return self.function.compare("ogt", self, other)

    def __ge__(self, other: Operand) -> Value:
        return self.function.compare("oge", self, other)

    def same(self, other: Operand) -> Value:
        """Whether two numbers are equal; NaN is not."""
        return self.function.compare("oeq", self, other)

    def __and__(self, other: Operand) -> Value:
        return self.function.op("and", self, other)

    def __or__(self, other: Operand) -> Value:
        return self.function.op("or", self, other)

    def __xor__(self, other: Operand) -> Value:
        return self.function.op("xor", self, other)

    def __lshift__(self, other: Operand) -> Value:
        return self.function.op("shl", self, other)

    def __rshift__(self, other: Operand) -> Value:
        return self.function.op("lshr", self, other)


Operand = Value | float | int
_INTEGERS = ("and", "or", "xor", "shl", "lshr", "ashr")


@dataclass
class Function:
    """A function under construction; its arguments are `%a0`, `%a1`."""

    name: str
    arguments: int = 1
    type: str = "double"
    lines: list[str] = field(default_factory=list[str])

    def argument(self, number: int = 0) -> Value:
        """An argument."""
        return Value(self, f"%a{number}", self.type)

    def emit(self, text: str, type: str) -> Value:
        """The result of an instruction."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return Value(self, name, type)

    def text_of(self, value: Operand, type: str) -> str:
        """An operand; floats are written by their bits."""
        if isinstance(value, Value):
            return value.text
        if type == "double":
            return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
        return str(int(value))

    def op(self, name: str, left: Operand, right: Operand) -> Value:
        """Arithmetic of floats or integers."""
        type = left.type if isinstance(left, Value) else right.type if isinstance(right, Value) else "double"
        kind = name if name in _INTEGERS or type != "double" else f"f{name}"
        return self.emit(f"{kind} {type} {self.text_of(left, type)}, {self.text_of(right, type)}", type)

    def compare(self, how: str, left: Value, right: Operand) -> Value:
        """A comparison of floats."""
        return self.emit(f"fcmp {how} {left.type} {left.text}, {self.text_of(right, left.type)}", "i1")

    def negated(self, value: Value) -> Value:
        """The negative of a number."""
        return self.emit(f"fneg {value.type} {value.text}", value.type)

    def select(self, condition: Value, then: Operand, other: Operand, type: str = "double") -> Value:
        """A choice."""
        operands = f"{type} {self.text_of(then, type)}, {type} {self.text_of(other, type)}"
        return self.emit(f"select i1 {condition.text}, {operands}", type)

    def convert(self, how: str, value: Value, type: str) -> Value:
        """A conversion, such as `bitcast`, `sitofp`, `zext`."""
        return self.emit(f"{how} {value.type} {value.text} to {type}", type)

    def opposite(self, condition: Value) -> Value:
        """Whether a condition does not hold."""
        return self.emit(f"xor i1 {condition.text}, true", "i1")

    def is_set(self, bits: Value) -> Value:
        """Whether an i32 is not zero."""
        return self.emit(f"icmp ne i32 {bits.text}, 0", "i1")

    def between(self, value: Value, least: int, most: int) -> Value:
        """The nearest i32 in a range, both ends included."""
        low = self.emit(f"call i32 @llvm.smax.i32(i32 {value.text}, i32 {least})", "i32")
        return self.emit(f"call i32 @llvm.smin.i32(i32 {low.text}, i32 {most})", "i32")

    def element(self, table: str, index: Value) -> Value:
        """An i32 of a constant table."""
        place = self.emit(f"getelementptr i32, ptr @{table}, i32 {index.text}", "ptr")
        return self.emit(f"load i32, ptr {place.text}", "i32")

    def call(self, name: str, operands: Sequence[Operand], type: str = "double") -> Value:
        """A call with operands of the type of its result."""
        texts = ", ".join(f"{type} {self.text_of(operand, type)}" for operand in operands)
        return self.emit(f"call {type} @{name}({texts})", type)

    def absolute(self, value: Value) -> Value:
        """The absolute value."""
        return self.call("llvm.fabs.f64", [value])

    def with_sign(self, value: Operand, sign: Value) -> Value:
        """A value with the sign of another one."""
        return self.call("llvm.copysign.f64", [value, sign])

    def root(self, value: Value) -> Value:
        """The square root."""
        return self.call("llvm.sqrt.f64", [value])

    def whole(self, value: Value) -> Value:
        """The nearest integer of a number below 2^51, of halves the even one."""
        return (value + 6755399441055744.0) - 6755399441055744.0

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """A polynomial, the constant coefficient first."""
        result: Operand = coefficients[-1]
        for coefficient in reversed(coefficients[:-1]):
            result = x * result + coefficient
        assert isinstance(result, Value)
        return result

    def finish(self, result: Value) -> str:
        """The text of the function."""
        arguments = ", ".join(f"{self.type} %a{number}" for number in range(self.arguments))
        body = "\n".join([*self.lines, f"  ret {self.type} {result.text}"])
        return f"define weak hidden {self.type} @{self.name}({arguments}) #0 {{\n{body}\n}}\n"
