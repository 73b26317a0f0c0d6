"""Loops of PTX without end: a bound on iterations, and Ctrl-C."""

import numpy as np
import pytest

from tests.support.interrupts import interrupted_after
from tests.unit.lowering.ptx.test_instructions import F32, refused, run

NESTED = """mov.u32 %r1, 0;
$outer:
mov.u32 %r2, 0;
$inner:
add.u32 %r2, %r2, 1;
setp.lt.u32 %p1, %r2, {inner};
@%p1 bra $inner;
add.u32 %r1, %r1, 1;
setp.lt.u32 %p2, %r1, {outer};
@%p2 bra $outer;
st.global.b32 [%a], %r1;"""
"""Two loops with numbers of iterations; up to 0xffffffff they go on for hours."""


@pytest.mark.parametrize(("inner", "outer", "line"), [(9, 0xFFFFFFFF, 23), (0xFFFFFFFF, 9, 20)])
def test_loops_without_end(monkeypatch: pytest.MonkeyPatch, inner: int, outer: int, line: int) -> None:
    monkeypatch.setenv("STEPWELL_ITERATIONS", "100")
    error = refused(NESTED.format(inner=inner, outer=outer), np.zeros((2, 2), F32))
    assert error.code == "endless-kernel"
    assert (
        error.message
        == f"the loop that ends with bra at line {line} of @k still goes on after 100 iterations"
    )


def test_the_bound_of_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = np.zeros((2, 2), F32)
    text = NESTED.format(inner=9, outer=9)
    run(text, cells)
    assert cells.view(np.uint32)[0, 0] == 9
    monkeypatch.setenv("STEPWELL_ITERATIONS", "80")  # 9 times 8 ways back, and 8 of the outer loop
    run(text, cells)
    monkeypatch.setenv("STEPWELL_ITERATIONS", "79")
    assert refused(text, cells).code == "endless-kernel"
    for value in ("0", "-1", "many"):
        monkeypatch.setenv("STEPWELL_ITERATIONS", value)
        assert f"STEPWELL_ITERATIONS must be a number of iterations, found {value!r}" in str(
            refused(text, cells)
        )


def test_an_interrupt_ends_a_loop() -> None:
    with pytest.raises(KeyboardInterrupt), interrupted_after(0.05):
        run(NESTED.format(inner=0xFFFFFFFF, outer=9), np.zeros((2, 2), F32))
