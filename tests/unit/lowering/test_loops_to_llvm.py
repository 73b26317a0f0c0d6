"""Kernels from loops on buffers to machine code, run and compared with numpy."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp, UnknownLoc

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.kernels.machine import compile_to_object, emit_assembly, vector_spills
from stepwell.passes import run_pipeline
from stepwell.runtime.abi import CTX_BYTES, WORD_BYTES, CtxField
from stepwell.runtime.machine.target import target_from
from tests.support.native_code import RUNNABLE, Native, host_pool, kernel, llvm_text

Floats: TypeAlias = npt.NDArray[np.float32]

RNG = np.random.default_rng(7)


def random(*shape: int) -> Floats:
    """Numbers that reveal errors: neither symmetric nor of one scale."""
    return (RNG.standard_normal(shape) * np.exp(RNG.standard_normal(shape))).astype(np.float32)


ELEMENTWISE = kernel(
    "K N",
    {"x": "f32[N, 2 * K + 1]", "y": "f32[N]", "out": "f32[N, 2 * K + 1]"},
    """
  %zero = arith.constant 0.0 : f32
  %width = memref.dim %x, %c1 : memref<?x?xf32>
  scf.for %i = %c0 to %N step %c1 {
    %b = memref.load %y[%i] : memref<?xf32>
    scf.for %j = %c0 to %width step %c1 {
      %a = memref.load %x[%i, %j] : memref<?x?xf32>
      %s = arith.addf %a, %b : f32
      %r = arith.maximumf %s, %zero : f32
      memref.store %r, %out[%i, %j] : memref<?x?xf32>
    }
  }""",
)


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("shape", [(0, 0), (1, 0), (3, 5), (17, 40)])
def test_scalar_loops_over_symbolic_shapes(optimize: bool, shape: tuple[int, int]) -> None:
    n, k = shape
    x, y = random(n, 2 * k + 1), random(n)
    out = np.full_like(x, np.nan)
    assert Native(ELEMENTWISE, optimize=optimize)("k", [x, y, out], [k, n]) == 0
    np.testing.assert_array_equal(out, np.maximum(x + y[:, None], 0))


def row_sums(lanes: int) -> str:
    """Sums of rows, `lanes` columns at a time, the last ones masked."""
    vector = f"vector<{lanes}xf32>"
    return kernel(
        "K N",
        {"x": "f32[N, K]", "out": "f32[N]"},
        f"""
  %step = arith.constant {lanes} : index
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : {vector}
  scf.for %i = %c0 to %N step %c1 {{
    %acc = scf.for %j = %c0 to %K step %step iter_args(%a = %zeros) -> ({vector}) {{
      %v = vector.transfer_read %x[%i, %j], %zero : memref<?x?xf32>, {vector}
      %s = arith.addf %a, %v : {vector}
      scf.yield %s : {vector}
    }}
    %sum = vector.reduction <add>, %acc : {vector} into f32
    memref.store %sum, %out[%i] : memref<?xf32>
  }}""",
    )


@pytest.mark.parametrize("mcpu", RUNNABLE)
@pytest.mark.parametrize("width", [1, 15, 16, 17, 100])
def test_reduction_with_masked_tail(mcpu: str, width: int) -> None:
    x, out = random(5, width), np.empty(5, np.float32)
    assert Native(row_sums(16), mcpu)("k", [x, out], [width, 5]) == 0
    np.testing.assert_allclose(out, x.sum(1), rtol=1e-5, atol=1e-5)


def matmul(rows: int, vectors: int, lanes: int) -> str:
    """A product with a packed right side: the loop over k carries `rows` times `vectors` accumulators."""
    columns, vector = vectors * lanes, f"vector<{lanes}xf32>"
    tile = [(r, v) for r in range(rows) for v in range(vectors)]
    lines = [
        f"%cm = arith.constant {rows} : index",
        f"%cn = arith.constant {columns} : index",
        f"%zero = arith.constant dense<0.0> : {vector}",
        *(f"%r{r} = arith.constant {r} : index" for r in range(rows)),
        *(f"%v{v} = arith.constant {v * lanes} : index" for v in range(vectors)),
        "scf.for %p = %c0 to %P step %c1 {\n scf.for %i = %c0 to %M step %cm {",
        "%j = arith.muli %p, %cn : index",
        *(f"%i{r} = arith.addi %i, %r{r} : index" for r in range(rows)),
        f"{', '.join(f'%s{r}_{v}' for r, v in tile)} = scf.for %k = %c0 to %K step %c1 iter_args("
        f"{', '.join(f'%x{r}_{v} = %zero' for r, v in tile)}) -> ({', '.join([vector] * len(tile))}) {{",
        *(
            f"%b{v} = vector.load %b[%p, %k, %v{v}] : memref<?x?x{columns}xf32>, {vector}"
            for v in range(vectors)
        ),
    ]
    for r in range(rows):
        lines += [f"%a{r} = memref.load %a[%i{r}, %k] : memref<?x?xf32>"]
        lines += [f"%w{r} = vector.broadcast %a{r} : f32 to {vector}"]
        lines += [f"%y{r}_{v} = vector.fma %w{r}, %b{v}, %x{r}_{v} : {vector}" for v in range(vectors)]
    lines += [f"scf.yield {', '.join(f'%y{r}_{v}' for r, v in tile)} : {', '.join([vector] * len(tile))}\n}}"]
    lines += [f"%j{v} = arith.addi %j, %v{v} : index" for v in range(vectors)]
    lines += [f"vector.store %s{r}_{v}, %c[%i{r}, %j{v}] : memref<?x?xf32>, {vector}" for r, v in tile]
    arguments = {
        "a": "f32[M, K]",
        "b": f"f32[P, K, {columns}], sched.align = 64 : i64",
        "c": f"f32[M, {columns} * P]",
    }
    return kernel("M K P", arguments, "\n".join([*lines, "}\n}"]))


@pytest.mark.parametrize("mcpu", RUNNABLE)
def test_register_tile_of_a_matrix_product(mcpu: str) -> None:
    rows, vectors, lanes = (6, 4, 16) if mcpu in ("host", "x86-64-v4") else (4, 2, 8)
    columns = vectors * lanes
    a, b = random(2 * rows, 33), aligned(random(3, 33, columns))
    out = np.empty((2 * rows, 3 * columns), np.float32)
    native = Native(matmul(rows, vectors, lanes), mcpu)
    assert native("k", [a, b, out], [2 * rows, 33, 3]) == 0
    expected = a @ b.transpose(1, 0, 2).reshape(33, 3 * columns)
    np.testing.assert_allclose(out, expected, rtol=2e-5, atol=2e-4)


def aligned(x: Floats) -> Floats:
    """A copy that starts on a cache line."""
    raw = np.empty(x.nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    copy = raw[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    copy[...] = x
    return copy


@pytest.mark.parametrize(("rows", "spills"), [(6, False), (12, True)])
def test_spills_are_counted(rows: int, spills: bool) -> None:
    target = target_from("x86-64-v4")
    assembly = emit_assembly(llvm_text(matmul(rows, 4, 16), "x86-64-v4"), target, optimize=False)
    assert (vector_spills(assembly) > 0) == spills  # 6 x 4 accumulators fit 32 registers, 12 x 4 do not


def test_loads_of_an_aligned_argument_are_aligned() -> None:
    text = llvm_text(matmul(2, 2, 16), "x86-64-v4")
    assert "load <16 x float>, ptr %b" in text
    assert all(line.endswith("align 64") for line in text.splitlines() if "load <16 x float>" in line)


VIEWS = kernel(
    "N",
    {"x": "f32[N, 24]", "out": "f32[N, 12]", "scratch": "memref<?xi8>"},
    """
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  // Every second column from the fifth on, through a buffer in the scratch memory.
  %t = memref.view %scratch[%c64][%N] : memref<?xi8> to memref<?x8xf32>
  %v = memref.subview %x[0, 5] [%N, 8] [1, 2] : memref<?x24xf32> to SLICE
  "memref.copy"(%v, %t) : (SLICE, memref<?x8xf32>) -> ()
  scf.for %i = %c0 to %N step %c1 {
    %row = memref.subview %t[%i, 0] [1, 8] [1, 1] : memref<?x8xf32> to ROW
    %to = memref.subview %out[%i, 4] [1, 8] [1, 1] : memref<?x12xf32> to ROW
    "memref.copy"(%row, %to) : (ROW, ROW) -> ()
    %e = memref.expand_shape %row [[0 : i64, 1 : i64]] output_shape [2, 4] : ROW into PAIR
    scf.for %j = %c0 to %c4 step %c1 {
      %a = memref.load %e[%c1, %j] : PAIR
      memref.store %a, %out[%i, %j] : memref<?x12xf32>
    }
  }""".replace("SLICE", "memref<?x8xf32, strided<[24, 2], offset: 5>>")
    .replace("ROW", "memref<8xf32, strided<[1], offset: ?>>")
    .replace("PAIR", "memref<2x4xf32, strided<[4, 1], offset: ?>>"),
)


def test_views_and_copies() -> None:
    x, out, scratch = random(7, 24), np.zeros((7, 12), np.float32), np.zeros(64 + 7 * 32, np.uint8)
    assert Native(VIEWS)("k", [x, out, scratch], [7]) == 0
    picked = x[:, 5:21:2]
    np.testing.assert_array_equal(out, np.concatenate([picked[:, 4:], picked], axis=1))


PARALLEL = kernel(
    "N K",
    {"x": "f32[N, K]", "out": "f32[N, K]"},
    """
  %c2 = arith.constant 2 : index
  %three = arith.constant 3.0 : f32
  "scf.parallel"(%c0, %c1, %N, %K, %c1, %c2) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    %a = memref.load %x[%i, %j] : memref<?x?xf32>
    %b = arith.mulf %a, %three : f32
    %t = memref.alloca() : memref<4xf32>
    memref.store %b, %t[%c1] : memref<4xf32>
    "scf.parallel"(%c1, %c0, %c2, %c1, %c1, %c1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
    ^bb0(%p: index, %q: index):
      %u = memref.load %t[%p] : memref<4xf32>
      memref.store %u, %out[%i, %j] : memref<?x?xf32>
      scf.reduce
    }) : (index, index, index, index, index, index) -> ()
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  "scf.parallel"(%c0, %N, %c2) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %three, %out[%i, %c0] : memref<?x?xf32>
    scf.reduce
  }) {sched.chunks = 3 : i64} : (index, index, index) -> ()""",
)


@pytest.mark.sample(3)
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("shape", [(0, 4), (1, 1), (3, 7), (50, 31)])
def test_parallel_loops(threads: int, shape: tuple[int, int]) -> None:
    x = random(*shape)
    out, expected = np.zeros_like(x), np.zeros_like(x)
    expected[:, 1::2] = x[:, 1::2] * 3
    expected[::2, 0] = 3
    ctx = np.zeros(CTX_BYTES // WORD_BYTES, np.uint64)
    if threads > 1:
        pool = host_pool(threads)
        ctx[CtxField.PARALLEL_FOR], ctx[CtxField.POOL] = pool.parallel_for_address, pool.state_address
    native = Native(PARALLEL)
    for _ in range(20):
        out[...] = 0
        assert native("k", [x, out], shape, ctx) == 0
        np.testing.assert_array_equal(out, expected)


_ADD = kernel(
    "M",
    {"x": "f32[M]", "w": "f32[4]", "out": "f32[M]"},
    """
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %M step %c1 {
    %j = arith.remui %i, %c4 : index
    %a = memref.load %x[%i] : memref<?xf32>
    %b = memref.load %w[%j] : memref<4xf32>
    %s = arith.addf %a, %b : f32
    memref.store %s, %out[%i] : memref<?xf32>
  }""",
    name="add",
)
_RUN = kernel(
    "N",
    {"x": "f32[N]", "y": "f32[N]", "arena": "memref<?xi8>"},
    """
  %c64 = arith.constant 64 : index
  %t = memref.view %arena[%c64][%N] : memref<?xi8> to memref<?xf32>
  %w0 = memref.get_global @w0 : memref<4xf32>
  %w1 = memref.get_global @w1 : memref<4xf32>
  func.call @add(%x, %w1, %t, %N) : (memref<?xf32>, memref<4xf32>, memref<?xf32>, index) -> ()
  func.call @add(%t, %w0, %y, %N) : (memref<?xf32>, memref<4xf32>, memref<?xf32>, index) -> ()""",
    name="main",
    kind="main",
)
_WEIGHTS = "".join(
    f'"memref.global"() <{{sym_name = "{name}", type = memref<4xf32>, initial_value}}> : () -> ()\n'
    for name in ("w0", "w1")
)
MAIN = _ADD + _RUN + _WEIGHTS


def test_main_calls_kernels_with_weights() -> None:
    x, y, arena = random(9), np.zeros(9, np.float32), np.zeros(64 + 9 * 4, np.uint8)
    weights = [random(4), random(4)]
    table = np.array([w.ctypes.data for w in weights], np.uint64)
    ctx = np.zeros(CTX_BYTES // WORD_BYTES, np.uint64)
    ctx[CtxField.WEIGHTS] = table.ctypes.data
    assert Native(MAIN)("main", [x, y, arena], [9], ctx) == 0
    np.testing.assert_array_equal(y, x + np.resize(weights[1], 9) + np.resize(weights[0], 9))


CONTROL = kernel(
    "N",
    {"x": "i64[N]", "out": "i64[N]"},
    """
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %three = arith.constant 3 : i64
  scf.for %i = %c0 to %N step %c1 {
    %n = memref.load %x[%i] : memref<?xi64>
    // Steps of the Collatz sequence down to 1.
    %steps, %last = "scf.while"(%c0, %n) ({
    ^bb0(%s: index, %v: i64):
      %more = arith.cmpi sgt, %v, %one : i64
      "scf.condition"(%more, %s, %v) : (i1, index, i64) -> ()
    }, {
    ^bb0(%s: index, %v: i64):
      %rest = arith.remsi %v, %two : i64
      %odd = arith.cmpi eq, %rest, %one : i64
      %next = scf.if %odd -> (i64) {
        %t = arith.muli %v, %three : i64
        %u = arith.addi %t, %one : i64
        scf.yield %u : i64
      } else {
        %h = arith.divsi %v, %two : i64
        scf.yield %h : i64
      }
      %s1 = arith.addi %s, %c1 : index
      scf.yield %s1, %next : index, i64
    }) : (index, i64) -> (index, i64)
    %kind = arith.remui %steps, %N : index
    %r = scf.index_switch %kind -> i64
    case 0 {
      scf.yield %three : i64
    }
    case 7 {
      %t = arith.addi %three, %three : i64
      scf.yield %t : i64
    }
    default {
      %t = arith.index_cast %steps : index to i64
      scf.yield %t : i64
    }
    memref.store %r, %out[%i] : memref<?xi64>
  }""",
)


def collatz_steps(n: int) -> int:
    """How many steps lead to 1."""
    steps = 0
    while n > 1:
        n, steps = (3 * n + 1 if n % 2 else n // 2), steps + 1
    return steps


@pytest.mark.parametrize("optimize", [False, True])
def test_control_flow(optimize: bool) -> None:
    x = np.arange(1, 41, dtype=np.int64)
    out = np.zeros_like(x)
    assert Native(CONTROL, optimize=optimize)("k", [x, out], [len(x)]) == 0
    steps = [collatz_steps(int(n)) for n in x]
    expected = [{0: 3, 7: 6}.get(s % len(x), s) for s in steps]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("text", [ELEMENTWISE, PARALLEL, MAIN, CONTROL, row_sums(16), matmul(4, 2, 4)])
def test_kernels_compile_for_another_architecture(text: str) -> None:
    target = target_from("aarch64")
    code = compile_to_object(llvm_text(text, "aarch64"), target, optimize=False)
    assert code.startswith(b"\x7fELF")


def test_the_same_text_every_time() -> None:
    assert llvm_text(PARALLEL) == llvm_text(PARALLEL)


@pytest.mark.parametrize("text", [ELEMENTWISE, PARALLEL, MAIN, CONTROL])
def test_no_op_is_without_a_place(text: str) -> None:
    """Every op of the result has the location of what it was made from."""
    ctx = StepwellContext()
    module = parse_module(ctx, text)
    run_pipeline(module, "convert-loops-to-llvm", ctx)
    lost = [
        op.name
        for op in module.walk()
        if isinstance(op.location, UnknownLoc) and not isinstance(op, ModuleOp | llvm.ConstantOp)
    ]
    assert not lost
