"""The functions of `builder.py` as C99: one statement a value, integers without signs, which wrap."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from stepwell.lowering.c_math.builder import Function, Operand, Value

_TYPES = {"double": "double", "i1": "int", "i32": "uint32_t", "i64": "uint64_t"}
_OPERATORS = {
    **{"add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^"},
    **{"shl": "<<", "lshr": ">>"},
}
_COMPARISONS = {"olt": "<", "ogt": ">", "oge": ">=", "oeq": "=="}
_CONVERSIONS = {
    "fptosi": "(uint32_t)i32_of_f64({})",
    "sitofp": "(double)(int32_t){}",
    "uitofp": "(double){}",
    "zext": "(uint64_t){}",
    "trunc": "(uint32_t){}",
}
_INTRINSICS = {"llvm.fabs.f64": "f64_abs", "llvm.copysign.f64": "f64_copysign", "llvm.sqrt.f64": "f64_sqrt"}
_VALUE = re.compile(r"\bv\d+\b")
_VALUE_BYTES = 8


@dataclass
class CFunction(Function):
    """A function of f64 in C; `text` is written by `finish`."""

    text: str = ""

    @property
    def stack_bytes(self) -> int:
        """An upper bound of the bytes on the stack: a word for each value."""
        return _VALUE_BYTES * (len(self.lines) + self.arguments)

    def argument(self, number: int = 0) -> Value:
        return Value(self, f"a{number}", self.type)

    def emit(self, text: str, type: str) -> Value:
        name = f"v{len(self.lines)}"
        self.lines.append(f"  const {_TYPES[type]} {name} = {text};")
        return Value(self, name, type)

    def text_of(self, value: Operand, type: str) -> str:
        if isinstance(value, Value):
            return value.text
        if type != "double":
            bits = 64 if type == "i64" else 32
            number = int(value) & ((1 << bits) - 1)
            return f"UINT64_C({number})" if type == "i64" else f"{number}u"
        if not math.isfinite(value):
            return f"f64_of_bits(UINT64_C({struct.unpack('<Q', struct.pack('<d', value))[0]}))"
        return f"({float(value)!r})" if value < 0 or str(float(value)) == "-0.0" else repr(float(value))

    def op(self, name: str, left: Operand, right: Operand) -> Value:
        type = left.type if isinstance(left, Value) else right.type if isinstance(right, Value) else "double"
        a, b = self.text_of(left, type), self.text_of(right, type)
        if name == "ashr":
            return self.emit(f"{a} >> 31 ? ~(~{a} >> {b}) : {a} >> {b}", type)
        return self.emit(f"{a} {_OPERATORS[name]} {b}", type)

    def compare(self, how: str, left: Value, right: Operand) -> Value:
        return self.emit(f"{left.text} {_COMPARISONS[how]} {self.text_of(right, left.type)}", "i1")

    def negated(self, value: Value) -> Value:
        return self.emit(f"-{value.text}", value.type)

    def select(self, condition: Value, then: Operand, other: Operand, type: str = "double") -> Value:
        return self.emit(f"{condition.text} ? {self.text_of(then, type)} : {self.text_of(other, type)}", type)

    def convert(self, how: str, value: Value, type: str) -> Value:
        if how == "bitcast":
            helper = "f64_of_bits" if type == "double" else "bits_of_f64"
            return self.emit(f"{helper}({value.text})", type)
        return self.emit(_CONVERSIONS[how].format(value.text), type)

    def opposite(self, condition: Value) -> Value:
        return self.emit(f"!{condition.text}", "i1")

    def is_set(self, bits: Value) -> Value:
        return self.emit(f"{bits.text} != 0", "i1")

    def between(self, value: Value, least: int, most: int) -> Value:
        signed = f"(int32_t){value.text}"
        low = self.emit(f"{signed} < {least} ? (uint32_t){least} : {value.text}", "i32")
        return self.emit(f"(int32_t){low.text} > {most} ? {most}u : {low.text}", "i32")

    def element(self, table: str, index: Value) -> Value:
        return self.emit(f"{table}[{index.text}]", "i32")

    def call(self, name: str, operands: Sequence[Operand], type: str = "double") -> Value:
        texts = ", ".join(self.text_of(operand, type) for operand in operands)
        return self.emit(f"{_INTRINSICS.get(name, f'f64_{name}')}({texts})", type)

    def finish(self, result: Value) -> str:
        self.lines = self._used(result)
        arguments = ", ".join(f"double a{number}" for number in range(self.arguments))
        body = "\n".join([*self.lines, f"  return {result.text};"])
        return f"static double f64_{self.name}({arguments}) {{\n{body}\n}}\n"

    def _used(self, result: Value) -> list[str]:
        """The lines that the result depends on: compilers warn of others."""
        used, kept = {result.text}, list[str]()
        for line in reversed(self.lines):
            name, *operands = _VALUE.findall(line)
            if name in used:
                used.update(operands)
                kept.append(line)
        return kept[::-1]
