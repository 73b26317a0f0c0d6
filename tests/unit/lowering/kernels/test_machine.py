"""LLVM's machines: code for this one and for others, in whichever order."""

from __future__ import annotations

import subprocess
import sys

from stepwell.lowering.kernels.machine import compile_to_object, emit_assembly, parse_module, target_machine
from stepwell.runtime.machine.target import host_target, target_from

ADD = """
define void @f(<4 x float> %v, ptr %p) {
  %r = fadd <4 x float> %v, %v
  store <4 x float> %r, ptr %p, align 4
  ret void
}
"""
STRIDED = """
define void @f(ptr %p, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %offset = mul i64 %i, 100
  %q = getelementptr i8, ptr %p, i64 %offset
  store i8 0, ptr %q, align 1
  %next = add nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""


def test_the_first_code_may_be_for_another_machine() -> None:
    name = "x86-64-v3" if host_target().arch == "aarch64" else "aarch64"
    code = "from stepwell.lowering.kernels.machine import target_machine as made\n"
    code += f"from stepwell.runtime.machine.target import target_from\nmade(target_from({name!r}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_other_targets_emit_code() -> None:
    assert "fadd\tv0.4s" in emit_assembly(ADD, target_from("aarch64"), optimize=False)
    assert "vaddps" in emit_assembly(ADD, target_from("x86-64-v3"), optimize=False)
    assert "vaddps" not in emit_assembly(ADD, target_from("x86-64-v2"), optimize=True)
    assert compile_to_object(ADD, target_from("aarch64"), optimize=True).startswith(b"\x7fELF")


def test_addresses_of_loops_are_those_of_the_text() -> None:
    # LLVM's loop strength reduction would count in bytes; its search takes a third of code generation.
    assembly = emit_assembly(STRIDED, target_from("x86-64-v3"), optimize=False)
    assert "imulq\t$100" in assembly


def test_code_does_not_depend_on_the_kernels_before() -> None:
    # A thread keeps its machine from kernel to kernel, while target and effort stay.
    wide, narrow = target_from("x86-64-v3"), target_from("x86-64-v2")
    steps = [(ADD, wide, 2), (STRIDED, wide, 2), (ADD, narrow, 2), (STRIDED, wide, 0), (ADD, wide, 2)]
    fresh = [
        target_machine(target, effort=effort).emit_object(parse_module(text, target_machine(target)))
        for text, target, effort in steps
    ]
    made = [compile_to_object(text, target, optimize=False, effort=effort) for text, target, effort in steps]
    assert made == fresh
    assert len(set(made)) == 4  # each but the last differs from all others
