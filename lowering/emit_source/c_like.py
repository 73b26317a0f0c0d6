"""The common base of OpenCL C and the Metal Shading Language: types and operators of C."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import Float16Type, Float32Type, Float64Type, IndexType
from xdsl.ir import Attribute, Operation

from stepwell.lowering.emit_source.language import Language, Parts, is_float, width_of
from stepwell.lowering.emit_source.views import Term, View

HELPERS: Mapping[str, str] = {
    "sw_isnan": """static int sw_isnan(float x) {
  return (as_uint(x) & 0x7fffffffu) > 0x7f800000u;
}""",
    "sw_max": """static float sw_max(float a, float b) {
  if (sw_isnan(a)) return a;
  if (sw_isnan(b)) return b;
  if (a == b) return as_float(as_uint(a) & as_uint(b));
  return a > b ? a : b;
}""",
    "sw_min": """static float sw_min(float a, float b) {
  if (sw_isnan(a)) return a;
  if (sw_isnan(b)) return b;
  if (a == b) return as_float(as_uint(a) | as_uint(b));
  return a < b ? a : b;
}""",
    "sw_maxnum": """static float sw_maxnum(float a, float b) {
  if (sw_isnan(a)) return b;
  if (sw_isnan(b)) return a;
  return a > b ? a : b;
}""",
    "sw_minnum": """static float sw_minnum(float a, float b) {
  if (sw_isnan(a)) return b;
  if (sw_isnan(b)) return a;
  return a < b ? a : b;
}""",
    "sw_copysign": """static float sw_copysign(float a, float b) {
  return as_float((as_uint(a) & 0x7fffffffu) | (as_uint(b) & 0x80000000u));
}""",
    "sw_pow2": """static float sw_pow2(int n) {
  return as_float((uint)(n + 127) << 23);
}""",
    "sw_scale": """static float sw_scale(float x, float n) {
  int k = (int)(n < -378.0f ? -378.0f : n > 381.0f ? 381.0f : n);
  int third = k / 3;
  return x * sw_pow2(third) * sw_pow2(third) * sw_pow2(k - 2 * third);
}""",
    "sw_fptosi": """static int sw_fptosi(float x) {
  if (sw_isnan(x)) return 0;
  return x <= -2147483648.0f ? (-2147483647 - 1) : x >= 2147483648.0f ? 2147483647 : (int)x;
}""",
    "sw_fptoui": """static int sw_fptoui(float x) {
  if (sw_isnan(x) || x <= 0.0f) return 0;
  return (int)(x >= 4294967296.0f ? 4294967295u : (uint)x);
}""",
    "sw_fptosl": """static long sw_fptosl(float x) {
  if (sw_isnan(x)) return 0;
  if (x >= 9223372036854775808.0f) return 0x7fffffffffffffffL;
  return x <= -9223372036854775808.0f ? -0x7fffffffffffffffL - 1 : (long)x;
}""",
    "sw_fptoul": """static long sw_fptoul(float x) {
  if (sw_isnan(x) || x <= 0.0f) return 0;
  return (long)(x >= 18446744073709551616.0f ? 0xffffffffffffffffUL : (ulong)x);
}""",
    "sw_floordiv": """static int sw_floordiv(int a, int b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}""",
    "sw_ceildiv": """static int sw_ceildiv(int a, int b) {
  return a / b + (a % b != 0 && (a < 0) == (b < 0));
}""",
}
_TO_LONG = {"arith.fptosi": "sw_fptosl({0})", "arith.fptoui": "sw_fptoul({0})"}
_UNSIGNED = {1: "uchar", 8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"}
VECTOR_TYPES = frozenset(
    f"{element}{lanes}"
    for element in (
        "char",
        "uchar",
        "short",
        "ushort",
        "int",
        "uint",
        "long",
        "ulong",
        "half",
        "float",
        "double",
    )
    for lanes in (2, 4, 8, 16)
)
"""Keywords, which cannot be names of values."""


class CLike(Language):
    """
    A language with the types and operators of C, in which `as_uint` and `as_float` reinterpret bits.

    A truth value is a byte, so that buffers of them are laid out as on the host.
    """

    types: ClassVar[Mapping[type[Attribute] | int, str]] = {
        IndexType: "int",
        Float32Type: "float",
        Float16Type: "half",
        Float64Type: "double",
        1: "uchar",
        8: "char",
        16: "short",
        32: "int",
        64: "long",
    }
    expressions: ClassVar[Mapping[str, str]] = {
        "arith.divui": "({T})(({U}){0} / ({U}){1})",
        "arith.remui": "({T})(({U}){0} % ({U}){1})",
        "arith.minui": "({T})min(({U}){0}, ({U}){1})",
        "arith.maxui": "({T})max(({U}){0}, ({U}){1})",
        "arith.shli": "({0} << {1})",
        "arith.shrsi": "({0} >> {1})",
        "arith.shrui": "({T})(({U}){0} >> {1})",
        "arith.xori": "({0} ^ {1})",
        "arith.select": "({0} ? {1} : {2})",
        "arith.sitofp": "({T}){0}",
        "arith.uitofp": "({T})({V}){0}",
        "arith.fptosi": "({T})sw_fptosi({0})",
        "arith.fptoui": "({T})sw_fptoui({0})",
        "arith.extui": "({T})({V}){0}",
        "arith.extsi": "({T}){0}",
        "arith.trunci": "({T}){0}",
        "arith.extf": "({T}){0}",
        "arith.truncf": "({T}){0}",
        "arith.bitcast": "as_{T}({0})",
        "arith.index_cast": "({T}){0}",
        "arith.index_castui": "({T})({V}){0}",
        "math.absf": "fabs({0})",
        "math.roundeven": "rint({0})",
        "math.rsqrt": "(({T})1 / sqrt({0}))",
        "math.ctpop": "popcount({0})",
    }
    helpers: ClassVar[Mapping[str, str]] = HELPERS
    space: ClassVar[str]
    """The word for the memory of the device."""

    def unsigned(self, type: Attribute) -> str:
        return _UNSIGNED.get(width_of(type) or 32, "uint")

    def template(self, op: Operation) -> str | None:
        if op.name in _TO_LONG and width_of(op.results[0].type) == 64:
            return _TO_LONG[op.name]
        return super().template(op)

    def literal(self, value: float | bool, type: Attribute, parts: Parts) -> str:
        if isinstance(value, bool):
            return str(int(value))
        if not is_float(type):
            long = "L" if width_of(type) == 64 else ""
            return f"{value}{long}" if value > -(1 << 31) else f"({value + 1}{long} - 1)"
        if math.isnan(value):
            return "as_float(0x7fc00000u)"
        if math.isinf(value):
            return "as_float(0x7f800000u)" if value > 0 else "as_float(0xff800000u)"
        is_double = isinstance(type, Float64Type)
        text = f"{value:.17g}" if is_double else f"{value:.9g}"
        text = text if any(mark in text for mark in ".e") else f"{text}.0"
        text = text if is_double else f"{text}f"
        return text if value >= 0 else f"({text})"

    def let(self, name: str, type: str, value: str) -> str:
        return f"const {type} {name} = {value};"

    def variable(self, name: str, type: str, value: str | None) -> str:
        return f"{type} {name};" if value is None else f"{type} {name} = {value};"

    def buffer_lanes(self, common: int, element: str) -> int:
        return len(self.lanes)

    def load_vector(self, view: View, place: Term, name: str, element: str, lanes: int) -> str:
        type = f"{element}{lanes}"
        return f"const {type} {name} = *(const {self.space} {type} *)({view.array} + {place});"

    def store_vector(
        self, view: View, place: Term, name: str, element: str, values: Sequence[str]
    ) -> list[str]:
        type = f"{element}{len(values)}"
        set_each = " ".join(
            f"{name}.{lane} = {value};" for lane, value in zip(self.lanes, values, strict=False)
        )
        return [f"{type} {name};", set_each, f"*({self.space} {type} *)({view.array} + {place}) = {name};"]

    def array(self, name: str, element: str, size: int) -> str:
        return f"{element} {name}[{size}];"
