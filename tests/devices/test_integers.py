"""Integers of each width on devices: WGSL has 32 bits alone, so that others are parts or pairs of these."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import stepwell as sw
from tests.devices.test_models import expect_here

pytestmark = pytest.mark.slow
KINDS = ("opencl", "webgpu")
TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
BINARY = ("Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "BitwiseAnd", "BitwiseOr", "BitwiseXor")
TESTS = ("Less", "LessOrEqual", "Greater", "Equal")
COUNT = 135
"""Odd, so that the last element of a row shares 32 bits with the first of the next one."""


def compiled(folder: Path, kind: str, signature: str, nodes: Sequence[str]) -> tuple[Any, Any]:
    """A model on a device, which computes all of it, and on the CPU."""
    text = f'<ir_version: 8, opset_import: ["" : 18]> g {signature} {{ {" ".join(nodes)} }}'
    onnx.save(onnx.parser.parse_model(text), path := folder / "m.onnx")
    model = sw.compile(path, target=kind, use_cache=False)
    assert not model.image.summary.get("on the host")
    return model, sw.compile(path)


def drawn(dtype: str, seed: int) -> Any:
    """Numbers of all sizes of a type, with its bounds, without 0."""
    limits, rng = np.iinfo(dtype), np.random.default_rng(seed)
    wide = rng.integers(limits.min, limits.max, (3, COUNT), dtype, endpoint=True)
    found = wide >> rng.integers(0, limits.bits, wide.shape).astype(dtype)
    found[0, :4] = limits.min, limits.max, 1, limits.max - 1
    return np.where(found == 0, np.ones_like(found), found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", TYPES)
def test_arithmetic(dtype: str, kind: str, tmp_path: Path) -> None:
    expect_here(kind)
    nodes = [f"{op.lower()} = {op}(a, b)" for op in (*BINARY, *TESTS)]
    ones = ["Abs", "Neg"] if dtype.startswith("int") else ["BitwiseNot"]
    nodes += [f"{op.lower()} = {op}(a)" for op in ones]
    results = [f"{dtype}[3, {COUNT}] {op.lower()}" for op in (*BINARY, *ones)]
    results += [f"bool[3, {COUNT}] {op.lower()}" for op in TESTS]
    signature = f"({dtype}[3, {COUNT}] a, {dtype}[3, {COUNT}] b) => ({', '.join(results)})"
    model, here = compiled(tmp_path, kind, signature, nodes)
    a, b = drawn(dtype, 1), drawn(dtype, 2)
    a[b.astype(np.float64) == -1] = 3  # the quotient of the least number is no number of the type
    for name, found, expected in zip((*BINARY, *ones, *TESTS), model(a, b), here(a, b), strict=True):
        np.testing.assert_array_equal(found, expected, err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", TYPES)
def test_conversions(dtype: str, kind: str, tmp_path: Path) -> None:
    expect_here(kind)
    numbers = [onnx.helper.np_dtype_to_tensor_dtype(np.dtype(each)) for each in (*TYPES, "float32", "bool")]
    nodes = [f"y{i} = Cast<to = {number}>(a)" for i, number in enumerate(numbers)]
    results = [f"{each}[3, {COUNT}] y{i}" for i, each in enumerate((*TYPES, "float", "bool"))]
    model, here = compiled(tmp_path, kind, f"({dtype}[3, {COUNT}] a) => ({', '.join(results)})", nodes)
    a = drawn(dtype, 3)
    a[1, ::3] = 0
    for to, found, expected in zip((*TYPES, "float", "bool"), model(a), here(a), strict=True):
        np.testing.assert_array_equal(found, expected, err_msg=to)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_numbers_of_floats(dtype: str, kind: str, tmp_path: Path) -> None:
    expect_here(kind)
    number = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    model, here = compiled(
        tmp_path, kind, f"(float[99] a) => ({dtype}[99] y)", [f"y = Cast<to = {number}>(a)"]
    )
    limits = np.iinfo(dtype)
    sizes = np.random.default_rng(4).uniform(0, np.log2(float(limits.max) * 0.99), 99)
    a = np.exp2(sizes).astype(np.float32)
    a[:50] *= -1 if limits.min else 0.5
    a[:4] = 0, 0.99, 1.5, -0.0
    np.testing.assert_array_equal(model(a), here(a))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_shifts(dtype: str, kind: str, tmp_path: Path) -> None:
    expect_here(kind)
    nodes = ['y = BitShift<direction = "LEFT">(a, b)', 'z = BitShift<direction = "RIGHT">(a, b)']
    signature = (
        f"({dtype}[3, {COUNT}] a, {dtype}[3, {COUNT}] b) => ({dtype}[3, {COUNT}] y, {dtype}[3, {COUNT}] z)"
    )
    model, here = compiled(tmp_path, kind, signature, nodes)
    a = drawn(dtype, 5)
    b = (np.arange(a.size).reshape(a.shape) % np.iinfo(dtype).bits).astype(dtype)
    for found, expected in zip(model(a, b), here(a, b), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
@pytest.mark.parametrize("rows", [1, 5])
def test_rows_of_open_sizes(rows: int, dtype: str, kind: str, tmp_path: Path) -> None:
    """Sums, the largest, its position, and moves, whose elements other threads put beside each other."""
    expect_here(kind)
    nodes = ["p = ArgMax<axis = 1>(a)", "t = Transpose(a)", "c = Concat<axis = 1>(a, a)"]
    results = ["int64[N, 1] p", f"{dtype}[131, N] t", f"{dtype}[N, 262] c"]
    if dtype != "uint8":
        nodes.append("s = ReduceSum<keepdims = 1>(a, k)")
        results.append(f"{dtype}[N, 1] s")
    signature = f"({dtype}[N, 131] a) => ({', '.join(results)}) <int64[1] k = {{1}}>"
    model, here = compiled(tmp_path, kind, signature, nodes)
    a = drawn(dtype, rows)[0, :131][None].repeat(rows, 0)
    a = np.roll(a, rows, 1) if rows > 1 else a
    for found, expected in zip(model(a), here(a), strict=True):
        np.testing.assert_array_equal(found, expected)
