"""
Elementwise graph ops: type relations against meanings, meanings against their edges, lowering against both.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects import graph
from stepwell.dialects.constants import inline_attr
from stepwell.dialects.graph.binary import BinaryOp
from stepwell.dialects.graph.elementwise import UnaryOp
from stepwell.dialects.types import dims_of, element_of
from stepwell.runtime.errors import StepwellError
from tests.graph_ops import run, value
from tests.kernels import (
    ALL,
    FLOATS,
    INTEGERS,
    SMALL,
    SMALL_FLOATS,
    SMALL_INTEGERS,
    expect_lowering,
    kernel,
    lowered,
    numbers,
)

UNARY: list[type[UnaryOp]] = [
    op for op in graph.OPS if issubclass(op, UnaryOp) and op not in (graph.CastOp, graph.BitcastOp)
]
BINARY: list[type[BinaryOp]] = [op for op in graph.OPS if issubclass(op, BinaryOp)]
NUMBERS = [*FLOATS, *INTEGERS]


def cases(ops: list[Any]) -> list[Any]:
    """Each op with each element type that it takes."""
    return [
        pytest.param(op, dtype, id=f"{op.name}-{dtype}")
        for op in ops
        for dtype in ALL
        if op.DOMAIN.holds(element_of(dtype))
    ]


@pytest.mark.sample(3)
@pytest.mark.parametrize(("op", "dtype"), cases(UNARY))
def test_unary(op: type[UnaryOp], dtype: np.dtype[Any]) -> None:
    x = numbers(dtype, 4, 6)
    run(op(value(x)), x)
    expect_lowering(op, [x])


@pytest.mark.sample(6)
@pytest.mark.parametrize(("op", "dtype"), cases([o for o in BINARY if o is not graph.PowerOp]))
def test_binary(op: type[BinaryOp], dtype: np.dtype[Any]) -> None:
    for left, right in (((4, 6), (6,)), ((4, 1), (1, 6)), ((), (2, 3))):
        x, y = numbers(dtype, *left), numbers(dtype, *right, seed=1)
        run(op(value(x), value(y)), x, y)
        expect_lowering(op, [x, y])


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_attributes_change_the_result(dtype: np.dtype[Any]) -> None:
    x, y = numbers(dtype, 4, 6), numbers(dtype, 6, seed=1)
    expect_lowering(lambda a, b: graph.RemainderOp(a, b, "trunc"), [x, y])
    if dtype in FLOATS:
        expect_lowering(lambda a: graph.GeluOp(a, "tanh"), [x])
        expect_lowering(lambda a: graph.LeakyReluOp(a, 0.3), [x])
        expect_lowering(lambda a: graph.EluOp(a, 0.3), [x])
        expect_lowering(lambda a: graph.SiluOp(a, 1.702), [x])
        expect_lowering(lambda a: graph.IsInfOp(a, positive=False), [x])
        expect_lowering(lambda a: graph.IsInfOp(a, negative=False), [x])


@pytest.mark.parametrize("base", NUMBERS, ids=str)
@pytest.mark.parametrize("exponent", [np.int64, np.uint8, np.float32])
def test_power(base: np.dtype[Any], exponent: type[np.generic]) -> None:
    x = numbers(base, 4, 6, special=base in INTEGERS)
    y = np.random.default_rng(2).integers(0 if exponent is np.uint8 else -5, 6, (4, 6)).astype(exponent)
    run(graph.PowerOp(value(x), value(y)), x, y)
    expect_lowering(graph.PowerOp, [x, y])


@pytest.mark.parametrize("exponent", [1.0, 2.0, 3.0, 0.5, -1.5])
def test_power_of_a_constant_exponent(exponent: float) -> None:
    def build(x: Any) -> list[Any]:
        number = graph.ConstantOp(inline_attr(np.array(exponent, np.float32)))
        return [number, graph.PowerOp(x, number.result)]

    expect_lowering(build, [numbers(np.float32, 4, 6)])


@pytest.mark.sample(6)
@pytest.mark.parametrize("source", ALL, ids=str)
@pytest.mark.parametrize("target", ALL, ids=str)
def test_cast(source: np.dtype[Any], target: np.dtype[Any]) -> None:
    x = numbers(source, 4, 8)
    if source in FLOATS:
        edges = [300.7, 3e9, -1.5, 1e30, -1e30, 1.8e19, -129.9, 65535.5]
        with np.errstate(over="ignore"):
            x.reshape(-1)[:8] = np.array(edges).astype(source)
    run(graph.CastOp(value(x), element_of(target)), x)
    expect_lowering(lambda a: graph.CastOp(a, element_of(target)), [x])


def codes_of(small: np.dtype[Any]) -> Any:
    """Every value of a type of a byte or less."""
    bits = {"float4_e2m1fn": 4, "float6_e2m3fn": 6, "float6_e3m2fn": 6}.get(str(small), 8)
    bits = int(str(small)[-1]) if small in SMALL_INTEGERS else bits
    return np.arange(1 << bits, dtype=np.uint8).view(small)


@pytest.mark.sample(3)
@pytest.mark.parametrize("small", SMALL, ids=str)
def test_cast_of_small_types(small: np.dtype[Any]) -> None:
    codes = codes_of(small)
    for other in (np.float16, np.float32, np.float64, np.int32, np.uint8, np.bool_):
        run(graph.CastOp(value(codes), element_of(other)), codes)
        expect_lowering(partial(graph.CastOp, to=element_of(other)), [codes])
    for other in (np.int32, np.uint8, np.bool_):
        expect_lowering(partial(graph.CastOp, to=element_of(small)), [numbers(other, 64)])


@pytest.mark.parametrize("small", SMALL_FLOATS, ids=str)
@pytest.mark.parametrize("saturate", [True, False])
def test_cast_rounds_to_small_floats(small: np.dtype[Any], saturate: bool) -> None:
    """Numbers of all sizes, the ones half way between two codes and their neighbours among them."""
    finite = codes_of(small).astype(np.float32)
    finite = np.unique(finite[np.isfinite(finite)])
    middles = (finite[1:] + finite[:-1]) / 2
    largest = np.abs(finite).max()
    with np.errstate(over="ignore"):
        beyond = largest * np.array([1.03, 1.04, 1.1, 4, -1.1], np.float32)
    extremes = np.array([np.inf, -np.inf, 1e30, -1e30, 1e-30, -1e-30, 1e-44, 0.0, -0.0], np.float32)
    parts = [finite, middles, np.nextafter(middles, np.inf), np.nextafter(middles, -np.inf), beyond, extremes]
    x = np.concatenate([part.astype(np.float32) for part in parts])
    for round in ("nearest", "up", "down") if "e8m0" in str(small) else ("nearest",):
        build = partial(graph.CastOp, to=element_of(small), saturate=saturate, round=round)
        run(build(value(x)), x)
        expect_lowering(build, [x])


def test_moved_elements_stay_as_they_are() -> None:
    """NaN of every form, too: where nothing is computed, nothing is converted."""
    codes = codes_of(np.dtype(ml_dtypes.float8_e5m2))
    expect_lowering(graph.WhereOp, [np.array([True]), codes, codes[:1]])
    expect_lowering(partial(graph.BitcastOp, to=element_of(np.uint8)), [codes])


def test_casts_at_the_edges() -> None:
    x = np.array([300.7, 3e9, -1.5, np.nan], np.float32)

    def cast(dtype: type[np.generic]) -> list[Any]:
        return run(graph.CastOp(value(x), element_of(dtype)), x)[0].tolist()

    assert cast(np.uint8) == [44, 255, 255, 0]
    assert cast(np.int32) == [300, 2**31 - 1, -1, 0]
    assert cast(np.uint32) == [300, 3000000000, 2**32 - 1, 0]
    assert cast(np.bool_) == [True, True, True, True]


@pytest.mark.parametrize(
    ("source", "target"), [("f4", "i4"), ("f2", "i2"), ("i1", "u1"), ("?", "u1"), ("f8", "u8")]
)
def test_bitcast(source: str, target: str) -> None:
    x = numbers(source, 4, 6)
    run(graph.BitcastOp(value(x), element_of(target)), x)
    expect_lowering(lambda a: graph.BitcastOp(a, element_of(target)), [x])


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_clip_and_where(dtype: np.dtype[Any]) -> None:
    x, lo, hi = numbers(dtype, 4, 6), np.array(3, dtype), np.array(1, dtype)
    run(graph.ClipOp(value(x), value(lo), value(hi)), x, lo, hi)
    expect_lowering(graph.ClipOp, [x, lo, hi])
    expect_lowering(lambda a, b: graph.ClipOp(a, None, b), [x, hi])
    condition = numbers(np.bool_, 4, 1)
    run(graph.WhereOp(value(condition), value(x), value(lo)), condition, x, lo)
    expect_lowering(graph.WhereOp, [condition, x, lo])


def test_integers_at_their_edges() -> None:
    a = np.array([7, -7, 7, -7, -128, 5], np.int8)
    b = np.array([2, 2, -2, -2, -1, 0], np.int8)
    assert run(graph.DivideOp(value(a), value(b)), a, b)[0].tolist() == [3, -3, -3, 3, -128, 0]
    assert run(graph.RemainderOp(value(a), value(b)), a, b)[0].tolist() == [1, 1, -1, -1, 0, 0]
    shift = np.array([1, 8, -1, 7, 0, 100], np.int8)
    assert run(graph.ShiftRightOp(value(a), value(shift)), a, shift)[0].tolist() == [3, -1, 0, -1, -128, 0]


@given(mutually_broadcastable_shapes(num_shapes=3, max_side=4, max_dims=4), st.data())
def test_broadcasting(shapes: Any, data: st.DataObject) -> None:
    """
    The type relation gives numpy's shape, also for shapes with symbols; where it cannot know, it says so.
    """
    condition, x, y = (np.zeros(shape, d) for shape, d in zip(shapes.input_shapes, "?ff", strict=True))
    arrays = (condition, x, y)
    symbols = {f"s{size}": size for size in range(5)}

    def named(shape: tuple[int, ...]) -> list[int | str]:
        return [f"s{n}" if n != 1 and data.draw(st.booleans()) else n for n in shape]

    op = graph.WhereOp(*(value(a, named(a.shape)) for a in arrays))
    run(op, *arrays, symbols=symbols)


def test_broadcasting_with_symbols() -> None:
    def shape(lhs: list[int | str], rhs: list[int | str]) -> list[str]:
        one = np.zeros(1, np.float32)
        op = graph.AddOp(value(one, lhs), value(one, rhs))
        return [str(dim) for dim in dims_of(op.result.type)]

    assert shape(["N", 4], [4]) == ["N", "4"]
    assert shape(["N", 1], ["N", "S"]) == ["N", "S"]
    assert shape(["N"], [3]) == ["3"]
    assert shape(["N"], ["M"]) == ["?"]
    with pytest.raises(VerifyException, match=r"shapes \(2, 3\) and \(2\) do not broadcast: 3 against 2"):
        shape([2, 3], [2])


def test_a_dimension_that_may_be_one_is_refused() -> None:
    x = np.zeros((3, 4), np.float32)
    module = kernel(graph.AddOp, [x, x], [["N", 4], [3, 4]])
    with pytest.raises(StepwellError, match="dimension N of .N, 4. may be 1 or 3 at run time"):
        lowered(module)


def test_symbols_become_arguments() -> None:
    x, y = numbers(np.float32, 3, 4, special=False), numbers(np.float32, 4, special=False)
    expect_lowering(graph.AddOp, [x, y], [["N", "S"], ["S"]])
