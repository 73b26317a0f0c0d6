"""Reductions over a block: the same as one op, by exchanges in warps, by halves in memory, and in PTX."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import pytest

from stepwell import Target
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.interpret import interpret
from stepwell.lowering.interpret.ptx import ptx_launcher
from stepwell.passes.manager import run_pipeline
from stepwell.runtime.errors import StepwellError

EXPANDED = "expand-all-reduce,insert-gpu-barriers"


def program(threads: Sequence[int], kind: str, type: str, target: str, condition: str = "") -> str:
    """Three blocks that write two reductions of what their threads load: of numbers, and of the results."""
    count, z = prod(threads), "%c0"
    sizes = "\n  ".join(f"%s{i} = arith.constant {size} : index" for i, size in enumerate(threads))
    buffer = f"memref<3x{count}x{type}>"
    return f"""
builtin.module attributes {{gpu.container_module}} {{
gpu.module @m attributes {{sched.target = #target.spec<"{target}", {{}}>}} {{
  gpu.func @k(%x: {buffer}, %y: {buffer}, %n: memref<{count}xindex>) kernel
      attributes {{gpu.known_block_size = array<i32: {", ".join(map(str, threads))}>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %sx = arith.constant {threads[0]} : index
    %sy = arith.constant {threads[1]} : index
    %b = gpu.block_id x
    %tx = gpu.thread_id x
    %ty = gpu.thread_id y
    %tz = gpu.thread_id z
    %1 = arith.muli %tz, %sy : index
    %2 = arith.addi %1, %ty : index
    %3 = arith.muli %2, %sx : index
    %t = arith.addi %3, %tx : index
    %trips = memref.load %n[%t] : memref<{count}xindex>
    %a = memref.load %x[%b, %t] : {buffer}
    %r = scf.for %i = {z} to {condition or "%c1"} step %c1 iter_args(%s = %a) -> ({type}) {{
      %q = gpu.all_reduce {kind} %s {{}} : ({type}) -> {type}
      scf.yield %q : {type}
    }}
    %u = gpu.all_reduce {kind} %r uniform {{}} : ({type}) -> {type}
    memref.store %u, %y[%b, %t] : {buffer}
    gpu.return
  }}
}}
func.func @main(%x: {buffer}, %y: {buffer}, %n: memref<{count}xindex>) {{
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  {sizes}
  gpu.launch_func @m::@k blocks in (%c3, %c1, %c1) threads in (%s0, %s1, %s2)
    args(%x : {buffer}, %y : {buffer}, %n : memref<{count}xindex>)
  func.return
}}
}}"""


def inputs(threads: Sequence[int], type: str) -> list[Any]:
    """Numbers whose sums are exact, an output, and a trip for each thread."""
    count, dtype = prod(threads), {"f32": np.float32, "f64": np.float64, "i32": np.int32}[type]
    x = np.random.default_rng(count).integers(-9, 9, (3, count)).astype(dtype)
    return [x, np.zeros_like(x), np.ones(count, np.int64)]


KINDS = {"add": np.add, "maximumf": np.maximum, "maxsi": np.maximum, "xor": np.bitwise_xor}


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    ("threads", "kind", "type", "target"),
    [
        ((64, 1, 1), "add", "f32", "cuda"),
        ((32, 1, 1), "maximumf", "f32", "cuda"),
        ((8, 4, 8), "add", "i32", "cuda"),
        ((96, 1, 1), "maxsi", "i32", "cuda"),  # three warps: by halves
        ((64, 1, 1), "add", "f64", "cuda"),  # 64 bits are not exchanged
        ((5, 3, 1), "xor", "i32", "cuda"),
        ((64, 1, 1), "maximumf", "f32", "webgpu"),
    ],
)
def test_all_threads_get_the_reduction(threads: Sequence[int], kind: str, type: str, target: str) -> None:
    ctx, given = StepwellContext(), inputs(threads, type)
    module = parse_module(ctx, program(threads, kind, type, target), "reduce.mlir")
    module.verify()
    once = KINDS[kind].reduce(given[0], axis=1, keepdims=True)
    expected = KINDS[kind].reduce(
        np.broadcast_to(once, given[0].shape), axis=1, keepdims=True, dtype=once.dtype
    )
    expected = np.broadcast_to(expected, given[0].shape)
    np.testing.assert_array_equal(interpret(module, ctx, "main", given)[1], expected)
    run_pipeline(module, EXPANDED, ctx)
    module.verify()
    assert not any(op.name == "gpu.all_reduce" for op in module.walk())
    np.testing.assert_array_equal(interpret(module, ctx, "main", inputs(threads, type))[1], expected)
    if target == "cuda":
        launcher = ptx_launcher(module, Target("cuda"))
        found = interpret(module, ctx, "main", inputs(threads, type), launcher=launcher)[1]
        np.testing.assert_array_equal(found, expected)


def test_threads_that_take_no_part_are_an_error() -> None:
    threads = (32, 1, 1)
    ctx, given = StepwellContext(), inputs(threads, "f32")
    module = parse_module(ctx, program(threads, "add", "f32", "cuda", "%trips"), "reduce.mlir")
    interpret(module, ctx, "main", given)
    given[2][5] = 0
    with pytest.raises(
        StepwellError, match=r"\(0,0,0\).* reaches gpu.all_reduce, and thread \(5,0,0\) does not"
    ):
        interpret(module, ctx, "main", given)


def test_a_reduction_is_no_barrier() -> None:
    """Stores before a reduction are not seen after it: `data-race`."""
    text = program((32, 1, 1), "add", "f32", "cuda").replace(
        "memref.store %u, %y[%b, %t]",
        "memref.store %a, %y[%b, %t] : memref<3x32xf32>\n"
        "    %v = gpu.all_reduce add %a {} : (f32) -> f32\n"
        "    %w = memref.load %y[%b, %c1] : memref<3x32xf32>\n"
        "    %p = arith.addf %v, %w : f32\n    memref.store %p, %x[%b, %t]",
    )
    ctx = StepwellContext()
    with pytest.raises(StepwellError) as error:
        interpret(parse_module(ctx, text, "reduce.mlir"), ctx, "main", inputs((32, 1, 1), "f32"))
    assert error.value.code == "data-race"
