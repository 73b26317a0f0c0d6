"""Arithmetic of f64 in integers, compiled for this machine and compared with its own, bit by bit."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from stepwell.lowering.export.c_library import library_code, library_functions
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.runtime.machine.loader import Library, load_objects
from stepwell.runtime.machine.target import host_target

I64, U64, I32, U32 = ctypes.c_int64, ctypes.c_uint64, ctypes.c_int32, ctypes.c_uint32
SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 1.5, 5e-324, -5e-324, 2.2250738585072014e-308, 2.225073858507201e-308, 1e-310,
     3e-320, 1.7976931348623157e308, -1e308, np.inf, -np.inf, np.nan, 0.1, 3.0, 1 / 3, 2.0**53, 2.0**53 + 2,
     1e-200, 1e200],
)  # fmt: skip


def pairs() -> tuple[np.ndarray, np.ndarray]:
    """Special numbers with each other, any bits, and numbers of similar size, whose sums cancel."""
    random = np.random.default_rng(0)
    bits = random.integers(0, 1 << 64, (2, 1500), np.uint64, endpoint=False).view(np.float64)
    near = random.integers(-40, 40, (2, 1500)) + random.random((2, 1500))
    near *= 2.0 ** random.integers(-30, 3, (2, 1500))
    tiny = random.random((2, 200)) * 1e-307
    a, b = np.meshgrid(SPECIAL, SPECIAL)
    return (
        np.concatenate([a.ravel(), bits[0], near[0], tiny[0], near[0]]),
        np.concatenate([b.ravel(), bits[1], near[1], tiny[1], -near[0] * (1 + 2.0**-52)]),
    )


@pytest.fixture(scope="module")
def library() -> Library:
    text = library_code(library_functions("thumb", 8), "thumb", 8)
    return load_objects([compile_to_object(text, host_target(), optimize=False)])


def function(library: Library, name: str, result: object, *arguments: object) -> Callable[..., int]:
    return ctypes.CFUNCTYPE(result, *arguments)(library.address(name))  # pyright: ignore


def same(found: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether numbers have equal bits, or are both no numbers."""
    none = np.isnan(wanted)
    kind = np.uint64 if wanted.dtype == np.float64 else np.uint32
    return bool(
        np.isnan(found[none]).all() and np.array_equal(found[~none].view(kind), wanted[~none].view(kind))
    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "meaning"), [("dadd", np.add), ("dsub", np.subtract), ("dmul", np.multiply), ("ddiv", np.divide)]
)
def test_arithmetic_rounds_as_the_machine_does(library: Library, name: str, meaning: np.ufunc) -> None:
    call = function(library, f"__aeabi_{name}", U64, U64, U64)
    a, b = pairs()
    rows = zip(a.view(np.uint64).tolist(), b.view(np.uint64).tolist(), strict=True)
    found = np.array([call(x, y) for x, y in rows], np.uint64).view(np.float64)
    assert same(found, meaning(a, b))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_roots_round_as_the_machines_do(library: Library) -> None:
    call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(library.address("sqrt"))
    a, _ = pairs()
    assert same(np.array([call(x) for x in a.tolist()]), np.sqrt(a))


