"""Functions of `math.h` that exported files have of their own: against the C library's, and in exports."""

from __future__ import annotations

import ctypes
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

import stepwell
from stepwell.lowering.c_math import MATH_FUNCTIONS, math_code
from stepwell.lowering.emit_c.helpers import helper_texts
from stepwell.lowering.emit_c.mathematics import MATHEMATICS, mathematics_text
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.runtime.link.relinked import read_paired
from stepwell.runtime.machine.loader import Library, load_objects
from stepwell.runtime.machine.target import described, host_target
from stepwell.runtime.targets.cpu import cpu_rows
from tests.support.c_sources import SANITIZED, STRICT, run_source
from tests.support.components import needs_program
from tests.support.samples import whole

NAMES = sorted(name for name in MATH_FUNCTIONS if not name.endswith("f") or name == "erf")
OF_TWO = ("atan2", "pow")
SPECIAL = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1e-310, -1e-310, 1e300, 709.9, -745.2, 1e-5, 1e22, 2.0**1023),
    *(math.inf, -math.inf, math.nan, 4503599627370497.0, 1048575.5, 1048577.25, 6.0),
)


@pytest.fixture(scope="module")
def library() -> Library:
    text = math_code(MATH_FUNCTIONS)
    return load_objects([compile_to_object(text, host_target(), optimize=False, effort=0)])


def function(library: Library, name: str, type: Any = ctypes.c_double) -> Callable[..., float]:
    count = 1 + (name.removesuffix("f") in OF_TWO)
    return ctypes.CFUNCTYPE(type, *[type] * count)(library.address(name))


def wanted(name: str, values: tuple[float, ...]) -> float:
    """The C library's result, which Python's functions refuse to return for infinities and NaN."""
    own = ctypes.CDLL(None)[name]
    own.restype, own.argtypes = ctypes.c_double, [ctypes.c_double] * len(values)
    return own(*values)


def points(count: int) -> list[tuple[float, ...]]:
    """Special values in all pairs, and random ones of many sizes."""
    rng = np.random.default_rng(7)
    sizes = [rng.uniform(-1, 1, 200), rng.standard_normal(200) * 10.0 ** rng.integers(-8, 20, 200)]
    numbers = [float(x) for x in np.concatenate([*sizes, rng.uniform(-800, 800, 200)])]
    if count == 1:
        return [(x,) for x in (*SPECIAL, *numbers)]
    return [(x, y) for x in SPECIAL for y in SPECIAL] + list(zip(numbers, reversed(numbers), strict=True))


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", NAMES)
def test_a_function_is_within_four_units_of_the_c_librarys(library: Library, name: str) -> None:
    ours = function(library, name)
    for values in points(1 + (name in OF_TWO)):
        found, right = ours(*values), wanted(name, values)
        where = f"{name}{values}: {found}, not {right}"
        if math.isnan(right) or math.isinf(right) or right == 0:
            assert str(found).lstrip("-") == str(right).lstrip("-"), where
            assert math.isnan(right) or math.copysign(1, found) == math.copysign(1, right), where
        else:
            assert abs(found - right) <= 4 * math.ulp(right), where


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", ["sinf", "expf", "powf", "tanhf"])
def test_f32_is_that_of_f64_rounded_once(library: Library, name: str) -> None:
    narrow, wide = function(library, name, ctypes.c_float), function(library, name.removesuffix("f"))
    for values in points(1 + (name == "powf")):
        with np.errstate(over="ignore"):
            rounded = [float(np.float32(value)) for value in values]
            assert np.array_equal(narrow(*rounded), float(np.float32(wide(*rounded))), equal_nan=True), values


@pytest.mark.sample(4)
@pytest.mark.parametrize("mcpu", ["armv7", "x86-64", "aarch64", "riscv64"])
def test_they_need_no_other_function(mcpu: str) -> None:
    row = cpu_rows()[mcpu]
    target = described(row.triple, row.features)
    file = read_paired(compile_to_object(math_code(MATH_FUNCTIONS), target, optimize=False, effort=0))
    assert {s.name for s in file.symbols if not s.section} <= {"", "<string>"}  # the name of the file


MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[N] x, double[N] z) => (float[N] y, double[N] w) {
  s = Sin (x) c = Cos (x) y = Mul (s, c) e = Exp (z) l = Tanh (z) w = Add (e, l)
}
"""


@whole
def test_a_model_with_sines_and_f64_is_exported(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(MODEL)
    stepwell.export(model, tmp_path / "m.so")
    x = np.linspace(-20, 20, 50, dtype=np.float32)
    z = np.linspace(-5, 5, 50)
    outputs: Any = stepwell.load(tmp_path / "m.so")(x, z)
    np.testing.assert_allclose(outputs[0], np.sin(x) * np.cos(x), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(outputs[1], np.exp(z) + np.tanh(z), rtol=1e-14)
    for target in ("wasm32", "armv7"):
        file = tmp_path / f"m.{'wasm' if target == 'wasm32' else 'so'}"
        assert stepwell.export(model, file, target=target).code_bytes


def test_a_model_without_them_has_none(tmp_path: Path) -> None:
    head = MODEL.partition("{")[0]
    small = onnx.parser.parse_model(head + "{ y = Relu (x) w = Relu (z) }")
    with_sines = onnx.parser.parse_model(head + "{ y = Sin (x) w = Relu (z) }")
    sizes = [stepwell.export(each, tmp_path / "m.so").code_bytes for each in (small, with_sines)]
    assert sizes[0] + 500 < sizes[1]


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The functions as C, built with warnings as errors."""
    needs_program("gcc")
    folder = tmp_path_factory.mktemp("c_math")
    mathematics = mathematics_text(sorted(MATHEMATICS))
    helpers = helper_texts([], mathematics)
    names = [name for name in sorted(MATHEMATICS) if name.startswith("f64")]
    arguments = {
        name: ("double a, double b", "a, b") if name[4:] in OF_TWO else ("double a", "a") for name in names
    }
    heads = [f"double of_{name}({declared})" for name, (declared, _) in arguments.items()]
    bodies = [f"{{ return {name}({given}); }}" for name, (_, given) in arguments.items()]
    narrow = [f"({name} != 0)" for name in sorted(MATHEMATICS - set(names))]  # so that none is unused
    lines = [f"{head};\n{head} {body}" for head, body in zip(heads, bodies, strict=True)]
    lines.append(f"int narrow(void);\nint narrow(void) {{ return {' + '.join(narrow)}; }}\n")
    text = "#include <stddef.h>\n#include <stdint.h>\n" + helpers + mathematics + "\n".join(lines)
    (folder / "c_math.c").write_text(text)
    flags = [*STRICT, "-Wno-address", "-O1", "-fPIC", "-shared", "c_math.c", "-o", "c_math.so"]
    subprocess.run(["gcc", *flags], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "c_math.so"))


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", NAMES)
def test_a_function_in_c_has_the_bits_of_the_one_of_machine_code(
    name: str, library: Library, in_c: ctypes.CDLL
) -> None:
    count = 1 + (name in OF_TWO)
    own, other = function(library, name), in_c[f"of_f64_{name}"]
    other.restype, other.argtypes = ctypes.c_double, [ctypes.c_double] * count
    for values in points(count):
        assert np.array_equal(own(*values), other(*values), equal_nan=True), (name, values)


def test_a_model_with_sines_and_f64_in_c(tmp_path: Path) -> None:
    text = """
    <ir_version: 8, opset_import: ["" : 18]>
    m (double[N, 5] x, float[N, 5] z) => (double[N, 5] y, float[N, 5] s) {
      a = Exp (x) b = Tanh (a) c = Sin (b) y = Pow (c, c) d = Sin (z) e = Cos (d) s = Tan (e)
    }
    """
    model = onnx.parser.parse_model(text)
    rng = np.random.default_rng(0)
    feeds = [rng.standard_normal((4, 5)), (100 * rng.standard_normal((4, 5))).astype(np.float32)]
    found = run_source(model, feeds, tmp_path, *SANITIZED)
    x, z = feeds
    powers = np.sin(np.tanh(np.exp(x)))
    np.testing.assert_allclose(found[0].astype(np.float64), powers**powers, rtol=1e-14)
    np.testing.assert_allclose(found[1].astype(np.float64), np.tan(np.cos(np.sin(z))), rtol=2e-6)
