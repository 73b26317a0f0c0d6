"""The Metal Shading Language 2.3, a C++ without doubles. Source: Metal Shading Language Specification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import Float64Type
from xdsl.ir import Attribute

from stepwell.lowering.emit_source.c_like import HELPERS, VECTOR_TYPES, CLike
from stepwell.lowering.emit_source.language import Parts

_RESERVED = """
    abs alignas alignof and as_float as_type as_uint asm atomic auto bfloat bool break case catch ceil char
    class const const_cast constant constexpr continue decltype default delete device do double
    dynamic_cast else enum explicit export extern false float floor fma for fragment friend goto half if
    inline int kernel long main max mesh metal min mutable namespace new noexcept not nullptr object
    operator or packed_float4 popcount private protected public ray_data register reinterpret_cast return
    rint sampler short signed sizeof sqrt static static_assert static_cast struct switch template texture
    this thread thread_local threadgroup throw true trunc try typedef typeid typename uchar uint ulong
    union unsigned ushort using vertex virtual void volatile wchar_t while xor
    params block_id grid_dim thread_id
"""
_POSITIONS = {
    "thread_id": "thread_position_in_threadgroup",
    "block_id": "threadgroup_position_in_grid",
    "grid_dim": "threadgroups_per_grid",
}


class Msl(CLike):
    """
    MSL. Sizes and numbers are fields of one structure, since a kernel has at most 31 buffers.

    The text is to be compiled without fast math, which lets the compiler drop tests for NaN.
    """

    name = "msl"
    kind = "metal"
    suffix = ".metal"
    types: ClassVar[Mapping[type[Attribute] | int, str]] = {
        type: text for type, text in CLike.types.items() if type is not Float64Type
    }
    expressions: ClassVar[Mapping[str, str]] = {**CLike.expressions, "arith.bitcast": "as_type<{T}>({0})"}
    helpers: ClassVar[Mapping[str, str]] = {
        "as_uint": "static uint as_uint(float x) {\n  return as_type<uint>(x);\n}",
        "as_float": "static float as_float(uint x) {\n  return as_type<float>(x);\n}",
        **HELPERS,
    }
    reserved: ClassVar[frozenset[str]] = VECTOR_TYPES | frozenset(_RESERVED.split())
    space: ClassVar[str] = "device"
    lanes: ClassVar[Sequence[str]] = ("x", "y", "z", "w")
    positions: ClassVar[Mapping[str, str]] = {
        f"gpu.{name}": f"(int){name}.{{axis}}" for name in ("thread_id", "block_id", "grid_dim")
    }
    barrier: ClassVar[str] = "threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);"

    def shared(self, name: str, element: str, size: int) -> str:
        return f"  threadgroup {element} {name}[{size}];"

    def text(self, parts: Parts) -> str:
        lines = ["// Compile it with -fno-fast-math.", "#include <metal_stdlib>", "using namespace metal;"]
        lines += [f"// {line}" for line in parts.nodes]
        if parts.scalars:
            fields = (f"  {scalar.type} {scalar.name};" for scalar in parts.scalars)
            lines += [f"struct {parts.name}_params {{", *fields, "};"]
        lines += self.used_helpers(parts)
        arguments = [
            f"device {'' if each.is_written else 'const '}{each.element} *{each.name} [[buffer({number})]]"
            for number, each in enumerate(parts.buffers)
        ]
        if parts.scalars:
            arguments.append(f"constant {parts.name}_params &params [[buffer({len(parts.buffers)})]]")
        arguments += [
            f"uint3 {name} [[{attribute}]]"
            for name, attribute in _POSITIONS.items()
            if any(f"){name}." in line for line in parts.lines)
        ]
        x, y, z = parts.block
        lines.append(f"[[max_total_threads_per_threadgroup({x * y * z})]]")
        lines.append(f"kernel void {parts.name}({', '.join(arguments)}) {{")
        head = [f"  const {s.type} {s.name} = params.{s.name};" for s in parts.scalars]
        return "\n".join([*lines, *head, *parts.shared, *parts.lines, "}"])
