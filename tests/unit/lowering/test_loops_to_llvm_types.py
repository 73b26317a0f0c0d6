"""Elements of every type in machine code: arithmetic, rounding, divisions, conversions."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.support.native_code import RUNNABLE, Native, kernel

RNG = np.random.default_rng(7)


def copy_through(element: str, compute: str, lanes: int | None) -> str:
    """Load elements, compute on them, store them; in vectors when `lanes` is a number."""
    memref = f"memref<?x{element}>"
    type = element if lanes is None else f"vector<{lanes}x{element}>"
    load = f"memref.load %x[%i] : {memref}" if lanes is None else f"vector.load %x[%i] : {memref}, {type}"
    store = (
        f"memref.store %r, %out[%i] : {memref}"
        if lanes is None
        else f"vector.store %r, %out[%i] : {memref}, {type}"
    )
    return kernel(
        "N",
        {"x": f"{element}[N]", "out": f"{element}[N]"},
        f"""
  %step = arith.constant {lanes or 1} : index
  scf.for %i = %c0 to %N step %step {{
    %v = {load}
    {compute.replace("TYPE", type)}
    {store}
  }}""",
    )


SUM = "%r = arith.addf %v, %v : TYPE"
ROOT = "%n = arith.mulf %v, %v : TYPE\n%r = math.sqrt %n : TYPE"


@pytest.mark.sample(3)
@pytest.mark.parametrize("mcpu", RUNNABLE)
@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize(
    ("element", "dtype", "compute"),
    [
        ("f64", np.float64, ROOT),
        ("f16", np.float16, SUM),
        ("f16", np.float16, ROOT),
        ("bf16", ml_dtypes.bfloat16, SUM),
        ("bf16", ml_dtypes.bfloat16, ROOT),
        ("i8", np.int8, "%r = arith.addi %v, %v : TYPE"),
        ("i64", np.int64, "%r = arith.muli %v, %v : TYPE"),
    ],
)
def test_elements_of_every_type(
    mcpu: str, lanes: int | None, element: str, dtype: type, compute: str
) -> None:
    x = (RNG.standard_normal(64) * 50).astype(dtype)
    if np.dtype(dtype).kind != "i":
        x[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-7]
    out = np.zeros_like(x)
    assert Native(copy_through(element, compute, lanes), mcpu)("k", [x, out], [64]) == 0
    with np.errstate(all="ignore"):
        if "addf" in compute:
            expected = (x.astype(np.float32) * 2).astype(dtype)
        elif "sqrt" in compute:
            wide = np.float64 if dtype is np.float64 else np.float32
            square = (x.astype(wide) ** 2).astype(dtype)
            expected = np.sqrt(square.astype(wide)).astype(dtype)
        else:
            expected = (x + x if "addi" in compute else x * x).astype(dtype)
    defined = ~np.isnan(expected.astype(float))
    bits = f"u{out.itemsize}"
    np.testing.assert_array_equal(out.view(bits)[defined], expected.view(bits)[defined])
    assert np.isnan(out.astype(float)[~defined]).all()


@pytest.mark.parametrize("lanes", [None, 16])
def test_booleans_are_bytes(lanes: int | None) -> None:
    one = "true" if lanes is None else "dense<true> : TYPE"
    compute = f"%one = arith.constant {one}\n%r = arith.xori %v, %one : TYPE"
    x = RNG.integers(0, 2, 64).astype(bool)
    out = np.zeros(64, bool)
    assert Native(copy_through("i1", compute, lanes))("k", [x, out], [64]) == 0
    np.testing.assert_array_equal(out, ~x)


@pytest.mark.parametrize("mcpu", RUNNABLE)
@pytest.mark.parametrize(("name", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_rounding_to_half_is_to_nearest_even(mcpu: str, name: str, dtype: type) -> None:
    text = kernel(
        "N",
        {"x": "f32[N]", "h": f"{name}[N]", "y": "f32[N]"},
        f"""
  %step = arith.constant 8 : index
  scf.for %i = %c0 to %N step %step {{
    %v = vector.load %x[%i] : memref<?xf32>, vector<8xf32>
    %t = arith.truncf %v : vector<8xf32> to vector<8x{name}>
    vector.store %t, %h[%i] : memref<?x{name}>, vector<8x{name}>
    %w = arith.extf %t : vector<8x{name}> to vector<8xf32>
    vector.store %w, %y[%i] : memref<?xf32>, vector<8xf32>
  }}""",
    )
    bits = np.arange(0, 1 << 32, 65521, dtype=np.uint64).astype(np.uint32)
    ties = (np.arange(1 << 14, dtype=np.uint32) << 17) | np.uint32(0x8000)
    halves = np.arange(1 << 16, dtype=np.uint16).view(dtype).astype(np.float32)
    x = np.concatenate([bits.view(np.float32), ties.view(np.float32), halves])
    x = np.ascontiguousarray(x[: len(x) // 8 * 8])
    h, y = np.zeros(len(x), dtype), np.zeros_like(x)
    assert Native(text, mcpu)("k", [x, h, y], [len(x)]) == 0
    with np.errstate(all="ignore"):
        expected = x.astype(dtype)
    defined = ~np.isnan(x)
    np.testing.assert_array_equal(h.view(np.uint16)[defined], expected.view(np.uint16)[defined])
    assert np.isnan(h.astype(np.float32)[~defined]).all() and np.isnan(y[~defined]).all()
    np.testing.assert_array_equal(y[defined], expected.astype(np.float32)[defined])


DIVISIONS = kernel(
    "N",
    {"a": "index[N]", "b": "index[N]", "out": "index[3, N]"},
    """
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %N step %c1 {
    %x = memref.load %a[%i] : memref<?xindex>
    %y = memref.load %b[%i] : memref<?xindex>
    %f = arith.floordivsi %x, %y : index
    %c = arith.ceildivsi %x, %y : index
    %e = arith.ceildivsi %x, %c8 : index
    memref.store %f, %out[%c0, %i] : memref<3x?xindex>
    memref.store %c, %out[%c1, %i] : memref<3x?xindex>
    memref.store %e, %out[%c2, %i] : memref<3x?xindex>
  }""",
)


def test_divisions_round_as_they_say() -> None:
    a = np.arange(-40, 41, dtype=np.int64).repeat(4)
    b = np.tile(np.array([3, -3, 8, -8], np.int64), 81)
    out = np.zeros((3, len(a)), np.int64)
    assert Native(DIVISIONS)("k", [a, b, out], [len(a)]) == 0
    np.testing.assert_array_equal(out, [a // b, -(-a // b), -(-a // 8)])


@pytest.mark.parametrize("mcpu", RUNNABLE)
@pytest.mark.parametrize("bits", [8, 32, 64])
def test_conversions_to_integers_saturate(bits: int, mcpu: str) -> None:
    text = copy_through("f32", "%j = arith.fptosi %v : TYPE to TO\n%r = arith.sitofp %j : TO to TYPE", 8)
    beyond = 2.0 ** (bits - 1)
    limits = [beyond, beyond * (1 - 2**-24), -beyond, -beyond * 1.5, 1e30, -1e30, np.inf, -np.inf, np.nan]
    x = np.array([*limits, 0.5, -1.5, 99.9, -99.9, 1e-45, -0.0, 126.5], np.float32)
    out = np.zeros_like(x)
    native = Native(text.replace("TO", f"vector<8xi{bits}>"), mcpu)
    assert native("k", [x, out], [len(x)]) == 0
    exact = np.clip(np.trunc(np.nan_to_num(x.astype(np.float64), nan=0)), -beyond, beyond - 1)
    np.testing.assert_array_equal(out, exact.astype(np.float32))


@pytest.mark.parametrize("mcpu", RUNNABLE)
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32])
def test_vectors_of_integers_are_divided_exactly(dtype: type[np.integer], mcpu: str) -> None:
    info, type = np.iinfo(dtype), f"i{np.dtype(dtype).itemsize * 8}"
    sign = "s" if info.min else "u"
    rng = np.random.default_rng(0)
    # All pairs of what lies at the limits, then numbers of all sizes, then small divisors.
    edge = np.array([info.max, info.max - 1, info.min, info.min + 1, 1, 2, 3, 7, info.max // 2], dtype)
    a = np.concatenate([edge.repeat(len(edge)), rng.integers(info.min, info.max, 4015, dtype)])
    b = np.concatenate([np.tile(edge, len(edge)), rng.integers(info.min, info.max, 4015, dtype)])
    b[-2000:] = rng.integers(1, 9, 2000)
    ordinary = (b != 0) & ((b.astype(np.int64) != -1) | (info.min == 0))
    b[~ordinary] = 1
    out = np.zeros((2, len(a)), dtype)
    text = kernel(
        "N",
        {"a": f"{type}[N]", "b": f"{type}[N]", "out": f"{type}[2, N]"},
        f"""
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %N step %c8 {{
    %v = vector.load %a[%i] : memref<?x{type}>, vector<8x{type}>
    %w = vector.load %b[%i] : memref<?x{type}>, vector<8x{type}>
    %q = arith.div{sign}i %v, %w : vector<8x{type}>
    %r = arith.rem{sign}i %v, %w : vector<8x{type}>
    vector.store %q, %out[%c0, %i] : memref<2x?x{type}>, vector<8x{type}>
    vector.store %r, %out[%c1, %i] : memref<2x?x{type}>, vector<8x{type}>
  }}""",
    )
    assert Native(text, mcpu)("k", [a, b, out], [len(a)]) == 0
    exact = np.trunc(a.astype(np.float64) / b.astype(np.float64)).astype(np.int64)
    np.testing.assert_array_equal(out[0], exact.astype(dtype))
    np.testing.assert_array_equal(out[1], (a.astype(np.int64) - exact * b.astype(np.int64)).astype(dtype))


@pytest.mark.parametrize("lanes", [9, 17, 24])
def test_lanes_of_bf16_that_llvm_cannot_have(lanes: int) -> None:
    """Taken apart, put together, compared with a constant and carried by a loop, each of which ended LLVM."""
    type, memref = f"vector<{lanes}xbf16>", "memref<?xbf16>"
    text = kernel(
        "N",
        {"x": "bf16[N]", "out": "bf16[N]"},
        f"""
  %zero = arith.constant dense<0.0> : {type}
  %last = arith.subi %N, %c1 : index
  %v = vector.load %x[%c0] : {memref}, {type}
  %first = vector.extract %v[0] : bf16 from {type}
  %moved = vector.insert %first, %v [1] : bf16 into {type}
  %end = vector.extract %moved[%last] : bf16 from {type}
  %placed = vector.insert %end, %moved [%c0] : bf16 into {type}
  %low = arith.cmpf olt, %placed, %zero : {type}
  %high = arith.select %low, %zero, %placed : vector<{lanes}xi1>, {type}
  %sum = scf.for %i = %c0 to %N step %c1 iter_args(%carried = %zero) -> ({type}) {{
    %next = arith.addf %carried, %high : {type}
    scf.yield %next : {type}
  }}
  vector.store %sum, %out[%c0] : {memref}, {type}""",
    )
    x = RNG.integers(-3, 4, lanes).astype(ml_dtypes.bfloat16)
    x[0], x[-1] = 2, 3
    out = np.zeros_like(x)
    assert Native(text)("k", [x, out], [lanes]) == 0
    expected = x.astype(np.float32)
    expected[1], expected[0] = expected[0], expected[-1]
    np.testing.assert_array_equal(out.astype(np.float32), np.maximum(expected, 0) * lanes)
