"""WGSL: the language of WebGPU."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import Float16Type, Float32Type, IndexType
from xdsl.ir import Attribute, Operation

from stepwell.dialects import gpu
from stepwell.lowering.emit_source.language import Language, Parts, is_float, width_of
from stepwell.lowering.emit_source.views import Packed, Term, View
from stepwell.lowering.emit_source.wgsl_integers import HELPERS as OF_INTEGERS
from stepwell.lowering.emit_source.wgsl_integers import (
    NARROW,
    PAIR,
    cut_off,
    integer_literal,
    integer_template,
    pair_comparison,
)
from stepwell.lowering.emit_source.wgsl_subgroups import HELPERS as OF_SUBGROUPS
from stepwell.lowering.emit_source.wgsl_subgroups import enabling, subgroup_template
from stepwell.runtime.devices.source_kernels import FIRST_BLOCK
from stepwell.runtime.errors import StepwellError

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
    interface lane_id layout let
    loop lowp macro macro_rules main match max mediump meta min mod module move mut mutable namespace
    new nil noexcept noinline nointerpolation non_coherent noncoherent noperspective null nullptr of
    operator override package packoffset params pass patch pixelfragment precise precision premerge priv
    protected ptr pub public readonly ref regardless register reinterpret_cast require requires resource
    restrict return round select self set shared sizeof smooth snorm sqrt static static_assert
    static_cast std struct subgroup_id subgroup_size subroutine super switch target template this thread_id
    thread_local throw trait true trunc try type typedef typeid typename typeof u32 union unless unorm
    unsafe unsized use using var varying vec2 vec3 vec4 virtual volatile wgsl where while with writeonly
    yield
"""

_WORD, _STORED_WORD = "u32", "atomic<u32>"


def _bits_of(packed: Packed, view: View, place: Term) -> tuple[str, str]:
    """The 32 bits with an element that shares them with others, and the number of its first bit."""
    if packed.bits == 8:
        return f"{view.array}[u32({place}) >> 2u]", f"((u32({place}) & 3u) << 3u)"
    return f"{view.array}[u32({place}) >> 1u]", f"((u32({place}) & 1u) << 4u)"


def _vector_of(view: View, place: Term, lanes: int) -> str:
    """The vector of an array with an element and the next ones."""
    return f"{view.array}[u32({place}) >> {lanes.bit_length() - 1}u]"


_IN_VECTORS = ("f32", "f16", "i32")


