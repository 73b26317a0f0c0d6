"""The code that tries tile registers (Intel AMX) before code for them is made, or run by an artifact."""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm

from stepwell.runtime.link.code import Code
from stepwell.runtime.machine.loader import linked
from stepwell.runtime.machine.tile_check import (
    PRODUCT,
    TILE_SPEED,
    VECTOR_SPEED,
    VECTORS,
    TileFunctions,
    functions_of,
)

_TRIPLE = "x86_64-unknown-linux-gnu"
# C [16, 16] i32 = A [16, 64] unsigned bytes times B [16, 16] VNNI groups of four signed bytes along the sum.
_TILES = f"""
declare void @llvm.x86.ldtilecfg(ptr)
declare void @llvm.x86.tilezero(i8 immarg)
declare void @llvm.x86.tileloadd64(i8 immarg, ptr, i64)
declare void @llvm.x86.tdpbusd(i8 immarg, i8 immarg, i8 immarg)
declare void @llvm.x86.tilestored64(i8 immarg, ptr, i64)
declare void @llvm.x86.tilerelease()

define void @{PRODUCT}(ptr %configuration, ptr %a, ptr %b, ptr %c) #0 {{
  call void @llvm.x86.ldtilecfg(ptr %configuration)
  call void @llvm.x86.tilezero(i8 0)
  call void @llvm.x86.tileloadd64(i8 4, ptr %a, i64 64)
  call void @llvm.x86.tileloadd64(i8 6, ptr %b, i64 64)
  call void @llvm.x86.tdpbusd(i8 0, i8 4, i8 6)
  call void @llvm.x86.tilestored64(i8 0, ptr %c, i64 64)
  call void @llvm.x86.tilerelease()
  ret void
}}

define void @{TILE_SPEED}(ptr %configuration, i64 %n) #0 {{
entry:
  call void @llvm.x86.ldtilecfg(ptr %configuration)
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  call void @llvm.x86.tdpbusd(i8 0, i8 4, i8 6)
  call void @llvm.x86.tdpbusd(i8 1, i8 4, i8 7)
  call void @llvm.x86.tdpbusd(i8 2, i8 5, i8 6)
  call void @llvm.x86.tdpbusd(i8 3, i8 5, i8 7)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  call void @llvm.x86.tilerelease()
  ret void
}}
"""
_FEATURES = """
attributes #0 = { nounwind "target-features"="+amx-tile,+amx-int8" }
attributes #1 = { nounwind "target-features"="+avx512f,+avx512vnni" }
"""


def tile_check_text() -> str:
    """The three functions as LLVM IR, each with the features that it needs."""
    return _TILES + _vector_speed() + _FEATURES


def tile_check_object() -> bytes:
    """The three functions as an object file for Linux."""
    return _machine().emit_object(llvm.parse_assembly(tile_check_text()))


@cache
def tile_check_code() -> Code:
    """The three functions as the code of an image."""
    return linked([tile_check_object()])


def tile_functions() -> TileFunctions:
    """The three functions as machine code of this process."""
    return functions_of(tile_check_code())


def _machine() -> llvm.TargetMachine:
    """A target machine of LLVM's: the host's description is not known before the trial."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_triple(_TRIPLE).create_target_machine(
        cpu="x86-64", opt=2, reloc="pic", codemodel="small"
    )


def _vector_speed() -> str:
    """The products of vectors, in as many sums as hide their latency."""
    vector, name = "<16 x i32>", "@llvm.x86.avx512.vpdpbusd.512"
    sums = range(VECTORS)
    phis = [f"%x{i} = phi {vector} [%a, %entry], [%y{i}, %loop]" for i in sums]
    steps = [f"%y{i} = call {vector} {name}({vector} %x{i}, {vector} %a, {vector} %a)" for i in sums]
    stores = [f"store volatile {vector} %y{i}, ptr %p, align 64" for i in sums]
    lines = [f"declare {vector} {name}({vector}, {vector}, {vector})"]
    lines += [f"define void @{VECTOR_SPEED}(ptr %p, i64 %n) #1 {{", "entry:"]
    lines += [f"%a = load {vector}, ptr %p, align 64", "br label %loop", "loop:"]
    lines += ["%i = phi i64 [0, %entry], [%next, %loop]", *phis, *steps, "%next = add i64 %i, 1"]
    lines += ["%more = icmp ult i64 %next, %n", "br i1 %more, label %loop, label %done", "done:"]
    return "\n".join([*lines, *stores, "ret void", "}"])
