"""The bound of the stack in headers: frames of known sizes on each CPU, and a painted stack on this one."""

from __future__ import annotations

from pathlib import Path

import onnx.parser
import pytest

import stepwell
from stepwell.lowering.export.frames import frame_bytes
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.link.relinked import read_paired
from stepwell.runtime.machine.target import described
from stepwell.runtime.targets.cpu import cpu_rows
from tests.support.c_programs import C99, build, run

# The frame is made after a test, as LLVM moves it there; the array is aligned as vectors are, or as words.
_FUNCTION = """
declare void @use(ptr)
define void @f(ptr %p) nounwind {{
  %a = alloca [{bytes} x i8], align {alignment}
  %word = load i32, ptr %p
  %none = icmp eq i32 %word, 0
  br i1 %none, label %end, label %more
more:
  call void @use(ptr %a)
  br label %end
end:
  ret void
}}
"""
_MACHINES = (
    *("x86-64-v3", "x86-64-windows", "aarch64", "aarch64-sve256", "aarch64-macos", "armv7"),
    *("cortex-m4", "cortex-m33", "riscv32", "riscv64", "riscv64gcv"),
)


@pytest.mark.sample(3)
@pytest.mark.parametrize("mcpu", _MACHINES)
def test_a_frame_has_room_for_its_array_and_little_more(mcpu: str) -> None:
    row = cpu_rows()[mcpu]
    target = described(row.triple, row.features)
    for bytes in (16, 200, 2000, 5000, 14000, 70000):
        for alignment in (8, 64):
            text = _FUNCTION.format(bytes=bytes, alignment=alignment)
            file = read_paired(compile_to_object(text, target, optimize=False))
            (symbol,) = (s for s in file.symbols if s.name == "f")
            (section,) = (s for s in file.sections if s.number == symbol.section)
            found = frame_bytes(row.arch, section.contents[symbol.offset : symbol.offset + symbol.size])
            assert found is not None and bytes + 8 <= found <= bytes + 256, (bytes, alignment, found)


def test_a_frame_that_depends_on_the_machines_vectors_is_not_known() -> None:
    spill = "\n".join(f"  %v{i} = load volatile <vscale x 4 x i32>, ptr %p" for i in range(40))
    stores = "\n".join(f"  store volatile <vscale x 4 x i32> %v{i}, ptr %p" for i in range(40))
    text = f"define void @f(ptr %p) nounwind {{\n{spill}\n{stores}\n  ret void\n}}\n"
    row = cpu_rows()["riscv64gcv"]
    file = read_paired(compile_to_object(text, described(row.triple, row.features), optimize=False))
    (section,) = (s for s in file.sections if s.is_code)
    assert frame_bytes("riscv64", section.contents) is None


# A feature map with padding, on the stack of a kernel.
_MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[1, 3, 24, 24] x, float[16, 3, 3, 3] w) => (float[1, 16, 24, 24] y) {
  c = Conv <pads = [1, 1, 1, 1]> (x, w) s = Sigmoid (c) y = Mul (c, s)
}
"""
_MAIN = """
#define _DEFAULT_SOURCE
#include "m.h"
#include <pthread.h>
#include <stdio.h>
enum { BYTES = 1 << 20, CALLER = 512 };
static unsigned char stack[BYTES] __attribute__((aligned(4096)));
static unsigned char memory[M_WORKSPACE_BYTES + 64];
static float x[3 * 24 * 24], w[16 * 27], y[16 * 24 * 24];
static volatile uintptr_t top;
static void *called(void *unused) {
  m_inputs in = {x, w};
  m_outputs out = {y};
  static m_call call;
  unsigned char here;
  call.workspace = memory + (64 - (uintptr_t)memory % 64) % 64;
  call.workspace_bytes = M_WORKSPACE_BYTES;
  top = (uintptr_t)&here;
  for (volatile unsigned char *p = stack; (uintptr_t)p < top - CALLER; p++) *p = 0xA5;
  if (m_run(&in, &out, &call) != 0) return &x;
  (void)unused;
  return NULL;
}
int main(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  void *failed;
  long used;
  unsigned char *p = stack;
  for (int i = 0; i < 3 * 24 * 24; i++) x[i] = (float)i;
  if (pthread_attr_init(&attributes) || pthread_attr_setstack(&attributes, stack, BYTES)) return 1;
  if (pthread_create(&thread, &attributes, called, NULL) || pthread_join(thread, &failed)) return 1;
  while (*p == 0xA5) p++;
  used = (long)(top - (uintptr_t)p);
  printf("failed %d\\nused %ld\\nbound %d\\n", failed != NULL, used, M_STACK_BYTES);
  return 0;
}
"""


def test_the_bound_holds_against_a_painted_stack(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(_MODEL)
    done = stepwell.export(model, tmp_path / "m.a")
    found = run(build(tmp_path, _MAIN, ["m.a"], C99, "-pthread"))
    used, bound = int(found["used"]), int(found["bound"])
    assert found["failed"] == "0" and bound == done.stack_bytes
    # 512 bytes are for the frame of the caller.
    assert 512 < used <= bound + 512, found


def test_a_model_that_needs_more_stack_is_refused(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(_MODEL)
    bound = stepwell.export(model, tmp_path / "m.so", stack=1 << 20).stack_bytes
    assert f"M_STACK_BYTES {bound} " in (tmp_path / "m.h").read_text()
    with pytest.raises(StepwellError, match="too-large") as raised:
        stepwell.export(model, tmp_path / "less.so", stack=bound - 1)
    assert f"{bound} bytes of stack" in str(raised.value)
    for name, stack, mcpu in (("m.wasm", 1 << 20, "wasm32"), ("less.so", -1, "host"), ("less.so", 0, "host")):
        with pytest.raises(StepwellError, match="bad-option"):
            stepwell.export(model, tmp_path / name, stack=stack, mcpu=mcpu)
    assert {file.name for file in tmp_path.iterdir()} == {"m.so", "m.h", "stepwell_threads.h"}
