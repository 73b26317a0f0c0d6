"""The loops of assembly: nesting, and what is counted in each, for x86-64 and aarch64."""

from __future__ import annotations

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.emit_llvm import emit_llvm
from stepwell.lowering.kernels.machine import emit_assembly
from stepwell.passes.manager import run_pipeline
from stepwell.passes.pipelines import LLVM_PIPELINE
from stepwell.runtime.machine.target import host_target
from stepwell.tools.explore.asm_loops import counts_of, loops_of

X86 = """kernel:
\tpushq\t%rbp
\tmovq\t%rsp, %rbp
.LBB0_1:
\txorl\t%edi, %edi
\tvmovups\t%zmm3, 64(%rsp)
.LBB0_2:
\tvbroadcastss\t(%rax,%rdi,4), %zmm0
\tvfmadd231ps\t-128(%r8), %zmm0, %zmm16
\tvfmadd231ps\t%zmm1, %zmm0, %zmm15
\tprefetcht0\t(%r8)
\tleaq\t8(%r8), %r8
\taddq\t%rax, (%r9)
\tcmpq\t$35, (%r9)
\tvmovups\t%zmm4, (%r9) {%k1}
\tjl\t.LBB0_2
\tvmovups\t%zmm15, (%rsi)
\tjl\t.LBB0_1
\tjmp\t.LBB0_5
.LBB0_5:
\tretq
"""

ARM = """kernel:
.LBB0_1:
\tldp\tq0, q1, [x1], #32
\tfmla\tv2.4s, v0.4s, v1.s[0]
\tsubs\tx3, x3, #1
\tb.ne\t.LBB0_1
.LBB0_3:
\tstr\tq2, [x0]
\tcbnz\tx4, .LBB0_3
\tret
"""


def test_inner_loops_are_counted_apart():
    outer, inner = loops_of(X86)
    assert (outer["first"], outer["last"], outer["depth"]) == (4, 18, 0)
    assert (inner["first"], inner["last"], inner["depth"]) == (7, 16, 1)
    counts = ("instructions", "fma", "loads", "stores", "spills")
    assert [outer[key] for key in counts] == [4, 0, 0, 2, 1]
    assert [inner[key] for key in counts] == [9, 2, 4, 2, 0]
    assert [counts_of(X86)[key] for key in counts] == [17, 2, 4, 4, 1]


def test_jumps_of_aarch64():
    first, second = loops_of(ARM)
    assert (first["last"], first["fma"], first["loads"], first["stores"]) == (6, 1, 1, 0)
    assert (second["depth"], second["loads"], second["stores"]) == (0, 0, 1)


def test_a_loop_of_compiled_code():
    module = parse_module(
        StepwellContext(),
        """
        func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
          %zero = arith.constant 0 : index
          %n = arith.constant 64 : index
          %step = arith.constant 1 : index
          scf.for %i = %zero to %n step %step {
            %a = memref.load %x[%i] : memref<64xf32>
            %b = math.sqrt %a : f32
            memref.store %b, %y[%i] : memref<64xf32>
          }
          func.return
        }""",
    )
    run_pipeline(module, LLVM_PIPELINE)
    (loop,) = loops_of(emit_assembly(emit_llvm(module), host_target(), optimize=False))
    assert (loop["loads"], loop["stores"], loop["fma"], loop["spills"]) == (1, 1, 0, 0)
