"""WGSL: the language of WebGPU."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import Float16Type, Float32Type, IndexType
from xdsl.ir import Attribute

from stepwell.lowering.emit_source.language import Language, Parts, is_float
from stepwell.lowering.emit_source.views import Term, View
from stepwell.runtime.devices.source_kernels import FIRST_BLOCK

_HELPERS: Mapping[str, str] = {
    "sw_isnan": """fn sw_isnan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}""",
    "sw_max": """fn sw_max(a: f32, b: f32) -> f32 {
  if (sw_isnan(a)) { return a; }
  if (sw_isnan(b)) { return b; }
  if (a == b) { return bitcast<f32>(bitcast<u32>(a) & bitcast<u32>(b)); }
  return select(b, a, a > b);
}""",
    "sw_min": """fn sw_min(a: f32, b: f32) -> f32 {
  if (sw_isnan(a)) { return a; }
  if (sw_isnan(b)) { return b; }
  if (a == b) { return bitcast<f32>(bitcast<u32>(a) | bitcast<u32>(b)); }
  return select(b, a, a < b);
}""",
    "sw_maxnum": """fn sw_maxnum(a: f32, b: f32) -> f32 {
  if (sw_isnan(a)) { return b; }
  if (sw_isnan(b)) { return a; }
  return select(b, a, a > b);
}""",
    "sw_minnum": """fn sw_minnum(a: f32, b: f32) -> f32 {
  if (sw_isnan(a)) { return b; }
  if (sw_isnan(b)) { return a; }
  return select(b, a, a < b);
}""",
    "sw_copysign": """fn sw_copysign(a: f32, b: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(a) & 0x7fffffffu) | (bitcast<u32>(b) & 0x80000000u));
}""",
    "sw_pow2": """fn sw_pow2(n: i32) -> f32 {
  return bitcast<f32>((n + 127) << 23u);
}""",
    "sw_scale": """fn sw_scale(x: f32, n: f32) -> f32 {
  let k = i32(clamp(n, -378.0, 381.0));
  let third = k / 3;
  return x * sw_pow2(third) * sw_pow2(third) * sw_pow2(k - 2 * third);
}""",
    "sw_fptosi": """fn sw_fptosi(x: f32) -> i32 {
  return select(i32(clamp(x, -2147483648.0, 2147483520.0)), 0, sw_isnan(x));
}""",
    "sw_fptoui": """fn sw_fptoui(x: f32) -> i32 {
  return select(i32(u32(clamp(x, 0.0, 4294967040.0))), 0, sw_isnan(x));
}""",
    "sw_floordiv": """fn sw_floordiv(a: i32, b: i32) -> i32 {
  return a / b - select(0, 1, (a % b != 0) && ((a < 0) != (b < 0)));
}""",
    "sw_ceildiv": """fn sw_ceildiv(a: i32, b: i32) -> i32 {
  return a / b + select(0, 1, (a % b != 0) && ((a < 0) == (b < 0)));
}""",
}
_RESERVED = """
    NULL Self abs abstract active alias alignas alignof array as asm asm_fragment async atomic attribute
    auto await become bitcast block_id bool break case cast catch ceil clamp class co_await co_return
    co_yield coherent column_major common compile compile_fragment concept const const_assert const_cast
    consteval constexpr constinit continue continuing crate debugger decltype default delete demote
    demote_to_helper diagnostic discard do dynamic_cast else enable enum explicit export extends extern
    external f16 f32 fallthrough false filter final finally first_block floor fma fn for friend from
    fxgroup get goto grid_dim group_id groupshared highp i32 if impl implements import inline instanceof
    interface layout let
    loop lowp macro macro_rules main match max mediump meta min mod module move mut mutable namespace
    new nil noexcept noinline nointerpolation non_coherent noncoherent noperspective null nullptr of
    operator override package packoffset params pass patch pixelfragment precise precision premerge priv
    protected ptr pub public readonly ref regardless register reinterpret_cast require requires resource
    restrict return round select self set shared sizeof smooth snorm sqrt static static_assert
    static_cast std struct subroutine super switch target template this thread_id thread_local throw
    trait true trunc try type typedef typeid typename typeof u32 union unless unorm unsafe unsized use
    using var varying vec2 vec3 vec4 virtual volatile wgsl where while with writeonly yield
