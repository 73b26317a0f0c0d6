"""OpenCL C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from stepwell.lowering.emit_source.c_like import VECTOR_TYPES, CLike
from stepwell.lowering.emit_source.language import Parts

_RESERVED = """
    abs auto barrier bool break case ceil char clamp const constant continue cos default do double else
    enum exp extern fabs false float floor fma for generic global goto half if image inline int kernel
    local log long main max min pipe popcount pow private read_only read_write register restrict return
    rint select short signed sin size_t sizeof sqrt static struct switch tan true trunc typedef uchar
    uint ulong uniform union unsigned ushort void volatile while write_only
"""


class OpenCl(CLike):
    """OpenCL C 1.2."""

    name = "opencl"
    kind = "opencl"
    suffix = ".cl"
    reserved: ClassVar[frozenset[str]] = VECTOR_TYPES | frozenset(_RESERVED.split())
    space: ClassVar[str] = "__global"
    lanes: ClassVar[Sequence[str]] = tuple(f"s{number:x}" for number in range(16))
    positions: ClassVar[Mapping[str, str]] = {
        "gpu.thread_id": "(int)get_local_id({number})",
        "gpu.block_id": "(int)get_group_id({number})",
        "gpu.grid_dim": "(int)get_num_groups({number})",
    }
    barrier: ClassVar[str] = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"

    def shared(self, name: str, element: str, size: int) -> str:
        return f"  __local {element} {name}[{size}];"

    def text(self, parts: Parts) -> str:
        lines = [f"// {line}" for line in parts.nodes]
        lines += self.used_helpers(parts)
        pointers: list[str] = []
        arguments: list[str] = []
        for number, buffer in enumerate(parts.buffers):
            type = f"__global {'' if buffer.is_written else 'const '}{buffer.element} *"
            if parts.in_arena:
                arguments += [f"__global char *sw_memory{number}", f"const ulong sw_offset{number}"]
                pointers.append(f"  {type}{buffer.name} = ({type})(sw_memory{number} + sw_offset{number});")
            else:
                arguments.append(f"{type}{buffer.name}")
        arguments += [f"const {scalar.type} {scalar.name}" for scalar in parts.scalars]
        size = ", ".join(map(str, parts.block))
        lines.append(f"__kernel __attribute__((reqd_work_group_size({size})))")
        lines.append(f"void {parts.name}({', '.join(arguments)}) {{")
        return "\n".join([*lines, *pointers, *parts.shared, *parts.lines, "}"])
