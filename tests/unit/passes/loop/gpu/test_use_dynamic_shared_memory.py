"""Kernels with more memory of a block than code may declare, on interpreters and by a driver."""

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from stepwell import Target
from stepwell.dialects import gpu
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.gpu.limits import dynamic_bytes, shared_bytes
from stepwell.dialects.parser import parse_module
from stepwell.lowering.emit_ptx import emit_ptx
from stepwell.lowering.interpret import interpret
from stepwell.lowering.interpret.ptx import ptx_launcher
from stepwell.passes.manager import run_pipeline
from stepwell.runtime.devices.base import View
from stepwell.runtime.devices.cuda.device import Cuda
from stepwell.runtime.devices.cuda.driver import CudaDriver
from stepwell.runtime.errors import StepwellError
from tests.support.devices.fake_cuda import FakeCuda

SIZE = 13312
_SPACE = "#gpu.address_space<workgroup>"
TEXT = f"""
gpu.module @m attributes {{sched.target = #target.spec<"cuda", {{}}>}} {{
  gpu.func @k(%x: memref<2x{SIZE}xf32>)
      workgroup(%h: memref<3xf16, {_SPACE}>, %s: memref<{SIZE}xf32, {_SPACE}>) kernel
      attributes {{gpu.known_block_size = array<i32: 256, 1, 1>}} {{
    %b = gpu.block_id x
    %t = gpu.thread_id x
    %step = arith.constant 256 : index
    %size = arith.constant {SIZE} : index
    %last = arith.constant {SIZE - 1} : index
    scf.for %i = %t to %size step %step {{
      %v = memref.load %x[%b, %i] : memref<2x{SIZE}xf32>
      memref.store %v, %s[%i] : memref<{SIZE}xf32, {_SPACE}>
    }}
    gpu.barrier
    scf.for %i = %t to %size step %step {{
      %r = arith.subi %last, %i : index
      %v = memref.load %s[%r] : memref<{SIZE}xf32, {_SPACE}>
      memref.store %v, %x[%b, %i] : memref<2x{SIZE}xf32>
    }}
    gpu.return
  }}
}}
func.func @main(%x: memref<2x{SIZE}xf32>) {{
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %n = arith.constant 256 : index
  gpu.launch_func @m::@k blocks in (%two, %one, %one) threads in (%n, %one, %one)
    args(%x : memref<2x{SIZE}xf32>)
  func.return
}}"""
"""Two blocks reverse a row each; an array of 6 bytes is before that of the row."""


def passed(text: str = TEXT) -> ModuleOp:
    """A program after the pass."""
    module = parse_module(StepwellContext(), text, "reverse.mlir")
    run_pipeline(module, "use-dynamic-shared-memory,verify-gpu", StepwellContext())
    module.verify()
    return module


def rows() -> Any:
    return np.random.default_rng(1).standard_normal((2, SIZE), np.float32)


def kernel_of(module: ModuleOp) -> gpu.GPUFuncOp:
    return next(op for op in module.walk() if isinstance(op, gpu.GPUFuncOp))


def test_rows_are_reversed_on_both_interpreters() -> None:
    module, x = passed(), rows()
    assert shared_bytes(kernel_of(module)) == 0 and dynamic_bytes(kernel_of(module)) == 16 + 4 * SIZE
    for launcher in (None, ptx_launcher(module, Target("cuda"))):
        found = interpret(module, StepwellContext(), "main", [x], launcher=launcher)[0]
        np.testing.assert_array_equal(found, x[:, ::-1])


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("    gpu.barrier\n", "", "data-race"),
        ("memref.store %v, %s[%i]", "memref.store %v, %s[%last]", "data-race"),
        ("%v = memref.load %s[%r]", "%v = memref.load %s[%i]", None),
        ("scf.for %i = %t to %size step %step {\n      %v = memref.load %x",
         "scf.for %i = %t to %last step %step {\n      %v = memref.load %x", "uninitialized-read"),
    ],
)  # fmt: skip
def test_accesses_of_that_memory_are_checked(old: str, new: str, code: str | None) -> None:
    assert TEXT.count(old) == 1
    module = passed(TEXT.replace(old, new))
    for launcher in (None, ptx_launcher(module, Target("cuda"))):
        if code is None:
            interpret(module, StepwellContext(), "main", [rows()], launcher=launcher)
            continue
        with pytest.raises(StepwellError) as error:
            interpret(module, StepwellContext(), "main", [rows()], launcher=launcher)
        assert error.value.code == code


def test_a_launch_that_passes_too_little() -> None:
    text = str(passed()).replace(f"arith.constant {16 + 4 * SIZE} : i32", "arith.constant 4096 : i32")
    module = parse_module(StepwellContext(), text, "reverse.mlir")
    with pytest.raises(StepwellError, match="%s is bytes 16 to 53264 of 4096"):
        interpret(module, StepwellContext(), "main", [rows()])
    with pytest.raises(StepwellError, match="accesses 53264 bytes of dynamic memory .* is passed 4096"):
        run_pipeline(module, "verify-gpu", StepwellContext())


def test_the_driver_is_asked_for_more_memory() -> None:
    emitted = emit_ptx(passed(), Target("cuda"))
    assert ".extern .shared .align 16 .b8 k_dynamic[];" in emitted.text
    fake, x = FakeCuda(), rows()
    device = Cuda(0, CudaDriver(fake))
    memory = device.allocate(x.nbytes)
    device.copy_in(memory, 0, x.view(np.uint8).reshape(-1))
    program = device.load(emitted.text.encode(), "ptx")
    array = View(memory, 0, x.dtype, x.shape)
    for _ in range(2):
        device.launch(program, "k", (2, 1, 1), (256, 1, 1), 16 + 4 * SIZE, [array])
    found = np.empty(x.nbytes, np.uint8)
    device.copy_out(memory, 0, found)
    np.testing.assert_array_equal(found.view(np.float32).reshape(x.shape), x)  # reversed twice
    asked = [call for call in fake.calls if call.startswith("cuFuncSetAttribute")]
    assert asked == ["cuFuncSetAttribute k 8 53264"]
    launched = [call for call in fake.calls if call.startswith("cuLaunchKernel")]
    assert len(launched) == 2 and "shared 53264" in launched[0]
