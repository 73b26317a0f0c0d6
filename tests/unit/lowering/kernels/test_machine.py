"""LLVM's machines: code for this one and for others, in whichever order."""

from __future__ import annotations

import subprocess
import sys

from stepwell.lowering.kernels.machine import compile_to_object, emit_assembly
from stepwell.runtime.machine.target import host_target, target_from

ADD = """
define void @f(<4 x float> %v, ptr %p) {
  %r = fadd <4 x float> %v, %v
  store <4 x float> %r, ptr %p, align 4
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
