"""Ops by their names in scripts: emulated, compiled, printed, refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stepwell import StepwellError
from stepwell.script import op, script
from tests.unit.frontend.script.angles import angles

DRAW = np.random.default_rng(9)


def test_emulation_interpreter_and_text_agree() -> None:
    y, x = DRAW.standard_normal((2, 9)).astype(np.float32)
    wanted = np.arctan2(y, x) + np.copysign(np.float32(1), x)
    np.testing.assert_allclose(angles(y, x), wanted, rtol=1e-6)
    lowered: Any = angles.lower().interpret(y, x)
    np.testing.assert_allclose(lowered[0], wanted, rtol=1e-6)
    again = script(angles.text())
    assert "op('math.atan2'" in angles.text() and str(again.ir()) == str(angles.ir())
    np.testing.assert_allclose(again(y, x), wanted, rtol=1e-6)


def test_native_code() -> None:
    bits = script("""
def bits(x: Buffer[6, "i32"], y: Out[6, "i32"]):
    for i in range(6):
        y[i] = op("arith.xori", x[i], op("arith.shrui", x[i], 3))
""")
    x = DRAW.integers(-100, 100, 6).astype(np.int32)
    wanted = x ^ (x.view(np.uint32) >> 3).view(np.int32)
    found: Any = bits.compile(threads=1)(x)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(bits(x), wanted)


def test_kernels_of_such_ops_are_written() -> None:
    from stepwell.frontend.script.write import scripts_text

    assert 'op("math.atan2"' in scripts_text(angles.lower().op)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ('op("math.atan3", x[i], x[i])', "no op is named 'math.atan3'"),
        ('op("tensor.extract", x[i])', "no op is named 'tensor.extract'"),
        ('op("math.atan2", x[i])', "math.atan2 does not take 1 numbers of float32"),
        ('op("arith.xori", x[i], x[i])', "arith.xori does not take 2 numbers of float32"),
        ('op("math.atan2", x[i], i)', "math.atan2 takes numbers of one type, found float32, int64"),
        ("op(x[i])", "op has a name and numbers"),
        ("op()", "op has a name and numbers"),
    ],
)
def test_ops_that_are_none(call: str, reason: str) -> None:
    text = f"""
def f(x: Buffer[4, "f32"], y: Out[4, "f32"]):
    for i in range(4):
        y[i] = {call}
"""
    with pytest.raises(StepwellError) as error:
        script(text).lower()
    assert error.value.code == "script-syntax" and reason in error.value.message
    assert "4:" in error.value.where


def test_an_op_outside_of_a_script() -> None:
    with pytest.raises(StepwellError, match="is computed within a script"):
        op("math.atan2", 1.0, 2.0)