@pytest.mark.parametrize(
    ("name", "meaning"),
    [("eq", np.equal), ("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal)],
)
def test_comparisons_are_false_for_what_is_no_number(library: Library, name: str, meaning: np.ufunc) -> None:
    call = function(library, f"__aeabi_dcmp{name}", I32, U64, U64)
    unordered = function(library, "__aeabi_dcmpun", I32, U64, U64)
    a, b = (x[:700] for x in pairs())
    rows = list(zip(a.view(np.uint64).tolist(), b.view(np.uint64).tolist(), strict=True))
    assert np.array_equal([call(x, y) for x, y in rows], meaning(a, b).astype(int))
    assert np.array_equal([unordered(x, y) for x, y in rows], (np.isnan(a) | np.isnan(b)).astype(int))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_floats_of_one_size_become_those_of_the_other(library: Library) -> None:
    wide, narrow = (
        function(library, f"__aeabi_{n}", *t) for n, t in (("f2d", (U64, U32)), ("d2f", (U32, U64)))
    )
    bits = np.random.default_rng(1).integers(0, 1 << 32, 2000, np.uint32, endpoint=False)
    a = np.concatenate(
        [bits.view(np.float32), SPECIAL.astype(np.float32), np.array([1e-45, -3e-40], np.float32)]
    )
    found = np.array([wide(x) for x in a.view(np.uint32).tolist()], np.uint64).view(np.float64)
    assert same(found, a.astype(np.float64))
    middle = a[np.isfinite(a)].astype(np.float64)
    b = np.concatenate(
        [pairs()[0], a.astype(np.float64) * (1 + 2.0**-30), middle + np.spacing(np.float32(1)) / 2]
    )
    found = np.array([narrow(x) for x in b.view(np.uint64).tolist()], np.uint32).view(np.float32)
    assert same(found, b.astype(np.float32))


NUMBERS = [
    0, 1, -1, 2, 7, -(1 << 63), (1 << 63) - 1, (1 << 53) + 1, -(1 << 53) - 3, (1 << 24) + 1, -(1 << 24) - 3,
    0x123456789ABCDEF, (1 << 62) + (1 << 38), (1 << 62) + (1 << 37), 0x7FFFFFFFFFFFFE00, 0x7FFFFFBFFFFFFFFF,
]  # fmt: skip


def test_integers_become_floats_and_back(library: Library) -> None:
    x = np.array(NUMBERS)
    for name, result, kind in (("l2d", U64, np.float64), ("l2f", U32, np.float32)):
        call = function(library, f"__aeabi_{name}", result, I64)
        bits = np.uint64 if kind == np.float64 else np.uint32
        assert same(np.array([call(n) for n in NUMBERS], bits).view(kind), x.astype(kind))
        call = function(library, f"__aeabi_u{name}", result, U64)
        found = np.array([call(n & (1 << 64) - 1) for n in NUMBERS], bits).view(kind)
        assert same(found, x.view(np.uint64).astype(kind))
    small = [0, 1, -1, 77, -(1 << 31), (1 << 31) - 1]
    signed, unsigned = (function(library, f"__aeabi_{n}2d", U64, t) for n, t in (("i", I32), ("ui", U32)))
    assert np.array([signed(n) for n in small], np.uint64).view(np.float64).tolist() == small
    wanted = [n & (1 << 32) - 1 for n in small]
    assert np.array([unsigned(n) for n in wanted], np.uint64).view(np.float64).tolist() == wanted


def test_fractions_are_dropped(library: Library) -> None:
    floats = [
        0.0,
        -0.0,
        0.99,
        -0.99,
        1.0,
        -1.5,
        2147483647.5,
        -2147483648.0,
        4e9,
        4503599627370497.5,
        2.0**62,
        -(2.0**63),
    ]
    long, double = (function(library, f"__aeabi_{n}lz", I64, t) for n, t in (("f2", U32), ("d2", U64)))
    x = np.array(floats)
    assert [double(n) for n in x.view(np.uint64).tolist()] == [int(n) for n in floats]
    short = x.astype(np.float32)
    assert [long(n) for n in short.view(np.uint32).tolist()] == [int(n) for n in short.tolist()]
    positive = np.array([0.0, 0.5, 1.75, 4294967295.0, 2.0**63, 1.8446744073709550e19])
    for name, result, top in (("d2ulz", U64, 6), ("d2uiz", U32, 4)):
        call = function(library, f"__aeabi_{name}", result, U64)
        assert [call(n) for n in positive.view(np.uint64).tolist()[:top]] == [
            int(n) for n in positive[:top].tolist()
        ]
    call = function(library, "__aeabi_d2iz", I32, U64)
    assert [call(n) for n in x[:8].view(np.uint64).tolist()] == [int(n) for n in floats[:8]]
    call = function(library, "__aeabi_f2ulz", U64, U32)
    singles = np.array([0.5, 3.0, 2.0**63], np.float32)
    assert [call(n) for n in singles.view(np.uint32).tolist()] == [0, 3, 1 << 63]


@pytest.fixture(scope="module")
def riscv() -> Library:
    text = library_code(library_functions("riscv32", 8), "riscv32", 8)
    return load_objects([compile_to_object(text, host_target(), optimize=False)])


def test_names_of_risc_v_are_functions_of_arm(riscv: Library) -> None:
    """Of two numbers, and of a number that is an f32."""
    values = [1.5, -2.0, 0.0, 1e300, np.inf, np.nan]
    bits = dict(zip(values, np.array(values).view(np.uint64).tolist(), strict=True))
    for name, meaning in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply)):
        call = function(riscv, f"__{name}df3", U64, U64, U64)
        found = np.array([call(bits[1.5], bits[-2.0])], np.uint64).view(np.float64)
        assert found == [meaning(1.5, -2.0)]
    order = {n: function(riscv, f"__{n}df2", I32, U64, U64) for n in ("eq", "ne", "lt", "le", "gt", "ge")}
    for a in values:
        for b in values:
            found = {name: call(bits[a], bits[b]) for name, call in order.items()}
            assert (found["eq"] == 0, found["ne"] != 0) == (a == b, a != b)
            assert (found["lt"] < 0, found["le"] <= 0) == (a < b, a <= b)
            assert (found["gt"] > 0, found["ge"] >= 0) == (a > b, a >= b)
    wide = function(riscv, "__extendsfdf2", U64, ctypes.c_float)
    assert np.array([wide(0.1)], np.uint64).view(np.float64) == [np.float64(np.float32(0.1))]
    assert function(riscv, "__truncdfsf2", ctypes.c_float, U64)(bits[1e300]) == np.inf
    assert function(riscv, "__fixsfdi", I64, ctypes.c_float)(-7.9) == -7
    assert function(riscv, "__floatdisf", ctypes.c_float, I64)(-(1 << 40)) == -(2.0**40)
    for name, wanted in (("__divdi3", -3), ("__moddi3", -2)):
        assert function(riscv, name, I64, I64, I64)(-17, 5) == wanted
    for name, wanted in (("__udivdi3", (1 << 63) // 5), ("__umoddi3", (1 << 63) % 5)):
        assert function(riscv, name, U64, U64, U64)(1 << 63, 5) == wanted
