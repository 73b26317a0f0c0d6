"""Asynchronous copies on the `gpu` level and as PTX: what is too early is found, and what is right is not."""

from typing import Any

import numpy as np
import pytest

from stepwell import Target
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.emit_ptx import emit_ptx
from stepwell.lowering.interpret import interpret
from stepwell.lowering.interpret.ptx import ptx_launcher
from stepwell.runtime.errors import StepwellError
from tests.support.devices.gpu_kernels import ProductCase, run

CUDA = '#target.spec<"cuda", {}>'
S = "memref<2x32xf32, #gpu.address_space<workgroup>>"


def module_of(body: str) -> Any:
    """A kernel of 32 threads, with two tiles of memory of the block."""
    text = f"""
gpu.module @m {{
  gpu.func @k(%x: memref<64xf32>, %y: memref<64xf32>) workgroup(%s: {S}) kernel
      attributes {{gpu.known_block_size = array<i32: 32, 1, 1>}} {{
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c31 = arith.constant 31 : index
    %c32 = arith.constant 32 : index
    %u = arith.addi %t, %c32 : index
    %r = arith.subi %c31, %t : index
    {body}
    gpu.return
  }}
}}
func.func @main(%x: memref<64xf32>, %y: memref<64xf32>) {{
  %one = arith.constant 1 : index
  %threads = arith.constant 32 : index
  gpu.launch_func @m::@k blocks in (%one, %one, %one) threads in (%threads, %one, %one)
      args(%x : memref<64xf32>, %y : memref<64xf32>)
  func.return
}}"""
    module = parse_module(StepwellContext(), text, "copies.mlir")
    module.verify()
    return module


def result(body: str, is_ptx: bool) -> Any:
    """The second buffer after a launch; the first has the numbers from 1 to 64."""
    module = module_of(body)
    inputs = [np.arange(1, 65, dtype=np.float32), np.zeros(64, np.float32)]
    launcher = ptx_launcher(module, Target("cuda")) if is_ptx else None
    return interpret(module, StepwellContext(), "main", inputs, launcher=launcher)[-1]


FIRST = f"gpu.async_copy %x[%t] to %s[%c0, %t] : memref<64xf32> to {S}\n    gpu.async_commit"
SECOND = f"gpu.async_copy %x[%u] to %s[%c1, %t] : memref<64xf32> to {S}\n    gpu.async_commit"


def read(tile: str, place: str) -> str:
    """A copy of an element of a tile to the result."""
    return f"%v = memref.load %s[{tile}, {place}] : {S}\n    memref.store %v, %y[%t] : memref<64xf32>"


def lines(*parts: str) -> str:
    return "\n    ".join(parts)


@pytest.mark.parametrize("is_ptx", [False, True])
def test_groups_are_complete_in_their_order(is_ptx: bool) -> None:
    body = lines(FIRST, SECOND, "gpu.async_wait 1", "gpu.barrier", read("%c0", "%r"), "gpu.async_wait 0")
    np.testing.assert_array_equal(result(body, is_ptx)[:32], np.arange(32, 0, -1))
    body = lines(FIRST, SECOND, "gpu.async_wait 0", "gpu.barrier", read("%c1", "%r"))
    np.testing.assert_array_equal(result(body, is_ptx)[:32], np.arange(64, 32, -1))


@pytest.mark.parametrize("is_ptx", [False, True])
def test_elements_that_do_not_exist_are_not_read(is_ptx: bool) -> None:
    copy = f"""%big = arith.muli %t, %t : index
    %n = arith.constant 64 : index
    %ok = arith.cmpi ult, %big, %n : index
    gpu.async_copy %x[%big] to %s[%c0, %t] if %ok : memref<64xf32> to {S}
    gpu.async_commit"""
    found = result(lines(copy, "gpu.async_wait 0", read("%c0", "%t")), is_ptx)
    expected = [t * t + 1 if t * t < 64 else 0 for t in range(32)]
    np.testing.assert_array_equal(found[:32], expected)


@pytest.mark.parametrize("is_ptx", [False, True])
@pytest.mark.parametrize(
    "parts, code",
    [
        ((FIRST, SECOND, "gpu.async_wait 1", "gpu.barrier", read("%c1", "%t")), "uninitialized-read"),
        ((FIRST, "gpu.barrier", read("%c0", "%t"), "gpu.async_wait 0"), "uninitialized-read"),
        (
            (FIRST.replace("gpu.async_commit", ""), "gpu.async_wait 0", read("%c0", "%t")),
            "uninitialized-read",
        ),
        ((FIRST, "gpu.async_wait 0", read("%c0", "%r")), "data-race"),
        (
            (FIRST, "gpu.async_wait 0", "gpu.barrier", read("%c0", "%r"), FIRST, "gpu.async_wait 0"),
            "data-race",
        ),
    ],
    ids=["a group too few", "no wait", "no group", "no barrier", "copied over while it is read"],
)
def test_what_is_too_early_is_found(parts: tuple[str, ...], code: str, is_ptx: bool) -> None:
    with pytest.raises(StepwellError) as error:
        result(lines(*parts), is_ptx)
    assert error.value.code == code


@pytest.mark.parametrize("is_ptx", [False, True])
def test_groups_of_some_threads_are_refused(is_ptx: bool) -> None:
    body = f"%is_first = arith.cmpi eq, %t, %c0 : index\n    scf.if %is_first {{\n    {FIRST}\n    }}"
    with pytest.raises(StepwellError, match="does not reach") as error:
        result(body, is_ptx)
    assert error.value.code == "unsupported"


@pytest.mark.parametrize("split", [0, 3])
def test_products_with_copies_ahead_are_equal_in_ptx(split: int) -> None:
    tile = ((16, 16, 8), (16, 8)) if split else ((16, 16, 8), (2, 2))
    case = ProductCase((17, 18, 44), *tile, 3, split=split, target=CUDA)
    module, inputs = case.module(), case.inputs()
    text = emit_ptx(module, Target("cuda")).text
    assert "cp.async.ca.shared.global" in text and "cp.async.wait_group \t1;" in text
    found = interpret(
        module, StepwellContext(), "main", inputs, launcher=ptx_launcher(module, Target("cuda"))
    )[-1]
    case.check(found, inputs)
    np.testing.assert_array_equal(found, run(module, case.inputs()))


def test_the_kernel_of_a_target_without_them_is_refused() -> None:
    with pytest.raises(StepwellError) as error:
        emit_ptx(module_of(lines(FIRST, "gpu.async_wait 0")), Target("cuda{arch=sm_75}"))
    assert error.value.code == "exceeds-target"
