"""Elementary functions: their error over all of f32, and what they give for special values."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.native_code import RUNNABLE, Native, kernel
from tests.support.numbers.elementary import FUNCTIONS, Floats, check, errors_in_ulp, samples


def unary(function: str, type: str, lanes: int | None, attributes: str = "") -> str:
    """A kernel that applies a function of `math` to all elements."""
    register = type if lanes is None else f"vector<{lanes}x{type}>"
    op = "memref." if lanes is None else "vector."
    of = "" if lanes is None else f", {register}"
    return kernel(
        "N",
        {"x": f"{type}[N]", "y": f"{type}[N]"},
        f"""
  %step = arith.constant {lanes or 1} : index
  scf.for %i = %c0 to %N step %step {{
    %v = {op}load %x[%i] : memref<?x{type}>{of}
    %r = math.{function} %v {attributes}: {register}
    {op}store %r, %y[%i] : memref<?x{type}>{of}
  }}""",
    )


@pytest.mark.sample(6)
@pytest.mark.parametrize("mcpu", RUNNABLE)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_error_over_all_of_f32(function: str, mcpu: str) -> None:
    compiled = Native(unary(function, "f32", 16), mcpu)
    check_errors(function, compiled, samples())


@pytest.mark.sample(3)
@pytest.mark.parametrize("mcpu", RUNNABLE)
@pytest.mark.parametrize("least, limit", [(-20, 1.5), (-110, 4.6)])
def test_error_of_exp_not_positive(least: float, limit: float, mcpu: str) -> None:
    x = np.linspace(least, 0, 1 << 20, dtype=np.float32)
    x[1:4] = np.nan, -np.inf if least < -100 else -0.0, 0.0
    compiled, y = Native(unary("exp", "f32", 16, "{sched.not_positive} "), mcpu), np.zeros_like(x)
    assert compiled("k", [x, y], [len(x)]) == 0
    assert errors_in_ulp(y, np.exp(x.astype(np.float64))).max() <= limit


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
def test_error_for_every_f32(function: str) -> None:
    """All 2^32 numbers: some four minutes a function (`pytest -m slow` on this file)."""
    compiled, chunk = Native(unary(function, "f32", 16)), 1 << 22
    for start in range(0, 1 << 32, chunk):
        bits = np.arange(start, start + chunk, dtype=np.uint64).astype(np.uint32)
        check_errors(function, compiled, bits.view(np.float32))


def check_errors(function: str, compiled: Native, x: Floats) -> None:
    """Apply a function to numbers, and compare with numpy's in f64."""
    y = np.zeros_like(x)
    assert compiled("k", [x, y], [len(x)]) == 0
    check(function, x, y)


@pytest.mark.parametrize("mcpu", RUNNABLE)
def test_powers(mcpu: str) -> None:
    text = kernel(
        "N",
        {"x": "f32[N]", "e": "f32[N]", "y": "f32[N]"},
        """
  %step = arith.constant 16 : index
  scf.for %i = %c0 to %N step %step {
    %v = vector.load %x[%i] : memref<?xf32>, vector<16xf32>
    %n = vector.load %e[%i] : memref<?xf32>, vector<16xf32>
    %r = math.powf %v, %n : vector<16xf32>
    vector.store %r, %y[%i] : memref<?xf32>, vector<16xf32>
  }""",
    )
    special = np.array([0, 1, 2, 3, 0.5, 1.5, np.inf, 1e-45, 3e38, 1 + 2**-23, 8388609, 1e30], np.float32)
    numbers = np.concatenate([special, -special, [np.float32(np.nan)]])
    rng = np.random.default_rng(4)
    drawn = np.exp(rng.standard_normal(100_000) * 20).astype(np.float32)
    fitting = (rng.standard_normal(100_000) * 60 / np.log(drawn.astype(np.float64))).astype(np.float32)
    grid = [axis.ravel() for axis in np.meshgrid(numbers, numbers)]
    x, e = np.concatenate([grid[0], drawn]), np.concatenate([grid[1], fitting])
    x, e = x[: len(x) // 16 * 16], e[: len(x) // 16 * 16]
    y = np.zeros_like(x)
    assert Native(text, mcpu)("k", [x, e, y], [len(x)]) == 0
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), e.astype(np.float64))
        errors = errors_in_ulp(y, exact)
    worst = int(np.argmax(errors))
    assert errors[worst] <= 1.6, f"{x[worst]!r}^{e[worst]!r} = {y[worst]!r}, not {exact[worst]!r}"