"""

_TRUTH, _WRITTEN_WORD = "bool", "atomic<u32>"


def _byte_of(view: View, place: Term) -> tuple[str, str]:
    """The packed 32-bit element with an element of one byte, and the position of its first bit."""
    return f"{view.array}[u32({place}) >> 2u]", f"((u32({place}) & 3u) << 3u)"


def _vector_of(view: View, place: Term, lanes: int) -> str:
    """The vector of an array with an element and the next ones."""
    return f"{view.array}[u32({place}) >> {lanes.bit_length() - 1}u]"


_IN_VECTORS = ("f32", "f16", "i32")


class Wgsl(Language):
    """WGSL, with one uniform block for numbers."""

    name = "wgsl"
    kind = "webgpu"
    suffix = ".wgsl"
    types: ClassVar[Mapping[type[Attribute] | int, str]] = {
        IndexType: "i32",
        Float32Type: "f32",
        Float16Type: "f16",
        1: "bool",
        32: "i32",
    }
    expressions: ClassVar[Mapping[str, str]] = {
        "arith.divui": "i32(u32({0}) / u32({1}))",
        "arith.remui": "i32(u32({0}) % u32({1}))",
        "arith.minui": "i32(min(u32({0}), u32({1})))",
        "arith.maxui": "i32(max(u32({0}), u32({1})))",
        "arith.shli": "({0} << u32({1}))",
        "arith.shrsi": "({0} >> u32({1}))",
        "arith.shrui": "i32(u32({0}) >> u32({1}))",
        "arith.xori": "({0} ^ {1})",
        "arith.select": "select({2}, {1}, {0})",
        "arith.sitofp": "{T}({0})",
        "arith.uitofp": "{T}(u32({0}))",
        "arith.fptosi": "sw_fptosi({0})",
        "arith.fptoui": "sw_fptoui({0})",
        "arith.extui": "{T}({0})",
        "arith.extsi": "(-{T}({0}))",
        "arith.trunci": "(({0} & 1) == 1)",
        "arith.extf": "{T}({0})",
        "arith.truncf": "{T}({0})",
        "arith.bitcast": "bitcast<{T}>({0})",
        "arith.index_cast": "{T}({0})",
        "arith.index_castui": "{T}({0})",
        "math.absf": "abs({0})",
        "math.roundeven": "round({0})",
        "math.rsqrt": "({T}(1.0) / sqrt({0}))",  # inverseSqrt is not rounded as these are
        "math.ctpop": "countOneBits({0})",
    }
    lanes: ClassVar[Sequence[str]] = ("x", "y", "z", "w")
    helpers: ClassVar[Mapping[str, str]] = _HELPERS
    reserved: ClassVar[frozenset[str]] = frozenset(_RESERVED.split())
    positions: ClassVar[Mapping[str, str]] = {
        "gpu.thread_id": "i32(thread_id.{axis})",
        "gpu.block_id": "i32(block_id.{axis})",
        "gpu.grid_dim": "i32(grid_dim.{axis})",
    }
    barrier: ClassVar[str] = "workgroupBarrier(); storageBarrier();"

    def unsigned(self, type: Attribute) -> str:
        return "u32"

    def literal(self, value: float | bool, type: Attribute, parts: Parts) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if not is_float(type):
            return f"{value}" if value >= 0 else f"({value})"
        if math.isfinite(value):
            text = f"{value:.9g}"
            text = text if any(mark in text for mark in ".e") else f"{text}.0"
            return f"{text}f" if value >= 0 else f"({text}f)"
        # The standard refuses constants that are not finite: the bits come from outside.
        parts.needs_infinity = True
        bits = " | 0x400000u" if math.isnan(value) else " | 0x80000000u" if value < 0 else ""
        return f"bitcast<f32>(params.infinity{bits})"

    def let(self, name: str, type: str, value: str) -> str:
        return f"let {name}: {type} = {value};"

    def variable(self, name: str, type: str, value: str | None) -> str:
        return f"var {name}: {type};" if value is None else f"var {name}: {type} = {value};"

    def packed_word(self, element: str, is_written: bool) -> str:
        if element != _TRUTH:
            return ""
        return _WRITTEN_WORD if is_written else "u32"

    def load(self, view: View, place: Term) -> str:
        if not view.word:
            return super().load(view, place)
        word, shift = _byte_of(view, place)
        if view.word == _WRITTEN_WORD:
            word = f"atomicLoad(&{word})"
        return f"((({word} >> {shift}) & 0xffu) != 0u)"

    def store(self, view: View, place: Term, value: str) -> str:
        if not view.word:
            return super().store(view, place, value)
        word, shift = _byte_of(view, place)
        # Each thread changes the bits of its own byte alone, so that two steps are enough.
        clear = f"atomicAnd(&{word}, ~(0xffu << {shift}));"
        return f"{clear} atomicOr(&{word}, select(0u, 1u, {value}) << {shift});"

    def buffer_lanes(self, common: int, element: str) -> int:
        # An array is of vectors or of elements: single ones of a vector would be written by several threads.
        return math.gcd(common, len(self.lanes)) if element in _IN_VECTORS else 1

    def buffer_element(self, element: str, lanes: int) -> str:
        return element if lanes == 1 else f"vec{lanes}<{element}>"

    def load_vector(self, view: View, place: Term, name: str, element: str, lanes: int) -> str:
        return self.let(name, f"vec{lanes}<{element}>", _vector_of(view, place, lanes))

    def store_vector(
        self, view: View, place: Term, name: str, element: str, values: Sequence[str]
    ) -> list[str]:
        made = f"vec{len(values)}<{element}>({', '.join(values)})"
        return [f"{_vector_of(view, place, len(values))} = {made};"]

    def array(self, name: str, element: str, size: int) -> str:
        return f"var {name}: array<{element}, {size}>;"

    def shared(self, name: str, element: str, size: int) -> str:
        return f"var<workgroup> {name}: array<{element}, {size}>;"

    def text(self, parts: Parts) -> str:
        lines = ["enable f16;"] if any("f16" in buffer.element for buffer in parts.buffers) else []
        lines += [f"// {line}" for line in parts.nodes]
        for number, buffer in enumerate(parts.buffers):
            access = "read_write" if buffer.is_written else "read"
            lines.append(
                f"@group(0) @binding({number}) var<storage, {access}> {buffer.name}: array<{buffer.element}>;"
            )
        fields = [f"  {scalar.name}: {scalar.type}," for scalar in parts.scalars]
        fields += ["  infinity: u32,  // 0x7f800000"] * parts.needs_infinity
        if fields:
            lines += ["struct Params {", *fields, "}"]
            lines.append(f"@group(0) @binding({len(parts.buffers)}) var<uniform> params: Params;")
        lines += parts.shared
        lines += self.used_helpers(parts)
        size = ", ".join(map(str, parts.block))
        ids = [
            f"@builtin({builtin}) {name}: vec3<u32>"
            for name, builtin in _BUILTINS.items()
            if any(f"{name}." in line for line in parts.lines)
        ]
        head = [f"  let {s.name} = params.{s.name};" for s in parts.scalars]
        body = "\n".join(parts.lines)
        if _BLOCK in body and "grid_dim." not in body:  # a grid may be several dispatches
            lines.append(f"override {FIRST_BLOCK}: u32 = 0u;")
            ids = [each.replace(" block_id:", " group_id:") for each in ids]
            head.append(f"  let block_id = group_id + vec3<u32>({FIRST_BLOCK}, 0u, 0u);")
        return "\n".join(
            [
                *lines,
                f"@compute @workgroup_size({size})",
                f"fn {parts.name}({', '.join(ids)}) {{",
                *head,
                *parts.lines,
                "}",
            ]
        )


_BLOCK = "block_id.x"
_BUILTINS = {"thread_id": "local_invocation_id", "block_id": "workgroup_id", "grid_dim": "num_workgroups"}
