"""Kernels on the interpreter of the `gpu` level: results, and the four checks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.interpret import interpret
from stepwell.runtime.errors import StepwellError

SHARED = "#gpu.address_space<workgroup>"
Array = npt.NDArray[Any]


def run(text: str, inputs: Sequence[Array], **options: Any) -> list[Array]:
    """The final contents of the buffers of `@main`."""
    ctx = StepwellContext()
    module = parse_module(ctx, text, "kernel.mlir")
    module.verify()
    return interpret(module, ctx, "main", inputs, **options)


def program(
    arguments: Sequence[tuple[str, str]],
    body: str,
    *,
    threads: Sequence[int] = (64, 1, 1),
    blocks: Sequence[int] = (1, 1, 1),
    shared: str = "",
) -> str:
    """A program that launches a kernel."""
    typed = ", ".join(f"%{name}: {type}" for name, type in arguments)
    passed = ", ".join(f"%{name} : {type}" for name, type in arguments)
    memory = f" workgroup({shared})" if shared else ""
    newline = "\n  "
    sizes = [
        f"%g{i} = arith.constant {g} : index\n  %s{i} = arith.constant {s} : index"
        for i, (g, s) in enumerate(zip(blocks, threads, strict=True))
    ]
    return f"""
builtin.module attributes {{gpu.container_module}} {{
gpu.module @m {{
  gpu.func @k({typed}){memory} kernel {{
    {body}
    gpu.return
  }}
}}
func.func @main({typed}) {{
  {newline.join(sizes)}
  gpu.launch_func @m::@k blocks in (%g0, %g1, %g2) threads in (%s0, %s1, %s2) args({passed})
  func.return
}}
}}
"""


XY = [("x", "memref<256xf32>"), ("y", "memref<256xf32>")]
X = XY[:1]
REVERSE = f"""%t = gpu.thread_id x
    %a = memref.load %x[%t] : memref<256xf32>
    memref.store %a, %s[%t] : memref<256xf32, {SHARED}>
    gpu.barrier
    %last = arith.constant 255 : index
    %r = arith.subi %last, %t : index
    %b = memref.load %s[%r] : memref<256xf32, {SHARED}>
    memref.store %b, %y[%t] : memref<256xf32>"""
S = f"%s: memref<256xf32, {SHARED}>"


def xy() -> list[Array]:
    return [np.random.default_rng(0).standard_normal(256, np.float32), np.zeros(256, np.float32)]


def failure(text: str, inputs: Sequence[Array], **options: Any) -> StepwellError:
    """The error of a program."""
    with pytest.raises(StepwellError) as raised:
        run(text, inputs, **options)
    return raised.value


def test_a_block_reverses_through_its_memory() -> None:
    inputs = xy()
    outputs = run(program(XY, REVERSE, threads=(256, 1, 1), shared=S), inputs)
    np.testing.assert_array_equal(outputs[1], inputs[0][::-1])


def test_without_the_barrier_it_is_a_race() -> None:
    text = program(XY, REVERSE.replace("gpu.barrier", ""), threads=(256, 1, 1), shared=S)
    error = failure(text, xy())
    assert error.code == "data-race"
    assert error.message == (
        "threads (255,0,0) and (0,0,0) of block (0,0,0) access %s[255] without a barrier between: "
        "memref.store, then memref.load"
    )
    assert "the first access is at kernel.mlir:7" in str(error) and "in the kernel @k" in str(error)
    run(text, xy(), checks=("bounds",))


@pytest.mark.parametrize(
    "loop",
    [
        "scf.while () : () -> () {\n scf.condition(%yes)\n } do {\n scf.yield\n }",
        "scf.for %i = %zero to %many step %one {\n memref.store %f, %x[%t] : memref<256xf32>\n }",
        "scf.for %i = %t to %many step %one {\n memref.store %f, %x[%t] : memref<256xf32>\n }",
        """"scf.parallel"(%zero, %many, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%i: index):
      scf.reduce
    }) : (index, index, index) -> ()""",
    ],
)
def test_loops_without_end(monkeypatch: pytest.MonkeyPatch, loop: str) -> None:
    monkeypatch.setenv("STEPWELL_ITERATIONS", "100")
    body = f"""%t = gpu.thread_id x
    %yes = arith.constant true
    %f = arith.constant 1.0 : f32
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %many = arith.constant 1000000 : index
    {loop}"""
    error = failure(program(X, body), [np.zeros(256, np.float32)])
    assert error.code == "endless-kernel" and "--> kernel.mlir:11:5" in str(error)
    assert error.message == "a loop of @k still goes on after 100 iterations"


@pytest.mark.parametrize(
    ("row", "first"), [(32, "%s[0, 0] and %s[1, 0]"), (33, "%s[0, 1] and %s[1, 0]"), (36, ""), (44, "")]
)
def test_a_warp_that_accesses_one_bank(row: int, first: str) -> None:
    """A warp writes a row of 32 elements, and reads 4 of each of 8 rows, which are 4 banks apart, or 12."""
    body = f"""%t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %down = arith.divui %t, %c32 : index
    %across = arith.remui %t, %c32 : index
    %a = memref.load %x[%t] : memref<256xf32>
    memref.store %a, %s[%down, %across] : memref<8x{row}xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %c8 = arith.constant 8 : index
    %i = arith.remui %t, %c8 : index
    %j = arith.divui %t, %c8 : index
    %b = memref.load %s[%i, %j] : memref<8x{row}xf32, #gpu.address_space<workgroup>>
    memref.store %b, %y[%t] : memref<256xf32>"""
    shared = f"%s: memref<8x{row}xf32, #gpu.address_space<workgroup>>"
    text, inputs = program(XY, body, threads=(256, 1, 1), shared=shared), xy()
    np.testing.assert_array_equal(run(text, inputs)[1], inputs[0].reshape(8, 32).T.ravel())
    if not first:
        run(text, inputs, checks=("banks",))
        return
    error = failure(text, inputs, checks=("banks",))
    assert error.code == "bank-conflict"
    assert f"of block (0,0,0) access {first}, words of one bank, at once: memref.load" in error.message


def test_a_barrier_that_some_threads_reach() -> None:
    body = """%t = gpu.thread_id x
    %one = arith.constant 1 : index
    %zero = arith.constant 0 : index
    %n = memref.load %x[%t] : memref<64xindex>
    scf.for %i = %zero to %n step %one {
      gpu.barrier
    }"""
    text = program([("x", "memref<64xindex>")], body)
    run(text, [np.full(64, 3)])
    trips = np.full(64, 3)
    trips[5] = 2
    error = failure(text, [trips])
    assert error.code == "divergent-barrier"
    assert error.message == "thread (0,0,0) of block (0,0,0) reaches a barrier, and thread (5,0,0) does not"


def test_an_index_out_of_bounds() -> None:
    body = REVERSE.replace("constant 255", "constant 256")
    error = failure(program(XY, body, threads=(256, 1, 1), shared=S), xy())
    assert error.code == "out-of-bounds"
    assert "thread (0,0,0) of block (0,0,0) accesses %s[256], of shape 256: memref.load" in error.message


def test_memory_that_nobody_wrote() -> None:
    body = REVERSE.replace(f"memref.store %a, %s[%t] : memref<256xf32, {SHARED}>", "")
    error = failure(program(XY, body, threads=(256, 1, 1), shared=S), xy())
    assert (
        error.code == "uninitialized-read" and "reads %s[255], which no thread has written" in error.message
    )


@pytest.mark.parametrize("blocks", [2, 300])
def test_blocks_that_share_an_element_race(blocks: int) -> None:
    body = """%t = gpu.thread_id x
    %a = memref.load %x[%t] : memref<256xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %x[%t] : memref<256xf32>"""
    error = failure(program(X, body, threads=(256, 1, 1), blocks=(blocks, 1, 1)), xy()[:1])
    assert error.code == "data-race" and "in one launch: memref.load, then memref.store" in error.message
    last = min(blocks, 256) - 1
    pair = f"thread (0,0,0) of block ({last - 1},0,0) and thread (0,0,0) of block ({last},0,0)"
    assert error.message.startswith(f"{pair} access %x[0]")


def test_a_barrier_orders_the_threads_of_one_block_alone() -> None:
    body = """%t = gpu.thread_id x
    %a = memref.load %x[%t] : memref<64xf32>
    gpu.barrier
    %last = arith.constant 63 : index
    %r = arith.subi %last, %t : index
    memref.store %a, %x[%r] : memref<64xf32>"""
    x = np.arange(64, dtype=np.float32)
    arguments = [("x", "memref<64xf32>")]
    np.testing.assert_array_equal(run(program(arguments, body), [x])[0], x[::-1])
    error = failure(program(arguments, body, blocks=(2, 1, 1)), [x])
    assert error.code == "data-race" and "of block (1,0,0)" in error.message


def test_threads_that_write_one_element_race() -> None:
    body = """%c0 = arith.constant 0 : index
    %v = arith.constant 1.0 : f32
    memref.store %v, %x[%c0] : memref<256xf32>"""
    error = failure(program(X, body), xy()[:1])
    assert error.code == "data-race" and "memref.store, then memref.store" in error.message


def test_overlapping_arguments_are_one_memory() -> None:
    body = """%t = gpu.thread_id x
    %one = arith.constant 1 : index
    %a = memref.load %x[%t] : memref<64xf32>
    memref.store %a, %y[%t] : memref<64xf32>"""
    text = program([("x", "memref<64xf32>"), ("y", "memref<64xf32>")], body)
    whole = text.replace(
        "func.func @main(%x: memref<64xf32>, %y: memref<64xf32>) {",
        """func.func @main(%z: memref<65xf32>) {
  %x = memref.subview %z[0] [64] [1] : memref<65xf32> to memref<64xf32, strided<[1]>>
  %y = memref.subview %z[1] [64] [1] : memref<65xf32> to memref<64xf32, strided<[1], offset: 1>>""",
    )
    for name, type in (("x", "strided<[1]>"), ("y", "strided<[1], offset: 1>")):
        whole = whole.replace(f"%{name}: memref<64xf32>", f"%{name}: memref<64xf32, {type}>")
        whole = whole.replace(f"%{name} : memref<64xf32>", f"%{name} : memref<64xf32, {type}>")
        whole = whole.replace(f"%{name}[%t] : memref<64xf32>", f"%{name}[%t] : memref<64xf32, {type}>")
    error = failure(whole, [np.zeros(65, np.float32)])
    assert error.code == "data-race" and "memref.load, then memref.store" in error.message


def test_a_tiled_product_with_blocks_in_two_dimensions() -> None:
    tile = f"memref<8x8xf32, {SHARED}>"
    body = f"""%tx = gpu.thread_id x
    %ty = gpu.thread_id y
    %bx = gpu.block_id x
    %by = gpu.block_id y
    %c8 = arith.constant 8 : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %k = arith.constant 24 : index
    %zero = arith.constant 0.0 : f32
    %r0 = arith.muli %by, %c8 : index
    %row = arith.addi %r0, %ty : index
    %q0 = arith.muli %bx, %c8 : index
    %col = arith.addi %q0, %tx : index
    %sum = scf.for %k0 = %c0 to %k step %c8 iter_args(%acc = %zero) -> (f32) {{
      %ka = arith.addi %k0, %tx : index
      %kb = arith.addi %k0, %ty : index
      %va = memref.load %a[%row, %ka] : memref<16x24xf32>
      %vb = memref.load %b[%kb, %col] : memref<24x32xf32>
      memref.store %va, %s[%ty, %tx] : {tile}
      memref.store %vb, %u[%ty, %tx] : {tile}
      gpu.barrier
      %part = scf.for %i = %c0 to %c8 step %c1 iter_args(%p = %acc) -> (f32) {{
        %x = memref.load %s[%ty, %i] : {tile}
        %y = memref.load %u[%i, %tx] : {tile}
        %xy = arith.mulf %x, %y : f32
        %n = arith.addf %p, %xy : f32
        scf.yield %n : f32
      }}
      gpu.barrier
      scf.yield %part : f32
    }}
    memref.store %sum, %c[%row, %col] : memref<16x32xf32>"""
    arguments = [("a", "memref<16x24xf32>"), ("b", "memref<24x32xf32>"), ("c", "memref<16x32xf32>")]
    shared = f"%s: {tile}, %u: {tile}"
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((16, 24), np.float32), rng.standard_normal((24, 32), np.float32)
    inputs = [a, b, np.zeros((16, 32), np.float32)]
    text = program(arguments, body, threads=(8, 8, 1), blocks=(4, 2, 1), shared=shared)
    np.testing.assert_allclose(run(text, inputs)[2], a @ b, rtol=1e-4, atol=1e-5)
    pieces = text.split("gpu.barrier")
    for without in (
        pieces[0] + pieces[1] + "gpu.barrier" + pieces[2],
        pieces[0] + "gpu.barrier" + pieces[1] + pieces[2],
    ):
        assert failure(without, inputs).code == "data-race"


def test_lanes_take_their_own_branches_and_loops() -> None:
    body = """%t = gpu.global_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %n = arith.remui %t, %c3 : index
    %sum = scf.for %i = %c0 to %t step %c1 iter_args(%a = %c0) -> (index) {
      %b = arith.addi %a, %i : index
      scf.yield %b : index
    }
    %odd = arith.cmpi eq, %n, %c1 : index
    %v = scf.if %odd -> (index) {
      scf.yield %sum : index
    } else {
      %w = scf.while (%u = %t) : (index) -> index {
        %big = arith.cmpi ugt, %u, %c3 : index
        scf.condition(%big) %u : index
      } do {
      ^bb0(%u: index):
        %d = arith.subi %u, %c3 : index
        scf.yield %d : index
      }
      scf.yield %w : index
    }
    memref.store %v, %x[%t] : memref<192xindex>"""
    text = program([("x", "memref<192xindex>")], body, blocks=(3, 1, 1))
    t = np.arange(192)
    expected = np.where(t % 3 == 1, t * (t - 1) // 2, np.where(t == 0, 0, (t - 1) % 3 + 1))
    np.testing.assert_array_equal(run(text, [np.zeros(192, np.int64)])[0], expected)


def test_subgroups_exchange_values() -> None:
    body = """%t = gpu.thread_id x
    %l = gpu.lane_id
    %q = gpu.subgroup_id : index
    %n = gpu.subgroup_size : index
    %v = memref.load %x[%t] : memref<64xf32>
    %o = arith.constant 1 : i32
    %w = arith.constant 32 : i32
    %other, %ok = gpu.shuffle down %v, %o, %w : f32
    %sum = gpu.subgroup_reduce add %v : (f32) -> f32
    memref.store %other, %y[%t] : memref<64xf32>
    memref.store %sum, %z[%t] : memref<64xf32>"""
    type = "memref<64xf32>"
    x = np.arange(64, dtype=np.float32) ** 2
    text = program([("x", type), ("y", type), ("z", type)], body)
    _, y, z = run(text, [x, np.zeros(64, np.float32), np.zeros(64, np.float32)])
    moved = np.append(x[1:], x[-1])
    moved[31] = x[31]
    np.testing.assert_array_equal(y, moved)
    np.testing.assert_array_equal(z, np.repeat([x[:32].sum(), x[32:].sum()], 32))


def test_blocks_that_the_kernel_does_not_take() -> None:
    assert failure(program(X, "", threads=(2048, 1, 1)), xy()[:1]).code == "bad-launch"


def test_a_launch_in_place_sees_the_values_around_it() -> None:
    text = """
func.func @main(%x: memref<8xf32>) {
  %one = arith.constant 1 : index
  %n = arith.constant 8 : index
  %two = arith.constant 2.0 : f32
  gpu.launch blocks(%a, %b, %c) in (%d = %n, %e = %one, %f = %one)
      threads(%g, %h, %i) in (%j = %one, %k = %one, %l = %one) {
    %v = memref.load %x[%a] : memref<8xf32>
    %w = arith.mulf %v, %two : f32
    memref.store %w, %x[%a] : memref<8xf32>
    gpu.terminator
  }
  func.return
}"""
    np.testing.assert_array_equal(run(text, [np.arange(8, dtype=np.float32)])[0], np.arange(8) * 2)


def test_a_grid_without_blocks_runs_nothing() -> None:
    x = np.arange(256, dtype=np.float32)
    np.testing.assert_array_equal(run(program(XY, REVERSE, blocks=(0, 1, 1), shared=S), [x, x * 0])[1], x * 0)
    assert failure(program(X, "", blocks=(-1, -1, 1)), xy()[:1]).code == "bad-launch"
    assert failure(program(X, "", threads=(-8, -8, 1)), xy()[:1]).code == "bad-launch"


NEIGHBOURS = """%t = gpu.thread_id x
    %n = arith.constant 4 : index
    %i = arith.muli %t, %n : index
    %v = vector.load %x[%i] {alignment = 16 : i64} : memref<32xf32>, vector<4xf32>
    %a = vector.extract %v[0] : f32 from vector<4xf32>
    %b = vector.extract %v[3] : f32 from vector<4xf32>
    %c = arith.addf %a, %b : f32
    %d = vector.broadcast %c : f32 to vector<4xf32>
    %e = vector.insert %a, %d [2] : f32 into vector<4xf32>
    vector.store %e, %y[%i] {alignment = 16 : i64} : memref<32xf32>, vector<4xf32>"""
WIDE = [("x", "memref<32xf32>"), ("y", "memref<32xf32>")]


def test_vectors_of_threads() -> None:
    x = np.arange(32, dtype=np.float32)
    found = run(program(WIDE, NEIGHBOURS, threads=(8, 1, 1)), [x, np.zeros(32, np.float32)])[-1]
    rows = x.reshape(8, 4)
    both = rows[:, 0] + rows[:, 3]
    np.testing.assert_array_equal(found.reshape(8, 4), np.stack([both, both, rows[:, 0], both], 1))


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("%n = arith.constant 4", "%n = arith.constant 2", "out-of-bounds",
         "accesses 4 elements from %x[2] on, which is at no multiple of them"),
        ("vector.store %e, %y[%i] {alignment = 16 : i64}", "vector.store %e, %y[%t]", "data-race", "%y["),
        ("%n = arith.constant 4", "%n = arith.constant 8", "out-of-bounds", "accesses %x[32], of shape 32"),
        ("vector.extract %v[0] : f32", "vector.extract %v[%t] : f32", "unsupported", "is one constant"),
    ],
)  # fmt: skip
def test_accesses_of_vectors_are_checked(old: str, new: str, code: str, said: str) -> None:
    inputs = [np.arange(32, dtype=np.float32), np.zeros(32, np.float32)]
    error = failure(program(WIDE, NEIGHBOURS.replace(old, new), threads=(8, 1, 1)), inputs)
    assert error.code == code and said in error.message
