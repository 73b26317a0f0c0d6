# ruff: noqa: F821, UP037
# pyright: reportUndefinedVariable=false, reportInvalidTypeForm=false, reportInvalidTypeArguments=false
"""Loop scripts: emulated, interpreted and compiled, with the same results; texts that come back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from stepwell import StepwellError
from stepwell.frontend.script.write import scripts_text
from stepwell.script import Buffer, Out, Script, parallel, script
from tests.unit.frontend.script.kernels import (
    backwards,
    best,
    collatz,
    counts,
    fan,
    gathered,
    outer,
    prefix,
    product,
    product_by_block,
    product_by_words,
    softmax,
    stencil,
    triangle,
    twice,
)

Array = npt.NDArray[Any]
DRAW = np.random.default_rng(3)


def drawn(*shape: int) -> Array:
    return DRAW.standard_normal(shape, dtype=np.float32)


X = drawn(5, 9)
CASES: dict[str, tuple[Script, tuple[Array, ...], int]] = {
    # The script, its inputs, and the number of loops that stay.
    "product": (product, (drawn(5, 7), drawn(7, 6)), 0),
    "block": (product_by_block, (drawn(5, 7), drawn(7, 6)), 0),
    "words": (product_by_words, (drawn(5, 7), drawn(7, 8)), 0),
    "softmax": (softmax, (X,), 0),
    "outer": (outer, (drawn(4), drawn(3)), 0),
    "fan": (fan, (drawn(6),), 0),
    "collatz": (collatz, (np.arange(1, 10),), 1),
    "prefix": (prefix, (drawn(6, 3),), 3),
    "stencil": (stencil, (drawn(6, 8),), 0),
    "gathered": (gathered, (drawn(6), np.array([5, -1, 6, 0], np.int32)), 1),
    "counts": (counts, (DRAW.integers(0, 9, 12),), 1),
    "best": (best, (drawn(4, 8),), 0),
    "calls": (twice, (drawn(6),), 0),
    "backwards": (backwards, (DRAW.standard_normal(7),), 1),
    "triangle": (triangle, (drawn(5, 5),), 2),
}


def listed(results: object) -> list[Array]:
    return list(results) if isinstance(results, list | tuple) else [np.asarray(results)]


def expect_equal(found: object, wanted: object) -> None:
    for a, b in zip(listed(found), listed(wanted), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CASES)
def test_emulation_interpreter_and_code_agree(name: str) -> None:
    made, arrays, loops = CASES[name]
    wanted = made(*arrays)
    written = made.lower(is_raised=False)
    expect_equal(written.interpret(*arrays), wanted)
    raised = made.lower()
    assert str(raised).count("scf.for") == loops
    expect_equal(raised.interpret(*arrays), wanted)
    expect_equal(raised.compile(threads=1)(*arrays), wanted)


@pytest.mark.parametrize("name", CASES)
def test_a_text_is_the_same_script(name: str) -> None:
    made, arrays, _ = CASES[name]
    again = script(made.text())
    assert again.text() == made.text()
    assert str(again.lower(is_raised=False)) == str(made.lower(is_raised=False))
    if name in ("block", "best"):
        expect_equal(again(*arrays), made(*arrays))


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("collatz", "counts")])
def test_a_kernel_is_written_as_a_script(name: str) -> None:
    made, arrays, _ = CASES[name]
    for is_raised in (False, True):
        text = scripts_text(made.lower(is_raised=is_raised).op)
        again = script(text).lower(is_raised=is_raised)
        expect_equal(again.interpret(*arrays), made(*arrays))
        if is_raised and name in (
            "product",
            "block",
            "words",
            "softmax",
            "outer",
            "stencil",
            "best",
            "calls",
        ):
            assert scripts_text(again.op) == text


def test_an_op_without_a_word_is_named() -> None:
    with pytest.raises(StepwellError, match="a script has no word for vector"):
        scripts_text(product.ir("vector").op)


def test_meanings_against_numpy() -> None:
    powers = np.exp(X - X.max(1, keepdims=True))
    np.testing.assert_allclose(softmax(X), powers / powers.sum(1, keepdims=True), rtol=1e-5)
    a, b = CASES["product"][1]
    np.testing.assert_allclose(product(a, b), a @ b, rtol=1e-5, atol=1e-6)
    x = CASES["prefix"][1][0]
    np.testing.assert_allclose(prefix(x), np.cumsum(x, 0), rtol=1e-5)
    y = CASES["best"][1][0]
    value, at = best(y)
    np.testing.assert_array_equal(value, y.max(1))
    np.testing.assert_array_equal(at, y.argmax(1))


@pytest.mark.parametrize("length", [0, 1, 40])
def test_sizes_are_open(length: int) -> None:
    compiled = outer.compile(threads=1)
    x, y = drawn(length), drawn(3)
    np.testing.assert_array_equal(compiled(x, y), np.outer(x, y))


def test_words_are_the_schedule_of_an_op() -> None:
    text = str(product_by_words.ir("linalg"))
    assert any(word.startswith("ret") for word in product_by_words.ir("asm").split())
    assert "sched.schedule<tile = [1, 1, 0], parallel = [0], vectorize = 2>" in text


def test_random_orders_show_races() -> None:
    @script
    def racing(x: Buffer[40, "i64"], y: Out[40, "i64"]):
        for i in parallel(39):
            y[i + 1] = y[i] + x[i]

    x = np.arange(40)
    assert not np.array_equal(racing.emulate(x), racing.emulate(x, order="random"))
    y = drawn(5, 9)
    np.testing.assert_array_equal(softmax.emulate(y), softmax.emulate(y, order="random", seed=2))


TWO = np.float64(2)


@script
def numbers(x: Buffer[5, "f32"], y: Out[5, "f32"]):
    for i in range(5):
        y[i] = x[i] * TWO + np.float64(2) * x[i] - np.int64(1) + x[i] * np.float32(3)


def test_numbers_of_numpy_in_both_orders() -> None:
    x = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(numbers(x), x * 7 - 1)
    np.testing.assert_array_equal(numbers.compile(threads=1)(x), x * 7 - 1)


def test_types_of_numpy_are_of_numbers() -> None:
    @script
    def converted(x: Buffer[5, "f32"], y: Out[5, "f64"]):
        for i in range(5):
            y[i] = np.float64(x[i])

    with pytest.raises(StepwellError, match=r"np.float64 is of numbers, found `x\[i\]`") as error:
        converted.compile()
    assert error.value.code == "te-type" and error.value.help == 'cast(x[i], "float64")'
