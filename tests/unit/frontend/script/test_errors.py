# ruff: noqa: F821, UP037
# pyright: reportUndefinedVariable=false, reportInvalidTypeForm=false, reportInvalidTypeArguments=false
"""Errors of scripts: the code, the line and caret of the user's text, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepwell import StepwellError
from stepwell.script import Buffer, Out, script

HEAD = 'def f(x: Buffer[8, "f32"], m: Buffer[4, 8, "f32"], k: Buffer[8, "i64"], y: Out[8, "f32"]):\n'
BAD = {
    # The body of the script, the code, the line, a part of the message.
    'for i in open("f"):\n    y[0] = 1.0': ("script-syntax", 2, "no `for` over `open('f')`"),
    "import os": ("script-syntax", 2, "no `import`"),
    "z = lambda a: a": ("script-syntax", 2, "no lambda"),
    "z = [1, 2]": ("script-syntax", 2, "no lists"),
    "y[0] = print(1)": ("script-syntax", 2, "no call `print(…)`"),
    "while True:\n    y[0] = 1.0": ("script-syntax", 2, "a `while` assigns numbers"),
    "for i in range(8):\n    y[i] = q": ("script-syntax", 3, "q is no number that is known here"),
    "for i in range(8):\n    i = 3": ("script-syntax", 2, "i is the index of a loop"),
    "for i in range(8):\n    y[i] = x[i, 0]": ("te-type", 3, "x has 1 dimensions, found 2 indices"),
    "for i in range(8):\n    y[i] = x[i] + k[i]": ("te-type", 3, "operands of one type"),
    "for i in range(8):\n    y[i] = k[i]": ("te-type", 3, "y has elements of float32, found int64"),
    "for i in range(8):\n    y[i] = x[i + 1]": ("te-bounds", 3, "i + 1 is from 1 to 8, the extent is 8"),
    "for i in range(8):\n    y[i - 1] = x[i]": ("te-bounds", 3, "i - 1 is from -1 to 6"),
    "for i in range(8):\n    y[x[i]] = 1.0": ("te-type", 3, "an index is an integer, found float32"),
    "y[0] = 1.0 if x[0] else 2.0": ("te-type", 2, "a condition is a bool, found float32"),
    "for i in parallel(8):\n    y[0] += x[i]": ("script-race", 3, "i = 0 and i = 1 write and read y[0]"),
    "for i in parallel(8):\n    y[k[i]] = x[i]": ("script-race", 3, "may write and use the same element"),
    "for i, j in grid(8, 4):\n    with block('C') as b:\n"
    "        vi, vj = b.axes(spatial(i), spatial(j))\n        y[vi] = m[vj, vi]": (
        *("script-race", 5, "steps of j write the same element of y"),
    ),
    "for i in range(8):\n    with block('C') as b:\n        vi = b.axes(reduce(i))\n        y[vi] = x[vi]": (
        *("script-race", 5, "axis i is declared reduce"),
    ),
    "for i in range(8):\n    with block('C') as b:\n        y[i] = x[i]": (
        *("script-syntax", 4, "a block begins with its axes"),
    ),
    "for i in range(0, 8, 0):\n    y[i] = 1.0": ("script-syntax", 2, "the step of i"),
    "z = x": ("te-type", 2, "x is a tensor, and has one name"),
    "s = 1.0\nfor i in range(8):\n    s = k[i]": ("te-type", 3, "s is"),
    "y[0] = 9 ** 9 ** 9": ("script-syntax", 2, "a power of numbers this large"),
}


@pytest.mark.parametrize("body", BAD)
def test_an_error_names_the_line(body: str) -> None:
    code, line, message = BAD[body]
    text = HEAD + "".join(f"    {each}\n" for each in body.splitlines())
    if body.startswith("s = 1.0"):
        assert "scf.for" in str(script(text).lower(is_raised=False))  # numbers of Python's have a body's type
        return
    with pytest.raises(StepwellError) as error:
        script(text).lower()
    assert error.value.code == code
    assert message in error.value.message
    assert str(error.value.where).startswith(f"<script>:{line}:")


def test_a_function_has_the_place_of_its_file() -> None:
    @script
    def wrong(x: Buffer[8, "f32"], y: Out[8, "f32"]):
        for i in range(8):
            y[i] = x[i + 1]

    with pytest.raises(StepwellError) as error:
        wrong.lower()
    place = str(error.value.where)
    assert __file__ in place
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    assert lines[int(place.split(":")[1]) - 1].strip() == "y[i] = x[i + 1]"
    assert error.value.excerpt[1].strip() == "^"


def test_emulation_refuses_indices_outside() -> None:
    @script
    def shifted(x: Buffer[8, "f32"], y: Out[8, "f32"]):
        for i in range(8):
            if i < 9:
                y[i] = x[i - 1]

    with pytest.raises(StepwellError, match="index -1 along dimension 0") as error:
        shifted(np.zeros(8, np.float32))
    assert error.value.code == "script-bounds"
    assert __file__ in str(error.value.where)
    x = np.arange(8, dtype=np.float32)
    compiled: Any = shifted.compile(threads=1)(x)
    np.testing.assert_array_equal(compiled, [0, 0, 1, 2, 3, 4, 5, 6])


def test_inputs_are_those_of_the_signature() -> None:
    text = 'def f(x: Buffer["N", "f32"], y: Out["N", "f32"]):\n    y[0] = 1.0 if x.shape[0] > 3 else 2.0\n'
    with pytest.raises(StepwellError) as error:
        script(text).lower()
    assert error.value.code == "te-bounds"
    with pytest.raises(StepwellError, match="found 0"):

        @script
        def g(x: Buffer["N", "f32"], y: Out["N", "f32"]):
            pass

        g()


def test_no_text_is_executed() -> None:
    with pytest.raises(StepwellError, match="functions and imports"):
        script('open("f")\ndef f(y: Out[1, "f32"]):\n    pass\n')
    with pytest.raises(StepwellError, match="no Python"):
        script("def f(:\n")
