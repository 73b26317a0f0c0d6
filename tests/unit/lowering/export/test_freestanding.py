"""The functions of the C library that exported files define, compiled for this machine and compared."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable

import numpy as np
import pytest

from stepwell.lowering.export.c_library import library_code, library_functions
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.runtime.machine.loader import Library, load_objects
from stepwell.runtime.machine.target import host_target

ROUNDINGS = (np.trunc, np.floor, np.ceil, np.rint, np.rint)
POINTER, SIZE = ctypes.c_void_p, ctypes.c_size_t
FLOATS = [
    0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8388607.5, 8388608.0, -4194303.5, 1e30, -1e30,
    math.inf, -math.inf, math.nan, 1e-40, -1e-40, 2147483648.0, 3.7, -3.2,
]  # fmt: skip


@pytest.fixture(scope="module")
def library() -> Library:
    text = library_code(library_functions("armv7", 8), "armv7", 8)  # those of 32-bit Arm are the most
    return load_objects([compile_to_object(text, host_target(), optimize=False)])


def function(library: Library, name: str, result: object, *arguments: object) -> Callable[..., float]:
    return ctypes.CFUNCTYPE(result, *arguments)(library.address(name))  # pyright: ignore


@pytest.mark.parametrize("a", [0, 1, -1, 7, -(2**63), 2**63 - 1, 0x123456789ABCDEF, -0xFEDCBA987654321])
def test_products_of_i64_have_an_upper_half(a: int) -> None:
    wrapper = """
    define i64 @high(i64 %a, i64 %b) {
      %x = sext i64 %a to i128
      %y = sext i64 %b to i128
      %p = call i128 @__multi3(i128 %x, i128 %y)
      %s = lshr i128 %p, 64
      %r = trunc i128 %s to i64
      ret i64 %r
    }"""
    text = library_code(["__multi3"], "wasm32", 8) + wrapper
    library = load_objects([compile_to_object(text, host_target(), optimize=False)])
    high = function(library, "high", ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    for b in (0, 1, -1, 3, -(2**63), 2**63 - 1, 0xFFFFFFFF, 0x100000001, -0x80000001, 0x5DEECE66D1234567):
        assert high(a, b) == a * b >> 64


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 64, 127, 128, 200, 300])
def test_copies_move_and_fill(library: Library, size: int) -> None:
    copy = function(library, "memcpy", POINTER, POINTER, POINTER, SIZE)
    move = function(library, "memmove", POINTER, POINTER, POINTER, SIZE)
    fill = function(library, "memset", POINTER, POINTER, ctypes.c_int, SIZE)
    compare = function(library, "memcmp", ctypes.c_int, POINTER, POINTER, SIZE)
    data = np.random.default_rng(size).integers(0, 256, 512, np.uint8)
    to = np.zeros(512, np.uint8)
    copy(to.ctypes.data + 3, data.ctypes.data + 5, size)
    assert np.array_equal(to[3 : 3 + size], data[5 : 5 + size]) and not to[3 + size :].any()
    for start, goal in ((100, 107), (107, 100), (100, 100), (100, 140)):
        found, wanted = data.copy(), data.copy()
        move(found.ctypes.data + goal, found.ctypes.data + start, size)
        wanted[goal : goal + size] = data[start : start + size]
        assert np.array_equal(found, wanted)
    fill(to.ctypes.data + 9, 0x1A5, size)
    assert (to[9 : 9 + size] == 0xA5).all()
    other = data.copy()
    assert compare(data.ctypes.data, other.ctypes.data, size) == 0
    if size:
        other[size - 1] ^= 255
        wanted = int(data[size - 1]) - int(other[size - 1])
        assert compare(data.ctypes.data, other.ctypes.data, size) == wanted


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("truncf", np.trunc),
        ("floorf", np.floor),
        ("ceilf", np.ceil),
        ("rintf", np.rint),
        ("roundevenf", np.rint),
    ],
)
def test_roundings_have_the_bits_of_numpy(
    library: Library, name: str, meaning: Callable[[np.ndarray], np.ndarray]
) -> None:
    call = function(library, name, ctypes.c_float, ctypes.c_float)
    x = np.concatenate([np.array(FLOATS, np.float32), np.random.default_rng(0).normal(0, 100, 500)])
    x = x.astype(np.float32)
    found = np.array([call(float(value)) for value in x], np.float32)
    wanted = meaning(x)
    real = ~np.isnan(x)
    assert np.array_equal(found[real].view(np.uint32), wanted[real].view(np.uint32))
    assert np.isnan(found[~real]).all()


@pytest.mark.parametrize(
    ("name", "meaning"),
    [("trunc", np.trunc), ("floor", np.floor), ("ceil", np.ceil), ("rint", np.rint), ("roundeven", np.rint)],
)
def test_roundings_of_f64_have_the_bits_of_numpy(
    library: Library, name: str, meaning: Callable[[np.ndarray], np.ndarray]
) -> None:
    call = function(library, name, ctypes.c_double, ctypes.c_double)
    x = np.concatenate(
        [np.array([*FLOATS, 2.0**52 - 0.5, -(2.0**52), 2.0**51 + 0.5]), np.linspace(-9, 9, 109)]
    )
    found, real = np.array([call(value) for value in x.tolist()]), ~np.isnan(x)
    assert np.array_equal(found[real].view(np.uint64), meaning(x)[real].view(np.uint64))
    assert np.isnan(found[~real]).all()


def test_round_goes_away_from_zero(library: Library) -> None:
    call = function(library, "roundf", ctypes.c_float, ctypes.c_float)
    pairs = {0.5: 1, -0.5: -1, 2.5: 3, -2.5: -3, 0.49999997: 0, 8388607.5: 8388608, 1e30: 1e30}
    assert {x: np.float32(call(x)) for x in pairs} == {x: np.float32(y) for x, y in pairs.items()}


def test_least_and_largest_leave_nan_out(library: Library) -> None:
    least, largest = (
        function(library, name, ctypes.c_float, ctypes.c_float, ctypes.c_float) for name in ("fminf", "fmaxf")
    )
    assert (least(1, 2), least(2, 1), largest(1, 2), largest(2, 1)) == (1, 1, 2, 2)
    for call in (least, largest):
        assert call(math.nan, 3) == 3 and call(3, math.nan) == 3 and math.isnan(call(math.nan, math.nan))


@pytest.mark.parametrize(("suffix", "kind"), [("f", ctypes.c_float), ("", ctypes.c_double)])
def test_minima_and_maxima_of_nan_are_nan(library: Library, suffix: str, kind: type) -> None:
    least, largest = (function(library, f"{name}imum{suffix}", kind, kind, kind) for name in ("fmin", "fmax"))
    assert (least(1, 2), least(2, 1), largest(1, 2), largest(2, 1)) == (1, 1, 2, 2)
    for call in (least, largest):
        assert all(math.isnan(call(*pair)) for pair in ((math.nan, 3), (3, math.nan), (math.nan, math.nan)))


class Pair(ctypes.Structure):
    _fields_ = [("quotient", ctypes.c_int64), ("rest", ctypes.c_int64)]


def test_divisions_have_quotient_and_remainder(library: Library) -> None:
    word = ctypes.c_int64
    signed = function(library, "__aeabi_ldivmod", Pair, word, word)
    unsigned = function(library, "__aeabi_uldivmod", Pair, word, word)
    numbers = [1, 2, 3, 7, 1 << 31, (1 << 62) + 12345, (1 << 63) - 1]
    for a in [0, *numbers]:
        for b in numbers:
            pair = unsigned(a, b)
            assert (pair.quotient, pair.rest) == divmod(a, b)  # pyright: ignore
            for x, y in ((a, b), (-a, b), (a, -b), (-a, -b)):
                pair = signed(x, y)
                quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
                assert (pair.quotient, pair.rest) == (quotient, x - quotient * y)  # pyright: ignore
