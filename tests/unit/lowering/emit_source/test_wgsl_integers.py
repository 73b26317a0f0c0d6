"""Integers that WGSL lacks, compiled as C++: those of 8 and 16 bits, and pairs of 32 bits for 64."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from stepwell import Target
from stepwell.lowering.emit_source import emit_kernels
from stepwell.runtime.errors import StepwellError
from tests.support.devices.gpu_kernels import kernel_module
from tests.support.devices.shaders import Launcher, opencl_by_c, wgsl_by_cpp

COUNT = 256
Signed = Callable[[int, int], int]
SIGNED: Mapping[str, Signed] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divsi": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "remsi": lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
    "floordivsi": lambda a, b: a // b,
    "ceildivsi": lambda a, b: -(-a // b),
    "minsi": min,
    "maxsi": max,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
}
UNSIGNED: Mapping[str, Signed] = {
    "divui": lambda a, b: a // b,
    "remui": lambda a, b: a % b,
    "minui": min,
    "maxui": max,
}
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def kernel(body: str, arguments: str) -> ModuleOp:
    """A module with a kernel whose thread has the number `%t`."""
    return kernel_module(f"%t = gpu.global_id x\n{body}", arguments, threads=8)


def run(
    module: ModuleOp, folder: Path, *arrays: Any, launcher: Callable[..., Launcher] = wgsl_by_cpp
) -> None:
    """Run the kernel of a module on as many threads as arrays have elements along the last axis."""
    launch = launcher(module, folder)
    launch(next(op for op in module.walk() if op.name == "gpu.func"), (COUNT // 8, 1, 1), arrays)


def drawn(width: int, seed: int) -> Any:
    """Numbers of all sizes, with bounds, without 0."""
    rng, limits = np.random.default_rng(seed), np.iinfo(f"int{width}")
    found = rng.integers(limits.min, limits.max, COUNT, f"int{width}", endpoint=True)
    found >>= rng.integers(0, width, COUNT).astype(found.dtype)
    found[:9] = np.roll([limits.min, limits.max, -1, 1, 2, -2, limits.min, limits.max - 1, 3], seed)
    return np.where(found == 0, found.dtype.type(1), found)


def stored(values: Mapping[str, str], type: str, to: str) -> str:
    """Ops whose results, of a type, are stored in the rows of an array."""
    lines: list[str] = []
    for row, (name, text) in enumerate(values.items()):
        lines.append(f"%{to}_{name} = {text}")
        lines.append(f"%{to}{row} = arith.constant {row} : index")
        lines.append(
            f"memref.store %{to}_{name}, %{to}[%{to}{row}, %t] : memref<{len(values)}x{COUNT}x{type}>"
        )
    return "\n".join(lines)


@pytest.mark.sample(2)
@pytest.mark.parametrize("width", [64, 8, 16])
def test_arithmetic(width: int, tmp_path: Path) -> None:
    i = f"i{width}"
    ops = {name: f"arith.{name} %a, %b : {i}" for name in (*SIGNED, *UNSIGNED)}
    ops |= {name: f"arith.{name} %a, %s : {i}" for name in ("shli", "shrsi", "shrui")}
    ops["absi"] = f"math.absi %a : {i}"
    tests = {name: f"arith.cmpi {name}, %a, %b : {i}" for name in PREDICATES}
    loads = "".join(f"%{n} = memref.load %{n}_[%t] : memref<{COUNT}x{i}>\n" for n in "abs")
    arguments = [f"%{n}_: memref<{COUNT}x{i}>" for n in "abs"]
    arguments += [f"%y: memref<{len(ops)}x{COUNT}x{i}>", f"%c: memref<{len(tests)}x{COUNT}xi1>"]
    module = kernel(loads + stored(ops, i, "y") + "\n" + stored(tests, "i1", "c"), ", ".join(arguments))
    a, b = drawn(width, 1), drawn(width, 4)
    s = (np.arange(COUNT) % width).astype(a.dtype)
    y, c = np.zeros((len(ops), COUNT), a.dtype), np.zeros((len(tests), COUNT), bool)
    run(module, tmp_path, a, b, s, y, c)
    found = dict(zip(ops, y, strict=True)) | dict(zip(tests, c, strict=True))
    ua, ub, us = (each.view(f"uint{width}") for each in (a, b, s))
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    bits = list(zip(ua.tolist(), ub.tolist(), strict=True))
    expected: dict[str, Any] = {n: [f(*each) for each in pairs] for n, f in SIGNED.items()}
    expected |= {n: [f(*each) for each in bits] for n, f in UNSIGNED.items()}
    expected = {n: wrapped(values, width) for n, values in expected.items()}
    expected |= {"shli": a << s, "shrsi": a >> s, "shrui": (ua >> us).view(a.dtype), "absi": np.abs(a)}
    compare = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal}
    compare |= {"gt": np.greater, "ge": np.greater_equal}
    for name in PREDICATES:
        x, z = (ua, ub) if name[0] == "u" else (a, b)
        expected[name] = compare[name[-2:]](x, z)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def wrapped(values: list[int], width: int) -> Any:
    """Integers by their lowest bits."""
    bits = [value & ((1 << width) - 1) for value in values]
    return np.array(bits, f"uint{width}").view(f"int{width}")


@pytest.mark.sample(2)
@pytest.mark.parametrize("width", [64, 8, 16])
def test_conversions(width: int, tmp_path: Path) -> None:
    i, others = f"i{width}", [each for each in (8, 16, 32, 64) if each != width]
    body = f"%a = memref.load %a_[%t] : memref<{COUNT}x{i}>\n%f = memref.load %f_[%t] : memref<{COUNT}xf32>\n"
    arguments = [f"%a_: memref<{COUNT}x{i}>", f"%f_: memref<{COUNT}xf32>"]
    for to in others:
        names = ("extsi", "extui") if to > width else ("trunci",)
        body += stored({n: f"arith.{n} %a : {i} to i{to}" for n in names}, f"i{to}", f"y{to}_") + "\n"
        arguments.append(f"%y{to}_: memref<{len(names)}x{COUNT}xi{to}>")
    floats = {n: f"arith.{n} %a : {i} to f32" for n in ("sitofp", "uitofp")}
    whole = {n: f"arith.{n} %f : f32 to {i}" for n in ("fptosi", "fptoui")}
    body += stored(floats, "f32", "g") + "\n" + stored(whole, i, "h")
    arguments += [f"%g: memref<2x{COUNT}xf32>", f"%h: memref<2x{COUNT}x{i}>"]
    a = drawn(width, 2)
    f = np.abs(a[::-1].astype(np.float32)) * np.float32(0.7)
    f[::2] *= -1
    results = [np.zeros((2 if to > width else 1, COUNT), f"int{to}") for to in others]
    g, h = np.zeros((2, COUNT), np.float32), np.zeros((2, COUNT), a.dtype)
    run(kernel(body, ", ".join(arguments)), tmp_path, a, f, *results, g, h)
    bits = a.view(f"uint{width}")
    for to, found in zip(others, results, strict=True):
        sources = (a, bits) if to > width else (a,)
        np.testing.assert_array_equal(found, [each.astype(f"int{to}") for each in sources])
    np.testing.assert_array_equal(g, [a.astype(np.float32), bits.astype(np.float32)])
    np.testing.assert_array_equal(h[0], np.trunc(f).astype(np.int64).astype(a.dtype))
    np.testing.assert_array_equal(h[1], np.maximum(np.trunc(f), 0).astype(np.uint64).astype(a.dtype))


@pytest.mark.parametrize("launcher", [wgsl_by_cpp, opencl_by_c])
def test_bounds_of_conversions_to_64_bits(launcher: Callable[..., Launcher], tmp_path: Path) -> None:
    body = stored({n: f"arith.{n} %f : f32 to i64" for n in ("fptosi", "fptoui")}, "i64", "h")
    body = f"%f = memref.load %f_[%t] : memref<{COUNT}xf32>\n{body}"
    module = kernel(body, f"%f_: memref<{COUNT}xf32>, %h: memref<2x{COUNT}xi64>")
    f, h = np.zeros(COUNT, np.float32), np.zeros((2, COUNT), np.int64)
    f[:9] = np.nan, np.inf, -np.inf, 2.0**63, -(2.0**63), 2.0**64, 0.99, -0.99, 3e9
    run(module, tmp_path, f, h, launcher=launcher)
    least, most = -(1 << 63), (1 << 63) - 1
    assert h[0, :9].tolist() == [0, most, least, most, least, most, 0, 0, 3 * 10**9]
    bits = [0, (1 << 64) - 1, 0, 1 << 63, 0, (1 << 64) - 1, 0, 0, 3 * 10**9]
    assert h[1].view(np.uint64)[:9].tolist() == bits


def test_elements_that_are_read_alone_need_no_atomic_operations() -> None:
    body = f"""%a = memref.load %x[%t] : memref<{COUNT}xi16>
    memref.store %a, %y[%t] : memref<{COUNT}xi16>"""
    module = kernel(body, f"%x: memref<{COUNT}xi16>, %y: memref<{COUNT}xi16>")
    for in_arena, access in ((False, "read"), (True, "read_write")):
        (wgsl,) = emit_kernels(module, Target("webgpu"), in_arena=in_arena)
        assert f"var<storage, {access}> x: array<u32>;" in wgsl.text
        assert "var<storage, read_write> y: array<atomic<u32>>;" in wgsl.text
        assert "sw_i16(i32(x[u32(t) >> 1u] >> ((u32(t) & 1u) << 4u)))" in wgsl.text


def test_what_pairs_are_not_is_refused() -> None:
    body = """%c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %n = memref.load %x[%t] : memref<8xi64>
    scf.for %i = %c0 to %n step %c1 : i64 {
      memref.store %i, %x[%t] : memref<8xi64>
    }"""
    with pytest.raises(StepwellError, match="webgpu has no loops over i64") as error:
        emit_kernels(kernel(body, "%x: memref<8xi64>"), Target("webgpu"))
    assert error.value.code == "unsupported"


def test_numbers_of_few_bits_are_passed_as_32(tmp_path: Path) -> None:
    body = f"""%a = arith.extsi %n : i8 to i32
    %r = scf.if %is -> (i32) {{
      scf.yield %a : i32
    }} else {{
      %z = arith.constant -3 : i32
      scf.yield %z : i32
    }}
    memref.store %r, %y[%t] : memref<{COUNT}xi32>"""
    module = kernel(body, f"%n: i8, %is: i1, %y: memref<{COUNT}xi32>")
    (wgsl,) = emit_kernels(module, Target("webgpu"))
    assert [scalar.type for scalar in wgsl.scalars] == ["i32", "i32"]
    for number, is_given in ((200, True), (5, False)):
        y = np.zeros(COUNT, np.int32)
        run(module, tmp_path, np.int64(number), np.bool_(is_given), y)
        assert (y == (number - 256 if is_given else -3)).all()