def _in_f32(op: Operation, template: str) -> str:
    """A call of a helper, which takes f32, with operands of f16."""
    for number, value in enumerate(op.operands):
        if isinstance(value.type, Float16Type):
            template = template.replace(f"{{{number}}}", f"f32({{{number}}})")
    is_half = isinstance(op.results[0].type, Float16Type)
    return f"{{T}}({template})" if is_half else template


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
        **dict.fromkeys(NARROW, "i32"),
        32: "i32",
        64: PAIR,
    }
    needed: ClassVar[Mapping[type[Attribute] | int, str]] = {Float16Type: "f16"}
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
    helpers: ClassVar[Mapping[str, str]] = {**_HELPERS, **OF_INTEGERS, **OF_SUBGROUPS}
    reserved: ClassVar[frozenset[str]] = frozenset(_RESERVED.split())
    positions: ClassVar[Mapping[str, str]] = {
        "gpu.thread_id": "i32(thread_id.{axis})",
        "gpu.block_id": "i32(block_id.{axis})",
        "gpu.grid_dim": "i32(grid_dim.{axis})",
        "gpu.lane_id": "i32(lane_id)",
        "gpu.subgroup_id": "i32(subgroup_id)",
        "gpu.subgroup_size": "i32(subgroup_size)",
    }
    barrier: ClassVar[str] = "workgroupBarrier(); storageBarrier();"

    @property
    def has_long_integers(self) -> bool:
        return False  # pairs take several operations each

    def unsigned(self, type: Attribute) -> str:
        return "u32"

    def as_unsigned(self, text: str, type: Attribute) -> str:
        return f"u32({text})"

    def template(self, op: Operation) -> str | None:
        if isinstance(op, gpu.SubgroupReduceOp):
            return subgroup_template(op)
        found = integer_template(op, super().template(op))
        is_half = any(isinstance(value.type, Float16Type) for value in op.operands)
        return _in_f32(op, found) if is_half and found is not None and "sw_" in found else found

    def comparison(self, predicate: str, a: str, b: str, type: Attribute) -> str:
        if isinstance(type, Float16Type):
            a, b = f"f32({a})", f"f32({b})"
        return super().comparison(predicate, a, b, type)

    def compare_integers(self, predicate: str, a: str, b: str, type: Attribute) -> str:
        if width_of(type) == 64:
            return pair_comparison(predicate, a, b)
        return super().compare_integers(predicate, a, b, type)

    def passed(self, name: str, type: Attribute, op: Operation) -> tuple[str, str]:
        width = width_of(type)
        if width == 64:
            raise StepwellError("unsupported", op, f"{self.target} is passed no numbers of {type}")
        if width == 1:
            return "i32", f"({name} != 0)"
        return ("i32", cut_off(name, width)) if width in NARROW else super().passed(name, type, op)

    def literal(self, value: float | bool, type: Attribute, parts: Parts) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if not is_float(type):
            return integer_literal(int(value), type)
        is_half = isinstance(type, Float16Type)
        if math.isfinite(value):
            text = f"{value:.9g}"
            text = text if any(mark in text for mark in ".e") else f"{text}.0"
            text = f"{text}{'h' if is_half else 'f'}"
            return text if value >= 0 else f"({text})"
        # The standard refuses constants that are not finite: the bits come from outside.
        parts.needs_infinity = True
        bits = " | 0x400000u" if math.isnan(value) else " | 0x80000000u" if value < 0 else ""
        text = f"bitcast<f32>(params.infinity{bits})"
        return f"f16({text})" if is_half else text

    def let(self, name: str, type: str, value: str) -> str:
        return f"let {name}: {type} = {value};"

    def variable(self, name: str, type: str, value: str | None) -> str:
        return f"var {name}: {type};" if value is None else f"var {name}: {type} = {value};"

    def packed(self, element: Attribute, is_stored: bool) -> Packed | None:
        width = width_of(element)
        if width is None or width > max(NARROW):
            return None
        return Packed(_STORED_WORD if is_stored else _WORD, width)

    def load(self, view: View, place: Term) -> str:
        if (packed := view.packed) is None:
            return super().load(view, place)
        word, shift = _bits_of(packed, view, place)
        if packed.word == _STORED_WORD:
            word = f"atomicLoad(&{word})"
        if packed.width == 1:
            return f"((({word} >> {shift}) & 0xffu) != 0u)"
        return cut_off(f"i32({word} >> {shift})", packed.width)

    def store(self, view: View, place: Term, value: str) -> str:
        if (packed := view.packed) is None:
            return super().store(view, place, value)
        word, shift = _bits_of(packed, view, place)
        mask = f"0x{(1 << packed.bits) - 1:x}u"
        bits = f"select(0u, 1u, {value})" if packed.width == 1 else f"(u32({value}) & {mask})"
        # Each thread changes the bits of its own element alone, so that two steps are enough.
        return f"atomicAnd(&{word}, ~({mask} << {shift})); atomicOr(&{word}, {bits} << {shift});"

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
        lines = enabling(body := "\n".join(parts.lines), self.target)
        elements = [buffer.element for buffer in parts.buffers]
        if self.target.has_feature("f16") and any("f16" in each for each in (body, *elements, *parts.shared)):
            lines.append("enable f16;")
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
            f"@builtin({builtin}) {name}: {type}"
            for name, (builtin, type, use) in _BUILTINS.items()
            if use in body
        ]
        head = [f"  let {s.name} = params.{s.name};" for s in parts.scalars]
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
_BUILTINS = {
    "thread_id": ("local_invocation_id", "vec3<u32>", "thread_id."),
    "block_id": ("workgroup_id", "vec3<u32>", "block_id."),
    "grid_dim": ("num_workgroups", "vec3<u32>", "grid_dim."),
    "lane_id": ("subgroup_invocation_id", "u32", "(lane_id)"),
    "subgroup_id": ("subgroup_id", "u32", "(subgroup_id)"),
    "subgroup_size": ("subgroup_size", "u32", "(subgroup_size)"),
}
"""Parameters of a kernel: the built-in value of each, its type, and the text of a body that uses it."""
