"""Steps that change a kernel: worked cases, legality in the user's names, results against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stepwell import StepwellError, te
from stepwell.passes import PassContext
from tests.support.samples import whole
from tests.unit.frontend.script.kernels import product_by_block
from tests.unit.tools.api.schedule_kernels import product, stencil

DRAW = np.random.default_rng(4)


def built(inputs: list[te.Tensor], s: te.Schedule, *arrays: np.ndarray[Any, Any]) -> Any:
    s.validate(n=1)
    again = te.Schedule.replay(te.lower(inputs, s.outputs), s.script)
    assert str(again.module) == str(te.lower(inputs, s))
    return te.build(inputs, s, threads=1)(*arrays)


def operands(m: int, n: int, k: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return DRAW.standard_normal((m, k), np.float32), DRAW.standard_normal((k, n), np.float32)


@whole
def test_partial_results_run_in_parallel() -> None:
    inputs, c = product(8, 6, 64)
    s = te.create_schedule(c)
    *_, r = s[c].loops
    outer, _ = s[c].split(r, 16)
    f = s[c].rfactor(outer)
    f.parallel(f.loops[2])
    assert not s.exact
    x, w = operands(8, 6, 64)
    np.testing.assert_allclose(built(inputs, s, x, w), x @ w, rtol=1e-5, atol=1e-5)
    strict = te.create_schedule(c, exact=True)
    with pytest.raises(StepwellError, match="changes the order in which C adds"):
        strict[c].rfactor(strict[c].loops[2])
    assert "rfactor" not in strict.script


def test_the_steps_of_a_product_with_a_cache_and_a_packed_operand() -> None:
    inputs, c = product(16, 48, 32)
    s = te.create_schedule(c)
    packed = s[c].transform_layout(inputs[1], lambda k, n: (n // 16, k, n % 16))
    assert packed.name == "B_packed"
    w = s.cache_write(c)
    i, jo, ji, r = w.loops
    ro, ri = w.split(r, 4)
    w.reorder(jo, i, ro, ri, ji)
    w.vectorize(ji)
    w.parallel(jo)
    x, y = operands(16, 48, 32)
    np.testing.assert_allclose(built(inputs, s, x, y), x @ y, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("columns", [48, 50])
def test_a_packed_operand_of_a_product(columns: int) -> None:
    inputs, c = product(5, columns, 7)
    s = te.create_schedule(c)
    with PassContext() as context:
        s[c].transform_layout(inputs[1], lambda k, n: (n // 16, k, n % 16))
    padded = {remark.message for remark in context.remarks if "padded" in remark.message}
    loop = "loop j of C is padded from 50 to 64 iterations"
    assert padded == ({loop, "B is padded from 350 to 448 elements"} if columns == 50 else set())
    i, blocks, lanes, r = s[c].loops  # further steps are about whole blocks
    s[c].reorder(blocks, i, r, lanes)
    s[c].vectorize(lanes)
    s[c].parallel(blocks)
    x, w = operands(5, columns, 7)
    np.testing.assert_allclose(built(inputs, s, x, w), x @ w, rtol=1e-4, atol=1e-4)


def test_loops_that_reach_no_slices_are_inside_of_the_others() -> None:
    x = te.placeholder((9, 6), name="x")
    s = te.create_schedule(c := te.compute((4, 12), lambda i, j: x[i, j // 2] + x[i + 5, 0], name="C"))
    i, j = s[c].loops
    s[c].split(i, 2)
    s[c].vectorize(j)
    values = DRAW.standard_normal((9, 6), np.float32)
    wanted = np.repeat(values[:4], 2, axis=1) + values[5:, :1]
    np.testing.assert_array_equal(built([x], s, values), wanted)


def test_a_layout_in_which_elements_meet() -> None:
    inputs, c = product(5, 48, 7)
    s = te.create_schedule(c)
    with pytest.raises(StepwellError, match=r"B\[0, 0\] and B\[0, 1\] would be at one place") as error:
        s[c].transform_layout(inputs[1], lambda k, n: (n // 16, k, k % 16))
    assert error.value.code == "illegal-schedule" and "layout" not in s.script


@pytest.mark.parametrize("depth", [0, 1])
def test_a_stencil_in_the_loops_of_its_reader(depth: int) -> None:
    inputs, blur = stencil()
    s = te.create_schedule(blur)
    loops = s[blur].loops
    s[blur].parallel(loops[0])
    with PassContext() as context:
        s["rows"].compute_at(s[blur], s[blur].loops[depth])
    found = {remark.message for remark in context.remarks}
    assert found == ({"rows in loop j of blur: elements are computed 2.5 times"} if depth else set())
    s["rows"].vectorize(s["rows"].loops[1])
    x = DRAW.standard_normal((9, 12), np.float32)
    rows = x[:7] + x[1:8] + x[2:9]
    wanted = rows[:, :10] + rows[:, 1:11] + rows[:, 2:12]
    np.testing.assert_allclose(built(inputs, s, x), wanted, rtol=1e-5, atol=1e-5)


@whole
def test_overlapping_rows_are_computed_again() -> None:
    x = te.placeholder((10, 8), name="x")
    bx = te.compute((10, 6), lambda y, j: x[y, j] + x[y, j + 1] + x[y, j + 2], name="bx")
    by = te.compute((8, 6), lambda y, j: bx[y, j] + bx[y + 1, j] + bx[y + 2, j], name="by")
    for tile, times in ((None, "2.4"), (4, "1.2"), (3, "1.5")):
        s = te.create_schedule(by)
        y = s[by].loops[0]
        at = y if tile is None else s[by].split(y, tile)[0]
        with PassContext() as context:
            s["bx"].compute_at(s[by], at)
        assert {r.message for r in context.remarks} == {
            f"bx in loop {at.name} of by: elements are computed {times} times"
        }
        data = DRAW.standard_normal((10, 8), np.float32)
        rows = data[:, :6] + data[:, 1:7] + data[:, 2:8]
        wanted = rows[:8] + rows[1:9] + rows[2:]
        np.testing.assert_allclose(built([x], s, data), wanted, rtol=1e-5, atol=1e-5)


def test_a_stage_in_the_bodies_of_its_readers() -> None:
    inputs, blur = stencil()
    s = te.create_schedule(blur)
    with pytest.raises(StepwellError, match="compute_inline.blur.: blur is a result of the kernel"):
        s[blur].compute_inline()
    s["rows"].compute_inline()
    with pytest.raises(StepwellError, match="there is no stage rows"):
        s["rows"].loops  # noqa: B018
    assert s.exact
    x = DRAW.standard_normal((9, 12), np.float32)
    rows = x[:7] + x[1:8] + x[2:9]
    wanted = rows[:, :10] + rows[:, 1:11] + rows[:, 2:12]
    np.testing.assert_allclose(built(inputs, s, x), wanted, rtol=1e-5, atol=1e-5)
    s.undo()
    assert "inline" not in s.script and s["rows"].loops


def test_indices_of_an_inlined_formula() -> None:
    x = te.placeholder((8,), name="x")
    ramp = te.compute((8,), lambda i: x[i] + te.cast(i, "float32"), name="ramp")
    y = te.compute((6,), lambda i: ramp[i + 2] * 2.0, name="y")
    s = te.create_schedule(y)
    s["ramp"].compute_inline()
    data = DRAW.standard_normal(8, np.float32)
    np.testing.assert_allclose(built([x], s, data), (data + np.arange(8))[2:] * 2, rtol=1e-6)


def test_loops_that_are_merged_and_copied() -> None:
    inputs, blur = stencil()
    s = te.create_schedule(blur)
    merged = s["rows"].fuse(*s["rows"].loops)
    s["rows"].vectorize(merged)
    assert "in 0..84, vectorized" in s.explain()
    copy = s.cache_read("rows", "stack", [blur])
    assert copy.name == "rows_cache" and len(copy.loops) == 2
    x = DRAW.standard_normal((9, 12), np.float32)
    rows = x[:7] + x[1:8] + x[2:9]
    wanted = rows[:, :10] + rows[:, 1:11] + rows[:, 2:12]
    np.testing.assert_allclose(built(inputs, s, x), wanted, rtol=1e-5, atol=1e-5)


def test_a_block_of_a_loop_script_is_scheduled_by_its_name() -> None:
    made = te.Schedule(product_by_block.lower())
    assert "C" in made.stages
    i, j, r = made["C"].loops
    assert [loop.name for loop in (i, j, r)] == ["i", "j", "k"]
    i0, i1, i2 = made["C"].split(i, factors=[None, 2, 1])
    made["C"].reorder(j, i0, r, i1, i2)
    made["C"].vectorize(i2)
    again = te.Schedule.replay(product_by_block.lower(), made.script)
    assert str(again.module) == str(made.module)
    x, w = operands(5, 6, 7)
    found: Any = again.module.compile(threads=1)(x, w)
    np.testing.assert_allclose(found, x @ w, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("step", "message", "help"),
    [
        (lambda c, i: c.bind(i, "thread.x"), r"bind\(i\): a CPU has no thread.x", "parallel(i)"),
        (lambda c, i: c.prefetch("B", i, 4), r"prefetch\(B, i, 4\): i does not move along B", "move it"),
        (lambda c, i: c.prefetch("D", i, 4), r"the stage reads no input D of the kernel", "A and B"),
        (lambda c, i: c.storage_align(0, 16), r"storage_align\(C\): C is a result", "cache_write(C)"),
        (lambda c, i: c.annotate(i, "hot"), r"annotate\(i, hot\) of C: no pass reads", "unroll"),
    ],
)
def test_words_of_other_schedulers(step: Callable[[Any, Any], None], message: str, help: str) -> None:
    _, c = product(5, 48, 7)
    s = te.create_schedule(c)
    i, _, _ = s[c].loops
    before = s.script
    with pytest.raises(StepwellError, match=message) as error:
        step(s[c], i)
    assert error.value.code == "illegal-schedule" and help in str(error.value.help) and s.script == before


def test_an_input_that_is_fetched_ahead() -> None:
    inputs, c = product(5, 48, 7)
    s = te.create_schedule(c)
    i, j, r = s[c].loops
    j0, j1 = s[c].split(j, 16)
    s[c].reorder(i, j0, r, j1)
    s[c].vectorize(j1)
    s[c].parallel(i)
    s[c].prefetch("B", r, 3)
    made = te.build(inputs, s, threads=1)
    assert "prefetch" in str(made.kernels["k0"].ir("asm"))
    assert "prefetch" not in str(te.build(inputs, c, threads=1).kernels["k0"].ir("asm"))
    again = te.Schedule.replay(te.lower(inputs, c), s.script)
    assert str(again.module) == str(s.module) and "sched.prefetch = 144" in str(s.module)
    x, w = operands(5, 48, 7)
    found: Any = made(x, w)
    np.testing.assert_allclose(found, x @ w, rtol=1e-5, atol=1e-5)


def test_a_result_past_the_caches() -> None:
    inputs, c = product(5, 48, 7)
    s = te.create_schedule(c)
    i, j, r = s[c].loops
    j0, j1 = s[c].split(j, 16)
    s[c].reorder(i, j0, r, j1)
    s[c].parallel(i, j0)
    s[c].vectorize(j1)
    s[c].stream()
    assert "nontemporal" in str(s.module.clone().to("loops", target="x86-64-v4"))
    x, w = operands(5, 48, 7)
    np.testing.assert_allclose(built(inputs, s, x, w), x @ w, rtol=1e-4, atol=1e-4)
    assert te.Schedule.replay(te.lower(inputs, c), s.script).script == s.script


@pytest.mark.parametrize(("factor", "offset", "width"), [(16, 4, 52), (48, 0, 48), (7, 3, 52)])
def test_rows_with_gaps_in_memory(factor: int, offset: int, width: int) -> None:
    x = te.placeholder((te.var("n"), 48), name="x")
    powers = te.compute(x.shape, lambda i, j: te.exp(x[i, j]), name="powers")
    y = te.compute((48, te.var("n")), lambda j, i: powers[i, j] + 1.0, name="y")
    s = te.create_schedule(y)
    s[powers].vectorize(s[powers].loops[1])
    s[powers].storage_align(0, factor, offset)
    s[y].parallel(s[y].loops[0])
    loops = str(s.module.clone().to("loops", target="x86-64-v3"))
    assert (f"memref<?x{width}xf32> to memref<?x48xf32, strided<[{width}, 1]>>" in loops) == (width > 48)
    data = DRAW.standard_normal((9, 48), np.float32)
    np.testing.assert_allclose(built([x], s, data), np.exp(data).T + 1, rtol=1e-5)
    assert s.exact and te.Schedule.replay(te.lower([x], y), s.script).script == s.script


def test_gaps_of_a_sum_and_of_several_dimensions() -> None:
    inputs, c = product(16, 48, 32)
    s = te.create_schedule(c)
    w = s.cache_write(c)
    w.storage_align(0, 16, 4)
    with pytest.raises(StepwellError, match="cache_read: the rows of C_cache in memory are decided already"):
        s.cache_read("C_cache", "arena", [c])
    i, j, r = w.loops
    w.reorder(i, r, j)
    w.vectorize(j)
    x, y = operands(16, 48, 32)
    np.testing.assert_allclose(built(inputs, s, x, y), x @ y, rtol=1e-4, atol=1e-4)
    assert "storage_align %C_cache axis 0 to 52" in str(s.module.clone().run("schedule-to-script"))


def test_gaps_of_copies_of_three_dimensions() -> None:
    x = te.placeholder((4, 5, 6), name="x")
    s = te.create_schedule(te.compute((6, 5, 4), lambda i, j, k: x[k, j, i] * 2.0, name="t"))
    copy = s.cache_read("x", "arena", ["t"])
    copy.storage_align(1, 8)
    with pytest.raises(StepwellError, match="dimension 0 are multiples of 8, of which none is 3 above"):
        copy.storage_align(0, 16, 3)
    copy.storage_align(0, 32, 16)
    with pytest.raises(StepwellError, match="the stride of dimension 0 is chosen already") as error:
        copy.storage_align(1, 8)
    assert error.value.help == "inner dimensions come first" and "tensor<4x6x8xf32>" in str(s.module)
    data = DRAW.standard_normal((4, 5, 6), np.float32)
    np.testing.assert_array_equal(built([x], s, data), data.T * 2)