@pytest.mark.parametrize(
    "function", ["asin", "asinh", "atan", "atanh", "erf", "expm1", "log1p", "sin", "sinh", "tan", "tanh"]
)
def test_sign_of_zero_is_kept(function: str) -> None:
    x = np.array([0.0, -0.0] * 8, np.float32)
    y = np.ones_like(x)
    assert Native(unary(function, "f32", 16))("k", [x, y], [16]) == 0
    np.testing.assert_array_equal(y.view(np.uint32), x.view(np.uint32))


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize(("name", "dtype"), [("f16", np.float16), ("f64", np.float64), ("f32", np.float32)])
@pytest.mark.parametrize("function", ["exp", "tanh", "sin", "log"])
def test_other_types_and_scalars(function: str, name: str, dtype: type, lanes: int | None) -> None:
    x = np.linspace(0.01, 5, 64).astype(dtype)
    y = np.zeros_like(x)
    assert Native(unary(function, name, lanes))("k", [x, y], [64]) == 0
    expected = FUNCTIONS[function][0](x.astype(np.float64)).astype(dtype)
    ulp = np.spacing(np.abs(expected)).astype(np.float64)
    assert (np.abs(y.astype(np.float64) - expected.astype(np.float64)) <= 2.5 * ulp).all()


@pytest.mark.parametrize(
    "exponent", [-2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 2.7, -1.3]
)
def test_constant_powers(exponent: float) -> None:
    text = kernel(
        "N",
        {"x": "f32[N]", "y": "f32[N]"},
        f"""
  %step = arith.constant 8 : index
  %e = arith.constant dense<{exponent}> : vector<8xf32>
  scf.for %i = %c0 to %N step %step {{
    %v = vector.load %x[%i] : memref<?xf32>, vector<8xf32>
    %r = math.powf %v, %e : vector<8xf32>
    vector.store %r, %y[%i] : memref<?xf32>, vector<8xf32>
  }}""",
    )
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, -2.5, 1, 3e38], np.float32)
    x = np.concatenate([special, np.linspace(0.01, 9, 56, dtype=np.float32)])
    y = np.zeros_like(x)
    assert Native(text)("k", [x, y], [64]) == 0
    with np.errstate(all="ignore"):
        # An array of exponents: for a single one numpy takes shortcuts that are not C's `pow`.
        exact = np.power(x.astype(np.float64), np.full(64, np.float32(exponent), np.float64))
        expected = exact.astype(np.float32)
    np.testing.assert_allclose(y, expected, rtol=4e-7)


@pytest.mark.parametrize("lanes", [None, 4])
def test_integer_powers(lanes: int | None) -> None:
    register = "i32" if lanes is None else f"vector<{lanes}xi32>"
    op, of = ("memref.", "") if lanes is None else ("vector.", f", {register}")
    text = kernel(
        "N",
        {"x": "i32[N]", "n": "i32[N]", "y": "i32[N]"},
        f"""
  %step = arith.constant {lanes or 1} : index
  scf.for %i = %c0 to %N step %step {{
    %b = {op}load %x[%i] : memref<?xi32>{of}
    %e = {op}load %n[%i] : memref<?xi32>{of}
    %r = math.ipowi %b, %e : {register}
    {op}store %r, %y[%i] : memref<?xi32>{of}
  }}""",
    )
    bases, exponents = [0, 1, -1, 2, -3, 7, 46341, -(2**31)], [0, 1, 2, 3, 13, 31, -1, -2, -(2**31)]
    pairs = [(b, e) for b in bases for e in exponents]
    x, n = (np.array(column, np.int32) for column in zip(*pairs, strict=True))
    y = np.zeros_like(x)
    assert Native(text)("k", [x, n, y], [len(x)]) == 0
    np.testing.assert_array_equal(y, [integer_power(b, e) for b, e in pairs])


def integer_power(base: int, exponent: int) -> int:
    """The power modulo 2^32, as a signed number; 0 where it is no integer."""
    if exponent < 0:
        exponent = -exponent if abs(base) == 1 else 1
        base = base if abs(base) == 1 else 0
    return (pow(base, exponent, 1 << 32) + (1 << 31)) % (1 << 32) - (1 << 31)
