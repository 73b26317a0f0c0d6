"""Matrices that a warp loads from memory of its block: on the `gpu` level and as PTX."""

from typing import Any

import numpy as np
import pytest

from stepwell import Target
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.gpu.tensor_cores import takes_ldmatrix
from stepwell.dialects.parser import parse_module
from stepwell.lowering.interpret import interpret
from stepwell.lowering.interpret.ptx import ptx_launcher
from stepwell.passes.manager import run_pipeline
from stepwell.runtime.errors import StepwellError

MEMORY = "memref<32x12xf32, #gpu.address_space<workgroup>>"


def program(count: int, *, column: str = "%four", barrier: bool = True) -> str:
    """Two warps copy 32 rows of 12 elements; each loads matrices of its rows 3 i mod 32, from a column on."""
    parts = ", ".join(f"%p{i}" for i in range(count))
    stores = "\n    ".join(f"memref.store %p{i}, %y[%t, %c{i}] : memref<64x4xf32>" for i in range(count))
    return f"""
builtin.module attributes {{gpu.container_module}} {{
gpu.module @m attributes {{sched.target = #target.spec<"cuda", {{}}>}} {{
  gpu.func @k(%x: memref<32x12xf32>, %y: memref<64x4xf32>) workgroup(%s: {MEMORY}) kernel
      attributes {{gpu.known_block_size = array<i32: 64, 1, 1>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %four = arith.constant 4 : index
    %c12 = arith.constant 12 : index
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    %row = arith.remui %t, %c32 : index
    %half = arith.divui %t, %c32 : index
    %six = arith.constant 6 : index
    %first = arith.muli %half, %six : index
    scf.for %i = %c0 to %six step %c1 {{
      %column = arith.addi %first, %i : index
      %a = memref.load %x[%row, %column] : memref<32x12xf32>
      memref.store %a, %s[%row, %column] : {MEMORY}
    }}
    {"gpu.barrier" if barrier else ""}
    %three = arith.muli %t, %c3 : index
    %other = arith.remui %three, %c32 : index
    {parts} = gpu.ldmatrix %s[%other, {column}] : {MEMORY} -> {", ".join(["f32"] * count)}
    {stores}
    gpu.return
  }}
}}
func.func @main(%x: memref<32x12xf32>, %y: memref<64x4xf32>) {{
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  gpu.launch_func @m::@k blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
    args(%x : memref<32x12xf32>, %y : memref<64x4xf32>)
  func.return
}}
}}"""


def loaded(text: str) -> list[Any]:
    """The output on the gpu level, and as PTX."""
    ctx = StepwellContext()
    module = parse_module(ctx, text, "matrices.mlir")
    module.verify()
    x = np.arange(32 * 12, dtype=np.float32).reshape(32, 12)
    y = np.zeros((64, 4), np.float32)
    launcher = ptx_launcher(module, Target("cuda"))
    return [interpret(module, ctx, "main", [x, y], launcher=each)[1] for each in (None, launcher)]


@pytest.mark.parametrize("count", [1, 2, 4])
def test_matrices(count: int) -> None:
    expected = np.zeros((64, 4), np.float32)
    for thread in range(64):
        warp, lane = divmod(thread, 32)
        for matrix in range(count):
            row = 3 * (32 * warp + 8 * matrix + lane // 4) % 32
            expected[thread, matrix] = row * 12 + 4 + lane % 4
    for found in loaded(program(count)):
        np.testing.assert_array_equal(found, expected)


def test_a_missing_barrier_is_a_race_and_is_inserted() -> None:
    ctx = StepwellContext()
    module = parse_module(ctx, program(4, barrier=False), "matrices.mlir")
    given = [np.ones((32, 12), np.float32), np.zeros((64, 4), np.float32)]
    with pytest.raises(StepwellError) as error:
        interpret(module, ctx, "main", given)
    assert error.value.code == "data-race"
    run_pipeline(module, "insert-gpu-barriers", ctx)
    assert (interpret(module, ctx, "main", given)[1] == 1).all()


def test_rows_that_begin_at_no_multiple_of_16_bytes() -> None:
    with pytest.raises(StepwellError, match="accesses 4 elements from .* at no multiple of them"):
        loaded(program(4, column="%c2"))


def test_rows_of_eight_banks() -> None:
    """Eight rows of 4 elements are in 32 banks where the stride has an odd number of quarters."""
    assert [row for row in range(64, 80) if takes_ldmatrix(row)] == [68, 76]
